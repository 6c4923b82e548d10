# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts of one DDP segment, to messages (RFC 5041 4)."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap import (
    ATOMIC_REQUEST_LENGTH,
    ATOMIC_RESPONSE_LENGTH,
    READ_REQUEST_LENGTH,
)
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["WITH_HEADER", "DDPSegment", "Origin"]

WITH_HEADER: Final[dict[int, int]] = {
    Opcode.READ_REQUEST: READ_REQUEST_LENGTH,
    Opcode.ATOMIC_REQUEST: ATOMIC_REQUEST_LENGTH,
    Opcode.ATOMIC_RESPONSE: ATOMIC_RESPONSE_LENGTH,
}
"""Opcodes of the messages whose RDMAP header says which Request and Response belong together, and
how many octets that has."""

Origin: TypeAlias = tuple[ConnectionId, int, int, int, int]
"""Connection, direction, frame, time in nanoseconds and sequence number: the first fields of
:class:`~scapy_mpa.stream.events.FPDURecovered`."""


class DDPSegment(NamedTuple):
    """What counts of a DDP segment."""

    start: int
    """Position of the first octet of its FPDU."""
    header: DDPHeader
    opcode: int
    length: int
    """Octets behind the DDP header."""
    cut_off: int
    """How many of them the snap length cut off."""
    body: bytes
    """Those octets, if they may be of the RDMAP header of a Request or of an Atomic Response; none
    if any of them was cut off."""
    phase: int | None
    """Offset of the FPDU's first octet modulo 512, None without Markers."""
    origin: Origin
    captured: int
    """The frame that brought the last of its octets."""

    @property
    def offset(self) -> int:
        """Tagged Offset or Message Offset."""
        at = self.header.to if self.header.tagged else self.header.mo
        assert at is not None
        return at

    @property
    def is_message(self) -> bool:
        """Whether it is all of an Untagged message, or holds all of its RDMAP header.

        There are receivers that take it for that whatever MO is.
        """
        header = self.header
        return header.last and (header.mo == 0 or self.length == WITH_HEADER.get(self.opcode))
