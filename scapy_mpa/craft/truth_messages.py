# SPDX-License-Identifier: GPL-2.0-or-later
"""The ``message`` records of a conversation.

There is one for each message of the script, and each Response answers the same Request as in the
script.  If anything is wrong or missing there are none: a Request of a Response may be missing, or
a part of a Tagged message.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.layout import layout_of
from scapy_mpa.craft.script import FPDUItem, Message
from scapy_mpa.craft.truth_found import Found
from scapy_mpa.craft.truth_setting import Setting, event_head
from scapy_mpa.records.record import Record
from scapy_mpa.stream.events import MessageRecovered, Part
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.rdmap_names import Opcode

_RESPONSES: Final = (Opcode.READ_RESPONSE, Opcode.ATOMIC_RESPONSE)


def message_records(found: list[Found], setting: Setting) -> dict[int, Record]:
    """Return the records of messages by their last FPDU.

    There are none if they are not wanted, or if any FPDU carries anything but the segment that a
    verb made.
    """
    if not setting.messages:
        return {}
    octets: dict[int, bytearray] = {}
    delivered: dict[int, Record] = {}
    parts: dict[int, list[Part]] = {}
    for each in found:
        item = each.placed.item
        if not isinstance(item, FPDUItem):
            continue
        message = item.message
        own = bytearray() if message is None else octets.setdefault(message.number, bytearray())
        if message is None or not _carries(item, message, len(own)):
            return {}
        parts.setdefault(message.number, []).append(_part(item, each, len(own), setting))
        own += item.payload
        if item.header.last:
            report = _message_of(message, bytes(own), parts)
            delivered[each.placed.number] = setting.record(report, each.place)
    return delivered


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


def _message_of(message: Message, octets: bytes, parts: dict[int, list[Part]]) -> MessageRecovered:
    """Return the event of a message.

    :param octets: all its octets.
    :param parts: the parts of each message so far, by message number.
    """
    opcode, answers, own = message.opcode, message.answers, parts[message.number]
    is_response = opcode in _RESPONSES
    request = answers if is_response else message
    read = None if answers is None else answers.read
    asked = [] if answers is None or not is_response else parts.get(answers.number, [])
    frames = [frame for part in own for frame in part.frames]
    return MessageRecovered(
        *event_head(message.side),
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


def _part(item: FPDUItem, found: Found, before: int, setting: Setting) -> Part:
    """Return the part of its message that an FPDU carries.

    :param before: octets of the message in the segments before it.
    """
    start = found.placed.start + layout_of(item, found.placed.phase, setting.options).header
    to = item.message.to if item.message is not None else None
    seq = setting.number(found.side, start)
    return Part(seq, setting.frames(found.frames), (to or 0) + before, len(item.payload))
