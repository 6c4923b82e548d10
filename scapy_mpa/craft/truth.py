# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation.

They are made from the script and the layout alone, never from the output of a dissector.  Names and
order of keys are those of :mod:`scapy_mpa.records`.

There are records of startup frames, FPDUs and messages.  If an item does not conform, or the
segments are not those of the conversation, there are only those of startup frames and FPDUs that
conform and were captured whole.  They lack the keys that depend on the order
and time of segments: ``frame``, ``time``, ``timestamp``,
``located_by``, ``out_of_order`` and ``offset``.  An item conforms if all its fields are computed.
Without a startup frame, a dissector may take a direction for something else, and report none of
these.
"""

from __future__ import annotations

from operator import attrgetter

from scapy_mpa.craft.layout import Placed, layout_of, startup_frame
from scapy_mpa.craft.script import FPDUItem, OctetsItem, StartupItem
from scapy_mpa.craft.truth_found import Found, found_in
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import Record, RecordedEvent
from scapy_mpa.stream.events import FPDURecovered, StartupSeen
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.fpdu import HEADER_LENGTH


def truth_of(placed: list[Placed], setting: Setting) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector."""
    found, setting = found_in(placed, setting)
    kept = [each for each in found if not isinstance(each.placed.item, OctetsItem)]
    if not setting.is_exact:
        kept.sort(key=lambda each: max(each.frames))
        return [_record(each, setting) for each in kept]
    delivered = message_records(kept, setting)
    records: list[Record] = []
    for each in sorted(kept, key=attrgetter("place")):
        records.append(_record(each, setting))
        if each.placed.number in delivered:
            records.append(delivered[each.placed.number])
    return records


def _record(found: Found, setting: Setting) -> Record:
    """Return the record of a startup frame or an FPDU."""
    item, (_, _, start, _, offset, phase) = found.placed.item, found.placed
    frames, options = setting.frames(found.frames), setting.options
    event: RecordedEvent
    if isinstance(item, StartupItem):
        startup = startup_frame(item, options)
        dialect = dialect_in_force(startup, options.dialect)
        seq = setting.number(found.side, start)
        event = StartupSeen(*event_head(found.side), seq, b"", frames, startup, dialect)
    else:
        assert isinstance(item, FPDUItem) and offset is not None
        layout = layout_of(item, phase, options)
        event = FPDURecovered(
            *event_head(found.side),
            setting.number(found.side, start + layout.header),
            offset + layout.header,
            len(item.ulpdu),
            bytes(HEADER_LENGTH) + item.ulpdu,
            None,
            len(layout.markers),
            "good" if options.has_crcs else "off",
            found.located_by,
            False,
            frames,
        )
    return setting.record(event, found.place)
