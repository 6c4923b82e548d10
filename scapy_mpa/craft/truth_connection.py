# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``connection`` record of a conversation, if nothing is wrong or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from scapy_mpa.craft.layout import startup_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.truth_found import Found
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import TIMING_KEYS, Record
from scapy_mpa.stream.events import ConnectionEnded, HalfSummary
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.stream.segment import FIN, RST
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.startup import StartupKind

_AGREED: Final = ("peer_to_peer", "ird", "ord", "rtr_agreed", "rtr", "kept", "broken")
_DERIVED: Final = frozenset({*TIMING_KEYS, *_AGREED, "end", "rnics"})
"""The keys that a dissector must derive: durations, what was agreed, who ended the connection, and
which RNICs may be its ends."""
_ENDINGS: Final[tuple[Ending, ...]] = ("capture ended", "half closed", "closed")


def ending(segments: Iterable[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    ends = {each.side for each in segments if each.flags & FIN}
    if len(ends) < 2 and any(each.flags & RST for each in segments):
        return "reset"
    return _ENDINGS[len(ends)]


def half_summary(markers: bool | None, fpdus: int, octets: int) -> HalfSummary:
    """Return the summary of a direction in which nothing is wrong, missing or repeated."""
    return HalfSummary(markers, fpdus, octets, 0, 0, 0, 0, 0)


def connection_record(
    setting: Setting, by: int | None, ended: Ending, place: int | None = None, **fields: Any
) -> Record:
    """Return the record of a connection, without the keys that a dissector must derive.

    :param by: the side that is the Initiator; None: it is not known.
    :param ended: how it ended.
    :param place: number of the segment that ends the connection, from 1; None: the last one.
    :param fields: other fields of :class:`~scapy_mpa.stream.events.ConnectionEnded`.
    """
    known: dict[str, Any] = {"revision": None, "crc": None, "rejected": False, "errors": 0}
    known |= {"ending": ended, **fields}
    ends = (None, None) if by is None else (setting.endpoints[by], setting.endpoints[1 - by])
    event = ConnectionEnded(*event_head(by or INITIATOR), *ends, **known)
    record = setting.record(event, place or len(setting.segments))
    return {key: record[key] for key in record if key not in _DERIVED}


def connection_of(found: Sequence[Found], setting: Setting) -> Record:
    """Return the record of an MPA connection.

    :param found: all items with octets.
    """
    options = setting.options
    items = [each.placed.item for each in found]
    startups = [startup_frame(item, options) for item in items if isinstance(item, StartupItem)]
    exchanged = [each for each in startups if each.kind is not StartupKind.RTR]
    last = exchanged[-1] if exchanged else None
    sides = [item.side for item in items if isinstance(item, FPDUItem)]
    is_accepted = last is not None and last.kind is StartupKind.REPLY and not last.rejected
    octets = sent_octets(found)
    halves = tuple(
        half_summary(
            options.has_markers(side) if sides or is_accepted else None,
            sides.count(side),
            octets[side],
        )
        for side in (INITIATOR, RESPONDER)
    )
    return connection_record(
        setting,
        INITIATOR if startups else None,
        ending(setting.segments),
        # Only the Rtr Frame shows the dialect with Rtr Frames.
        dialect=dialect_in_force(startups[-1], options.dialect) if startups else None,
        revision=None if last is None else last.revision,
        crc=options.has_crcs if startups else None,
        rejected=last is not None and last.rejected,
        halves=halves,
    )


def sent_octets(found: Iterable[Found]) -> Counter[int]:
    """Return how many octets each side has sent."""
    octets = Counter[int]()
    for each in found:
        octets[each.side] += len(each.placed.octets)
    return octets
