# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages that are each in one ordinary FPDU: the row of the FPDU is theirs, too.

Most messages of many applications are so.  Nothing is put together for them, and what is reported
of them follows from the row alone.
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
    """What messages have in common whose FPDUs have a shape.  Who writes them keeps patterns here.

    :param fpdu: the shape of their FPDUs.
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
    """Return the shape of messages that are each in one FPDU of a shape.

    None if none are, or if more must be known of them: what a Request asks for, which one a
    Response answers, what an RDMAP header says.
    """
    is_response = fpdu.opcode == Opcode.READ_RESPONSE
    is_plain = not is_response if fpdu.tagged else fpdu.opcode in SEND_OPCODES
    return MessageShape(fpdu) if is_plain and fpdu.last and not fpdu.table.ahead else None
