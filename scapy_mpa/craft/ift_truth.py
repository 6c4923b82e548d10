# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation of iWARP Framing for TCP.

The rules are those of :mod:`scapy_mpa.craft.truth`: what the script alone does not say is left out.
Of impaired segments that is ``placed``, too, as it depends on what came when;
after a frame whose sizes lie, or whose CRCs are wrong, all that depends on how the next is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from scapy_mpa.craft.captured import Captured, captured_items, captured_streams
from scapy_mpa.craft.ift_assemble import AssembledFrame
from scapy_mpa.craft.layout import Placed, assembled_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.script import FrameItem, IndicationItem
from scapy_mpa.craft.truth_connection import (
    COUNTED,
    NEGOTIATED,
    connection_record,
    end_by_segments,
    half_summary,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import (
    VERDICTS,
    Found,
    Setting,
    begun_by,
    ending,
    side_of,
    without,
)
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events import AdaptionIndicationSeen, IFTFrameRecovered
from scapy_mpa.stream.events.carrier import LocatedBy
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.ift_negotiation import Agreement, negotiate

__all__ = ["ift_truth_of"]


def ift_truth_of(
    placed: list[Placed], setting: Setting, *, is_impaired: bool, messages: bool
) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    :param is_impaired: whether the segments are other than the conversation's own.
    :param messages: with ``message`` records, unless something is hidden or impaired.
    """
    pieces = captured_items(placed, captured_streams(setting.segments, setting.isns))
    agreement = _agreement(pieces)
    if is_impaired:
        return list(_impaired(pieces, agreement, setting))
    found = _found(pieces, setting.options)
    is_sure = agreement is not None and not any(
        not each.is_sure or _is_doubtful(each.detail) for each in found
    )
    told: dict[int, Record] = {}
    untold: list[Record] = []
    is_rdma = agreement is not None and bool(agreement.rdma)
    if messages and is_sure and is_rdma and not any(_faults_of(each, agreement) for each in found):
        told, untold = message_records(found, setting)
    records: list[tuple[int, Record]] = []
    indications: list[AdaptionIndication] = []
    for each in found:
        own = _records(each, agreement, setting)
        if isinstance(each.placed.item, IndicationItem):
            indications.append(each.placed.item.indication)
            failures = negotiate(*indications).failures if len(indications) == 2 else ()
            own += [{**setting.error(each, each.place), "text": str(why)} for why in failures]
        if each.placed.number in told:
            own.insert(1, told[each.placed.number])
        records += [(each.place or 0, record) for record in own]
    records.sort(key=itemgetter(0))
    errors = sum(record["type"] == "error" for _, record in records)
    over = _connection(found, placed, agreement, setting, errors)
    over = over if is_sure else without(over, NEGOTIATED | COUNTED)
    return [*(record for _, record in records), over, *untold]


def _agreement(pieces: Iterable[Captured]) -> Agreement | None:
    """Return what the indications of Initiator and Responder come to, None if one is missing."""
    seen: dict[int, AdaptionIndication] = {}
    for each in pieces:
        item = each.placed.item
        if isinstance(item, IndicationItem):
            seen.setdefault(item.side, item.indication)
    return negotiate(seen[INITIATOR], seen[RESPONDER]) if len(seen) == 2 else None


def _has_markers(agreement: Agreement | None, side: int) -> bool:
    return agreement is not None and agreement.directions[side].markers


def _found(pieces: Iterable[Captured], options: Options) -> list[Found]:
    """Return when and how each item is found, if nothing was impaired."""
    found = []
    is_sure = [True, True]
    behind: list[LocatedBy] = ["start", "start"]
    full_at = 0
    for each in pieces:
        placed, item = each.placed, each.placed.item
        side = side_of(placed)
        place = max(*each.frames, full_at)
        if isinstance(item, IndicationItem):
            found.append(Found(placed, None, each.frames, place, True, None))
            full_at = place
        elif isinstance(item, FrameItem):
            frame = assembled_frame(placed, options)
            is_sure[side] &= frame.is_regular
            found.append(Found(placed, frame, each.frames, place, is_sure[side], behind[side]))
            is_sure[side] &= not _is_doubtful(frame)
            behind[side] = "length"
        elif placed.offset is not None:
            is_sure[side] = False
    return found


def _is_doubtful(frame: object) -> bool:
    """Tell whether what lies after a frame must be looked for."""
    if not isinstance(frame, AssembledFrame):
        return False
    if frame.header_crc is not None:
        return not frame.header_crc
    return frame.payload_crc is False or not (frame.vtag_fits and frame.size_fits)


def _faults_of(found: Found, agreement: Agreement | None) -> int:
    """Return how many CRCs of a frame are wrong of those that its receiver checks (4.2)."""
    frame = found.detail
    if not isinstance(frame, AssembledFrame):
        return 0
    ignored = "" if agreement is None else agreement.directions[found.side].ignored
    return (frame.header_crc is False and "h" not in ignored) + (
        frame.payload_crc is False and "p" not in ignored
    )


def _records(found: Found, agreement: Agreement | None, setting: Setting) -> list[Record]:
    """Return what there is to say of an indication or a frame: itself, and what is wrong."""
    frame, item, place = found.detail, found.placed.item, found.place if found.is_sure else None
    if isinstance(item, IndicationItem):
        seen = AdaptionIndicationSeen(
            *begun_by(found.side),
            setting.seq(found),
            b"",
            setting.frames(found.frames),
            item.indication,
        )
        wrong = item.indication.problems()
        error = setting.error(found, place)
        return [setting.record(seen, place), *({**error, "text": str(each)} for each in wrong)]
    assert isinstance(frame, AssembledFrame) and found.placed.offset is not None
    if not frame.is_regular or _has_markers(agreement, found.side):
        return []
    recovered = IFTFrameRecovered(
        *begun_by(found.side),
        setting.seq(found),
        found.placed.offset,
        frame.header,
        frame.octets,
        None if agreement is None else agreement.rdma,
        VERDICTS[frame.header_crc],
        VERDICTS[frame.payload_crc],
        found.located_by or "start",
        False,
        setting.frames(found.frames),
    )
    hidden = () if found.is_sure else ("located_by", "out_of_order", "placed")
    faults = _faults_of(found, agreement) + (not frame.vtag_fits) + (not frame.size_fits)
    record = without(setting.record(recovered, place), hidden)
    return [record, *[setting.error(found, place)] * faults]


def _impaired(
    pieces: list[Captured], agreement: Agreement | None, setting: Setting
) -> Iterable[Record]:
    """Yield what there is to say of items that are whole, whenever they are found.

    Without both indications nothing is sure.
    """
    indications = [each for each in pieces if isinstance(each.placed.item, IndicationItem)]
    if len(indications) < 2 or any(each.fate != "whole" for each in indications):
        return
    for each in _found([each for each in pieces if each.fate == "whole"], setting.options):
        yield from _records(each._replace(is_sure=False), agreement, setting)[:1]


def _connection(
    found: list[Found],
    placed: list[Placed],
    agreement: Agreement | None,
    setting: Setting,
    errors: int,
) -> Record:
    """Return the last record."""
    indications = [
        each.placed.item for each in found if isinstance(each.placed.item, IndicationItem)
    ]
    by = next((each.side for each in indications if not each.indication.ph), INITIATOR)
    halves = []
    for side in (INITIATOR, RESPONDER):
        has_markers = _has_markers(agreement, side)
        own = [each.detail for each in found if each.side == side and not has_markers]
        frames = [each for each in own if isinstance(each, AssembledFrame)]
        bad = sum(False in (each.header_crc, each.payload_crc) for each in frames)
        octets = sum(len(each.octets) for each in placed if each.octets and side_of(each) == side)
        half = half_summary(has_markers, len(frames), octets, bad)
        halves.append(
            half._replace(crcs=None if agreement is None else agreement.directions[side].crcs)
        )
    return connection_record(
        setting,
        len(setting.segments),
        by if indications else None,
        ending(setting.segments),
        end=end_by_segments(setting, by if indications else None),
        dialect=Dialect.DRAFT_IFT_01 if indications else None,
        halves=halves,
        errors=errors,
    )
