# SPDX-License-Identifier: GPL-2.0-or-later
"""Find errors that a receiver above MPA must report: events in, errors out.

The rules are those of RFC 5041 7.1, RFC 5040 7.2, RFC 7306 8.2 and RFC 6581 9.  Rules for a single
segment are checked when it is recovered, as a Data Sink does before Placement.  Rules for the order
of segments are checked in the order of the stream.
"""

from __future__ import annotations

from typing import Any

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.delivery.connection_checks import ConnectionChecks
from scapy_mpa.stream.delivery.held import HELD_IN_TOTAL
from scapy_mpa.stream.delivery.segment import segment_of
from scapy_mpa.stream.events import (
    ConnectionEnded,
    ConnectionId,
    GapFound,
    SctpConnectionId,
    SessionControlSeen,
    StartupSeen,
)
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.sctp_ddp import ENHANCED_FUNCTIONS


class Checks:
    """Takes the events of the stream core, and adds the errors above MPA that they show."""

    __slots__ = ("_budget", "_connections")

    def __init__(self) -> None:
        self._connections: dict[ConnectionId, ConnectionChecks] = {}
        self._budget = Budget(Limits(octets_in_total=HELD_IN_TOTAL))

    def take(self, event: Any) -> list[Any]:
        """Take an event, or the row of an ordinary FPDU; return it with the errors that it shows.

        Errors come after the event.  Only the end of a connection comes after them, and counts
        them.  FPDUs with a bad CRC are not checked.
        """
        segment = segment_of(event)
        identity = event.connection if segment is None else segment.origin[0]
        connection = self._connections.get(identity)
        if connection is None:
            # Over TCP, the Reply decides on the version, or else the first segment.
            version = 1 if isinstance(identity, SctpConnectionId) else None
            connection = self._connections[identity] = ConnectionChecks(version=version)
        if segment is not None:
            connection.take_segment(segment)
        elif isinstance(event, StartupSeen):
            connection.halves[event.direction].has_begun = True
            connection.take_startup(event, event.startup)
        elif isinstance(event, SessionControlSeen):
            connection.halves[event.direction].has_begun = True
            # The rules of RFC 6581 9 for IRD, ORD and RTR hold for these, too.
            if event.control.function_code in ENHANCED_FUNCTIONS:
                connection.take_startup(event, event.control.startup)
        elif isinstance(event, GapFound):
            connection.halves[event.direction].is_whole = False
        elif isinstance(event, ConnectionEnded):
            return self._finish(event)
        self._budget.update(connection)
        if not connection.found:
            return [event]
        found = [event, *connection.found]
        connection.found = []
        return found

    def standing(self, event: ConnectionEnded) -> ConnectionEnded:
        """Return the summary of an open connection, with the errors found so far."""
        known = self._connections.get(event.connection)
        return event if known is None else event._replace(errors=event.errors + known.errors)

    def _finish(self, event: ConnectionEnded) -> list[Any]:
        """Return the errors that the end of a connection proves, then the end."""
        connection = self._connections.pop(event.connection)
        for half, summary in zip(connection.halves, event.halves, strict=True):
            half.is_whole = half.is_whole and not summary.may_lack_end
        connection.finish()
        self._budget.count(connection)
        errors = event.errors + connection.errors
        negotiated = event.negotiated
        if negotiated is not None and connection.broken:
            broken = (*negotiated.broken, *connection.broken)
            negotiated = negotiated._replace(kept=False, broken=broken)
        return [*connection.found, event._replace(errors=errors, negotiated=negotiated)]
