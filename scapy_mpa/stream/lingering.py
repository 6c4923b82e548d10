# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections and associations that are over: kept for a while, for segments that come late."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.segment import BEFORE_ALL_NS, SECOND

LINGER_NS: Final = 30 * SECOND
"""Nanoseconds for which a connection that is over still takes late copies."""

LINGERING_CONNECTIONS: Final = 1024
"""Connections that linger at a time, at most.  The oldest is dropped first."""

_WAIT_SEGMENTS: Final = LATE_SEGMENTS
"""Calls of :meth:`Lingering.advance` that must come before an incomplete connection expires.

Each captured interface may have its own clock.  The first segment with another clock looks like a
segment after a pause."""

_Connection = TypeVar("_Connection")


class Lingering(Generic[_Connection]):
    """Connections, or SCTP associations, that are over, in the order of their ends.

    The time of the capture is the latest time seen here.  If there are several clocks, this is the
    time of the one that is ahead.
    """

    __slots__ = ("_latest_ns", "_segments", "_until", "apart_ns")

    def __init__(self) -> None:
        self._until: OrderedDict[_Connection, tuple[int, int]] = OrderedDict()
        """The time at which each connection expires, and the segments that must come first."""
        self._latest_ns = BEFORE_ALL_NS
        self._segments = 0
        self.apart_ns = 0
        """The greatest step back in time so far, in nanoseconds: clocks differ by that much."""

    def add(self, connection: _Connection, time_ns: int, *, may_gain: bool) -> None:
        """Add a connection that is over.

        :param time_ns: capture time of its end.
        :param may_gain: whether missing octets of it may still come.
        """
        self._latest_ns = max(self._latest_ns, time_ns)
        enough = self._segments + (_WAIT_SEGMENTS if may_gain else 0)
        self._until[connection] = self._latest_ns + LINGER_NS, enough

    def refresh(self, connection: _Connection, time_ns: int) -> None:
        """Have a lingering connection start its time again, after another segment of it.

        :param time_ns: capture time of the segment.
        """
        _, enough = self._until.pop(connection)
        self._latest_ns = max(self._latest_ns, time_ns)
        self._until[connection] = self._latest_ns + LINGER_NS, enough

    def discard(self, connection: _Connection) -> None:
        """Forget a connection, if it lingers."""
        self._until.pop(connection, None)

    def exchange(self, connection: _Connection, new: _Connection) -> None:
        """Replace the object of a lingering connection by a new one."""
        self._until = OrderedDict(
            (new if known is connection else known, until) for known, until in self._until.items()
        )

    def has_expired(self, connection: _Connection, time_ns: int) -> bool:
        """Return whether a connection has expired when a segment of it comes.

        :param time_ns: capture time of the segment.
        """
        until_ns, enough = self._until.get(connection, (time_ns, 0))
        return until_ns < time_ns and enough <= self._segments

    def advance(self, time_ns: int) -> Iterator[_Connection]:
        """Count a segment of any connection; yield the connections that have expired.

        The caller must discard each before it asks for the next.

        :param time_ns: capture time of the segment.
        """
        self._segments += 1
        if time_ns >= self._latest_ns:
            self._latest_ns = time_ns
        else:
            self.apart_ns = max(self.apart_ns, self._latest_ns - time_ns)
        while self._until:
            connection, (until_ns, enough) = next(iter(self._until.items()))
            if not (until_ns < time_ns and enough <= self._segments):
                return
            yield connection

    def surplus(self) -> Iterator[_Connection]:
        """Yield the connections that are too many; the caller must discard each, too."""
        while len(self._until) > LINGERING_CONNECTIONS:
            yield next(iter(self._until))
