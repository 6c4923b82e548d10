# SPDX-License-Identifier: GPL-2.0-or-later
"""How FPDUs are written, one function for all that have nearly everything in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

from scapy_mpa.stream.events import ConnectionId, CrcVerdict, Event, LocatedBy

__all__ = ["FPDUKind", "Templates", "WriteTagged", "WriteUntagged"]


class FPDUKind(NamedTuple):
    """What many FPDUs have in common."""

    connection: ConnectionId
    direction: int
    control: bytes
    """The DDP and the RDMAP control octet."""
    markers: int
    crc: CrcVerdict
    located_by: LocatedBy
    out_of_order: bool


WriteTagged: TypeAlias = Callable[[int, int, int, int | None, int, str | int, int, int], str]
"""Frame, time in ns, seq, offset, ULPDU_Length, frames joined by commas, STag, TO."""

WriteUntagged: TypeAlias = Callable[
    [int, int, int, int | None, int, str | int, int, int, int, int], str
]
"""Frame, time in ns, seq, offset, ULPDU_Length, frames joined by commas, the 32-bit word of
RsvdULP, QN, MSN, MO."""


class Templates(Protocol):
    """Who writes events."""

    def line(self, event: Event) -> str:
        """Return the line of any event."""

    def tagged(self, kind: FPDUKind) -> WriteTagged | None:
        """Return what writes Tagged FPDUs of a kind, None if each must be seen as a whole."""

    def untagged(self, kind: FPDUKind) -> WriteUntagged | None:
        """Return what writes Untagged FPDUs of a kind, None if each must be seen as a whole."""
