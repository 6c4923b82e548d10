# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs of the Ohio Supercomputer Center's software iWARP begin and end in one direction.

The rules:

* FPDUs lie one behind the other from the beginning of the Full Operation Phase on.  Where the
  Markers of one fall depends on how many CRC fields stand before it, so it is known only if all
  FPDUs before it are (:mod:`scapy_mpa.wire.osc`).
* With CRCs an FPDU is what its CRC says.  One with a bad CRC stands where the one before it ends,
  whatever it holds; behind it the next one begins if that is verified, or if its header makes sense
  and its length leads to one that is.
* Without CRCs, Markers and header must agree.  An FPDU of which they do not is one if they do of
  the next one.
* Behind a hole that stays, or where the lengths lead nowhere, no more of them is told.

With CRCs and without Markers FPDUs are those of RFC 5044, and so is what finds them.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.candidate import UNREADABLE, Candidate
from scapy_mpa.stream.events import CrcVerdict, FPDURecovered, FPDUWithoutCRC
from scapy_mpa.stream.in_order import InOrderFraming
from scapy_mpa.stream.island import Island, Run
from scapy_mpa.stream.sink import Sink
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import FPDUPTR_MASK, HEADER_LENGTH, MARKER_LENGTH
from scapy_mpa.wire.osc import fpdu_layout, next_phase

__all__ = ["OSCFraming"]

_LONGEST_BRIDGE: Final = 16
"""Unverified FPDUs in a row that lengths may cross."""


class OSCFraming(InOrderFraming):
    """Finds the FPDUs of one direction, in order.

    :param sink: who is told.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are on.
    """

    __slots__ = ("_is_sure", "_phase")
    dialect = Dialect.OSC

    def __init__(self, sink: Sink, origin: int, *, markers: bool, crc: bool) -> None:
        super().__init__(sink, origin, markers=markers, crc=crc)
        self._phase = 0 if markers else None
        """Of the FPDU that comes next."""
        self._is_sure = True
        """Whether one begins where the one before it ends, as far as lengths can be trusted."""

    @property
    def recovered(self) -> type[FPDURecovered]:  # type: ignore[override]
        """The event that tells of an FPDU."""
        return FPDURecovered if self.crc else FPDUWithoutCRC

    def _take(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Pass on the FPDU at the end of a run; tell whether there is one, whole before a limit."""
        start = run.end
        fpdu = self._judge(island, start, limit, self._phase)
        if isinstance(fpdu, int):
            if fpdu == UNREADABLE or (final and not self._is_sure):
                run.trouble = start
            island.need = fpdu
            return False
        if fpdu.sound:
            self._is_sure = True
        elif self.crc and self._is_sure:
            # Its start is certain, whatever it holds.
            self._is_sure = False
        else:
            need = self._need_behind(island, fpdu, limit, final=final)
            if need is not None:
                if need <= limit or final:
                    run.trouble = start
                island.need = need
                return False
        self._phase = self._behind(fpdu)
        self._pass_on(island, run, fpdu)
        return True

    def _behind(self, fpdu: Candidate) -> int | None:
        """Return the phase of what follows an FPDU."""
        phase, length = fpdu.layout.phase, fpdu.layout.length
        return None if phase is None else next_phase(phase, length, crc=self.crc)

    def _need_behind(
        self, island: Island, fpdu: Candidate, limit: int, *, final: bool
    ) -> int | None:
        """Return how far octets are needed to tell whether lengths lead on from an FPDU that is not
        verified: None if they do, no more than ``limit`` if they do not."""
        for _ in range(_LONGEST_BRIDGE if self.crc else 1):
            at = fpdu.end
            if at == limit and (final or not self.crc):
                return None
            following = self._judge(island, at, limit, self._behind(fpdu))
            if isinstance(following, int):
                return limit if following == UNREADABLE else following
            if following.sound:
                return None
            if not self._header_makes_sense(following):
                return limit
            fpdu = following
        return limit

    def _judge(self, island: Island, start: int, limit: int, phase: int | None) -> Candidate | int:
        """Read the FPDU at ``start``, or say up to which position octets are needed for it."""
        header = start + MARKER_LENGTH if phase == 0 else start
        behind = header + HEADER_LENGTH
        if behind > limit:
            return behind
        if start < island.held or island.captured_until(start, behind) < behind:
            return UNREADABLE
        ulpdu_length = int.from_bytes(island.read(header, behind), "big")
        layout = fpdu_layout(ulpdu_length, phase, self.crc)
        end = start + layout.length
        if end > limit:
            return end
        octets = island.read(start, end)
        seen = island.captured_until(start, end)
        if seen < end:
            return self._judge_cut(island, start, ulpdu_length, layout, octets[: seen - start])
        agrees = self._agrees(layout, octets)
        pointed = agrees and bool(layout.markers)
        if self.crc:
            good = crc32c(octets) == RESIDUE
            crc: CrcVerdict = "good" if good else "bad"
            return Candidate(start, end, ulpdu_length, layout, octets, crc, agrees, pointed, good)
        sound = agrees and self._plausible(octets, layout, ulpdu_length)
        return Candidate(start, end, ulpdu_length, layout, octets, "off", agrees, pointed, sound)

    @staticmethod
    def _fpduptr(island: Island, marker: int) -> int | None:
        """Return what a Marker says, None if the snap length cut it off."""
        end = marker + MARKER_LENGTH
        if island.captured_until(marker, end) < end:
            return None
        return int.from_bytes(island.read(marker + 2, end), "little") & FPDUPTR_MASK
