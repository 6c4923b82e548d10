# SPDX-License-Identifier: GPL-2.0-or-later
"""What the events have in common that bring a DDP segment, whatever carried it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from scapy_mpa.stream.events.connection import ConnectionId

__all__ = ["CrcVerdict", "DDPCarrier", "LocatedBy", "Place"]

CrcVerdict: TypeAlias = Literal["good", "bad", "off", "unknown"]
LocatedBy: TypeAlias = Literal["start", "length", "marker", "search"]
Place: TypeAlias = tuple[int, int | None, int, int]
"""Where a carrier of a DDP segment lies in its direction, all in octets: a 32-bit sequence number;
the same as an offset from the beginning, None if that is unknown; how far before it the carrier
begins; and how long the carrier is."""


class DDPCarrier(Protocol):
    """What an event has that brings a DDP segment, whatever carried it: for messages, for checks.

    One that does not carry RDMAP is none of theirs.  One that is not acceptable holds its place in
    the stream, but what is in it does not count.
    """

    @property
    def connection(self) -> ConnectionId: ...
    @property
    def direction(self) -> int: ...
    @property
    def frame(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def octets(self) -> bytes: ...
    @property
    def ulpdu(self) -> bytes: ...
    @property
    def ulpdu_length(self) -> int: ...
    @property
    def phase(self) -> int | None: ...
    @property
    def crc(self) -> CrcVerdict: ...
    @property
    def out_of_order(self) -> bool: ...
    @property
    def settled(self) -> bool: ...
    @property
    def frames(self) -> tuple[int, ...]: ...
    @property
    def place(self) -> Place: ...
    @property
    def carries_rdmap(self) -> bool: ...
    @property
    def is_acceptable(self) -> bool: ...
