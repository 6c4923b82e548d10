# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages that fit in one ordinary FPDU: the row of the FPDU also reports the message.

Many applications send mostly such messages.  They need no assembly.
"""

from __future__ import annotations

from typing import Any, Final

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import segment_of
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.shapes import Shape
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode


class MessageShape:
    """The common fields of messages whose FPDUs have one shape.  Writers keep their patterns here.

    :param fpdu: the shape of the FPDUs.
    """

    __slots__ = ("first_json", "fpdu", "json", "lead", "line", "table", "tagged")

    kind: Final = "message"

    def __init__(self, fpdu: Shape) -> None:
        self.fpdu = fpdu
        self.tagged = fpdu.tagged
        self.table = fpdu.table
        self.lead = fpdu.lead
        self.line: Any = None
        self.json: Any = None
        self.first_json: Any = None

    def event_of(self, row: Row) -> MessageRecovered:
        """Return a row of this shape as an event."""
        segment = segment_of((*row[:4], self.fpdu, *row[5:]))
        assert segment is not None
        message = DDPMessage(segment)
        message.add(segment)
        return message.event()


def message_shape(fpdu: Shape) -> MessageShape | None:
    """Return the shape of messages that fit in one FPDU of this shape.

    None if there are none, or if their report needs more than the row: the fields of an RDMAP
    header, or the Request that a Response answers.
    """
    is_response = fpdu.opcode == Opcode.READ_RESPONSE
    is_plain = not is_response if fpdu.tagged else fpdu.opcode in SEND_OPCODES
    return MessageShape(fpdu) if is_plain and fpdu.last and not fpdu.table.ahead else None
