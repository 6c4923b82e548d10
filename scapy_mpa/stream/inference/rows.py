# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one island without CRCs: in rows that no chance makes.

What is believed of them is decided in :mod:`~scapy_mpa.stream.inference.inferred`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.stream.fpdus.candidate import HEAD, WORD
from scapy_mpa.stream.fpdus.heads import head_makes_sense, may_be_fpdu
from scapy_mpa.stream.inference.evidence import Evidence
from scapy_mpa.stream.inference.sight import COST_OF_FAILURE, COST_OF_PLACE, Reading, Sight
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.rdmap import plausible

__all__ = ["PLAUSIBLE_ROW", "Row", "Rows"]

# FPDUs in a row that nobody takes for chance, how many octets they must have, which is enough for
# two Markers, and how many of these must say where the FPDUs begin.
PLAUSIBLE_ROW: Final = 4
_PLAUSIBLE_OCTETS: Final = 2 * MARKER_INTERVAL
_AGREEING_MARKERS: Final = 2
# Markers that must do so in what seems to be payload of FPDUs without any.
_TELLING_IN_PAYLOAD: Final = 3
# How many of them may point to where no header makes sense: their FPDUs may lie, too.
_MOST_LYING: Final = 1
# As many as need not have so many octets, if their Markers agree, and say more than 0.
_MANY_FPDUS: Final = 8


class Row(NamedTuple):
    """FPDUs one behind the other, with headers that make sense."""

    start: int
    end: int
    origin: int | None
    """Position from which Markers are counted, None without."""
    fpdus: int
    whole: int
    """Those of them of which the snap length cut off nothing: their CRC would have told."""
    markers: int
    """Those of its Markers that were captured; of those that say 0, where all of the FPDU was."""
    telling: int
    """Those of them that say more than 0."""
    borne_out: int
    """Where what comes behind it bears it out: its last one may be misread if the next makes no
    sense."""
    is_proof: bool
    """Whether what it shows is proof where nothing else says that there are FPDUs."""

    def phase(self, position: int) -> int | None:
        """How far behind the place of a Marker a position is, None without."""
        return None if self.origin is None else (position - self.origin) % MARKER_INTERVAL

    @property
    def octets(self) -> int:
        """Octets of those that are borne out."""
        return self.borne_out - self.start

    @property
    def tells_places(self) -> bool:
        """Whether its Markers say more than zeros do, which CRC fields that are not used may be."""
        return self.telling >= _AGREEING_MARKERS

    @property
    def is_convincing(self) -> bool:
        """Whether chance does not make it, and whether it tells where Markers are."""
        is_long = self.octets > _PLAUSIBLE_OCTETS
        if self.origin is not None:
            is_long = is_long or (self.fpdus >= _MANY_FPDUS and self.tells_places)
            is_long = is_long and self.markers >= _AGREEING_MARKERS
        return self.fpdus >= PLAUSIBLE_ROW and is_long


class Rows:
    """Rows among the octets of an island."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def all(self) -> Iterator[Row]:
        """Yield rows of FPDUs that no chance makes and that tell where Markers are."""
        sight = self._sight
        island, scope = sight.island, sight.scope
        if island.rowless == scope:
            return
        # What FPDUs with CRCs explain is not looked at.
        is_fruitless = not any(sight.explained)
        refuted: dict[int | None, Row] = {}
        unproved: set[tuple[int, int | None]] = set()
        for header in sight.headers():
            for first in sight.readings(header):
                start, phase = first.start, first.phase
                other = refuted.get(None if phase is None else (start - phase) % MARKER_INTERVAL)
                if other is not None and other.start <= start < other.end:
                    continue
                if (start, phase) in unproved:
                    # A part of a row shows no more than the row.
                    continue
                row = self._row(first)
                if phase is None and (sight.known.markers or not self._is_believed(row)):
                    row = self._marked(row) or row
                if not self._is_believed(row) or (row.origin is None and sight.known.markers):
                    sight.allowance -= 2 * COST_OF_FAILURE
                    if row.is_convincing:
                        unproved |= {(each.start, each.phase) for each in self._of(row)}
                    continue
                if self._breaks_off(row) or (not row.tells_places and self._refutes(row, refuted)):
                    refuted[None if row.origin is None else row.origin % MARKER_INTERVAL] = row
                    continue
                sight.explain(row.start, row.end)
                is_fruitless = False
                yield row
        if is_fruitless and sight.is_all:
            island.rowless = scope

    def _is_believed(self, row: Row) -> bool:
        """Tell whether a row is of FPDUs."""
        return row.is_convincing and (row.is_proof or self._sight.known.sure)

    def _marked(self, row: Row) -> Row | None:
        """Return the row that FPDUs begin which hold no Marker, if words behind them are some.

        Read without Markers, it comes no further than to the first that holds one.

        :param row: read without Markers.
        """
        sight = self._sight
        last = row.borne_out
        if sight.known.markers is False or sight.known.origin is not None or last == row.start:
            return None
        # The last one may hold one: an unused CRC field of zeros reads as a Marker behind it.
        *_, ending = self._of(row)
        for header in dict.fromkeys((last, last + MARKER_LENGTH, ending.start)):
            for back in sight.markers_behind(header):
                if sight.allowance < 0:
                    # Very many words may point to the same header, and many rows lead to it.
                    return None
                sight.allowance -= COST_OF_FAILURE
                first = sight.read(row.start, (row.start - header - back) % MARKER_INTERVAL)
                if first is not None and not first.layout.header:
                    marked = self._row(first)
                    if marked.is_convincing:
                        return marked
        return None

    def claimed(self, row: Row) -> Iterator[range]:
        """Yield where no other FPDU begins if those of a row are some: within each of them."""
        sight = self._sight
        reading = sight.read(row.start, row.phase(row.start))
        while reading is not None and reading.end <= row.borne_out:
            yield range(reading.start + reading.layout.header + 1, reading.end)
            reading = sight.read(reading.end, row.phase(reading.end))

    def _breaks_off(self, row: Row) -> bool:
        """Tell whether what a row has for Markers are numbers in the headers of its FPDUs.

        Where these add up to 512 octets, part of each TO may read as a Marker, or the MSN that
        happens to be as much.  TO, or MSN and MO, as they are left then, do not go on from segment
        to segment of a message (RFC 5041 5.2).
        """
        if row.origin is None:
            return False
        kept = broken = 0
        due: tuple[int | None, ...] = ()
        for reading in self._of(row):
            markers = reading.layout.markers
            if markers and not any(0 < marker < HEAD for marker in markers):
                return False
            header = ddp_header_of(self._sight.header(reading))
            if header is None:
                due = ()
                continue
            buffer = header.stag, header.qn
            if due[:2] == buffer:
                goes_on = due[2:] == (header.msn, header.to, header.mo)
                kept += goes_on
                broken += not goes_on
            length = self._sight.number(reading.start + reading.layout.header) - header.length
            to = None if header.to is None else header.to + length
            mo = None if header.mo is None else header.mo + length
            due = () if header.last else (*buffer, header.msn, to, mo)
        return broken > kept

    def _refutes(self, row: Row, refuted: Mapping[int | None, Row]) -> bool:
        """Tell whether words point to the FPDUs of a row as Markers do, elsewhere than it has them.

        Where FPDUs add up to 512 octets, CRC fields that are not used, all zeros, read as Markers
        that precede theirs.  Where a length is wrong by the octets of a Marker, none is seen.

        :param refuted: where none are, from 0 to 511.
        """
        sight = self._sight
        if sight.known.markers is False:
            return False
        if row.origin is None and self._holds_markers(row):
            return True
        # A number in a header may be anything, which still is more than zeros are.
        least = HEAD if row.origin is None else 0
        elsewhere: Counter[int] = Counter()
        in_payload: set[int] = set()
        for reading in self._of(row):
            header = reading.start + reading.layout.header
            for back in sight.markers_behind(header):
                if least <= back < reading.end - header and row.phase(header + back) != 0:
                    place = (header + back) % MARKER_INTERVAL
                    elsewhere[place] += 1
                    if back >= HEAD:
                        in_payload.add(place)
        if row.origin is not None and not row.telling and not in_payload <= refuted.keys():
            # One is more than any number of zeros.
            return True
        found = (count for place, count in elsewhere.items() if place not in refuted)
        return max(found, default=0) >= _AGREEING_MARKERS

    def _of(self, row: Row) -> Iterator[Reading]:
        """Yield the FPDUs of a row."""
        sight = self._sight
        reading = sight.read(row.start, row.phase(row.start))
        while reading is not None and reading.end <= row.end:
            yield reading
            reading = sight.read(reading.end, row.phase(reading.end))

    def _holds_markers(self, row: Row) -> bool:
        """Tell whether words in a row, each 512 octets behind the last, point to headers.

        A lie may claim so many Markers that its length leads to where another FPDU begins, and then
        they stand in what seems to be its payload.
        """
        sight = self._sight
        sight.allowance -= row.end - row.start
        starts = [reading.start for reading in self._of(row)]
        return any(
            self._telling_at(row, at, starts) >= _TELLING_IN_PAYLOAD
            for at in range(row.start, row.start + MARKER_INTERVAL, WORD)
        )

    def is_refuted(self, row: Row, by: Iterable[Row]) -> bool:
        """Tell whether a row without Markers holds some where those of others would be.

        Lies may hide them, as many as there are in each of the two.

        :param by: rows whose Markers tell where FPDUs begin.
        """
        if row.origin is not None:
            return False
        self._sight.allowance -= row.end - row.start
        starts = [reading.start for reading in self._of(row)]
        for marked in by:
            assert marked.origin is not None
            first = row.start + (marked.origin - row.start) % MARKER_INTERVAL
            telling = self._telling_at(row, first, starts)
            if telling and telling + marked.telling >= _TELLING_IN_PAYLOAD:
                return True
        return False

    def _telling_at(self, row: Row, first: int, starts: Sequence[int]) -> int:
        """Return how many words of a row, from one on each 512 octets behind the last, say that
        they are Markers; 0 if others say that they are none.

        Those before and behind the row count, too, as far as each says so.

        :param starts: where the FPDUs of the row begin.
        """
        sight = self._sight
        begin = sight.begin
        octets = sight.octets[first - begin : row.end - begin]
        if any(octets[::MARKER_INTERVAL]) or any(octets[1::MARKER_INTERVAL]):
            # The reserved half.
            return 0
        telling = others = 0
        is_in_header = False
        for marker in range(first, row.end - WORD + 1, MARKER_INTERVAL):
            header = self._pointed_at(marker)
            claimed_by = starts[bisect_right(starts, marker) - 1]
            if marker - claimed_by < HEAD:
                # A number in a header may be anything.
                is_in_header |= header == claimed_by
            elif header >= begin:
                if self._is_header(header):
                    telling += header < marker
                    continue
                others += 1
                if others > _MOST_LYING or sight.allowance < 0:
                    return 0
        telling += is_in_header
        if telling < _AGREEING_MARKERS:
            return telling
        before = range(first - MARKER_INTERVAL, begin - 1, -MARKER_INTERVAL)
        behind = range(
            first + (row.end - first + MARKER_INTERVAL - 1) // MARKER_INTERVAL * MARKER_INTERVAL,
            sight.island.end - WORD + 1,
            MARKER_INTERVAL,
        )
        return telling + sum(len(list(takewhile(self._tells, side))) for side in (before, behind))

    def _tells(self, marker: int) -> bool:
        """Tell whether a word says that a header is behind it, as most Markers do."""
        begin = self._sight.begin
        reserved = self._sight.octets[marker - begin : marker - begin + WORD // 2]
        header = self._pointed_at(marker)
        return not any(reserved) and begin <= header < marker and self._is_header(header)

    def _pointed_at(self, marker: int) -> int:
        """Return where a word says, if it is a Marker, that the header of its FPDU is."""
        back = self._sight.word(marker)
        return marker - back if back else marker + MARKER_LENGTH

    def _is_header(self, position: int) -> bool:
        """Tell whether the octets at a position make sense as the header of an FPDU."""
        self._sight.allowance -= COST_OF_PLACE
        at = position - self._sight.begin
        return head_makes_sense(self._sight.octets[at : at + HEAD])

    def row_at(self, start: int) -> Row | None:
        """Return the longest row that begins at ``start``."""
        rows = [
            self._row(first)
            for header in (start, start + MARKER_LENGTH)
            for first in self._sight.readings(header)
            if first.start == start
        ]
        rows += [marked for row in rows if row.origin is None and (marked := self._marked(row))]
        return max(rows, key=attrgetter("octets"), default=None)

    def _row(self, first: Reading) -> Row:
        """Return the row that begins with an FPDU, of none if it makes no sense."""
        sight = self._sight
        count = whole = markers = telling = 0
        reading: Reading | None = first
        origin = None if first.phase is None else first.start - first.phase
        last = at = first.start
        is_whole = True
        evidence = Evidence()
        while reading is not None:
            witnesses = self._witnesses(reading)
            if witnesses is None:
                break
            count += 1
            is_led = bool(reading.layout.header) and sight.is_captured(reading.start)
            telling += witnesses - is_led
            sight.show(reading, evidence)
            last, at = at, reading.end
            is_whole = sight.island.captured_until(last, at) == at
            whole += is_whole
            # One that leads may be an unused CRC field; then a Marker lies in the FPDU.
            markers += witnesses if is_whole else witnesses - is_led
            reading = sight.read(at, None if origin is None else (at - origin) % MARKER_INTERVAL)
        if not is_whole and sight.known.markers is None:
            # Nothing stands behind it that says how many Markers lie in what was cut off.
            count, at, borne_out = count - 1, last, last
        else:
            borne_out = at if may_be_fpdu(sight.island, at) else last
        return Row(
            first.start,
            at,
            origin,
            count,
            whole,
            markers,
            telling,
            borne_out,
            evidence.is_proof,
        )

    def _witnesses(self, reading: Reading) -> int | None:
        """Return how many Markers bear out an FPDU, None if one or its header says otherwise."""
        sight = self._sight
        start, end, layout, _ = reading
        if end > sight.island.end:
            return None
        agreeing, others = sight.told(start, layout)
        if others:
            return None
        sight.allowance -= HEAD
        if not plausible(sight.header(reading), sight.number(start + layout.header)):
            return None
        return None if sight.recurs(start + layout.header, end) else agreeing
