# SPDX-License-Identifier: GPL-2.0-or-later
"""What was never captured, came twice and differs, or breaks a rule."""

from typing import Literal, NamedTuple, TypeAlias

from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.errors import ErrorCode

GapReason: TypeAlias = Literal[
    "acknowledged", "connection ended", "capture ended", "limit", "snap length"
]


class GapFound(NamedTuple):
    """Octets that were sent but never captured and will not be waited for any longer; with reason
    ``limit``, also octets that were given up before they could be made use of."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    length: int
    reason: GapReason
    serial: int = 0
    """Of :class:`~scapy_mpa.stream.events.sctp.ChunksMissing`, the first DDP-SSN, counted on where
    DDP-SSNs wrap."""

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins, as a sequence number, and its length, both in octets."""
        return self.seq, self.length


class OverlapDiffers(NamedTuple):
    """Octets came twice and differ; the first captured stay (RFC 5044 A.3)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of the first octet that differs."""
    length: int
    """Octets from there to the last one that differs."""


class ErrorFound(NamedTuple):
    """Something that a receiver must report: MPA (RFC 5044 section 8), or DDP and RDMAP."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    code: ErrorCode | None
    """MPA's, None if it is an error of DDP or RDMAP."""
    seq: int
    text: str
