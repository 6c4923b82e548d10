# SPDX-License-Identifier: GPL-2.0-or-later
"""How long Responses took: the table of ``summary --timing``."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator
from math import ceil
from typing import Final

from scapy_mpa.cli.table import Column, table
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["Timing", "microseconds"]

_KINDS: Final = {Opcode.READ_RESPONSE: "Read", Opcode.ATOMIC_RESPONSE: "Atomic"}
_SHARES: Final = (0.5, 0.95, 0.99, 1)
_COLUMNS: Final = (
    Column("#", right=True),
    Column("Latency"),
    Column("Count", right=True),
    *(Column(heading, right=True) for heading in ("p50 us", "p95 us", "p99 us", "max us")),
    Column("a second", right=True),
)
_MOST: Final = 1 << 22
"""Latencies that are kept, 8 octets each; of more, those that come later do not count."""


class _Responses:
    """The Responses of one kind in one connection."""

    __slots__ = ("begin", "end", "latencies")

    def __init__(self, begin: int) -> None:
        self.latencies = array("Q")
        self.begin = self.end = begin
        """When the first and the last of them came, in nanoseconds."""


class Timing:
    """Takes messages, gives the latencies of RDMA Reads and Atomics by connection."""

    def __init__(self) -> None:
        self._kept = 0
        self._passed_over = 0
        self._found: dict[tuple[int, str], _Responses] = {}

    def take(self, messages: Iterable[MessageRecovered]) -> None:
        """Take messages."""
        for message in messages:
            latency = message.latency_ns
            if latency is None or message.opcode is None:
                continue
            if self._kept >= _MOST:
                self._passed_over += 1
                continue
            self._kept += 1
            key = message.connection.number, _KINDS[Opcode(message.opcode)]
            found = self._found.setdefault(key, _Responses(message.time_ns))
            found.latencies.append(latency)
            found.end = max(found.end, message.time_ns)

    def lines(self, connections: Container[int]) -> Iterator[str]:
        """Yield the lines of the table.

        :param connections: the numbers of those that are shown.
        """
        found = [each for each in sorted(self._found.items()) if each[0][0] in connections]
        if not found:
            yield "no Response whose Request was captured"
            return
        yield from table(_COLUMNS, [_row(*each) for each in found])
        if self._passed_over:
            yield f"{self._passed_over} Responses after the first {_MOST} do not count"


def _row(key: tuple[int, str], found: _Responses) -> list[str]:
    number, kind = key
    latencies = sorted(found.latencies)
    count = len(latencies)
    # The smallest latency that so many of them do not exceed.
    ranks = [latencies[ceil(share * count) - 1] for share in _SHARES]
    span = found.end - found.begin
    rate = f"{(count - 1) * SECOND / span:.0f}" if span else "-"
    return [str(number), kind, str(count), *map(microseconds, ranks), rate]


def microseconds(latency_ns: int) -> str:
    """Return nanoseconds as microseconds, with a digit after the point."""
    return f"{latency_ns / 1000:.1f}"
