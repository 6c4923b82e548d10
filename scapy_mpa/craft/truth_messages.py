# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``message`` records of a conversation.

Where nothing is missing each message is there as it was said, and each Response answers the Request
that the script has it answer.  Where something is, an Untagged message says of its segments where
they belong and which is the last one; so it is known what of it is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from scapy_mpa.craft.script import FPDUItem, Message, SegmentItem
from scapy_mpa.records.record import Record
from scapy_mpa.wire.rdmap import ATOMIC_RESPONSE_LENGTH, parse_control
from scapy_mpa.wire.rdmap_names import Opcode, QueueNumber, message_name

if TYPE_CHECKING:
    from scapy_mpa.craft.captured import Captured
    from scapy_mpa.craft.truth import Found, Setting

__all__ = ["message_records", "records_in_part"]

_LENGTHS: Final = ("ulpdu_length", "header_size", "payload_size")
"""What may say of an FPDU, or of a frame, where it ends."""

_RESPONSES: Final = (Opcode.READ_RESPONSE, Opcode.ATOMIC_RESPONSE)
_MOST_STRETCHES: Final = 64
"""How many stretches of what is missing a record tells."""
_REQUESTS: Final = (Opcode.READ_REQUEST, Opcode.ATOMIC_REQUEST)


def message_records(found: list[Found], setting: Setting) -> tuple[dict[int, Record], list[Record]]:
    """Return the record of each message by its last FPDU or frame, and those of what is missing
    at the end.

    There are none if any FPDU carries something else than the segment that a verb put into it.
    """
    counts: dict[int, int] = {}
    octets: dict[int, int] = {}
    told: dict[int, Record] = {}
    outstanding: dict[int, Record] = {}
    for each in found:
        item = each.placed.item
        if not isinstance(item, SegmentItem):
            continue
        message = item.message
        if message is None or not _is_as_said(item, message, octets.get(message.number, 0)):
            return {}, []
        counts[message.number] = counts.get(message.number, 0) + 1
        octets[message.number] = octets.get(message.number, 0) + len(item.payload)
        if item.header.last:
            head = setting.head("message", message.side, each.place)
            told[each.placed.number] = {**head, **_said(message, counts[message.number])}
            if message.opcode in _REQUESTS:
                head = setting.head("message", 1 - message.side, each.place)
                outstanding[message.number] = {**head, **_unanswered(message)}
            elif message.answers is not None:
                del outstanding[message.answers.number]
    sides = sorted(outstanding.items(), key=lambda pair: pair[1]["src"] == setting.endpoints[0])
    return told, [record for _, record in sides]


@dataclass(slots=True)
class _Part:
    """What was captured of an Untagged message."""

    message: Message
    length: int = 0
    fpdus: int = 0
    is_ended: bool = False
    """Whether its last segment was captured."""
    missing: list[list[int | None]] = field(default_factory=list)
    place: int = 0
    """Of the segment that brought the last of it."""


def records_in_part(pieces: list[Captured], setting: Setting) -> list[tuple[int, Record]]:
    """Return the record of each Untagged message of which an FPDU is whole, behind the place where
    it may be found; but for Responses, for it may not be known what they answer.

    There are none if any FPDU carries something else than the segment that a verb put into it.
    """
    parts: dict[int, _Part] = {}
    octets: dict[int, int] = {}
    for each in pieces:
        item = each.placed.item
        if not isinstance(item, FPDUItem):
            continue
        message = item.message
        before = 0 if message is None else octets.get(message.number, 0)
        if message is None or not _is_as_said(item, message, before):
            return []
        size = len(item.payload)
        octets[message.number] = before + size
        part = parts.setdefault(message.number, _Part(message))
        if each.fate == "whole":
            part.length += size
            part.fpdus += 1
            part.is_ended = item.header.last
            part.place = max(part.place, *each.frames)
        elif part.missing and before == sum(map(_number, part.missing[-1])):
            part.missing[-1][1] = _number(part.missing[-1][1]) + size
        else:
            part.missing.append([before, size])
    return [
        (part.place, _partly_said(part, setting))
        for part in parts.values()
        if part.fpdus and part.message.qn is not None and part.message.opcode not in _RESPONSES
    ]


def _number(number: int | None) -> int:
    return number or 0


def _partly_said(part: _Part, setting: Setting) -> Record:
    """Return what is told of an Untagged message that is there in part, or whole."""
    message = part.message
    missing = part.missing
    if not part.is_ended:
        # Nobody knows where it ends.
        missing[-1][1] = None
    return {
        **setting.head("message", message.side, None),
        **_said(message, part.fpdus),
        "length": part.length,
        "complete": not missing,
        "size": message.length if part.is_ended else None,
        "missing": missing[:_MOST_STRETCHES],
    }


def _is_as_said(item: SegmentItem, message: Message, before: int) -> bool:
    """Tell whether an FPDU carries a segment of its message.

    :param before: octets of the message in the segments before it.
    """
    overrides = getattr(item, "overrides", None)
    if any(getattr(overrides, name, None) is not None for name in _LENGTHS):
        return False
    header = item.header
    is_last = before + len(item.payload) == message.length
    if parse_control(header.rsvdulp).opcode != message.opcode or header.last != is_last:
        return False
    if message.stag is None or message.to is None:
        wanted = False, message.qn, message.msn, before
        return (header.tagged, header.qn, header.msn, header.mo) == wanted
    return (header.tagged, header.stag, header.to) == (True, message.stag, message.to + before)


def _said(message: Message, fpdus: int) -> Record:
    """Return what is told of a message."""
    answers = message.answers
    asked = answers if message.opcode in _RESPONSES else message
    read = None if answers is None else answers.read
    return {
        **_beginning(message.opcode, message.length, fpdus, complete=True),
        "qn": message.qn,
        "msn": message.msn,
        "stag": message.stag,
        "to": message.to,
        "size": message.length,
        "missing": [],
        **_counts(),
        "answers": None if answers is None else answers.msn,
        "requested": answers is not None if message.opcode in _RESPONSES else None,
        "as_requested": None if read is None else read.rdma_read_size == message.length,
        **_request(asked),
    }


def _unanswered(request: Message) -> Record:
    """Return what is told of a Response that never came."""
    read = request.read
    size = ATOMIC_RESPONSE_LENGTH if read is None else read.rdma_read_size
    opcode = Opcode.ATOMIC_RESPONSE if read is None else Opcode.READ_RESPONSE
    return {
        **_beginning(opcode, 0, 0, complete=False),
        "qn": QueueNumber.ATOMIC_RESPONSE if read is None else None,
        "msn": None,
        "stag": None if read is None else read.sink_stag,
        "to": None if read is None else read.sink_to,
        "size": size,
        "missing": [[0 if read is None else read.sink_to, size]] if size else [],
        **_counts(),
        "answers": request.msn,
        "requested": True,
        "as_requested": None,
        **_request(request),
    }


def _beginning(opcode: int, length: int, fpdus: int, *, complete: bool) -> Record:
    return {
        "opcode": opcode,
        "message": message_name(opcode),
        "length": length,
        "fpdus": fpdus,
        "complete": complete,
    }


def _counts() -> Record:
    return {"cut_off": 0, "duplicates": 0, "overlaps": 0, "conflicts": 0, "messages": 1}


def _request(request: Message | None) -> Record:
    read = None if request is None else request.read
    return {
        "sink_stag": None if read is None else read.sink_stag,
        "sink_to": None if read is None else read.sink_to,
        "rdma_read_size": None if read is None else read.rdma_read_size,
        "src_stag": None if read is None else read.src_stag,
        "src_to": None if read is None else read.src_to,
        "request_identifier": None if request is None else request.request_identifier,
    }
