# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``connection`` record of a conversation, if nothing is wrong or missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

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


def _ending(segments: Iterable[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    ends = {each.side for each in segments if each.flags & FIN}
    if len(ends) < 2 and any(each.flags & RST for each in segments):
        return "reset"
    return _ENDINGS[len(ends)]


def connection_of(found: Sequence[Found], setting: Setting) -> Record:
    """Return the record of a connection, without the keys that a dissector must derive.

    :param found: all items with octets.
    """
    options = setting.options
    items = [each.placed.item for each in found]
    startups = [startup_frame(item, options) for item in items if isinstance(item, StartupItem)]
    exchanged = [each for each in startups if each.kind is not StartupKind.RTR]
    last = exchanged[-1] if exchanged else None
    sides = [item.side for item in items if isinstance(item, FPDUItem)]
    is_accepted = last is not None and last.kind is StartupKind.REPLY and not last.rejected
    octets = Counter[int]()
    for each in found:
        octets[each.side] += len(each.placed.octets)

    def half(side: int) -> HalfSummary:
        markers = options.has_markers(side) if sides or is_accepted else None
        return HalfSummary(markers, sides.count(side), octets[side], 0, 0, 0, 0, 0)

    initiator, responder = setting.endpoints if startups else (None, None)
    event = ConnectionEnded(
        *event_head(INITIATOR),
        initiator,
        responder,
        # Only the Rtr Frame shows the dialect with Rtr Frames.
        dialect=dialect_in_force(startups[-1], options.dialect) if startups else None,
        revision=None if last is None else last.revision,
        crc=options.has_crcs if startups else None,
        rejected=last is not None and last.rejected,
        halves=(half(INITIATOR), half(RESPONDER)),
        errors=0,
        ending=_ending(setting.segments),
    )
    record = setting.record(event, len(setting.segments))
    return {key: record[key] for key in record if key not in _DERIVED}
