# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a DDP Stream Session over SCTP.

As with TCP they are made of what the script means, and a key is left out where the script alone
does not say what it must be:

* where packets were lost, copied, reordered or cut, what depends on when something is found
  (``frame``, ``time``, ``out_of_order``, ``frames``), and all that is counted;
* of a script with a chunk of which something is wrong the same keys; and of that chunk, everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.craft.sctp.packets import STREAM, Said
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem
from scapy_mpa.craft.truth_connection import (
    AGREED,
    COUNTED,
    connection_record,
    half_summary,
    negotiated_by,
)
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import Found, Setting, begun_by, without
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

__all__ = ["sctp_truth_of"]

_WHEN: Final = frozenset(
    {"frame", "time", "timestamp", "out_of_order", "frames", "captured", "captured_from", "crc"}
)
_COUNTED: Final = COUNTED | AGREED | {"octets", "ended", "initiator", "responder", "src", "dst"}


def sctp_truth_of(
    script: Sequence[Any],
    said: list[Said],
    setting: Setting,
    *,
    is_impaired: bool,
    messages: bool,
) -> list[Record]:
    """Return the records of a session, in the order of a perfect dissector.

    :param said: what the script says, in DATA chunks.
    :param is_impaired: whether the packets are other than the conversation's own.
    :param messages: with ``message`` records, unless something is wrong or impaired.
    """
    regular = [
        each for each in said if not isinstance(each.item, ChunkItem) or each.item.is_regular
    ]
    is_sure = not is_impaired and len(regular) == len(said)
    if is_impaired:
        there = {number for each in setting.segments for number in getattr(each, "items", ())}
        is_cut = any(each.captured is not None for each in setting.segments)
        # Of fragments some may be missing, and nothing tells how much was cut off.
        regular = [
            each
            for each in regular
            if each.number in there and len(each.places) == 1 and not is_cut
        ]
    found = [
        # Its sequence number is the TSN of its chunk.
        Found(
            Placed(each.number, each.item, each.tsn - setting.number(each.item.side, 0), b""),
            *(None, each.places, each.place, True, None),
        )
        for each in said
        if messages and is_sure and isinstance(each.item, FPDUItem)
    ]
    delivered, unanswered = message_records(found, setting)
    records: list[Record] = []
    for each in regular:
        records.append(_record(each, setting, is_sure=is_sure))
        if each.number in delivered:
            records.append(delivered[each.number])
    return [*records, _connection(script, said, setting, is_sure=is_sure), *unanswered]


def _record(said: Said, setting: Setting, *, is_sure: bool) -> Record:
    """Return the record of a DATA chunk."""
    item, octets = said.item, said.user_data
    is_control = isinstance(item, ControlItem) or (
        isinstance(item, ChunkItem) and item.ppid != SEGMENT_PPID
    )
    frames = setting.frames(said.places) if is_sure else ()
    event: RecordedEvent
    if is_control:
        control = parse_session_control(octets)
        spoken = session_dialect(control.function_code, setting.options.dialect)
        event = SessionControlSeen(
            *(*begun_by(item.side), said.tsn, STREAM, octets, True, False, frames),
            *(control, spoken),
        )
    else:
        event = DDPSegmentRecovered(
            *(*begun_by(item.side), said.tsn, STREAM, said.ddp_ssn, True),
            *(len(octets) - DDP_SSN_LENGTH, octets, True, "good", False, frames),
        )
    record = setting.record(event, said.place if is_sure else None)
    return record if is_sure else without(record, _WHEN)


def _connection(
    script: Sequence[Any], said: Sequence[Said], setting: Setting, *, is_sure: bool
) -> Record:
    """Return the record of the session."""
    place = said[-1].place if said else len(setting.segments)
    controls = [each.item for each in said if isinstance(each.item, ControlItem)]
    codes = [(each.side, each.function_code) for each in controls]
    active = next((side for side, code in codes if code in INITIATES), None)
    own = [[each for each in said if each.item.side == side] for side in (0, 1)]
    record = connection_record(
        setting,
        place if is_sure else None,
        active,
        _ended(script, codes),
        dialect=Dialect.RFC5043,
        halves=tuple(
            half_summary(
                False,
                sum(isinstance(each.item, FPDUItem) for each in chunks),
                sum(len(each.user_data) for each in chunks),
            )
            for chunks in own
        ),
        negotiated=_negotiated(said, active or INITIATOR, setting.options.dialect),
    )
    return record if is_sure else without(record, _COUNTED)


def _negotiated(said: Sequence[Said], active: int, dialect: Dialect | None) -> Negotiated | None:
    """Return what the messages that both sides begin with came to (RFC 6581 7, 9)."""
    first: dict[int, StartupFrame] = {}
    for each in said:
        if isinstance(each.item, ControlItem):
            first.setdefault(each.item.side, each.item.control.startup)
    if not (len(first) > 1 and all(each.enhanced for each in first.values())):
        return None
    segments = (each.item for each in said if isinstance(each.item, FPDUItem))
    ulpdu = next((item.ulpdu for item in segments if item.side == active), None)
    return negotiated_by(first[active], first[1 - active], ulpdu, dialect)


def _ended(script: Sequence[Any], codes: Sequence[tuple[int, int]]) -> Ending:
    """Return how the session has ended."""
    is_rejected = any(code in REJECTS for _, code in codes)
    terminates = {side for side, code in codes if code == FunctionCode.TERMINATE}
    is_shut_down = any(isinstance(item, CloseItem) and item.both for item in script)
    if is_rejected or len(terminates) > 1 or is_shut_down:
        return "closed"
    if terminates:
        return "half closed"
    return "reset" if any(isinstance(item, ResetItem) for item in script) else "capture ended"
