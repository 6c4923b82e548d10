# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages whose FPDUs are all ordinary and come one after the other.

The rows of the FPDUs also report the message.  Sends and RDMA Writes without loss are such
messages.  They need no assembly.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from scapy_mpa.stream.delivery.assembly import DDPMessage
from scapy_mpa.stream.delivery.segment import segment_of
from scapy_mpa.stream.events import MessageRecovered
from scapy_mpa.stream.ordinary import Row
from scapy_mpa.stream.shapes import Shape
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode


class MessageShape:
    """The common fields of messages whose last FPDUs have one shape.  Writers keep their patterns
    here.

    The row of a message is the row of its last FPDU, with such a shape, and with the rows of all
    its FPDUs in place of the octets.

    :param fpdu: the shape of the last FPDUs.
    :param several: whether the messages have several FPDUs.
    """

    __slots__ = ("first_json", "json", "lead", "line", "several", "table", "tagged")

    kind: Final = "message"

    def __init__(self, fpdu: Shape, *, several: bool) -> None:
        self.several = several
        self.tagged = fpdu.tagged
        self.table = fpdu.table
        self.lead = fpdu.lead
        self.line: Any = None
        self.json: Any = None
        self.first_json: Any = None

    @staticmethod
    def event_of(row: Row) -> MessageRecovered:
        """Return the row of a message as an event."""
        first, *rest = filter(None, map(segment_of, row[9]))
        message = DDPMessage(first)
        for segment in rest:
            message.add(segment)
        return message.event()


def message_shapes(fpdu: Shape) -> tuple[MessageShape, MessageShape] | Literal[False]:
    """Return the shapes of messages that end with an FPDU of this shape: of one, and of several.

    False if their report needs more than the rows: the fields of an RDMAP header, or the Request
    that a Response answers.
    """
    is_response = fpdu.opcode == Opcode.READ_RESPONSE
    is_plain = not is_response if fpdu.tagged else fpdu.opcode in SEND_OPCODES
    if not is_plain or fpdu.table.ahead:
        return False
    return MessageShape(fpdu, several=False), MessageShape(fpdu, several=True)


def goes_on(before: Row, row: Row) -> bool:
    """Return whether an FPDU has the next octets of the message of the FPDU before it."""
    *_, was, stag, number, mo, _, _, _ = before
    *_, shape, next_stag, next_number, next_mo, _, _, _ = row
    if (shape.opcode, shape.tagged) != (was.opcode, was.tagged):
        return False
    if shape.tagged:
        return (next_stag, next_number) == (stag, number + was.payload)
    return (next_number, next_mo) == (number, mo + was.payload)
