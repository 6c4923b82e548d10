# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections and associations that are over: kept for a while, for segments that come late."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from scapy_mpa.stream.segment import BEFORE_ALL_NS, SECOND

LINGER_NS: Final = 30 * SECOND
"""Nanoseconds for which a connection that is over still takes late copies."""

LINGERING_CONNECTIONS: Final = 1024
"""Connections that linger at a time, at most.  The oldest is dropped first."""

_Connection = TypeVar("_Connection")


class Lingering(Generic[_Connection]):
    """Connections, or SCTP associations, that are over, in the order of their ends.

    The time of the capture is the latest time seen here.  If there are several clocks, this is the
    time of the one that is ahead.
    """

    def __init__(self) -> None:
        self._until: OrderedDict[_Connection, int] = OrderedDict()
        """The time at which each connection expires."""
        self._latest_ns = BEFORE_ALL_NS

    def add(self, connection: _Connection, time_ns: int) -> None:
        """Add a connection that is over.

        :param time_ns: capture time of its end.
        """
        self._latest_ns = max(self._latest_ns, time_ns)
        self._until[connection] = self._latest_ns + LINGER_NS

    def discard(self, connection: _Connection) -> None:
        """Forget a connection, if it lingers."""
        self._until.pop(connection, None)

    def advance(self, time_ns: int) -> Iterator[_Connection]:
        """Take the time of a segment; yield the connections that have expired.

        The caller must discard each before it asks for the next.

        :param time_ns: capture time of the segment.
        """
        self._latest_ns = max(self._latest_ns, time_ns)
        while self._until:
            connection, until_ns = next(iter(self._until.items()))
            if until_ns >= time_ns:
                return
            yield connection

    def surplus(self) -> Iterator[_Connection]:
        """Yield the connections that are too many; the caller must discard each, too."""
        while len(self._until) > LINGERING_CONNECTIONS:
            yield next(iter(self._until))
