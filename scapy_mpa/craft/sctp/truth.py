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
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.craft.sctp.packets import STREAM, Said
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem
from scapy_mpa.craft.truth import Found, Setting, ddp_record
from scapy_mpa.craft.truth_connection import AGREED, COUNTED, without
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_negotiation import negotiation_truth
from scapy_mpa.records.record import Record, negotiation_fields, session_control_fields
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import session_dialect
from scapy_mpa.wire.sctp_ddp import SEGMENT_PPID, FunctionCode, parse_session_control
from scapy_mpa.wire.startup import StartupFrame

__all__ = ["sctp_truth_of"]

_INITIATES: Final = (FunctionCode.INITIATE, FunctionCode.ENHANCED_INITIATE)
_REJECTS: Final = (FunctionCode.REJECT, FunctionCode.ENHANCED_REJECT)
_WHEN: Final = frozenset({"frame", "time", "out_of_order", "frames", "crc"})
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
    told: dict[int, Record] = {}
    untold: list[Record] = []
    if messages and is_sure:
        found = [
            Found(Placed(each.number, each.item, 0, b""), None, each.places, each.place, True, "")
            for each in said
            if isinstance(each.item, FPDUItem)
        ]
        told, untold = message_records(found, setting)
    records: list[Record] = []
    for each in regular:
        records.append(_record(each, setting, is_sure=is_sure))
        if each.number in told:
            records.append(told[each.number])
    return [*records, _connection(script, said, setting, is_sure=is_sure), *untold]


def _record(said: Said, setting: Setting, *, is_sure: bool) -> Record:
    """Return the record of a DATA chunk."""
    item = said.item
    is_segment = not isinstance(item, ControlItem) and (
        not isinstance(item, ChunkItem) or item.ppid == SEGMENT_PPID
    )
    kind = "ddp_segment" if is_segment else "session_control"
    record = setting.head(kind, item.side, said.place if is_sure else None)
    record["stream"] = STREAM
    record["tsn"] = said.tsn
    frames = [setting.numbers[place - 1] for place in said.places] if is_sure else []
    if is_segment:
        ulpdu = said.user_data[2:]
        record["ddp_ssn"] = said.ddp_ssn
        record["ulpdu_length"] = len(ulpdu)
        record |= {"unordered": True, "crc": "good", "out_of_order": False, "frames": frames}
        fields, ulp_payload = ddp_record(ulpdu)
        record |= fields
        if setting.payload:
            record["payload"] = ulp_payload.hex()
    else:
        control = parse_session_control(said.user_data)
        record |= session_control_fields(control)
        record |= {"unordered": True, "out_of_order": False, "frames": frames}
        spoken = session_dialect(control.function_code, setting.options.dialect)
        record["dialect"] = spoken.value
    return record if is_sure else without(record, _WHEN)


def _connection(
    script: Sequence[Any], said: Sequence[Said], setting: Setting, *, is_sure: bool
) -> Record:
    """Return the record of the session."""
    place = said[-1].place if said else len(setting.segments)
    codes = [
        (each.item.side, each.item.function_code)
        for each in said
        if isinstance(each.item, ControlItem)
    ]
    active = next((side for side, code in codes if code in _INITIATES), None)
    source = active or 0
    counts = {"fpdus": [0, 0], "octets": [0, 0]}
    for each in said:
        side = each.item.side
        counts["fpdus"][side] += isinstance(each.item, FPDUItem)
        counts["octets"][side] += len(each.user_data)
    record = setting.head("connection", source, place if is_sure else None)
    record |= {
        "initiator": None if active is None else setting.endpoints[active],
        "responder": None if active is None else setting.endpoints[1 - active],
        "dialect": Dialect.RFC5043.value,
        "revision": None,
        "markers": {"src": False, "dst": False},
        **{name: {"src": pair[source], "dst": pair[1 - source]} for name, pair in counts.items()},
        **{
            name: {"src": 0, "dst": 0}
            for name in ("crc_bad", "gaps", "out_of_order", "retransmitted")
        },
        "crc": None,
        "errors": 0,
        "ended": _ended(script, codes),
        "farthest_ahead": {"src": 0, "dst": 0},
        "rnics": None,
        **_negotiated(said, source, setting.options.dialect),
    }
    return record if is_sure else without(record, _COUNTED)


def _negotiated(said: Sequence[Said], active: int, dialect: Dialect | None) -> Record:
    """Return what the messages that both sides begin with came to (RFC 6581 7, 9)."""
    first: dict[int, StartupFrame] = {}
    for each in said:
        if isinstance(each.item, ControlItem):
            first.setdefault(each.item.side, each.item.control.startup)
    if not (len(first) > 1 and all(each.enhanced for each in first.values())):
        return negotiation_fields(None)
    segments = (each.item for each in said if isinstance(each.item, FPDUItem))
    ulpdu = next((item.ulpdu for item in segments if item.side == active), None)
    return negotiation_truth(first[active], first[1 - active], ulpdu, dialect)


def _ended(script: Sequence[Any], codes: Sequence[tuple[int, int]]) -> str:
    """Return how the session has ended."""
    is_rejected = any(code in _REJECTS for _, code in codes)
    terminates = {side for side, code in codes if code == FunctionCode.TERMINATE}
    is_shut_down = any(isinstance(item, CloseItem) and item.both for item in script)
    if is_rejected or len(terminates) > 1 or is_shut_down:
        return "closed"
    if terminates:
        return "half closed"
    return "reset" if any(isinstance(item, ResetItem) for item in script) else "capture ended"
