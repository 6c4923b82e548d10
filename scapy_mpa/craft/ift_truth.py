# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation of iWARP Framing for TCP.

As in :mod:`scapy_mpa.craft.truth`, keys that the script does not determine are left out.  If
segments are impaired, or anything in the script is wrong, it is unknown when and how a frame is
found.  If anything is wrong, all counts are unknown, too.  Frames are reported if both indications
are right, and the sizes of the frame.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from scapy_mpa.craft.captured import Captured, captured_items, captured_streams
from scapy_mpa.craft.ift_assemble import AssembledFrame
from scapy_mpa.craft.layout import Placed, detail_of
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.script import IndicationItem
from scapy_mpa.craft.truth_connection import (
    COUNTED,
    NEGOTIATED,
    UNTIMED,
    connection_record,
    end_by_segments,
    half_summary,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import (
    VERDICTS,
    Found,
    Setting,
    event_head,
    side_of,
    without,
)
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events import AdaptionIndicationSeen, IFTFrameRecovered
from scapy_mpa.stream.events.carrier import LocatedBy
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_negotiation import Agreement, negotiate


def ift_truth_of(placed: list[Placed], setting: Setting) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    There are no ``message`` records if anything is wrong or missing.
    """
    streams = captured_streams(setting.segments, setting.isns)
    pieces = captured_items(placed, streams)
    whole = [each for each in pieces if each.fate == "whole"]
    is_all = len(whole) == len(pieces) and all(each.syn_at is not None for each in streams)
    agreement = _agreement(whole)
    found = _found(whole, setting.options)
    is_sure = agreement is not None and all(each.is_sure for each in found)
    is_sure = is_sure and (is_all or not setting.is_impaired)
    has_messages = setting.messages and is_sure and agreement is not None and agreement.rdma
    delivered, unanswered = message_records(found if has_messages else [], setting)
    records: list[tuple[int, Record]] = []
    for each in found:
        if is_sure or _is_reported(each, agreement):
            own = [_record(each, agreement, setting, is_timed=is_sure and not setting.is_impaired)]
            own += [delivered[each.placed.number]] if each.placed.number in delivered else []
            records += [(each.place, record) for record in own]
    records.sort(key=itemgetter(0))
    reported = [record for _, record in records]
    if setting.is_impaired and not is_all:
        return reported
    unknown = UNTIMED if setting.is_impaired else frozenset()
    if not is_sure:
        unknown |= NEGOTIATED | COUNTED | {"initiator", "responder"}
    return [
        *reported,
        without(_connection(found, placed, agreement, setting), unknown),
        *unanswered,
    ]


def _agreement(pieces: Iterable[Captured]) -> Agreement | None:
    """Return what the indications of both sides agree on; None if one is missing or wrong."""
    items = [each.placed.item for each in pieces]
    seen = [item for item in items if isinstance(item, IndicationItem)]
    if [item.indication.ph for item in seen] != [False, True] or any(
        item.indication.problems() for item in seen
    ):
        return None
    agreement = negotiate(*(item.indication for item in sorted(seen, key=lambda item: item.side)))
    return None if agreement.failures else agreement


def _found(pieces: Iterable[Captured], options: Options) -> list[Found]:
    """Return when and how each item is found, if all is right."""
    found = []
    located_by: list[LocatedBy] = ["start", "start"]
    full_at = 0
    for each in pieces:
        placed, item = each.placed, each.placed.item
        place = max(*each.frames, full_at)
        detail = detail_of(placed, options)
        if isinstance(item, IndicationItem):
            found.append(Found(placed, None, each.frames, place, True, None))
            full_at = place
        elif isinstance(detail, AssembledFrame):
            side = side_of(placed)
            how = located_by[side]
            found.append(Found(placed, detail, each.frames, place, detail.is_right, how))
            located_by[side] = "length"
        elif placed.offset is not None:
            # These are other octets between frames.
            found.append(Found(placed, None, each.frames, place, False, None))
    return found


def _is_reported(found: Found, agreement: Agreement | None) -> bool:
    """Return whether an item is reported even if others are wrong or missing.

    That is a frame that ends where its sizes say, or an indication.  A single indication is
    reported if its direction begins with it.
    """
    frame, item = found.detail, found.placed.item
    if isinstance(frame, AssembledFrame):
        return agreement is not None and frame.is_regular
    if not isinstance(item, IndicationItem):
        return False
    return agreement is not None or not (found.placed.start or item.indication.problems())


def _record(
    found: Found, agreement: Agreement | None, setting: Setting, *, is_timed: bool
) -> Record:
    """Return the record of an indication or a frame.

    :param is_timed: whether it is known when and how it is found.
    """
    frame, item, place = found.detail, found.placed.item, found.place if is_timed else None
    begin = *event_head(found.side), setting.seq(found)
    frames = setting.frames(found.frames)
    if isinstance(item, IndicationItem):
        seen = AdaptionIndicationSeen(*begin, b"", frames, item.indication)
        return setting.record(seen, place)
    assert isinstance(frame, AssembledFrame) and found.placed.offset is not None
    assert agreement is not None
    crcs = VERDICTS[frame.header_crc], VERDICTS[frame.payload_crc]
    recovered = IFTFrameRecovered(
        *(*begin, found.placed.offset, frame.header, frame.octets, agreement.rdma, *crcs),
        *(found.located_by or "start", False, frames),
    )
    hidden = () if is_timed else ("located_by", "out_of_order", "placed")
    return without(setting.record(recovered, place), hidden)


def _connection(
    found: list[Found], placed: list[Placed], agreement: Agreement | None, setting: Setting
) -> Record:
    """Return the record of the connection."""
    indications = [
        each.placed.item for each in found if isinstance(each.placed.item, IndicationItem)
    ]
    by = None
    if indications:
        by = next((each.side for each in indications if not each.indication.ph), INITIATOR)
    halves = []
    for side in (INITIATOR, RESPONDER):
        frames = sum(each.side == side and each.detail is not None for each in found)
        octets = sum(len(each.octets) for each in placed if each.octets and side_of(each) == side)
        crcs = None if agreement is None else agreement.directions[side].crcs
        halves.append(half_summary(False, frames, octets)._replace(crcs=crcs))
    return connection_record(
        setting,
        by,
        end=end_by_segments(setting, by),
        dialect=Dialect.DRAFT_IFT_01 if indications else None,
        halves=halves,
    )
