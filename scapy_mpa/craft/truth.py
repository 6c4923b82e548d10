# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation.

They are made of what the script means and where the layout puts it, never of what a dissector says.
Names and order of keys are those of :mod:`scapy_mpa.records`.

A key is left out where the script alone does not say what it must be:

* where segments were lost, copied, reordered or cut, what depends on when a dissector finds
  something (``frame``, ``time``, ``located_by``, ``out_of_order``), and ``offset`` of an FPDU that
  was captured before everything up to the last startup frame was.  There are ``startup`` and
  ``fpdu`` records only then, of those of which every octet is there as it was sent;
* behind something that hides where FPDUs begin (a ULPDU_Length that lies, a bad CRC, octets of any
  kind in the Full Operation Phase), the same keys of that direction, and of the ``connection`` all
  that is counted, and what depends on the RTR indication.  There are no ``message`` records then,
  nor if an FPDU carries something else than the segment that a verb put into it;
* ``text`` of an ``error``, and ``broken`` of a ``connection`` if anything is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.craft.assemble import Assembled
from scapy_mpa.craft.captured import Captured, captured
from scapy_mpa.craft.layout import Placed, assembled, startup_frame
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.script import (
    CloseItem,
    FPDUItem,
    IndicationItem,
    OctetsItem,
    ResetItem,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_negotiation import negotiation_truth
from scapy_mpa.records.ddp import INVALIDATING
from scapy_mpa.records.record import Record, rnics_field, startup_fields
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH, parse_ddp
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.interoperability import Offer, kinds_of
from scapy_mpa.wire.rdmap import parse_control, plausible
from scapy_mpa.wire.rdmap_names import message_name
from scapy_mpa.wire.startup import KIND_OF_KEY, StartupFrame, StartupKind

__all__ = ["Found", "Setting", "ddp_record", "ending_of", "side_of", "truth_of"]

_SECOND: Final = 10**9
_WORD: Final = 0xFFFFFFFF
_VERDICTS: Final = {True: "good", False: "bad", None: "off"}


class Setting(NamedTuple):
    """What the records of a conversation have in common."""

    options: Options
    endpoints: tuple[str, str]
    """Of Initiator and Responder."""
    isns: tuple[int, int]
    connection: int
    """Its number in the capture."""
    segments: Sequence[Segment]
    """As they were captured."""
    numbers: Sequence[int]
    """The numbers of their frames."""
    payload: bool
    """Whether ``fpdu`` records have the key ``payload``."""

    def head(self, kind: str, side: int, place: int | None) -> Record:
        """Return the keys that all records have.

        :param place: of the segment with which it is found, from 1; None: that is not known.
        """
        record: Record = {
            "type": kind,
            "connection": self.connection,
            "src": self.endpoints[side],
            "dst": self.endpoints[1 - side],
        }
        if place is not None:
            record["frame"] = self.numbers[place - 1]
            record["time"] = self.segments[place - 1].time_ns / _SECOND
        return record

    def seq(self, placed: Placed, at: int = 0) -> int:
        """Return the sequence number of an octet of an item."""
        return self.isns[side_of(placed)] + 1 + placed.start + at & _WORD


Detail: TypeAlias = Assembled | StartupFrame | None


class Found(NamedTuple):
    """An item of which everything was captured, in order."""

    placed: Placed
    detail: Detail
    """What is in an FPDU or a startup frame."""
    frames: tuple[int, ...]
    place: int
    """Of the segment with which it is found: never before both startup frames are there."""
    is_sure: bool
    """Whether nothing hides where it begins."""
    located_by: str


def side_of(placed: Placed) -> int:
    """Return who sends an item that has octets."""
    item = placed.item
    assert isinstance(item, StartupItem | SegmentItem | IndicationItem | OctetsItem)
    return item.side


def _detail(placed: Placed, options: Options) -> Detail:
    """Return what is in an item that has octets."""
    if isinstance(placed.item, FPDUItem):
        return assembled(placed, options)
    if isinstance(placed.item, StartupItem):
        return startup_frame(placed.item, options)
    return None


def truth_of(
    placed: list[Placed], setting: Setting, *, is_impaired: bool, messages: bool
) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    :param is_impaired: whether the segments are other than the conversation's own.
    :param messages: with ``message`` records, unless something is hidden or impaired.
    """
    pieces = captured(placed, setting.segments, setting.isns)
    if is_impaired:
        return list(_impaired(pieces, setting))
    found = _found(pieces, setting.options)
    is_sure = all(each.is_sure for each in found)
    is_sure &= not any(_is_bad(each) for each in found)
    told: dict[int, Record] = {}
    untold: list[Record] = []
    if messages and is_sure:
        told, untold = message_records(found, setting)
    records: list[tuple[int, Record]] = []
    for each in found:
        own = _records(each, setting)
        if each.placed.number in told:
            own.insert(1, told[each.placed.number])
        records += [(each.place, record) for record in own]
    records.sort(key=itemgetter(0))
    errors = sum(record["type"] == "error" for _, record in records)
    return [
        *(record for _, record in records),
        _connection(found, placed, setting, errors if is_sure else None),
        *untold,
    ]


# -- when and how --------------------------------------------------------------------------------


def _found(pieces: Iterable[Captured], options: Options) -> list[Found]:
    """Return when and how each item is found, if nothing was impaired."""
    found = []
    is_sure = [True, True]
    behind: list[str] = ["start", "start"]
    full_at = 0
    is_rejected = False
    for each in pieces:
        placed = each.placed
        side = side_of(placed)
        place = max(max(each.frames), full_at)
        detail = _detail(placed, options)
        if isinstance(detail, StartupFrame):
            is_sure[side] &= _is_whole(placed, detail)
            found.append(Found(placed, detail, each.frames, place, is_sure[side], ""))
            behind[side] = "start"
            is_rejected = detail.rejected and detail.kind is StartupKind.REPLY
            if detail.kind is StartupKind.REPLY:
                full_at = place
        elif isinstance(detail, Assembled):
            is_sure[side] &= detail.is_regular
            if not options.has_crcs:
                # Only a header that makes sense speaks for it.
                is_sure[side] &= plausible(detail.ulpdu, len(detail.ulpdu))
            found.append(Found(placed, detail, each.frames, place, is_sure[side], behind[side]))
            is_sure[side] &= detail.crc is not False
            behind[side] = "length"
        elif placed.offset is not None and not is_rejected:
            is_sure[side] = False
    return found


def _is_whole(placed: Placed, startup: StartupFrame) -> bool:
    """Tell whether a startup frame can be taken for one, and ends where it says."""
    item = placed.item
    assert isinstance(item, StartupItem)
    has_key = item.key is None or KIND_OF_KEY.get(item.key) is item.kind
    return has_key and startup.pd_length == len(startup.data)


def _is_whole_startup(found: Found) -> bool:
    """Tell whether a startup frame, if it is one, can be taken for one."""
    detail = found.detail
    return not isinstance(detail, StartupFrame) or _is_whole(found.placed, detail)


def _is_bad(found: Found) -> bool:
    """Tell whether an FPDU's CRC is wrong: what is behind it must be looked for."""
    return isinstance(found.detail, Assembled) and found.detail.crc is False


# -- records ---------------------------------------------------------------------------------------


def _records(found: Found, setting: Setting) -> list[Record]:
    """Return what there is to say of an item: itself, and what is wrong with it."""
    placed, detail, frames, place, is_sure, located_by = found
    side = side_of(placed)
    if isinstance(detail, StartupFrame):
        if not _is_whole(placed, detail):
            return []
        startup = _startup(detail, setting)
        records = [{**setting.head("startup", side, place), **startup}]
        records += [
            {**_error(setting, placed, ErrorCode.INVALID_STARTUP_FRAME, place, 0), "text": problem}
            for problem in detail.problems()
        ]
        return records
    assert isinstance(detail, Assembled)
    if not detail.is_regular:
        return []
    known = place if is_sure else None
    fpdu = setting.head("fpdu", side, known)
    fpdu.update(_fpdu(placed, detail, frames, setting, located_by if is_sure else None))
    if detail.crc is False:
        return [fpdu, _error(setting, placed, ErrorCode.CRC_MISMATCH, known, detail.header)]
    if not detail.agrees:
        return [fpdu, _error(setting, placed, ErrorCode.MARKER_MISMATCH, known, detail.header)]
    return [fpdu]


def _impaired(pieces: list[Captured], setting: Setting) -> Iterable[Record]:
    """Yield what there is to say of items that are whole, whenever they are found."""
    # A startup frame behind a hole may be part of something else.
    upto = max(
        (n for n, e in enumerate(pieces) if isinstance(e.placed.item, StartupItem)), default=-1
    )
    beginning = pieces[: upto + 1]
    is_known = bool(beginning) and all(each.fate == "whole" for each in beginning)
    known_at = max((max(each.frames) for each in beginning if each.frames), default=0)
    for each in pieces:
        placed = each.placed
        if each.fate != "whole":
            continue
        side = side_of(placed)
        detail = _detail(placed, setting.options)
        if isinstance(detail, StartupFrame) and _is_whole(placed, detail):
            yield {**setting.head("startup", side, None), **_startup(detail, setting)}
        elif isinstance(detail, Assembled) and detail.is_regular:
            fpdu = _fpdu(placed, detail, each.frames, setting, None)
            if not is_known or max(each.frames) < known_at:
                del fpdu["offset"]
            yield {**setting.head("fpdu", side, None), **fpdu}


def _startup(startup: StartupFrame, setting: Setting) -> Record:
    return startup_fields(startup, dialect_in_force(startup, setting.options.dialect))


def _fpdu(
    placed: Placed,
    fpdu: Assembled,
    frames: tuple[int, ...],
    setting: Setting,
    located_by: str | None,
) -> Record:
    """Return the keys of an ``fpdu`` record.

    :param located_by: None: how it is found is not known.
    """
    assert placed.offset is not None
    record: Record = {
        "seq": setting.seq(placed, fpdu.header),
        "offset": placed.offset + fpdu.header,
        "ulpdu_length": len(fpdu.ulpdu),
        "markers": fpdu.markers,
        "crc": _VERDICTS[fpdu.crc],
    }
    if located_by is not None:
        record["located_by"] = located_by
        record["out_of_order"] = False
    record["frames"] = [setting.numbers[frame - 1] for frame in frames]
    fields, payload = ddp_record(fpdu.ulpdu)
    record.update(fields)
    if setting.payload:
        record["payload"] = payload.hex()
    return record


def ddp_record(ulpdu: bytes) -> tuple[Record, bytes]:
    """Return what an ``fpdu`` or ``ift_frame`` record says of a DDP segment, and its payload."""
    needed = TAGGED_LENGTH if ulpdu[:1] >= b"\x80" else UNTAGGED_LENGTH
    there = len(ulpdu)
    header = parse_ddp(ulpdu if there >= needed else ulpdu.ljust(UNTAGGED_LENGTH, b"\0"))
    opcode = parse_control(header.rsvdulp).opcode
    fields: Record = {
        "tagged": header.tagged,
        "last": header.last,
        "ddp_version": header.ddp_version,
        "rdmap_version": parse_control(header.rsvdulp).rdmap_version,
        "opcode": opcode,
        "message": message_name(opcode),
        "stag": header.stag,
        "to": header.to,
        "qn": header.qn,
        "msn": header.msn,
        "mo": header.mo,
        "invalidate_stag": header.rsvdulp_word if opcode in INVALIDATING else None,
        "payload_length": max(0, there - needed) if there else 0,
    }
    ends = _TAGGED_ENDS if header.tagged else _UNTAGGED_ENDS
    for name, end in ends.items():
        if end > there:
            fields[name] = None
    return fields, ulpdu[needed:]


_BOTH_ENDS: Final = {
    "tagged": 1,
    "last": 1,
    "ddp_version": 1,
    "rdmap_version": 2,
    "opcode": 2,
    "message": 2,
}
_TAGGED_ENDS: Final = {**_BOTH_ENDS, "stag": 6, "to": 14}
_UNTAGGED_ENDS: Final = {**_BOTH_ENDS, "invalidate_stag": 6, "qn": 10, "msn": 14, "mo": 18}
"""How many octets of a ULPDU a field needs to be there: it may be too short for a DDP header."""


def _error(setting: Setting, placed: Placed, code: ErrorCode, place: int | None, at: int) -> Record:
    head = setting.head("error", side_of(placed), place)
    return {**head, "code": int(code), "seq": setting.seq(placed, at)}


# -- the connection --------------------------------------------------------------------------------


def _connection(
    found: list[Found], placed: list[Placed], setting: Setting, errors: int | None
) -> Record:
    """Return the last record.

    :param errors: None: something hides what is there to be counted.
    """
    startups = [
        each.detail
        for each in found
        if isinstance(each.detail, StartupFrame) and _is_whole(each.placed, each.detail)
    ]
    said = [each for each in startups if each.kind is not StartupKind.RTR]
    last = said[-1] if said else None
    options = setting.options
    # Nothing but the Rtr Frame shows the dialect that has one.
    dialect = dialect_in_force(startups[-1], options.dialect) if startups else None
    record = setting.head("connection", INITIATOR, len(setting.segments))
    record["initiator"] = setting.endpoints[INITIATOR] if startups else None
    record["responder"] = setting.endpoints[RESPONDER] if startups else None
    record["dialect"] = None if dialect is None else dialect.value
    record["revision"] = None if last is None else last.revision
    nothing = {"src": 0, "dst": 0}
    fpdus = [each for each in found if isinstance(each.detail, Assembled)]
    bad = [each for each in fpdus if _is_bad(each)]
    if errors is not None:
        is_full = fpdus or (
            last is not None and last.kind is StartupKind.REPLY and not last.rejected
        )
        record["markers"] = {
            "src": options.has_markers(INITIATOR) if is_full else None,
            "dst": options.has_markers(RESPONDER) if is_full else None,
        }
        record["fpdus"] = _counted(fpdus)
    record["octets"] = {
        name: sum(len(each.octets) for each in placed if each.octets and side_of(each) == side)
        for side, name in enumerate(nothing)
    }
    if errors is not None:
        record["crc_bad"] = _counted(bad)
        record["gaps"] = dict(nothing)
        record["out_of_order"] = dict(nothing)
        record["retransmitted"] = dict(nothing)
        record["crc"] = options.has_crcs if startups else None
        record["errors"] = errors
    record["ended"] = ending_of(placed)
    if errors is not None:
        record["farthest_ahead"] = dict(nothing)
    offers = [Offer(each.revision, each.markers, each.crc) for each in said[-2:]]
    is_answered = last is not None and last.kind is StartupKind.REPLY and len(offers) == 2
    record["rnics"] = rnics_field(kinds_of(*offers) if is_answered else None)
    negotiated = _negotiated(found, said, dialect)
    if errors is None and negotiated["rtr_agreed"] is not None:
        # What the first FPDUs are may be hidden, too.
        for name in ("rtr", "kept", "broken"):
            negotiated.pop(name, None)
    if errors is not None or all(_is_whole_startup(each) for each in found):
        record.update(negotiated)
    return record


def _negotiated(
    found: list[Found], startups: list[StartupFrame], dialect: Dialect | None
) -> Record:
    """Return what the last pair of startup frames came to."""
    request = reply = StartupFrame(StartupKind.REPLY, False, False, True, False, 0, 1, 0, b"")
    if [each.kind for each in startups[-2:]] == [StartupKind.REQUEST, StartupKind.REPLY]:
        request, reply = startups[-2:]
    first = next(
        (
            each.detail
            for each in found
            if isinstance(each.detail, Assembled) and side_of(each.placed) == INITIATOR
        ),
        None,
    )
    return negotiation_truth(request, reply, None if first is None else first.ulpdu, dialect)


def _counted(found: list[Found]) -> Record:
    sides = [side_of(each.placed) for each in found]
    return {"src": sides.count(INITIATOR), "dst": sides.count(RESPONDER)}


def ending_of(placed: list[Placed]) -> str:
    """Return how the TCP connection ends."""
    items = [each.item for each in placed]
    if any(isinstance(item, ResetItem) for item in items):
        return "reset"
    closes = [item for item in items if isinstance(item, CloseItem)]
    if any(close.both for close in closes) or len({close.side for close in closes}) == 2:
        return "closed"
    return "half closed" if closes else "capture ended"
