# SPDX-License-Identifier: GPL-2.0-or-later
"""One TCP segment of a crafted connection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scapy_mpa.craft.options import SIDES
from scapy_mpa.wire.tcp import ACK, FIN, PSH, RST, SYN

_LETTERS = ((SYN, "S"), (FIN, "F"), (RST, "R"), (PSH, "P"), (ACK, "A"))


@dataclass(frozen=True, slots=True, repr=False)
class Segment:
    """One TCP segment; the number of its frame is its place in a list, from 1."""

    is_tcp: ClassVar = True
    time_ns: int
    """Time of capture, in nanoseconds since the epoch."""
    side: int
    """The sender: 0 is the Initiator, 1 the Responder."""
    seq: int
    """Sequence number, 32 bits."""
    ack: int
    """Acknowledgement number, 32 bits."""
    flags: int
    """As in :mod:`scapy_mpa.stream.segment`."""
    octets: bytes = b""
    """The payload."""
    options: bytes = b""
    """TCP options."""
    captured: int | None = None
    """How many octets of the payload were captured, where a snap length cut it; None: all."""

    def __repr__(self) -> str:
        letters = "".join(letter for flag, letter in _LETTERS if self.flags & flag)
        cut = "" if self.captured is None else f", {self.captured} captured"
        return (
            f"<Segment {SIDES[self.side]} {letters} seq {self.seq} ack {self.ack}, "
            f"{len(self.octets)} octets{cut}>"
        )
