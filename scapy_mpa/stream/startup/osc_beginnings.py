# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells of the Ohio Supercomputer Center's software iWARP where startup frames are missing.

With CRCs an FPDU tells that is good only with the Markers of osc, for these point the least
significant octet first, which those of RFC 5044 never do.  As there
(:mod:`~scapy_mpa.stream.inference.inferred`), two must stand back to back, or one must fill a
segment, or be all that there is, or the direction must be known to carry FPDUs, or in the end the
user must say that osc is spoken: a payload may hold some.  What is RFC 5044's by its Markers
outweighs less.
Without CRCs, what tells is how the Full Operation Phase begins, if that is known
(:mod:`~scapy_mpa.stream.dialects.osc_evidence`).

Once it is known of one direction, the other one only has to hold an FPDU that is verified.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scapy_mpa.stream.dialects.osc_evidence import is_osc
from scapy_mpa.stream.dialects.osc_reader import LONGEST_ROW, OSCReader
from scapy_mpa.stream.fpdus.candidate import HEAD, WORD, Candidate
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.search import COST_OF_PLACE, header_words
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.takeover import enter_full_operation
from scapy_mpa.stream.inference.inferred import infer
from scapy_mpa.stream.inference.look import Unlike, Unlikes
from scapy_mpa.stream.inference.rows import PLAUSIBLE_ROW, Rows
from scapy_mpa.stream.inference.sight import OCTETS_AT_FIRST, Known, Sight
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import MARKER_INTERVAL

__all__ = ["begin", "is_proven", "is_spoken"]

_MARKERS: Final = 2
_MARKERS_OF_FEW: Final = 4
"""Markers that say more than 0 in FPDUs in a row, that nobody takes for chance without CRCs."""


def begin(
    startup: StartupPhase,
    half: HalfConnection,
    known: Known,
    unlike: Unlikes,
    *,
    final: bool,
) -> bool:
    """Have a direction read as osc's if it is seen to be; tell whether it is.

    :param unlike: what may be its FPDUs, unless it is known that osc is spoken.
    :param final: nothing will be added to the octets.
    """
    islands = half.islands.whole()
    is_said = startup.forced is Dialect.OSC
    finder = _Finder(islands, known, final=final, is_said=is_said)
    is_known = is_spoken(startup, half)
    found = finder.verified(finder.all_places()) if is_known else finder.proof(unlike)
    origin, markers = known.origin, known.markers
    if found is not None:
        markers = True if found.layout.markers else markers
        origin = found.start if origin is None else origin
    elif known.crc is True:
        origin = None
    elif origin is not None:
        markers = _without_crcs(half, origin, markers, final=final, is_said=is_said)
        origin = None if markers is None else origin
    elif final and markers is not False:
        origin, markers = finder.find_row(finder.all_places() if is_known else unlike.places), True
    if origin is None:
        return False
    startup.take_for_osc()
    enter_full_operation(
        half,
        origin,
        markers=bool(markers),
        crc=found is not None,
        from_start=known.origin is not None,
        is_guess=markers is None,
        dialect=Dialect.OSC,
    )
    return True


def is_spoken(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether osc is known to be spoken in a direction before its octets are looked at.

    That the user says so is not enough where a startup frame is missing: of others as much must be
    found as without a word.  It only makes less evidence enough, where RFC 5044 leads nowhere.
    """
    return startup.halves[1 - half.direction].dialect is Dialect.OSC


def is_proven(islands: Sequence[Island]) -> bool:
    """Tell whether any FPDU proves, by its CRC and its Markers, that osc is spoken.

    :param islands: of a direction that is known to carry FPDUs, with CRCs and Markers.
    """
    known = Known(crc=True, markers=None, origin=None, sure=True)
    unlike = Unlikes()
    infer(islands, known, final=True, unlike=unlike)
    return _Finder(islands, known, final=True).proof(unlike) is not None


def _without_crcs(
    half: HalfConnection, origin: int, markers: bool | None, *, final: bool, is_said: bool
) -> bool | None:
    """Return whether FPDUs of osc, without CRC fields, have Markers; None if they are none."""
    island = half.islands.at(origin)
    if island is None or not island.holds(origin):
        return None
    octets = island.read(origin, island.captured_until(origin, island.end))
    for each in (True, False) if markers is None else (markers,):
        if is_osc(octets, markers=each, crc=False, final=final, is_said=is_said):
            return each
    return None


def _window(island: Island, header: int) -> bytes:
    """Return the octets in which the first Marker of an FPDU stands if it has any."""
    return island.read(header, min(island.end, header + MARKER_INTERVAL))


class _Finder:
    """Looks for FPDUs of osc where nothing tells where any begins.

    :param islands: whose octets are all there.
    :param known: what is known of them.
    :param final: nothing will be added to them.
    :param is_said: the user says that osc is spoken: in the end one FPDU that is its is enough.
    """

    def __init__(
        self, islands: Sequence[Island], known: Known, *, final: bool, is_said: bool = False
    ) -> None:
        self._is_enough = final and is_said
        self._islands = islands
        self._known = known
        self._is_all = final and len(islands) == 1
        self._reader = OSCReader(0, markers=True, crc=True)
        self._reader.allow(sum(island.end - island.start for island in islands))

    def verified(self, places: Iterable[Unlike]) -> Candidate | None:
        """Return the first FPDU with a good CRC, None if there is none.

        :param places: at which to look.
        """
        for place in places:
            if not self._reader.spend(COST_OF_PLACE):
                break
            fpdu = self._at(place)
            if fpdu is not None and (
                fpdu.layout.markers or self._reader.goes_on(place.island, fpdu, place.island.end)
            ):
                return fpdu
        return None

    def proof(self, unlike: Unlikes) -> Candidate | None:
        """Return the first FPDU with a good CRC if it and others prove that osc is spoken.

        They must be osc's by their Markers, not lie within what RFC 5044 has, and be more than what
        is RFC 5044's by its Markers: a payload may hold FPDUs of either.
        """
        ends: set[int] = set()
        first: Candidate | None = None
        octets = 0
        for place in unlike.places:
            island, header, is_behind = place
            if not self._reader.spend(COST_OF_PLACE):
                break
            if not self._reader.phases(_window(island, header)):
                # Nearly all of others are none of osc at first sight.
                continue
            fpdu = self._at(place)
            if fpdu is None:
                continue
            is_behind |= fpdu.start in ends
            ends.add(fpdu.end)
            if not any(fpdu.layout.fpduptrs):
                continue
            if first is None:
                if not is_behind and not self._is_believed(island, fpdu):
                    continue
                if self._is_claimed(island, header):
                    return None
                first = fpdu
            octets += fpdu.layout.length
            if octets > unlike.pointed_at:
                return first
        return None

    def _at(self, place: Unlike) -> Candidate | None:
        island = place.island
        return self._reader.starting_at(island, place.header, island.start, island.end)

    def find_row(self, places: Iterable[Unlike]) -> int | None:
        """Return where, without CRCs, a Marker is that FPDUs in a row bear out; None if none do.

        :param places: at which to look.
        """
        reader = OSCReader(0, markers=True, crc=False)
        for island, header, _ in places:
            if not self._reader.spend(MARKER_INTERVAL):
                break
            for phase in reader.phases(_window(island, header)):
                if phase and self._is_row(reader, island, header, phase):
                    return None if self._is_claimed(island, header) else header - phase
        return None

    def _is_claimed(self, island: Island, header: int) -> bool:
        """Tell whether what seems to be an FPDU lies within others, of RFC 5044, without CRCs."""
        if self._known.crc is True:
            return False
        rows = Rows(Sight(island, self._known._replace(crc=None), OCTETS_AT_FIRST))
        return any(header in within for row in rows.all() for within in rows.claimed(row))

    def _is_row(self, reader: OSCReader, island: Island, start: int, phase: int) -> bool:
        """Tell whether an FPDU begins several in a row that no chance makes."""
        markers = 0
        at: tuple[int, int | None] = start, phase
        for fpdus in range(1, LONGEST_ROW):
            fpdu = reader.judge(island, at[0], island.end, at[1])
            if isinstance(fpdu, int) or not fpdu.sound:
                return False
            markers += fpdu.telling_markers
            if markers >= (_MARKERS if fpdus >= PLAUSIBLE_ROW else _MARKERS_OF_FEW):
                return True
            if not self._reader.spend(fpdu.layout.length):
                return False
            at = fpdu.end, reader.behind(fpdu)
        return False

    def all_places(self) -> Iterator[Unlike]:
        """Yield where headers stand that make sense, within what it may cost to look.

        The likeliest alignment comes first.
        """
        for island in self._islands:
            octets = island.read(island.start, island.end)
            counts = [0] * WORD
            for chunk in island.chunks(island.start, island.end):
                counts[(chunk.position - island.start) % WORD] += 1
            for shift in sorted(range(WORD), key=lambda each: -counts[each]):
                for word in header_words(octets[shift:]):
                    if not self._reader.spend(COST_OF_PLACE):
                        return
                    at = shift + word
                    if head_makes_sense(octets[at : at + HEAD]):
                        yield Unlike(island, island.start + at, is_behind=False)

    def _is_believed(self, island: Island, fpdu: Candidate) -> bool:
        """Tell whether an FPDU is one of the direction, and not part of a payload."""
        return (
            self._known.sure
            or (not self._known.unasked and self._may_stand_alone(island, fpdu))
            or self._reader.is_followed(island, fpdu, island.end)
        )

    def _may_stand_alone(self, island: Island, fpdu: Candidate) -> bool:
        """Tell whether one FPDU is enough."""
        return (
            self._is_enough
            or island.fills_segments(fpdu.start, fpdu.end)
            or (self._is_all and (fpdu.start, fpdu.end) == (island.start, island.end))
        )
