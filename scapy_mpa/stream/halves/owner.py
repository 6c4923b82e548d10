# SPDX-License-Identifier: GPL-2.0-or-later
"""The connection, as its half connections see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from scapy_mpa.stream.events import ConnectionId, GapReason, LocatedBy
from scapy_mpa.stream.fpdus.candidate import Candidate
from scapy_mpa.stream.octets.ift_scan import FoundIndication
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.wire.errors import ErrorCode

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.common import Common
    from scapy_mpa.stream.halves.half import HalfConnection

__all__ = ["Owner"]


class Owner(Protocol):
    """Who is told what is found in a half connection, and asked about its peer."""

    common: Common
    """What all connections have in common."""
    identity: ConnectionId
    """Number and flow."""
    reverse: bytes
    """The flow of direction 1."""
    halves: tuple[HalfConnection, HalfConnection]
    """Both directions."""
    segments: int
    """Segments received so far."""
    frame: int
    """The frame that brought the last of them."""
    is_ordinary: bool
    """Whether the straight path has it."""
    lingers: bool
    """Whether it is known to be over, and late copies are waited for."""

    @property
    def was_reset(self) -> bool:
        """Whether a RST was captured, and nothing after it shows that its receiver dropped it."""

    @property
    def last_time_ns(self) -> int:
        """When its last segment was captured, in nanoseconds since the epoch."""

    def fail(self, error: Exception) -> None:
        """Report a fault of this program, and follow the connection no further."""

    def on_startup(
        self, half: HalfConnection, found: FoundStartup, frames: tuple[int, ...]
    ) -> None:
        """Take a startup frame."""

    def must_wait(
        self, half: HalfConnection, island: Island, found: FoundStartup, *, is_refuted: bool
    ) -> bool:
        """Tell whether a startup frame must wait for what was sent before it."""

    def reads_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs before a startup frame in streaming mode; tell whether there are some."""

    def on_key(self, half: HalfConnection, position: int) -> None:
        """Take note of a startup frame that stands where an FPDU must begin."""

    def is_answered(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Tell whether what seems to be a Request was answered."""

    def on_refuted(self, half: HalfConnection) -> None:
        """Learn that a startup frame was none, by what follows it."""

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""

    def may_announce_rtr(self, half: HalfConnection, found: FoundStartup) -> bool:
        """Tell whether an Rtr Frame may follow a startup frame."""

    def on_indication(
        self,
        half: HalfConnection,
        found: FoundIndication,
        frames: tuple[int, ...],
        *,
        is_first: bool,
    ) -> None:
        """Take what may be an adaption indication.

        :param is_first: whether its direction begins with it.
        """

    def on_unknown(self, half: HalfConnection) -> None:
        """Look at octets that are not framed because startup frames were not captured."""

    def decide(self, half: HalfConnection) -> None:
        """Decide what a half connection carries with what is there, as if nothing more came.

        Called more than once: also where octets have become many, or memory short.
        """

    def on_fpdu(self, half: HalfConnection, island: Island, fpdu: Candidate, by: LocatedBy) -> None:
        """Take an FPDU."""

    def on_gap(self, half: HalfConnection, start: int, end: int, reason: GapReason) -> None:
        """Take a hole that will stay."""

    def on_overlap(self, half: HalfConnection, start: int, end: int) -> None:
        """Take a stretch that came twice and differs."""

    def on_error(
        self, half: HalfConnection, code: ErrorCode | None, position: int, text: str
    ) -> None:
        """Take an error."""
