# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of missing octets, of copies that differ, and of broken rules."""

from typing import Literal, NamedTuple, TypeAlias

from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.errors import ErrorCode

GapReason: TypeAlias = Literal[
    "acknowledged", "connection ended", "capture ended", "limit", "snap length"
]


class GapFound(NamedTuple):
    """Octets that were sent but not captured, and are not waited for any more.

    With reason ``limit``, they may include captured octets that were given up unused.
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    length: int
    reason: GapReason
    serial: int = 0
    """In :class:`~scapy_mpa.stream.events.sctp.ChunksMissing`, the first DDP-SSN, which does not
    wrap here."""

    @property
    def place(self) -> tuple[int, int]:
        """Its sequence number and its length, both in octets."""
        return self.seq, self.length


class OverlapDiffers(NamedTuple):
    """Two copies of the same octets differ; the first captured one counts (RFC 5044 A.3)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of the first octet that differs."""
    length: int
    """Octets from the first to the last one that differs."""


class ErrorFound(NamedTuple):
    """An error that a receiver must report: of MPA (RFC 5044 section 8), or of DDP and RDMAP."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    code: ErrorCode | None
    """The code of MPA; None for an error of DDP or RDMAP."""
    seq: int
    text: str
