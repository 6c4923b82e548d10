# SPDX-License-Identifier: GPL-2.0-or-later
"""The half connection, as framing sees it."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus.candidate import Candidate
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.purse import Purse
from scapy_mpa.wire.errors import ErrorCode

Handover: TypeAlias = Literal["done", "refused", "undecided"]
"""The answer of another stack's framing to which a run was offered; ``undecided`` while octets are
missing."""


class Sink(Protocol):
    """Who gets what framing finds."""

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Take an FPDU."""

    def wrong(self, code: ErrorCode, position: int, text: str) -> None:
        """Take an error."""

    def cut_off(self, start: int, end: int) -> None:
        """Take note of a stretch in which the snap length cut off what is needed to go on."""

    def ends_at(self, position: int) -> bool:
        """Tell whether the sender has closed the direction after the octets up to a position."""

    @property
    def purse(self) -> Purse:
        """What pays for searches."""

    @property
    def reached(self) -> int:
        """Where the FPDU ends that the last hole cut off (:meth:`reaches`)."""

    def reaches(self, end: int) -> None:
        """Take note of where an FPDU ends that will never be whole; 0: there is none."""

    def before(self, island: Island) -> Island | None:
        """Return the island before another one, if it is still held."""

    def after(self, position: int) -> Island | None:
        """Return the first island that lies after a position."""

    def unfinished(self, position: int, length: int) -> None:
        """Take note of an FPDU that ends after ``length`` octets."""

    def meets_startup(self, position: int) -> None:
        """Take note of a startup frame that stands where an FPDU must begin."""

    def hand_to_softuiwarp(self, island: Island, run: Run, *, final: bool) -> Handover:
        """Have a run read on as SoftUiWARP's, if the pads show that; return whether that was done.

        :param run: after which the chain of lengths broke.
        :param final: nothing more will come.
        """

    def release(self, island: Island, start: int, end: int) -> None:
        """Give up octets whose work is done."""
