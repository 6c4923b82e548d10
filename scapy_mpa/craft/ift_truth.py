# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation of iWARP Framing for TCP.

The rules are those of :mod:`scapy_mpa.craft.truth`: what the script alone does not say is left out.
Of impaired segments that is ``placed``, too, as it depends on what came when;
behind a frame whose sizes lie, or whose CRCs are wrong, all that depends on how the next is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from scapy_mpa.craft.captured import Captured, captured_items, captured_streams
from scapy_mpa.craft.ift_assemble import AssembledFrame
from scapy_mpa.craft.layout import Placed, assembled_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import FrameItem, IndicationItem
from scapy_mpa.craft.truth import Found, Setting, ddp_record, side_of
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_tcp import ending
from scapy_mpa.records.record import Record, indication_fields, negotiation_fields
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_indication import AdaptionIndication, Problem
from scapy_mpa.wire.ift_negotiation import Agreement, negotiate

__all__ = ["ift_truth_of"]

_VERDICTS = {True: "good", False: "bad", None: "off"}


def ift_truth_of(
    placed: list[Placed], setting: Setting, *, is_impaired: bool, messages: bool
) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    :param is_impaired: whether the segments are other than the conversation's own.
    :param messages: with ``message`` records, unless something is hidden or impaired.
    """
    pieces = captured_items(placed, captured_streams(setting.segments, setting.isns))
    agreement = _agreement(each.placed for each in pieces)
    if is_impaired:
        return list(_impaired(pieces, agreement, setting))
    found = _found(pieces, setting)
    is_sure = all(each.is_sure for each in found) and agreement is not None
    is_sure &= not any(_is_doubtful(each, setting) for each in found)
    is_whole = not any(_faults_of(each, agreement, setting) for each in found)
    told: dict[int, Record] = {}
    untold: list[Record] = []
    if messages and is_sure and is_whole and agreement is not None and agreement.rdma:
        told, untold = message_records(found, setting)
    records: list[tuple[int, Record]] = []
    indications: list[AdaptionIndication] = []
    for each in found:
        item = each.placed.item
        if isinstance(item, IndicationItem):
            indications.append(item.indication)
            failures = negotiate(*indications).failures if len(indications) == 2 else ()
            own = _indication_records(each, item.indication, failures, setting)
        else:
            own = _frame_records(each, agreement, setting)
        if each.placed.number in told:
            own.insert(1, told[each.placed.number])
        records += [(each.place or 0, record) for record in own]
    records.sort(key=itemgetter(0))
    errors = sum(record["type"] == "error" for _, record in records)
    return [
        *(record for _, record in records),
        _connection(found, placed, setting, errors if is_sure else None),
        *untold,
    ]


def _agreement(placed: Iterable[Placed]) -> Agreement | None:
    """Return what the indications of Initiator and Responder come to, None if one is missing."""
    seen: dict[int, AdaptionIndication] = {}
    for each in placed:
        if isinstance(each.item, IndicationItem):
            seen.setdefault(each.item.side, each.item.indication)
    return negotiate(seen[INITIATOR], seen[RESPONDER]) if len(seen) == 2 else None


def _has_markers(agreement: Agreement | None, side: int) -> bool:
    return agreement is not None and agreement.directions[side].markers


def _found(pieces: Iterable[Captured], setting: Setting) -> list[Found]:
    """Return when and how each item is found, if nothing was impaired."""
    found = []
    is_sure = [True, True]
    behind = ["start", "start"]
    full_at = 0
    for each in pieces:
        placed, item = each.placed, each.placed.item
        side = side_of(placed)
        place = max(max(each.frames), full_at)
        if isinstance(item, IndicationItem):
            found.append(Found(placed, None, each.frames, place, True, ""))
            full_at = place
        elif isinstance(item, FrameItem):
            frame = assembled_frame(placed, setting.options)
            is_sure[side] &= frame.is_regular
            found.append(Found(placed, None, each.frames, place, is_sure[side], behind[side]))
            is_sure[side] &= not _is_doubtful(found[-1], setting)
            behind[side] = "length"
        elif placed.offset is not None:
            is_sure[side] = False
    return found


def _is_doubtful(found: Found, setting: Setting) -> bool:
    """Tell whether what lies behind a frame must be looked for."""
    if not isinstance(found.placed.item, FrameItem):
        return False
    frame = assembled_frame(found.placed, setting.options)
    if frame.header_crc is not None:
        return not frame.header_crc
    return frame.payload_crc is False or not (frame.vtag_fits and frame.size_fits)


def _faults_of(found: Found, agreement: Agreement | None, setting: Setting) -> int:
    """Return how many CRCs of a frame are wrong of those that its receiver checks (4.2)."""
    if not isinstance(found.placed.item, FrameItem):
        return 0
    frame = assembled_frame(found.placed, setting.options)
    ignored = "" if agreement is None else agreement.directions[side_of(found.placed)].ignored
    return (frame.header_crc is False and "h" not in ignored) + (
        frame.payload_crc is False and "p" not in ignored
    )


def _indication_records(
    found: Found,
    indication: AdaptionIndication,
    failures: Iterable[Problem],
    setting: Setting,
) -> list[Record]:
    """Return what there is to say of an indication: itself, and what is wrong."""
    side, seq = side_of(found.placed), setting.seq(found.placed)
    head = setting.head("adaption_indication", side, found.place)
    return [
        {**head, "seq": seq, **indication_fields(indication)},
        *(
            {
                **setting.head("error", side, found.place),
                "code": None,
                "seq": seq,
                "text": str(each),
            }
            for each in (*indication.problems(), *failures)
        ),
    ]


def _frame_records(found: Found, agreement: Agreement | None, setting: Setting) -> list[Record]:
    """Return what there is to say of a frame: itself, and what is wrong."""
    placed = found.placed
    side = side_of(placed)
    frame = assembled_frame(placed, setting.options)
    if not frame.is_regular or _has_markers(agreement, side):
        return []
    place = found.place if found.is_sure else None
    record = setting.head("ift_frame", side, place)
    record.update(_frame(placed, frame, found.frames, agreement, setting))
    if found.is_sure:
        record = _with_place(record, found.located_by)
    faults = _faults_of(found, agreement, setting)
    faults += (not frame.vtag_fits) + (not frame.size_fits)
    error = {**setting.head("error", side, place), "code": None, "seq": setting.seq(placed)}
    return [record] + [error] * faults


def _with_place(record: Record, located_by: str | None) -> Record:
    """Return the record of a frame that was found in order, its keys in their order."""
    placed: Record = {
        "located_by": located_by,
        "out_of_order": False,
        "placed": "in order",
    }
    items = list(record.items())
    at = [name for name, _ in items].index("frames")
    return dict([*items[:at], *placed.items(), *items[at:]])


def _frame(
    placed: Placed,
    frame: AssembledFrame,
    frames: tuple[int, ...],
    agreement: Agreement | None,
    setting: Setting,
) -> Record:
    """Return the keys of an ``ift_frame`` record that hold however it is found."""
    fields, _ = ddp_record(frame.ulpdu)
    fields["payload_length"] = frame.header.payload_size
    if agreement is not None and agreement.rdma is False:
        for name in ("rdmap_version", "opcode", "message", "invalidate_stag"):
            fields[name] = None
    record: Record = {
        "seq": setting.seq(placed),
        "offset": placed.offset,
        "header_size": frame.header.header_size,
        "payload_size": frame.header.payload_size,
        "vtag": frame.header.vtag,
        "header_crc": _VERDICTS[frame.header_crc],
        "payload_crc": _VERDICTS[frame.payload_crc],
        "frames": [setting.numbers[number - 1] for number in frames],
        **fields,
    }
    if setting.payload:
        record["payload"] = frame.ulpdu[frame.header.header_size :].hex()
    return record


def _impaired(
    pieces: list[Captured], agreement: Agreement | None, setting: Setting
) -> Iterable[Record]:
    """Yield what there is to say of items that are whole, whenever they are found.

    Without both indications nothing is sure.
    """
    indications = [each for each in pieces if isinstance(each.placed.item, IndicationItem)]
    if len(indications) < 2 or any(each.fate != "whole" for each in indications):
        return
    for each in pieces:
        placed, item = each.placed, each.placed.item
        side = side_of(placed)
        if each.fate != "whole":
            continue
        if isinstance(item, IndicationItem):
            head = setting.head("adaption_indication", side, None)
            yield {**head, "seq": setting.seq(placed), **indication_fields(item.indication)}
        elif isinstance(item, FrameItem) and not _has_markers(agreement, side):
            frame = assembled_frame(placed, setting.options)
            if frame.is_regular:
                head = setting.head("ift_frame", side, None)
                yield {**head, **_frame(placed, frame, each.frames, agreement, setting)}


def _connection(
    found: list[Found], placed: list[Placed], setting: Setting, errors: int | None
) -> Record:
    """Return the last record.

    :param errors: None: something hides what is there to be counted.
    """
    indications = [each for each in found if isinstance(each.placed.item, IndicationItem)]
    first = next((side_of(each.placed) for each in indications if not _indication(each).ph), None)
    by = first or INITIATOR
    order = (by, 1 - by)
    names = ("src", "dst")
    record = setting.head("connection", by, len(setting.segments))
    record["initiator"] = setting.endpoints[by] if indications else None
    record["responder"] = setting.endpoints[1 - by] if indications else None
    record["dialect"] = Dialect.DRAFT_IFT_01.value if indications else None
    record["revision"] = None
    agreement = _agreement(each.placed for each in found)
    frames = [
        (each, assembled_frame(each.placed, setting.options))
        for each in found
        if isinstance(each.placed.item, FrameItem)
        and not _has_markers(agreement, side_of(each.placed))
    ]
    nothing = dict.fromkeys(names, 0)
    if errors is not None:
        record["markers"] = {
            name: _has_markers(agreement, side) for name, side in zip(names, order, strict=True)
        }
        record["fpdus"] = _counted([each for each, _ in frames], order)
    record["octets"] = {
        name: sum(len(each.octets) for each in placed if each.octets and side_of(each) == side)
        for name, side in zip(names, order, strict=True)
    }
    if errors is not None:
        bad = [each for each, frame in frames if False in (frame.header_crc, frame.payload_crc)]
        record["crc_bad"] = _counted(bad, order)
        record["gaps"] = dict(nothing)
        record["out_of_order"] = dict(nothing)
        record["retransmitted"] = dict(nothing)
        record["crc"] = None
        record["errors"] = errors
    record["ended"] = ending(setting.segments)
    if errors is not None:
        record["farthest_ahead"] = dict(nothing)
    return {**record, "rnics": None, **negotiation_fields(None)}


def _indication(found: Found) -> AdaptionIndication:
    item = found.placed.item
    assert isinstance(item, IndicationItem)
    return item.indication


def _counted(found: list[Found], order: tuple[int, int]) -> Record:
    sides = [side_of(each.placed) for each in found]
    return {"src": sides.count(order[0]), "dst": sides.count(order[1])}
