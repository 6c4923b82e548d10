# SPDX-License-Identifier: GPL-2.0-or-later
"""What a direction carries whose startup frames were not all captured.

Three things may be unknown: whether the octets are FPDUs at all, whether CRCs are on, and
whether there are Markers and where.  All are found by looking for FPDUs in all islands:

* With CRCs, one verified FPDU is 32 bits of evidence.  But a payload may hold FPDUs (a download
  of an iWARP capture, say), so two must stand back to back, or one must fill a segment, or be all
  that there is in the end, or the direction must be known to carry FPDUs.
* Each verified FPDU says something about Markers (:mod:`~scapy_mpa.stream.inference.places`), and
  what is known is what they say together.  Few FPDUs that hold no Marker do not say that there are
  none.
* Without CRCs, several headers in a row must make sense, each where the length before it leads.
  That is little beside a CRC, and a payload may hold such a row, too.  So it is believed where
  it begins with the phase, or is longer than any payload; else only when nothing better will
  come, and no CRC of either direction says otherwise (``Known.crc``).  Where no startup frame was
  captured and the other direction shows nothing, headers must also go on where others end, or a
  Marker point to one (:mod:`~scapy_mpa.stream.inference.evidence`).
* Where startup frames cannot have been missed and there are none, nobody asked for MPA
  (``Known.unasked``): two good CRCs in a row are believed, and nothing else.

Ordinary TCP traffic has none of this.  How much of it is looked at is limited for each half
connection, and for all of a capture together (:mod:`~scapy_mpa.stream.inference.purse`), so finding
out costs a bounded amount.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import FRAMING_WINDOW, HEAD, WHOLE_FPDUS, WORD
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.fpdus.regularity import Irregular, Regularity
from scapy_mpa.stream.fpdus.search import ZERO_LENGTH
from scapy_mpa.stream.inference.look import Look
from scapy_mpa.stream.inference.places import Ballot
from scapy_mpa.stream.inference.rows import PLAUSIBLE_ROW, Row, Rows
from scapy_mpa.stream.inference.sight import OCTETS_AT_FIRST, Known, Sight, looking
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, fpdu_layout

__all__ = ["Inferred", "infer", "shows_crcs"]

# What looks may cost for each octet that is there, up to so many octets.
_OCTETS_PER_OCTET: Final = 16
_COUNTED_OCTETS: Final = 1 << 18
# How many FPDUs are looked at to tell places of Markers by their headers.
_FPDUS_COMPARED: Final = 64
# What octets of a Marker can be: zeros first, and a multiple of four in the end (RFC 5044 4.2).
_OF_A_MARKER: Final = {0: b"\0", 1: b"\0", 3: bytes(range(0, 256, WORD))}


class Inferred(NamedTuple):
    """What was found out about a direction."""

    origin: int
    """A position from which Markers, or else FPDUs, lie at multiples of 512, or else of 4."""
    markers: bool
    crc: bool
    is_guess: bool = False
    """Whether Markers may as well be elsewhere, for all that FPDUs have shown."""
    crc_is_known: bool = True
    """Whether it was shown that CRCs are on or off; if not, they may be on."""

    def contradicts(self, origin: int) -> bool:
        """Tell whether the Full Operation Phase cannot begin at ``origin``."""
        is_certain = self.markers and not self.is_guess
        return (self.origin - origin) % (MARKER_INTERVAL if is_certain else WORD) != 0


def infer(
    islands: Sequence[Island],
    known: Known,
    *,
    final: bool,
) -> Inferred | None:
    """Find out what a direction carries, if it can be told.

    :param islands: whose octets are all there.
    :param final: nothing will be added to them.
    """
    if not final and _may_be_one(islands, known):
        return None
    ballot = None
    if known.crc is not False:
        ballot = _ballot(islands, known, final=final)
    if ballot is not None:
        origin = known.origin
        if not ballot.is_believed or (ballot.is_contradictory and origin is None):
            return None
        if not final and not ballot.is_settled(known.markers, origin):
            return None
        winners = ballot.winners(known.markers, origin)
        place = winners[0]
        if place is not None and len(winners) > 1:
            places = [each for each in winners if each is not None]
            place = _likeliest(places, ballot.first, islands, known)
        inferred = _inferred(place, ballot.reference, known, crc=True)
        return inferred._replace(is_guess=len(winners) > 1)
    row = None if known.crc else _longest_row(islands, known, final=final)
    if row is None:
        return None
    if known.crc is None and row.whole < min(row.fpdus, WHOLE_FPDUS):
        # The CRCs that could tell were cut off.
        return _inferred(row.origin, row.start, known, crc=True)._replace(crc_is_known=False)
    return _inferred(row.origin, row.start, known, crc=False)


def _may_be_one(islands: Sequence[Island], known: Known) -> bool:
    """Tell whether all octets may be of one FPDU not whole yet: others may be its payload."""
    if len(islands) != 1:
        return False
    (island,) = islands
    begin = max(known.origin or island.start, island.start)
    for header in (begin, begin + MARKER_LENGTH):
        head = island.read(header, min(header + HEAD, island.end)) if header < island.end else b""
        if head_makes_sense(head):
            ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
            # With as many Markers as it may hold.
            layout = fpdu_layout(ulpdu_length, None if known.markers is False else 0)
            if begin + layout.length > island.end:
                return True
    return False


def shows_crcs(islands: Sequence[Island], known: Known) -> bool:
    """Tell whether an FPDU with a good CRC is there."""
    return known.crc is not False and _ballot(islands, known, final=True) is not None


def _sights(islands: Sequence[Island], known: Known, *, final: bool = True) -> Iterator[Sight]:
    """Yield the octets of each island, to be looked at for what they are worth and what those
    before them have left."""
    allowance = OCTETS_AT_FIRST
    counted = _COUNTED_OCTETS
    for island in islands:
        octets = min(island.end - island.start, counted)
        counted -= octets
        allowance += _OCTETS_PER_OCTET * octets
        with looking(island, known, allowance=allowance, final=final) as sight:
            lent = sight.allowance
            yield sight
        allowance -= lent - sight.allowance
        if allowance < 0 and not counted:
            break


def _ballot(
    islands: Sequence[Island],
    known: Known,
    *,
    final: bool,
) -> Ballot | None:
    """Return what verified FPDUs say, if there are any."""
    ballots: dict[int, Ballot] = {}
    allowance = 0
    for sight in _sights(islands, known, final=final):
        look = Look(sight)
        is_settled = look.count(ballots)
        allowance = sight.allowance
        if is_settled:
            break
    if final and allowance >= 0 and len(ballots) == 1 and not known.unasked:
        # All were looked at, and may be what holes leave of FPDUs.
        (ballot,) = ballots.values()
        ballot.is_believed |= not ballot.is_doubtful
    origin = known.origin
    for island in islands:
        if origin is not None and island.start <= origin < island.end - WORD:
            octets = island.read(origin, min(origin + len(ZERO_LENGTH), island.end))
            is_marked = octets.startswith(bytes(WORD)) and octets != ZERO_LENGTH
            for ballot in ballots.values():
                ballot.lean(origin, is_marked)
    return max(ballots.values(), key=lambda each: (each.is_believed, each.octets), default=None)


def _likeliest(places: Sequence[int], first: int, islands: Sequence[Island], known: Known) -> int:
    """Return the place of Markers against which least speaks, the first one of equals.

    First octets do: Markers that no verified FPDU holds are there, too, as far as holes have left
    something of them.  Then headers and MSNs do.

    :param first: where a verified FPDU begins.
    """
    columns = [bytearray() for _ in range(MARKER_INTERVAL)]
    found = dict.fromkeys(places, Irregular())
    for sight in _sights(islands, known):
        if sight.begin <= first < sight.island.end:
            found = {place: _irregular(sight, first, place) for place in places}
        for at in range(min(MARKER_INTERVAL, len(sight.octets))):
            column = columns[(sight.begin + at) % MARKER_INTERVAL]
            column += sight.octets[at::MARKER_INTERVAL]

    def against(place: int) -> tuple[int, Irregular]:
        octets = (
            columns[(place + at) % MARKER_INTERVAL].translate(None, possible)
            for at, possible in _OF_A_MARKER.items()
        )
        return sum(map(len, octets)), found[place]

    return min(places, key=against)


def _standing(found: Sequence[tuple[Rows, Row]]) -> list[Row]:
    """Return the rows that others do not refute."""
    telling: dict[int, Row] = {}
    for _, row in found:
        place = row.phase(0)
        if place is not None and row.tells_places:
            telling[place] = max(row, telling.get(place, row), key=attrgetter("telling"))
    if not telling:
        return [row for _, row in found]
    return [row for among, row in found if not among.is_refuted(row, telling.values())]


def _irregular(sight: Sight, start: int, origin: int) -> Irregular:
    """Return what is irregular about the FPDUs from one on.

    :param start: where the first one begins.
    :param origin: position from which Markers are counted.
    """
    regularity = Regularity()
    for _ in range(_FPDUS_COMPARED):
        reading = sight.read(start, (start - origin) % MARKER_INTERVAL)
        if reading is None:
            break
        length = sight.number(reading.start + reading.layout.header)
        regularity.take(sight.header(reading), length)
        start = reading.end
    return regularity.irregular


def _inferred(place: int | None, somewhere: int, known: Known, *, crc: bool) -> Inferred:
    """Return what is meant by a place of a Marker, None for none."""
    origin = known.origin
    if origin is None:
        origin = somewhere if place is None else place
    return Inferred(origin, place is not None, crc)


def _longest_row(islands: Sequence[Island], known: Known, *, final: bool) -> Row | None:
    """Return the row of FPDUs that is to be believed, without CRCs."""
    found: list[tuple[Rows, Row]] = []
    origin = known.origin
    for sight in _sights(islands, known, final=final):
        looked_at = Rows(sight)
        if origin is not None and sight.island.start <= origin < sight.island.end:
            row = looked_at.row_at(origin)
            if row is not None and row.fpdus >= (1 if final else PLAUSIBLE_ROW):
                return row
        found += ((looked_at, row) for row in looked_at.all())
    rows = _standing(found)
    # Several rows may be of one stream, which lies or holes have cut.
    together: Counter[tuple[int | None, int]] = Counter()
    for row in rows:
        together[row.phase(0), row.start % WORD] += row.octets
    longest = max(
        rows, key=lambda row: (together[row.phase(0), row.start % WORD], row.octets), default=None
    )
    if longest is not None and longest.origin is not None and not longest.tells_places:
        # Zeros say less than Markers that point back to where FPDUs begin.
        others = (row for row in rows if row.tells_places)
        longest = max(others, key=attrgetter("octets"), default=longest)
    if longest is not None:
        # What others of its places say of CRCs counts for it, too.
        alike = (
            row.whole
            for row in rows
            if row.phase(0) == longest.phase(0) and (row.start - longest.start) % WORD == 0
        )
        longest = longest._replace(whole=max(alike))
    # A shorter one may be part of a payload.
    is_proof = longest is not None and longest.octets > FRAMING_WINDOW
    return longest if final or is_proof else None
