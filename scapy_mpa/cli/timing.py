# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of ``summary --timing``: how long Responses took."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from math import ceil
from typing import Final, TypeAlias

from scapy_mpa.cli.table import Column, Table
from scapy_mpa.cli.words import microseconds
from scapy_mpa.records.record import latency_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.shown import counted

_KINDS: Final[dict[int | None, str]] = {
    Opcode.READ_RESPONSE: "Read",
    Opcode.ATOMIC_RESPONSE: "Atomic",
}
_SHARES: Final = (0.5, 0.95, 0.99, 1)
_COLUMNS: Final = (
    Column("#", right=True),
    Column("By"),
    Column("Kind"),
    Column("Count", right=True),
    *(Column(heading, right=True) for heading in ("p50 us", "p95 us", "p99 us", "max us")),
    Column("Per s", right=True),
    Column("At once", right=True),
    Column("Open", right=True),
)
_SLOWEST: Final = (
    Column("#", right=True),
    Column("By"),
    Column("Latency us", right=True),
    Column("Frames", right=True),
    Column("Octets", right=True),
    Column("Response"),
    Column("Sink STag"),
    Column("Sink TO"),
)
_MOST: Final = 1 << 22
"""Responses that are kept, at most, with 48 octets each.  Later ones do not count."""
_VALUES: Final = 6
"""Numbers that are kept of a Response."""

_Key: TypeAlias = tuple[int, str, str]
"""The number of a connection, the side that sent the Requests, and their kind."""


@dataclass(slots=True, eq=False)
class _Responses:
    """The Responses of one kind to one side of a connection."""

    values: array[int] = field(default_factory=lambda: array("Q"))
    """Of each Response: its latency in nanoseconds, the frame of its end, the frame of the Request,
    its octets, its STag or MSN, and its TO."""
    unanswered_from: array[int] = field(default_factory=lambda: array("Q"))
    """The frames of Requests whose Responses lack their end."""
    outstanding_to: array[int] = field(default_factory=lambda: array("Q"))
    """Of the first of these, the frames up to which they were surely outstanding.  The Response to
    a later Request has shown that they were answered."""
    last_response: int = 0
    """The frame of the last Response whose Request is known."""
    unanswered: int = 0
    """Number of these Requests, more than their frames if too many are kept."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of Responses that do not count, by the reason."""
    times: tuple[int, int] | None = None
    """When the first and the last Response came, in nanoseconds."""

    @property
    def peak(self) -> int:
        """The highest number of Requests outstanding at one time."""
        ends = sorted(self.values[1::_VALUES] + self.outstanding_to)
        begins = sorted(self.values[2::_VALUES] + self.unanswered_from)
        return max(
            (asked - bisect_left(ends, frame) for asked, frame in enumerate(begins, 1)), default=0
        )


class Timing:
    """Takes messages, and prints the latencies of RDMA Reads and Atomics by connection.

    :param clock: clock of the capture.
    :param top: number of the slowest Responses to list.
    """

    def __init__(self, clock: Clock, top: int = 0) -> None:
        self._clock = clock
        self._top = top
        self._kept = 0
        self._found: dict[_Key, _Responses] = {}

    def take(self, messages: Iterable[MessageRecovered]) -> None:
        """Take messages."""
        for message in messages:
            kind = _KINDS.get(message.opcode)
            if kind is None:
                continue
            key = message.connection.number, _requester(message), kind
            found = self._found.get(key)
            if found is None:
                found = self._found[key] = _Responses()
            latency = latency_of(message, self._clock)
            if message.has_last and message.answers is not None:
                self._pass_over(key, message.captured or 0)
            if not isinstance(latency, str):
                self._add(found, message, latency)
            elif message.has_last or message.answers is None:
                found.left_out[latency] += 1
            else:
                found.unanswered += 1
                if self._kept < _MOST:
                    self._kept += 1
                    found.unanswered_from.append(message.request_frame or message.frame)

    def _pass_over(self, key: _Key, frame: int) -> None:
        """Take the frame of a Response: the Requests before its own were answered, too.

        Responses come in the order of the Requests, of both kinds (RFC 5040 5.2.2, RFC 7306 7).
        So a missing Response came after the Response before it.
        """
        for kind in _KINDS.values():
            found = self._found.get((*key[:2], kind))
            if found is not None:
                begins = found.unanswered_from[len(found.outstanding_to) :]
                found.outstanding_to.extend([max(begin, found.last_response) for begin in begins])
                found.last_response = frame

    def _add(self, found: _Responses, message: MessageRecovered, seconds: float) -> None:
        """Add a Response whose latency is known."""
        captured = message.captured
        assert captured is not None
        if self._kept >= _MOST:
            found.left_out[f"after the first {_MOST}"] += 1
            return
        self._kept += 1
        name = message.msn if message.stag is None else message.stag
        shown = message.request_frame, message.length, name, message.to
        found.values.extend([round(seconds * SECOND), captured, *(each or 0 for each in shown)])
        time_ns = self._clock.time_ns(captured) or message.time_ns
        begin, end = found.times or (time_ns, time_ns)
        found.times = min(begin, time_ns), max(end, time_ns)

    def lines(self, connections: Container[int]) -> Iterator[str]:
        """Yield the lines of the table.

        :param connections: numbers of the connections to show.
        """
        found = [each for each in sorted(self._found.items()) if each[0][0] in connections]
        if not found:
            yield "no Responses to RDMA Reads or Atomics"
            return
        yield from Table(_COLUMNS, [_row(*each) for each in found]).lines()
        left_out = sum((each.left_out for _, each in found), Counter[str]())
        for reason, count in left_out.most_common():
            yield f"not counted: {counted(count, 'Response')} {reason}"
        slowest = self._slowest(found)
        if slowest:
            yield ""
            yield from Table(_SLOWEST, slowest).lines()

    def _slowest(self, found: list[tuple[_Key, _Responses]]) -> list[str]:
        """Return the rows of the slowest Responses; of two equal ones, the first counts."""
        entries = (
            (key, each.values[at : at + _VALUES])
            for key, each in found
            for at in range(0, len(each.values), _VALUES)
        )
        slowest = nlargest(self._top, entries, key=lambda entry: (entry[1][0], -entry[1][1]))
        return [_slow_row(*entry) for entry in slowest]


def _requester(response: MessageRecovered) -> str:
    """Return the side that sent the Request; with a question mark if its role is not known."""
    initiator, side = response.connection.initiator, 1 - response.direction
    return "IR"[side != (initiator or 0)] + "?" * (initiator is None)


def _slow_row(key: _Key, values: array[int]) -> str:
    number, by, kind = key
    latency, end, request, octets, name, to = values
    place = f"0x{name:08x}\t0x{to:x}" if kind == "Read" else f"msn {name}\t"
    return f"{number}\t{by}\t{microseconds(latency)}\t{request}-{end}\t{octets}\t{kind}\t{place}"


def _row(key: _Key, found: _Responses) -> str:
    latencies = sorted(found.values[::_VALUES])
    count = len(latencies)
    # The smallest latency that this share of all latencies does not exceed.
    ranks = [latencies[ceil(share * count) - 1] if count else None for share in _SHARES]
    begin, end = found.times or (0, 0)
    rate = f"{(count - 1) * SECOND / (end - begin):.0f}" if end > begin else "-"
    shown = ["-" if each is None else microseconds(each) for each in ranks]
    return "\t".join(map(str, (*key, count, *shown, rate, found.peak, found.unanswered)))
