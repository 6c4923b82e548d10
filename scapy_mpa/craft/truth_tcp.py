# SPDX-License-Identifier: GPL-2.0-or-later
"""What a list of segments says by itself, whatever they carry: overlaps, gaps, how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from scapy_mpa.craft.captured import CapturedStream, first_followed
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.stream.segment import FIN, RST

__all__ = ["Gap", "ending", "gap_records", "gaps", "is_cut", "overlap_records"]

_ENDINGS: Final[tuple[Ending, ...]] = ("capture ended", "half closed", "closed")


class Gap(NamedTuple):
    """Octets of a side that were sent, as other segments show, and not captured."""

    start: int
    """Offset in what the side sends."""
    end: int | None
    """None: the acknowledgement that tells of them may count the FIN."""


def is_cut(segments: Sequence[Segment]) -> bool:
    """Tell whether a snap length has left less of any segment than it had."""
    return any(each.captured is not None and each.captured < len(each.octets) for each in segments)


def ending(segments: Sequence[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    followed = segments[first_followed(segments) :]
    if any(each.flags & RST for each in followed):
        return "reset"
    closed = {each.side for each in followed if each.flags & FIN}
    return _ENDINGS[len(closed)]


def gaps(stream: CapturedStream) -> list[Gap]:
    """Return what is missing of a direction."""
    found = [Gap(*hole) for hole in stream.holes()]
    end = stream.end
    if end is None:
        return []
    if stream.fin is not None:
        return [*found, Gap(end, stream.fin)] if stream.fin > end else found
    # One octet more than was captured may be the FIN.
    return [*found, Gap(end, None)] if stream.acknowledged > end + 1 else found


def gap_records(streams: tuple[CapturedStream, CapturedStream], setting: Setting) -> list[Record]:
    """Return the ``gap`` records, without what depends on when and why a hole is given up."""
    records = []
    for side, stream in enumerate(streams):
        for start, end in gaps(stream):
            record = {**setting.head("gap", side, None), "seq": setting.number(side, start)}
            if end is not None:
                record["length"] = end - start
            records.append(record)
    return records


def overlap_records(
    streams: tuple[CapturedStream, CapturedStream], setting: Setting
) -> list[tuple[int, Record]]:
    """Return the ``overlap`` records, each after the place of the segment that shows it."""
    return [
        (
            place,
            {
                **setting.head("overlap", side, place),
                "seq": setting.number(side, start),
                "length": end - start,
            },
        )
        for side, stream in enumerate(streams)
        for start, end, place in stream.differences
    ]
