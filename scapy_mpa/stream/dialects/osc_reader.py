# SPDX-License-Identifier: GPL-2.0-or-later
"""One FPDU of the Ohio Supercomputer Center's software iWARP at a given place.

Where its Markers fall depends on its phase, which is known if all FPDUs before it are
(:mod:`scapy_mpa.wire.osc`).  With CRCs one tells by itself: its CRC is good as one without Markers,
or with Markers at the places where words read as such, the least significant octet first.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.stream.fpdus.candidate import HEAD, UNREADABLE, WORD, Candidate
from scapy_mpa.stream.fpdus.finder import FPDUFinder
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.search import agreeing_words
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import FPDUPTR_MASK, HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.osc import fpdu_layout, marker_octets, next_phase

__all__ = ["LONGEST_ROW", "OSCReader"]

_LEADING: Final = bytes(MARKER_LENGTH)
"""The Marker before an FPDU."""

_POINTERS: Final = b"".join(marker_octets(at, 0) for at in range(WORD, MARKER_INTERVAL, WORD))
"""The first Marker behind a ULPDU_Length field, for each place where it may stand."""

LONGEST_ROW: Final = MARKER_INTERVAL // WORD + 1
"""FPDUs that can stand in a row from one with a Marker to the next one, both included."""

_READINGS: Final = 8
"""Of one FPDU, that are held against those behind it: numbers in its header read as Markers."""


class OSCReader(FPDUFinder):
    """Reads FPDUs of one direction wherever it is told to, within what that may cost.

    For parameters see :class:`~scapy_mpa.stream.fpdus.candidate.FPDUReader`.
    """

    __slots__ = ()

    @staticmethod
    def phases(octets: bytes) -> list[int]:
        """Return at which phases an FPDU may begin whose first octets these are, by words in it
        that read as its first Marker."""
        words = octets[WORD:MARKER_INTERVAL]
        phases = [-(WORD + at) % MARKER_INTERVAL for at in agreeing_words(words, _POINTERS)]
        return [*phases, 0] if octets.startswith(_LEADING) else phases

    @property
    def may_have_markers(self) -> bool:
        """Whether FPDUs may hold Markers."""
        return self.markers

    def behind(self, fpdu: Candidate) -> int | None:
        """Return the phase of what follows an FPDU, None if it is not known."""
        phase, length = fpdu.layout.phase, fpdu.layout.length
        return None if phase is None else next_phase(phase, length, crc=self.crc)

    def read_at(self, island: Island, start: int, limit: int, phase: int | None) -> Candidate | int:
        """Read the FPDU at ``start``, or say up to which position octets are needed for it.

        :param phase: None if it is not known, or there are no Markers.
        """
        fpdu = self.judge(island, start, limit, phase)
        if phase is not None or not (self.crc and self.may_have_markers):
            return fpdu
        if isinstance(fpdu, int) or fpdu.crc == "good":
            return fpdu
        if fpdu.crc == "unknown":
            # Nothing says how many Markers lie in what was cut off.
            return fpdu._replace(sound=False)
        return self._marked_at(island, start, limit) or fpdu

    def _marked_at(self, island: Island, start: int, limit: int) -> Candidate | int | None:
        """Read the FPDU with Markers at ``start``, of which the phase is not known.

        Return None if none is verified, or up to which position octets are needed for one.
        """
        window = island.read(start, min(limit, start + MARKER_INTERVAL))
        found: list[Candidate] = []
        need = 0
        # A CRC does not tell where Markers are, only how many.
        good: dict[int, bool] = {}
        for phase in self.phases(window):
            end = self._end_at(island, start, limit, phase)
            if end > limit:
                need = need or end
                continue
            if end not in good:
                self._allowance -= end - start
                good[end] = crc32c(island.read(start, end)) == RESIDUE
            if good[end] and len(found) < _READINGS:
                read = self.judge(island, start, limit, phase)
                if not isinstance(read, int) and read.crc == "good" and read.is_pointed_at:
                    found.append(read)
        if len(found) > 1:
            return self._likeliest(island, found, limit)
        return found[0] if found else need or None

    def _end_at(self, island: Island, start: int, limit: int, phase: int) -> int:
        """Return where an FPDU ends that is read at a phase, as far as its length is there."""
        header = start + MARKER_LENGTH if phase == 0 else start
        behind = header + HEADER_LENGTH
        if behind > limit:
            return behind
        ulpdu_length = int.from_bytes(island.read(header, behind), "big")
        return start + fpdu_layout(ulpdu_length, phase, True).length

    def _likeliest(self, island: Island, found: list[Candidate], limit: int) -> Candidate:
        """Return which of the readings of one FPDU those behind it bear out.

        Its CRC does not tell where its Markers are, and a number in its header may read as one.
        """

        def borne_out(fpdu: Candidate) -> tuple[int, bool]:
            count = 0
            following: Candidate | int = fpdu
            while not isinstance(following, int) and following.sound and count < LONGEST_ROW:
                count += 1
                phase = self.behind(following)
                following = self.judge(island, following.end, limit, phase)
            first = fpdu.layout.markers[0]
            return count, not 0 < first < HEAD

        return max(found, key=borne_out)

    def starting_at(self, island: Island, header: int, begin: int, limit: int) -> Candidate | None:
        """Return the verified FPDU whose ULPDU_Length stands at ``header``.

        :param begin: where the first octet lies that may be of it: a Marker may lead it.
        """
        fpdu = self._tried_at(island, header, limit, None)
        if fpdu is not None and fpdu.crc == "good":
            return fpdu
        start = header - MARKER_LENGTH
        if not self.may_have_markers or start < begin or island.read(start, header) != _LEADING:
            return None
        led = self.judge(island, start, limit, 0)
        if isinstance(led, int) or led.crc != "good" or not led.is_pointed_at:
            return None
        return led

    def goes_on(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Tell whether an FPDU that a search has found stands where FPDUs stand."""
        if fpdu.end == limit or island.fills_segments(fpdu.start, fpdu.end):
            return True
        following = self._tried_at(island, fpdu.end, limit, self.behind(fpdu))
        if following is not None:
            return following.crc == "good"
        # As far as it is there.
        head = island.read(fpdu.end, min(limit, fpdu.end + MARKER_LENGTH + HEAD))
        if len(head) < HEAD:
            return True
        return head_makes_sense(head[:HEAD]) or (
            head.startswith(_LEADING) and head_makes_sense(head[MARKER_LENGTH:])
        )

    def is_followed(self, island: Island, fpdu: Candidate, limit: int) -> bool:
        """Tell whether a verified FPDU stands behind one."""
        following = self._tried_at(island, fpdu.end, limit, self.behind(fpdu))
        return following is not None and following.crc == "good"

    def _tried_at(
        self, island: Island, start: int, limit: int, phase: int | None
    ) -> Candidate | None:
        """Read the FPDU at ``start`` at its cost; return None if octets are missing for it."""
        fpdu = self.read_at(island, start, limit, phase)
        if isinstance(fpdu, int):
            return None
        self._allowance -= fpdu.layout.length
        return fpdu

    def spend(self, octets: int) -> bool:
        """Take it that so many octets were gone over; tell whether more may be."""
        self._allowance -= octets
        return self._allowance >= 0

    def judge(self, island: Island, start: int, limit: int, phase: int | None) -> Candidate | int:
        """Read the FPDU at ``start`` with Markers where its phase has them, None for none.

        Or say up to which position octets are needed for it.
        """
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
