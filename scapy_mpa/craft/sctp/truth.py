# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a DDP Stream Session over SCTP.

As with TCP, they are made from the script.  Keys and records that the script does not determine are
left out:

* if packets were lost, copied, reordered or cut: the keys that tell when something is found
  (``frame``, ``time``, ``out_of_order``), ``crc``, and how the session ended;
* if DATA chunks are missing or cut off: all records but those of whole messages;
* if a chunk is wrong: the keys of the first point, all counts, and the record of that chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scapy_mpa.craft.captured import Captured
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.craft.sctp.packets import STREAM, Sent
from scapy_mpa.craft.sctp.script import AssociateItem, ChunkItem, ControlItem
from scapy_mpa.craft.truth_connection import (
    AGREED,
    COUNTED,
    UNTIMED,
    connection_record,
    half_summary,
    negotiated_by,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import Found, Setting, event_head, without
from scapy_mpa.records.record import Record, RecordedEvent
from scapy_mpa.stream.events import DDPSegmentRecovered, Negotiated, SessionControlSeen
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import session_dialect
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    INITIATES,
    REJECTS,
    SEGMENT_PPID,
    FunctionCode,
    parse_session_control,
)
from scapy_mpa.wire.startup import StartupFrame

_WHEN: Final = frozenset({"out_of_order", "crc"})
_UNTIMED: Final = UNTIMED | {"ended"}
_COUNTED: Final = COUNTED | AGREED | {"octets", "ended", "initiator", "responder", "src", "dst"}


def sctp_truth_of(sent: list[Sent], setting: Setting, captured: Sequence[Captured]) -> list[Record]:
    """Return the records of a session, in the order of a perfect dissector.

    There are no ``message`` records if anything is wrong or missing.

    :param sent: the user messages of the script.
    :param captured: each item of the script, and how much of it was captured.
    """
    frames = {each.placed.number: each.frames for each in captured if each.fate == "whole"}
    whole = [
        each._replace(places=frames[each.number], place=max(frames[each.number]))
        for each in sent
        if each.number in frames
    ]
    regular = [
        each for each in whole if not isinstance(each.item, ChunkItem) or each.item.is_regular
    ]
    script = [each.placed.item for each in captured]
    # Only the beginning of the association shows that no chunk came before.
    has_begun = any(isinstance(script[number], AssociateItem) for number in frames)
    is_all = len(whole) == len(sent) and (has_begun or not setting.is_impaired)
    is_right = is_all and len(regular) == len(sent)
    is_timed = is_right and not setting.is_impaired
    found = [
        # The TSN of its chunk takes the place of its sequence number.
        Found(
            Placed(each.number, each.item, each.tsn - setting.number(each.item.side, 0), b""),
            *(None, each.places, each.place, True, None),
        )
        for each in whole
        if setting.messages and is_right and isinstance(each.item, FPDUItem)
    ]
    delivered, unanswered = message_records(found, setting)
    records: list[Record] = []
    for each in regular:
        records.append(_record(each, setting, is_timed=is_timed))
        if each.number in delivered:
            records.append(delivered[each.number])
    if setting.is_impaired and not is_all:
        return records
    unknown = frozenset() if is_timed else _UNTIMED
    if not is_right:
        unknown |= _COUNTED
    end = _connection(script, sent, setting)
    return [*records, without(end, unknown), *unanswered]


def _record(sent: Sent, setting: Setting, *, is_timed: bool) -> Record:
    """Return the record of a user message.

    :param is_timed: whether it is known when it is found.
    """
    item, octets = sent.item, sent.user_data
    is_control = isinstance(item, ControlItem) or (
        isinstance(item, ChunkItem) and item.ppid != SEGMENT_PPID
    )
    frames = setting.frames(sent.places)
    event: RecordedEvent
    if is_control:
        control = parse_session_control(octets)
        dialect = session_dialect(control.function_code, setting.options.dialect)
        event = SessionControlSeen(
            *(*event_head(item.side), sent.tsn, STREAM, octets, len(control.data)),
            *(True, False, frames, control, dialect),
        )
    else:
        event = DDPSegmentRecovered(
            *(*event_head(item.side), sent.tsn, STREAM, sent.ddp_ssn, True),
            *(len(octets) - DDP_SSN_LENGTH, octets, True, "good", False, frames),
        )
    record = setting.record(event, sent.place if is_timed else None)
    return record if is_timed else without(record, _WHEN)


def _connection(script: Sequence[Any], sent: Sequence[Sent], setting: Setting) -> Record:
    """Return the record of the session."""
    place = sent[-1].place if sent else len(setting.segments)
    controls = [each.item for each in sent if isinstance(each.item, ControlItem)]
    codes = [(each.side, each.function_code) for each in controls]
    active = next((side for side, code in codes if code in INITIATES), None)
    chunks_of = [[each for each in sent if each.item.side == side] for side in (0, 1)]
    return connection_record(
        setting,
        active,
        place,
        _ended(script, codes),
        dialect=Dialect.RFC5043,
        halves=tuple(
            half_summary(
                False,
                sum(isinstance(each.item, FPDUItem) for each in chunks),
                sum(len(each.user_data) for each in chunks),
            )
            for chunks in chunks_of
        ),
        negotiated=_negotiated(sent, active or INITIATOR, setting.options.dialect),
    )


def _negotiated(sent: Sequence[Sent], active: int, dialect: Dialect | None) -> Negotiated | None:
    """Return what the first session control messages of both sides negotiated (RFC 6581 7, 9)."""
    first: dict[int, StartupFrame] = {}
    for each in sent:
        if isinstance(each.item, ControlItem):
            first.setdefault(each.item.side, each.item.control.startup)
    if not (len(first) > 1 and all(each.enhanced for each in first.values())):
        return None
    segments = (each.item for each in sent if isinstance(each.item, FPDUItem))
    ulpdu = next((item.ulpdu for item in segments if item.side == active), None)
    return negotiated_by(first[active], first[1 - active], ulpdu, dialect)


def _ended(script: Sequence[Any], codes: Sequence[tuple[int, int]]) -> Ending:
    """Return how the session ended."""
    is_rejected = any(code in REJECTS for _, code in codes)
    terminates = {side for side, code in codes if code == FunctionCode.TERMINATE}
    is_shut_down = any(isinstance(item, CloseItem) and item.both for item in script)
    if is_rejected or len(terminates) > 1 or is_shut_down:
        return "closed"
    if terminates:
        return "half closed"
    return "reset" if any(isinstance(item, ResetItem) for item in script) else "capture ended"
