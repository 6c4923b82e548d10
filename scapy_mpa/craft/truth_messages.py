# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of a conversation.

There is one for each message of the script, and each Response answers the same Request as in the
script.  There is one for the missing Response to each unanswered Request, too.  If anything is
wrong or missing there are none: a Request of a Response may be missing, or a part of a Tagged
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TypeAlias

from scapy_mpa.craft.script import FPDUItem, Message, StartupItem
from scapy_mpa.records.record import RecordedEvent
from scapy_mpa.stream.delivery.request import REQUESTS, RESPONSES, Request
from scapy_mpa.stream.events import FPDURecovered, MessageRecovered, Part, StartupSeen
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.rdmap import parse_control

Found: TypeAlias = tuple[StartupItem | FPDUItem, StartupSeen | FPDURecovered]
"""A startup frame or an FPDU that conforms and was captured whole, and its event."""


def with_messages(found: Sequence[Found]) -> list[RecordedEvent]:
    """Return the events, with each message after its last FPDU.

    There are no messages if any FPDU carries anything but the segment that a verb made.

    :param found: in the order of the script.
    """
    events: list[RecordedEvent] = []
    octets: dict[int, bytearray] = {}
    parts: dict[int, list[Part]] = {}
    for item, event in found:
        events.append(event)
        if not isinstance(item, FPDUItem):
            continue
        message = item.message
        own = bytearray() if message is None else octets.setdefault(message.number, bytearray())
        if message is None or not _carries(item, message, len(own)):
            return [event for _, event in found]
        part = Part(event.seq, event.frames, (message.to or 0) + len(own), len(item.payload))
        parts.setdefault(message.number, []).append(part)
        own += item.payload
        if item.header.last:
            events.append(_message_of(message, event, bytes(own), parts))
    return events


def missing_responses(events: Iterable[RecordedEvent]) -> list[MessageRecovered]:
    """Return the missing Responses to the Requests among events, those to the Initiator first."""
    messages = [each for each in events if isinstance(each, MessageRecovered)]
    answered = {(1 - each.direction, each.answers) for each in messages if each.requested}
    return [
        Request(
            each.msn or 0,
            (*each[:4], 0),
            read=each.read_request,
            identifier=each.request_identifier,
        ).unanswered()
        for each in sorted(messages, key=attrgetter("direction"))
        if each.opcode in REQUESTS and (each.direction, each.msn) not in answered
    ]


def _carries(item: FPDUItem, message: Message, before: int) -> bool:
    """Return whether an FPDU carries a segment of its message.

    :param before: octets of the message in the segments before it.
    """
    header = ddp_header_of(item.ulpdu)
    if header is None:
        return False
    is_last = before + len(item.payload) == message.length
    if parse_control(header.rsvdulp).opcode != message.opcode or header.last != is_last:
        return False
    if message.stag is None or message.to is None:
        wanted = False, message.qn, message.msn, before
        return (header.tagged, header.qn, header.msn, header.mo) == wanted
    return (header.tagged, header.stag, header.to) == (True, message.stag, message.to + before)


def _message_of(
    message: Message, last: StartupSeen | FPDURecovered, octets: bytes, parts: dict[int, list[Part]]
) -> MessageRecovered:
    """Return the event of a message.

    :param last: the event of its last FPDU.
    :param octets: all its octets.
    :param parts: the parts of each message so far, by message number.
    """
    opcode, answers, own = message.opcode, message.answers, parts[message.number]
    is_response = opcode in RESPONSES
    request = answers if is_response else message
    read = None if answers is None else answers.read
    asked = [] if answers is None or not is_response else parts.get(answers.number, [])
    frames = [frame for part in own for frame in part.frames]
    return MessageRecovered(
        *last[:4],
        *(opcode, message.length, len(own), True),
        *(message.qn, message.msn, message.stag, message.to, message.length),
        answers=None if answers is None else answers.msn,
        requested=answers is not None if is_response else None,
        as_requested=None if read is None else read.rdma_read_size == message.length,
        read_request=None if request is None else request.read,
        request_frame=max((frame for part in asked for frame in part.frames), default=None),
        request_identifier=None if request is None else request.request_identifier,
        has_last=True,
        header=octets if message.qn is not None else b"",
        captured=max(frames),
        captured_from=min(frames),
        parts=tuple(own),
        payload=octets,
    )
