# SPDX-License-Identifier: GPL-2.0-or-later
"""What framing needs of a half connection: a receiver of FPDUs, errors and positions."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus.candidate import Candidate
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.purse import Purse
from scapy_mpa.wire.errors import ErrorCode

Handover: TypeAlias = Literal["done", "refused", "undecided"]
"""Whether SoftUiWARP's framing has taken a run; ``undecided`` while octets are missing."""


class Sink(Protocol):
    """Receives what framing finds."""

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Take an FPDU."""

    def wrong(self, code: ErrorCode, position: int, text: str) -> None:
        """Take an error."""

    def cut_off(self, start: int, end: int) -> None:
        """Take a stretch whose FPDUs cannot be read, because the snap length cut off octets."""

    def ends_at(self, position: int) -> bool:
        """Return whether the sender has closed the direction at a position."""

    @property
    def purse(self) -> Purse:
        """The purse that pays for searches."""

    @property
    def reached(self) -> int:
        """The end of the FPDU that the last hole cut off (:meth:`reaches`)."""

    @property
    def longest(self) -> int:
        """Octets of the longest verified FPDU that several segments brought."""

    def fpdus_within(self, octets: bytes, offset: int) -> list[int]:
        """Return the first places in octets at which whole and sound FPDUs begin."""

    def reaches(self, end: int) -> None:
        """Take the end of an FPDU that will never be whole; 0 if there is none."""

    def before(self, island: Island) -> Island | None:
        """Return the island before another one, if it is still held."""

    def after(self, position: int) -> Island | None:
        """Return the first island after a position."""

    def unfinished(self, position: int, length: int) -> None:
        """Take an unfinished FPDU: the octets end ``length`` octets after its start."""

    def meets_startup(self, position: int) -> None:
        """Take a startup frame at a position where an FPDU must begin."""

    def hand_to_softuiwarp(self, island: Island, run: Run, *, final: bool) -> Handover:
        """Have a run continued as SoftUiWARP's, if the pads show that; return the answer.

        :param run: the chain of lengths broke after this run.
        :param final: no octets will be added.
        """

    def release(self, island: Island, start: int, end: int) -> None:
        """Release octets that are not needed any more."""
