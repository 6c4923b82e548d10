# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments that send octets again, at other boundaries than before."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from scapy_mpa.craft.given import flag, number, share
from scapy_mpa.craft.impairments.base import WORD, refuse_sctp
from scapy_mpa.craft.segment import Segment

_COMPLEMENT: Final = bytes(range(256))[::-1]
"""Gives every octet another value."""

_MOST_OCTETS: Final = 65495 - 40
"""Octets that always fit an IPv4 datagram, even with TCP options."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Segments begin with the last octets of the segment before (RFC 5044 A.3).

    :raises LocalProtocolError: a value is out of range; when called with packets of SCTP.
    """

    rate: float
    """The share of segments that overlap, 0 to 1; only segments that follow another one count."""
    differing: bool = False
    """Each repeated octet differs from the one sent first."""
    reach: int = 1460
    """The most octets that are sent again, from 1."""

    def __post_init__(self) -> None:
        share("a rate", self.rate)
        number("an overlap", self.reach, 1, _MOST_OCTETS)
        flag("differing", self.differing)

    def __call__(self, segments: list[Segment], rng: random.Random) -> list[Segment]:
        refuse_sctp("an overlap of segments", segments)
        out = []
        last: list[Segment | None] = [None, None]
        for segment in segments:
            before = last[segment.side]
            if segment.octets:
                last[segment.side] = segment
                if before is not None and _follows(segment, before) and rng.random() < self.rate:
                    room = _MOST_OCTETS - len(segment.octets)
                    segment = self._extended(segment, before.octets[-self.reach :], room, rng)
            out.append(segment)
        return out

    def _extended(self, segment: Segment, before: bytes, room: int, rng: random.Random) -> Segment:
        """Return a segment that begins with some of the octets before it.

        :param room: the most octets that can be added.
        """
        if room < 1:
            return segment
        back = rng.randint(1, min(room, len(before)))
        again = before[-back:]
        if self.differing:
            again = again.translate(_COMPLEMENT)
        return replace(segment, seq=segment.seq - back & WORD, octets=again + segment.octets)


def _follows(segment: Segment, before: Segment) -> bool:
    """Return whether a segment begins where the segment before ends, and neither was cut."""
    end = before.seq + len(before.octets) & WORD
    return segment.captured is before.captured is None and segment.seq == end
