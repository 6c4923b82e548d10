# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a DDP Stream Session over SCTP.

As in :mod:`scapy_mpa.craft.truth`, there are all records only if nothing is wrong or missing.  Else
there are those of session control messages and DDP segments that were captured whole.  A
``ChunkItem`` counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scapy_mpa.craft.captured import Captured
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.craft.sctp.packets import STREAM, Sent
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem
from scapy_mpa.craft.truth_connection import connection_record, half_summary
from scapy_mpa.craft.truth_found import Found
from scapy_mpa.craft.truth_messages import message_records
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import Record, RecordedEvent
from scapy_mpa.stream.events import DDPSegmentRecovered, SessionControlSeen
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import session_dialect
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    INITIATES,
    REJECTS,
    FunctionCode,
    parse_session_control,
)


def sctp_truth_of(sent: list[Sent], setting: Setting, captured: Sequence[Captured]) -> list[Record]:
    """Return the records of a session, in the order of a perfect dissector.

    :param sent: the user messages of the script.
    :param captured: each item of the script, and how much of it was captured.
    """
    frames = {each.placed.number: each.frames for each in captured if each.is_whole}
    whole = [
        each._replace(places=frames[each.number], place=max(frames[each.number]))
        for each in sent
        if each.number in frames and not isinstance(each.item, ChunkItem)
    ]
    if not setting.is_exact or len(whole) < len(sent):
        setting = setting._replace(is_exact=False)
        return [_record(each, setting) for each in whole]
    found = [
        # The TSN of its chunk takes the place of its sequence number.
        Found(
            Placed(each.number, each.item, each.tsn - setting.number(each.item.side, 0), b""),
            *(each.places, each.place),
        )
        for each in whole
        if isinstance(each.item, FPDUItem)
    ]
    delivered, unanswered = message_records(found, setting)
    records: list[Record] = []
    for each in whole:
        records.append(_record(each, setting))
        if each.number in delivered:
            records.append(delivered[each.number])
    end = _connection([each.placed.item for each in captured], sent, setting)
    return [*records, end, *unanswered]


def _record(sent: Sent, setting: Setting) -> Record:
    """Return the record of a user message."""
    item, octets = sent.item, sent.user_data
    frames = setting.frames(sent.places)
    event: RecordedEvent
    if isinstance(item, ControlItem):
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
    return setting.record(event, sent.place)


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
        _ended(script, codes),
        place,
        dialect=Dialect.RFC5043,
        halves=tuple(
            half_summary(
                False,
                sum(isinstance(each.item, FPDUItem) for each in chunks),
                sum(len(each.user_data) for each in chunks),
            )
            for chunks in chunks_of
        ),
    )


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
