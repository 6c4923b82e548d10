# SPDX-License-Identifier: GPL-2.0-or-later
"""The end of a connection: what can be said once nothing more will come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.events import ConnectionEnded, Ending, GapReason
from scapy_mpa.stream.halves import finishing
from scapy_mpa.stream.startup import breaches, order, rtr
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.dialect import Dialect

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection

__all__ = ["conclude", "leave"]


def conclude(connection: Connection, reason: GapReason, ending: Ending | None) -> None:
    """Report what is still to be said of a connection, and let go of what it consists of.

    :param reason: why holes will not be filled.
    :param ending: how the connection ended, if the connection itself does not know.
    """
    one, other = connection.halves
    ift = connection.spoken_ift
    if ift is None:
        _conclude_startup(connection)
        initiator = connection.startup.initiator
    else:
        ift.conclude(_how_it_ended(connection))
        initiator = ift.initiator
    for half in (other, one) if initiator else (one, other):
        finishing.finish(half, reason)
    leave(connection, ending or _ending_of(connection))


def leave(connection: Connection, ending: Ending) -> None:
    """Report that a connection ended, and let go of what it consists of."""
    connection.common.emit(_ended(connection, ending))
    for half in connection.halves:
        half.leave()


def _conclude_startup(connection: Connection) -> None:
    """Find out, for the last time, what MPA carried, and what its startup lacked."""
    startup = connection.startup
    order.wait_no_more(startup)
    if startup.state is StartupState.ACCEPTED:
        rtr.find(startup, final=True)
    if connection.halves[0].is_unknown or connection.halves[1].is_unknown:
        # Most captures show how connections begin, and a command is to start soon.
        from scapy_mpa.stream.startup import beginnings

        beginnings.conclude(startup)
    if not connection.errors:
        connection.report(breaches.of_beginning(startup))
        how = _how_it_ended(connection)
        connection.report(breaches.of_silence(startup, how))
        connection.report(breaches.of_part(startup, how))


def _how_it_ended(connection: Connection) -> str | None:
    """Return how a connection ended, as a word; None if that was not captured."""
    return {"reset": "reset", "capture ended": None}.get(_ending_of(connection), "closed")


def _ending_of(connection: Connection) -> Ending:
    """Return how a connection ended, by what was captured of it."""
    reset = connection.reset
    closed = [half.was_closed for half in connection.halves]
    if all(closed) and (reset is None or not reset.is_expected):
        return "closed"
    if reset is not None:
        return "reset"
    return "half closed" if any(closed) else "capture ended"


def _ended(connection: Connection, ending: Ending) -> ConnectionEnded:
    """Return what is told of a connection as a whole."""
    startup, ift = connection.startup, connection.spoken_ift
    initiator, last = startup.initiator, startup.last
    if ift is not None:
        initiator, last = ift.initiator, None
    one, other = connection.halves
    endpoints = connection.identity.endpoints
    return ConnectionEnded(
        connection=connection.identity,
        direction=initiator or 0,
        frame=connection.frame,
        time_ns=connection.last_time_ns,
        initiator=None if initiator is None else endpoints[initiator],
        responder=None if initiator is None else endpoints[1 - initiator],
        dialect=startup.dialect if ift is None else Dialect.DRAFT_IFT_01,
        revision=None if last is None else last.revision,
        crc=startup.uses_crc if ift is None else None,
        rejected=startup.state is StartupState.REJECTED,
        halves=(one.summary(), other.summary()),
        errors=connection.errors,
        ending=ending,
        rnics=startup.rnics,
        negotiated=None if startup.negotiating is None else startup.negotiating.result(),
    )
