# SPDX-License-Identifier: GPL-2.0-or-later
"""What receivers above MPA must not accept: events in, errors out.

Of RFC 5041 7.1, RFC 5040 7.2, RFC 7306 8.2 and RFC 6581 9.  A segment is held against the rules for
itself as soon as it is recovered, as a Data Sink does before Placement, and against those of its
order when it is its turn in the stream.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.delivery.connection_checks import ConnectionChecks
from scapy_mpa.stream.events import (
    CARRIERS,
    ConnectionEnded,
    ConnectionId,
    Event,
    GapFound,
    SessionControlSeen,
    StartupSeen,
)
from scapy_mpa.wire.sctp_ddp import ENHANCED_FUNCTIONS

__all__ = ["DOUBTFUL_IN_TOTAL", "OUTSTANDING_IN_TOTAL", "WAITING_IN_TOTAL", "Checks"]

WAITING_IN_TOTAL: Final = 65_536
"""Segments of all directions together that may wait for earlier ones: some 40 MiB."""

OUTSTANDING_IN_TOTAL: Final = 65_536
"""Atomic Requests of all directions together that may be unanswered: some 5 MiB."""

DOUBTFUL_IN_TOTAL: Final = 16_384
"""Errors of all directions together that may wait for the end of their connections: some 6 MiB.
Beyond it, a connection that has one more only counts its own."""


class Checks:
    """Takes the events of the stream core, gives the errors above MPA that they show."""

    __slots__ = ("_connections", "_doubtful", "_outstanding", "_waiting")

    def __init__(self) -> None:
        self._connections: dict[ConnectionId, ConnectionChecks] = {}
        self._waiting = 0
        """Segments of all directions that wait."""
        self._outstanding = 0
        """Atomic Requests of all directions that are not answered."""
        self._doubtful = 0
        """Errors of all directions that wait for the end of their connections."""

    def take(self, event: Event) -> list[Event]:
        """Take an event; return it with the errors that it shows.

        They come behind it, but the event of a connection's end is the last, and counts them.
        FPDUs with a bad CRC show nothing.
        """
        connections = self._connections
        connection = connections.get(event.connection)
        if connection is None:
            connection = connections[event.connection] = ConnectionChecks()
        before, unanswered = connection.waiting, connection.outstanding
        doubtful = connection.doubtful
        if isinstance(event, CARRIERS):
            if event.carries_rdmap:
                connection.take_segment(event)
                if self._waiting + connection.waiting - before > WAITING_IN_TOTAL:
                    connection.flush()
                if self._outstanding + connection.outstanding - unanswered > OUTSTANDING_IN_TOTAL:
                    connection.forget_requests()
                if self._doubtful + connection.doubtful - doubtful > DOUBTFUL_IN_TOTAL:
                    connection.only_count()
        elif isinstance(event, StartupSeen):
            connection.halves[event.direction].has_begun = True
            connection.take_startup(event)
        elif isinstance(event, SessionControlSeen):
            connection.halves[event.direction].has_begun = True
            startup = _as_startup(event)
            if startup is not None:
                connection.take_startup(startup)
        elif isinstance(event, GapFound):
            connection.take_gap(event)
        elif isinstance(event, ConnectionEnded):
            del connections[event.connection]
            connection.finish(event.connection)
            self._waiting -= before
            self._outstanding -= unanswered
            self._doubtful -= doubtful
            errors = event.errors + connection.errors
            negotiated = event.negotiated
            if negotiated is not None and connection.broken:
                broken = (*negotiated.broken, *connection.broken)
                negotiated = negotiated._replace(kept=False, broken=broken)
            return [*connection.found, event._replace(errors=errors, negotiated=negotiated)]
        self._waiting += connection.waiting - before
        self._outstanding += connection.outstanding - unanswered
        self._doubtful += connection.doubtful - doubtful
        if not connection.found:
            return [event]
        found: list[Event] = [event, *connection.found]
        connection.found = []
        return found


def _as_startup(event: SessionControlSeen) -> StartupSeen | None:
    """Return an enhanced session control message as the startup frame that it is equivalent to.

    What RFC 6581 9 says of IRD, ORD and RTR goes for both; None if the message is not enhanced.
    """
    if event.control.function_code not in ENHANCED_FUNCTIONS:
        return None
    return StartupSeen(
        event.connection,
        event.direction,
        event.frame,
        event.time_ns,
        event.seq,
        event.octets,
        event.frames,
        event.control.startup,
        event.dialect,
    )
