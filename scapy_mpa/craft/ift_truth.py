# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation of iWARP Framing for TCP.

As in :mod:`scapy_mpa.craft.truth`, there are all records only if nothing is wrong or missing.
Frames are read in order, so there are none after one that is wrong or missing.  Without both
indications there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import FrameItem, IndicationItem
from scapy_mpa.craft.truth_connection import (
    connection_record,
    ending,
    half_summary,
    sent_octets,
)
from scapy_mpa.craft.truth_found import Found, found_in
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import Record, RecordedEvent
from scapy_mpa.stream.events import AdaptionIndicationSeen, IFTFrameRecovered
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_frame import parse_frame_header
from scapy_mpa.wire.ift_negotiation import Agreement, negotiate


def ift_truth_of(placed: list[Placed], setting: Setting) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector."""
    found, setting = found_in(placed, setting)
    agreement = _agreement(found)
    if agreement is None:
        return []
    kept = [each for each in found if isinstance(each.placed.item, IndicationItem | FrameItem)]
    if not setting.is_exact:
        before = _before_first_fault(placed, found)
        return [_record(each, agreement, setting) for each in kept if each.placed.number in before]
    delivered, unanswered = message_records(found if agreement.rdma else [], setting)
    records: list[tuple[int, Record]] = []
    for each in kept:
        records.append((each.place, _record(each, agreement, setting)))
        if each.placed.number in delivered:
            records.append((each.place, delivered[each.placed.number]))
    records.sort(key=itemgetter(0))
    reported = [record for _, record in records]
    return [*reported, _connection(found, agreement, setting), *unanswered]


def _before_first_fault(placed: list[Placed], found: list[Found]) -> set[int]:
    """Return the numbers of the items before the first one of their side that was not found."""
    numbers = {each.placed.number for each in found}
    before: set[int] = set()
    broken: set[int] = set()
    for each in placed:
        side = getattr(each.item, "side", INITIATOR)
        if each.octets and each.number not in numbers:
            broken.add(side)
        elif side not in broken:
            before.add(each.number)
    return before


def _agreement(found: Iterable[Found]) -> Agreement | None:
    """Return what the indications of both sides agree on; None if there are not both."""
    items = [each.placed.item for each in found]
    seen = [item for item in items if isinstance(item, IndicationItem)]
    if [item.indication.ph for item in seen] != [False, True]:
        return None
    agreement = negotiate(*(item.indication for item in sorted(seen, key=lambda item: item.side)))
    return None if agreement.failures else agreement


def _record(found: Found, agreement: Agreement, setting: Setting) -> Record:
    """Return the record of an indication or a frame."""
    placed, item = found.placed, found.placed.item
    begin = *event_head(found.side), setting.number(found.side, placed.start)
    frames = setting.frames(found.frames)
    event: RecordedEvent
    if isinstance(item, IndicationItem):
        event = AdaptionIndicationSeen(*begin, b"", frames, item.indication)
    else:
        assert placed.offset is not None
        own = setting.options.announced[found.side]
        event = IFTFrameRecovered(
            *(*begin, placed.offset, parse_frame_header(placed.octets), placed.octets),
            *(agreement.rdma, "good" if own.hc else "off", "good" if own.pc else "off"),
            *(found.located_by, False, frames),
        )
    return setting.record(event, found.place)


def _connection(found: list[Found], agreement: Agreement, setting: Setting) -> Record:
    """Return the record of the connection."""
    items = [each.placed.item for each in found]
    frames = [item.side for item in items if isinstance(item, FrameItem)]
    octets = sent_octets(found)
    # The first indication has phase 0.
    by = next(item.side for item in items if isinstance(item, IndicationItem))
    halves = [
        half_summary(False, frames.count(side), octets[side])._replace(
            crcs=agreement.directions[side].crcs
        )
        for side in (INITIATOR, RESPONDER)
    ]
    return connection_record(
        setting,
        by,
        ending(setting.segments),
        dialect=Dialect.DRAFT_IFT_01,
        halves=halves,
    )
