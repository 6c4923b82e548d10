# SPDX-License-Identifier: GPL-2.0-or-later
"""The half connection, as framing of iWARP Framing for TCP sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.halves.extent import how_it_ended
from scapy_mpa.stream.ift.placement import Speculated
from scapy_mpa.stream.ift.reader import Found
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.ift_indication import Problem

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection

__all__ = ["IFTSink"]


class IFTSink:
    """Counts what framing finds in a half connection, and passes it on.

    :param half: the half connection.
    """

    __slots__ = ("_half",)

    def __init__(self, half: HalfConnection) -> None:
        self._half = half

    def found(self, found: Found, located_by: LocatedBy, frames: tuple[int, ...]) -> None:
        """Take a frame that was placed in order."""
        half = self._half
        self._count(found)
        half.owner.on_frame(half, found, located_by, frames)

    def found_speculated(self, speculated: Speculated, confirmed: bool | None) -> None:
        """Take a frame that was placed speculatively, and what became of it."""
        half = self._half
        if confirmed is not False:
            self._count(speculated.found)
            half.counting.ahead(speculated.ahead)
        half.owner.on_frame(
            half,
            speculated.found,
            speculated.located_by,
            speculated.frames,
            placed="speculative",
            confirmed=confirmed,
        )

    def _count(self, found: Found) -> None:
        half = self._half
        half.fpdus += 1
        if "bad" in (found.header_crc, found.payload_crc):
            half.counting.crc_bad += 1

    def wrong(self, position: int, problem: Problem) -> None:
        """Take an error; the draft has no codes."""
        self._half.owner.on_error(self._half, None, position, str(problem))

    def unfinished(self, position: int, length: int) -> None:
        """Take note of a frame of which only the first ``length`` octets will ever be there."""
        half = self._half
        how = how_it_ended(half, position + length)
        if how is not None:
            text = (
                f"the connection was {how} {length} octets into a frame "
                "(draft-williams-iwarp-ift-01 6)"
            )
            half.owner.on_error(half, None, position, text)

    def cut_off(self, start: int, end: int) -> None:
        """Take note of a stretch in which the snap length cut off what is needed to go on."""
        self._half.cut_off(start, end)

    def holds(self, octets: int) -> None:
        """Count memory, beside that of islands, that is held from now on.

        :param octets: how many more; less than 0 if some are no longer held.
        """
        self._half.held += octets

    def release(self, island: Island, start: int, end: int) -> None:
        """Give up octets whose work is done."""
        self._half.release(island, start, end)

    def ahead_of(self, position: int) -> int:
        """Return the octets from the first that is not there to a position beyond it."""
        return position - self._half.islands.front_end()
