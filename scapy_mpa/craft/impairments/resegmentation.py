# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts the streams of a conversation into other segments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

from scapy_mpa.craft.impairments.base import SPACING_NS, WORD, refuse_sctp
from scapy_mpa.craft.segment import Segment
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.tcp import FIN, PSH, RST, SYN

_TINY: Final = 8
_SUPER: Final = 65160
"""Octets of a segment merged by offload (GSO, GRO): 45 of 1448, which is what fits 64 KiB."""


@dataclass(frozen=True, slots=True)
class Resegmentation:
    """The octets of each turn are cut into other segments.

    A new segment has the time of the segment that had its first octet.

    :raises LocalProtocolError: the size is out of range; when called with packets of SCTP.
    """

    size: int | Literal["tiny", "super"]
    """Octets of each segment; ``tiny``: 1 to 8 at random; ``super``: as many as fit, as if segments
    were merged by offload."""

    def __post_init__(self) -> None:
        if self.size not in ("tiny", "super") and not (
            isinstance(self.size, int) and 1 <= self.size <= _SUPER
        ):
            raise LocalProtocolError(
                f"segments are tiny, super, or of 1 to {_SUPER} octets, not {quoted(self.size)}"
            )

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        refuse_sctp("a cut into other segments", segments)
        out: list[list[Segment]] = [[segment] for segment in segments]
        for run in _runs(segments):
            octets = b"".join(segments[index].octets for index in run)
            begin = at = 0
            for index in run:
                # The new segments that begin within this one take its place.
                upto = begin + len(segments[index].octets)
                made = []
                while at < upto:
                    piece = octets[at : at + self._next_size(rng)]
                    seq = segments[index].seq + at - begin & WORD
                    made.append(replace(segments[index], seq=seq, octets=piece))
                    at += len(piece)
                begin = upto
                out[index] = _spread(made, segments, index)
            _push(out, segments, run)
        return [segment for pieces in out for segment in pieces]

    def _next_size(self, rng: random.Random) -> int:
        if isinstance(self.size, int):
            return self.size
        return rng.randint(1, _TINY) if self.size == "tiny" else _SUPER


def _runs(segments: list[Segment]) -> Iterator[list[int]]:
    """Yield the indices of adjacent segments of a side, turn by turn."""
    run: list[int] = []
    end: tuple[int, int] | None = None
    for index, segment in enumerate(segments):
        is_plain = not segment.flags & (SYN | FIN | RST) and segment.captured is None
        if is_plain and not segment.octets:
            continue
        if run and not (is_plain and (segment.side, segment.seq) == end):
            yield run
            run = []
        if is_plain:
            run.append(index)
            end = segment.side, segment.seq + len(segment.octets) & WORD
    if run:
        yield run


def _spread(pieces: list[Segment], segments: list[Segment], index: int) -> list[Segment]:
    """Return the pieces that replace a segment, at times one after the other."""
    if len(pieces) < 2:
        return pieces
    begin = segments[index].time_ns
    if index + 1 < len(segments):
        step = (segments[index + 1].time_ns - begin) // len(pieces)
    else:
        step = SPACING_NS
    step = min(step, SPACING_NS)
    return [replace(each, time_ns=begin + at * step) for at, each in enumerate(pieces)]


def _push(out: list[list[Segment]], segments: list[Segment], run: list[int]) -> None:
    """Set PSH in the last segment of a turn only, if it had PSH (RFC 9293 3.9.1.2)."""
    for index in run:
        out[index] = [replace(each, flags=each.flags & ~PSH) for each in out[index]]
    last = max(index for index in run if out[index])
    pushes = segments[run[-1]].flags & PSH
    out[last][-1] = replace(out[last][-1], flags=out[last][-1].flags | pushes)
