# SPDX-License-Identifier: GPL-2.0-or-later
"""A look at the octets of one island: the FPDUs in them, wherever they may begin.

What is believed of them is decided in :mod:`~scapy_mpa.stream.inference`.
"""

import heapq
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.stream.candidate import FRAMING_WINDOW, HEAD, WORD
from scapy_mpa.stream.island import Island
from scapy_mpa.stream.places import Ballot
from scapy_mpa.stream.search import agreeing_words, header_words
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
    fpdu_length,
    strip_markers,
)
from scapy_mpa.wire.rdmap import may_begin_ulpdu, plausible

__all__ = [
    "OCTETS_AT_FIRST",
    "PLAUSIBLE_ROW",
    "Known",
    "Look",
    "Row",
    "Unlike",
    "Unlikes",
    "begins_otherwise",
    "head_makes_sense",
    "may_be_fpdu",
]

# FPDUs in a row that nobody takes for chance, with CRCs.
_VERIFIED_ROW: Final = 2
# Those between them with a bad CRC over which lengths may lead.
_MOST_DAMAGED: Final = 4
# The same without CRCs, and how many octets they must have: enough for two Markers.
PLAUSIBLE_ROW: Final = 4
_PLAUSIBLE_OCTETS: Final = 2 * MARKER_INTERVAL
_AGREEING_MARKERS: Final = 2
# The same, in what seems to be payload of FPDUs without any.
_TELLING_IN_PAYLOAD: Final = 3
# How many of them may point to where no header makes sense: their FPDUs may lie, too.
_MOST_LYING: Final = 1
# As many as need not have so many octets, if their Markers agree, and say more than 0.
_MANY_FPDUS: Final = 8
# Octets that a look at all islands may go over to check candidates: something to begin with, which
# is enough for one payload full of headers, and a multiple of the octets there, up to some number,
# so that no content makes the cost per octet grow.
OCTETS_AT_FIRST: Final = 1 << 20
# What a look at a header costs of them that makes no sense, and a word that may be a Marker.
_COST_OF_PLACE: Final = 1024
_COST_OF_MARKERS: Final = 64
# Octets of an FPDU in which its header is looked for once more, and how many must come again for
# what they say to be explained by that: fewer may be a copy of a true header.
_REPEATED: Final = 512
_LEAST_REPEATED: Final = 128
# The share of it that is kept for the less likely alignments: an STag may look like the header of a
# long FPDU, and stands in all FPDUs of a message.
_SHARE_OF_OTHERS: Final = 16
# What the words behind a ULPDU_Length field say if they are Markers: its first, or its second, for
# one of them may be forged.
_POINTERS: Final = b"".join(
    back.to_bytes(WORD, "big") for back in range(WORD, 2 * MARKER_INTERVAL, WORD)
)


class Unlike(NamedTuple):
    """A place where an FPDU seems to stand, but none that is verified as RFC 5044 has it."""

    island: Island
    header: int
    """Position of what seems to be its ULPDU_Length field."""
    is_behind: bool
    """Whether it directly follows one that is verified."""


class Unlikes:
    """What of a direction may be FPDUs of another stack, and what speaks against that."""

    __slots__ = ("places", "pointed_at")

    def __init__(self) -> None:
        self.places: list[Unlike] = []
        """Where some may stand."""
        self.pointed_at = 0
        """Octets of FPDUs as RFC 5044 has them, with a good CRC and a Marker that says where they
        begin."""


class Known(NamedTuple):
    """What is known of a direction before its octets are looked at."""

    crc: bool | None
    """Whether CRCs are on, None if that is not known."""
    markers: bool | None
    """Whether there are Markers, None if that is not known."""
    origin: int | None
    """Where its Full Operation Phase begins, None if its startup frame was not captured."""
    sure: bool
    """Whether it carries FPDUs, as a direction does when the other does."""


class _Reading(NamedTuple):
    """An FPDU as which octets may be read."""

    start: int
    end: int
    layout: Layout
    phase: int | None


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
    """Those of its Markers that were captured."""
    telling: int
    """Those of them that say more than 0."""
    borne_out: int
    """Where what comes behind it bears it out: its last one may be misread if the next makes no
    sense."""

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


class Look:
    """One look at an island."""

    def __init__(
        self, island: Island, known: Known, allowance: int, begin: int | None = None
    ) -> None:
        self._island = island
        self._known = known
        self._begin = island.start if begin is None else begin
        self._octets = island.read(self._begin, island.end)
        self._explained = bytearray(len(self._octets))
        self.allowance = allowance
        """How many octets it may still go over."""
        self._unlike: list[Unlike] = []

    # -- with CRCs -----------------------------------------------------------------------------

    def count(self, ballots: dict[int, Ballot], *, is_enough: bool = True) -> bool:
        """Let verified FPDUs vote, by alignment; tell whether no more votes are needed.

        :param is_enough: whether to stop as soon as none are.
        """
        for header in self._starts():
            if not self._may_stand_at(header):
                continue
            claimed = header + fpdu_length(self._number(header))
            if self._recurs(header, claimed) and self._explained[header - self._begin]:
                continue
            reading = next(self._verified(header), None)
            if reading is None:
                self._unlike.append(Unlike(self._island, header, is_behind=False))
            row = 0
            while reading is not None:
                row += 1
                ballot = ballots.setdefault(reading.start % WORD, Ballot(reading.start))
                was_counted = self._explained[reading.start - self._begin]
                if not was_counted:
                    self._vote(ballot, reading)
                if (
                    row >= _VERIFIED_ROW
                    or self._known.sure
                    or self._island.fills_segments(reading.start, reading.end)
                ):
                    ballot.is_believed = True
                elif not self._may_be_all(reading):
                    ballot.is_doubtful = True
                if is_enough and ballot.is_settled(self._known.markers, self._known.origin):
                    return True
                if was_counted:
                    break
                self._explain(reading.start, reading.end)
                end = reading.end
                reading = self._following(end)
                if reading is None:
                    # A Marker may lead it.
                    self._unlike += [
                        Unlike(self._island, header, is_behind=True)
                        for header in (end, end + MARKER_LENGTH)
                    ]
                    for damaged in self._damaged(end):
                        self._vote(ballot, damaged)
        return False

    def _may_be_all(self, reading: _Reading) -> bool:
        """Tell whether the other octets of the island may be what holes leave of the FPDUs before
        and behind it, or of a startup frame."""
        start, end = reading.start, reading.end
        return start - self._begin < FRAMING_WINDOW and (
            self._may_be_cut_off(end)
            or (self._word(end) & FPDUPTR_MASK == 0 and self._may_be_cut_off(end + MARKER_LENGTH))
        )

    def _may_be_cut_off(self, header: int) -> bool:
        """Tell whether an FPDU that is not all there may have its ULPDU_Length at ``header``."""
        end = self._island.end
        if header + HEADER_LENGTH > end:
            return True
        head = self._octets[header - self._begin :][:HEAD]
        is_begun = len(head) < HEAD or head_makes_sense(head, any_stag=True)
        return is_begun and header + fpdu_length(self._number(header)) > end

    def unlike(self) -> list[Unlike]:
        """Return where an FPDU seems to stand that no verified one explains."""
        explained, begin = self._explained, self._begin
        return [
            each
            for each in self._unlike
            if each.header < self._island.end and not explained[each.header - begin]
        ]

    def _damaged(self, at: int, depth: int = _MOST_DAMAGED) -> list[_Reading]:
        """Return the FPDUs over which lengths lead from one that is verified to the next.

        How many Markers they hold is known then, though their CRCs do not fit.
        """
        ends: set[int] = set()
        for header in (at, at + MARKER_LENGTH):
            begin = header - self._begin
            if not head_makes_sense(self._octets[begin : begin + HEAD]):
                continue
            for reading in self._readings(header):
                start, end = reading.start, reading.end
                # How many Markers there are tells where it ends, not where they are.
                if start != at or end > self._island.end or end in ends or self.allowance < 0:
                    continue
                ends.add(end)
                if self._following(end) is not None:
                    return [reading]
                if depth > 1 and (others := self._damaged(end, depth - 1)):
                    return [reading, *others]
        return []

    def _may_stand_at(self, header: int) -> bool:
        """Tell whether the header makes sense whose ULPDU_Length stands at ``header``.

        One that makes none costs, too: octets may be full of what headers begin with.
        """
        at = header - self._begin
        makes_sense = head_makes_sense(self._octets[at : at + HEAD])
        if not makes_sense:
            self.allowance -= _COST_OF_PLACE
        return makes_sense

    def _following(self, at: int) -> _Reading | None:
        """Return the verified FPDU that begins at ``at``, with a Marker or without."""
        for header in (at, at + MARKER_LENGTH):
            for reading in self._verified(header):
                if reading.start == at:
                    return reading
        return None

    def _verified(self, header: int) -> Iterator[_Reading]:
        """Yield the FPDUs whose ULPDU_Length stands at ``header`` and whose CRC is good."""
        seen = set()
        for reading in self._readings(header):
            start, end = reading.start, reading.end
            # A CRC does not tell where its Markers lie, only how many there are.
            if (start, end) in seen or end > self._island.end:
                continue
            seen.add((start, end))
            self.allowance -= end - start
            if crc32c(self._octets[start - self._begin : end - self._begin]) == RESIDUE:
                yield reading

    def _vote(self, ballot: Ballot, reading: _Reading) -> None:
        start, end, layout, _ = reading
        if not layout.markers:
            ballot.count_unmarked(start, end)
        elif layout.header:
            ballot.count_marked(start, end, [start])
        else:
            ulpdu_length = self._number(start)
            others = {
                back: fpdu_layout(ulpdu_length, -back % MARKER_INTERVAL)
                for back in self._markers_behind(start)
            }
            agreeing = {
                start + back: self._told(start, other)[0]
                for back, other in others.items()
                if start + other.length == end
            }
            most = max(agreeing.values(), default=0)
            places = [place for place, count in agreeing.items() if count == most]
            ballot.count_marked(start, end, places)

    # -- without CRCs --------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        """Yield rows of FPDUs that no chance makes and that tell where Markers are."""
        refuted: dict[int | None, Row] = {}
        for header in self._starts():
            if not self._may_stand_at(header):
                continue
            for first in self._readings(header):
                start, phase = first.start, first.phase
                other = refuted.get(None if phase is None else (start - phase) % MARKER_INTERVAL)
                if other is not None and other.start <= start < other.end:
                    continue
                row = self._row(first)
                if phase is None and (self._known.markers or not row.is_convincing):
                    row = self._marked(row) or row
                if not row.is_convincing or (row.origin is None and self._known.markers):
                    continue
                if not row.tells_places and self._refutes(row):
                    refuted[None if row.origin is None else row.origin % MARKER_INTERVAL] = row
                    continue
                self._explain(row.start, row.end)
                yield row

    def _marked(self, row: Row) -> Row | None:
        """Return the row that FPDUs begin which hold no Marker, if words behind them are some.

        Read without Markers, it comes no further than to the first that holds one.

        :param row: read without Markers.
        """
        last = row.borne_out
        if self._known.markers is False or self._known.origin is not None or last == row.start:
            return None
        for header in (last, last + MARKER_LENGTH):
            for back in self._markers_behind(header):
                first = self._read(row.start, (row.start - header - back) % MARKER_INTERVAL)
                if first is not None and not first.layout.header:
                    marked = self._row(first)
                    if marked.is_convincing:
                        return marked
        return None

    def claimed(self, row: Row) -> Iterator[range]:
        """Yield where no other FPDU begins if those of a row are some: within each of them."""
        reading = self._read(row.start, row.phase(row.start))
        while reading is not None and reading.end <= row.borne_out:
            yield range(reading.start + reading.layout.header + 1, reading.end)
            reading = self._read(reading.end, row.phase(reading.end))

    def _refutes(self, row: Row) -> bool:
        """Tell whether words point to the FPDUs of a row as Markers do, elsewhere than it has them.

        Where FPDUs add up to 512 octets, CRC fields that are not used, all zeros, read as Markers
        that precede theirs.  Where a length is wrong by the octets of a Marker, none is seen.
        """
        if self._known.markers is False:
            return False
        if row.origin is None and self._holds_markers(row):
            return True
        # A number in a header may be anything, which still is more than zeros are.
        least = HEAD if row.origin is None else 0
        elsewhere: Counter[int] = Counter()
        for reading in self._of(row):
            header = reading.start + reading.layout.header
            elsewhere.update(
                (header + back) % MARKER_INTERVAL
                for back in self._markers_behind(header)
                if least <= back < reading.end - header and row.phase(header + back) != 0
            )
        return max(elsewhere.values(), default=0) >= _AGREEING_MARKERS

    def _of(self, row: Row) -> Iterator[_Reading]:
        """Yield the FPDUs of a row."""
        reading = self._read(row.start, row.phase(row.start))
        while reading is not None and reading.end <= row.end:
            yield reading
            reading = self._read(reading.end, row.phase(reading.end))

    def _holds_markers(self, row: Row) -> bool:
        """Tell whether words in a row, each 512 octets behind the last, point to headers.

        A lie may claim so many Markers that its length leads to where another FPDU begins, and then
        they stand in what seems to be its payload.
        """
        begin = self._begin
        octets = self._octets[row.start - begin : row.end - begin]
        self.allowance -= len(octets)
        starts = [reading.start for reading in self._of(row)]
        for at in range(0, MARKER_INTERVAL, WORD):
            if any(octets[at::MARKER_INTERVAL]) or any(octets[at + 1 :: MARKER_INTERVAL]):
                # The reserved half.
                continue
            telling = others = 0
            for marker in range(row.start + at, row.end - WORD + 1, MARKER_INTERVAL):
                back = self._word(marker)
                header = marker - back if back else marker + MARKER_LENGTH
                claimed_by = starts[bisect_right(starts, marker) - 1]
                if header < begin or marker - claimed_by < HEAD:
                    # A number in a header may be anything.
                    continue
                head = header - begin
                if not head_makes_sense(self._octets[head : head + HEAD]):
                    self.allowance -= _COST_OF_PLACE
                    others += 1
                    if others > _MOST_LYING or self.allowance < 0:
                        break
                elif back:
                    telling += 1
            if telling >= _TELLING_IN_PAYLOAD and others <= _MOST_LYING:
                return True
        return False

    def row_at(self, start: int) -> Row | None:
        """Return the longest row that begins at ``start``."""
        rows = [
            self._row(first)
            for header in (start, start + MARKER_LENGTH)
            for first in self._readings(header)
            if first.start == start
        ]
        return max(rows, key=attrgetter("octets"), default=None)

    def begins(self) -> bool:
        """Tell whether FPDUs begin with the first octet, beyond doubt."""
        row = self.row_at(self._begin)
        return self._following(self._begin) is not None or (
            row is not None and row.fpdus >= PLAUSIBLE_ROW
        )

    def _row(self, first: _Reading) -> Row:
        """Return the row that begins with an FPDU, of none if it makes no sense."""
        count = whole = markers = telling = 0
        reading: _Reading | None = first
        origin = None if first.phase is None else first.start - first.phase
        last = at = first.start
        is_whole = True
        while reading is not None:
            witnesses = self._witnesses(reading)
            if witnesses is None:
                break
            count += 1
            markers += witnesses
            if reading.layout.header and self._is_captured(reading.start):
                witnesses -= 1
            telling += witnesses
            last, at = at, reading.end
            is_whole = self._island.captured_until(last, at) == at
            whole += is_whole
            reading = self._read(at, None if origin is None else (at - origin) % MARKER_INTERVAL)
        if not is_whole and self._known.markers is None:
            # Nothing stands behind it that says how many Markers lie in what was cut off.
            return Row(first.start, last, origin, count - 1, whole, markers, telling, last)
        borne_out = at if may_be_fpdu(self._island, at) else last
        return Row(first.start, at, origin, count, whole, markers, telling, borne_out)

    def _witnesses(self, reading: _Reading) -> int | None:
        """Return how many Markers bear out an FPDU, None if one or its header says otherwise."""
        start, end, layout, _ = reading
        if end > self._island.end:
            return None
        agreeing, others = self._told(start, layout)
        if others:
            return None
        self.allowance -= HEAD
        at = start - self._begin
        head = self._octets[at : at + layout.header + HEAD]
        body = strip_markers(head, [each for each in layout.markers if each < len(head)])
        if not plausible(body[HEADER_LENGTH:], self._number(start + layout.header)):
            return None
        return None if self._recurs(start + layout.header, end) else agreeing

    def _recurs(self, header: int, end: int) -> bool:
        """Tell whether what looks like the header of an FPDU comes again in its payload.

        That is part of a payload which repeats itself: from each copy on there are such rows.  The
        stretch that does so is explained by that.
        """
        octets = self._octets
        first = at = header - self._begin
        head = octets[at : at + HEADER_LENGTH + TAGGED_LENGTH]
        # Copies may overlap each other.
        again = octets.find(head, at + WORD, min(end - self._begin, at + _REPEATED))
        if again < 0:
            return False
        while size := min(_REPEATED, len(octets) - again):
            one, other = octets[at : at + size], octets[again : again + size]
            if one != other:
                # Markers, for one, are not repeated.
                at += _in_common(one, other)
                break
            at += size
            again += size
        if at - first >= _LEAST_REPEATED:
            self._explain(header, header + at - first)
        return True

    def _read(self, start: int, phase: int | None) -> _Reading | None:
        """Return the FPDU at ``start``, if its ULPDU_Length is there."""
        header = start + MARKER_LENGTH if phase == 0 else start
        if header + HEADER_LENGTH > self._island.end:
            return None
        return _reading(start, self._number(header), phase)

    # -- what the octets may be ----------------------------------------------------------------

    def _starts(self) -> Iterator[int]:
        """Yield where an FPDU's ULPDU_Length may stand that nothing explains so far.

        First where segments begin, then at any word of the likeliest alignment, then at those of
        the others, in their order: what an FPDU explains is looked at no more.
        """
        begin, end = self._begin, self._island.end
        counts = [0] * WORD
        for chunk in self._island.chunks(begin, end):
            counts[(chunk.position - begin) % WORD] += 1
        likeliest, *others = sorted(range(WORD), key=lambda each: -counts[each])
        kept = self.allowance // _SHARE_OF_OTHERS
        yield from self._affordable(self._island.telling_boundaries(begin, end), kept)
        yield from self._affordable(self._words(likeliest), kept)
        yield from self._affordable(heapq.merge(*map(self._words, others)), 0)

    def _affordable(self, places: Iterable[int], kept: int) -> Iterator[int]:
        """Yield those that nothing explains, as long as more may be spent than what is kept."""
        begin = self._begin
        for position in places:
            if self.allowance < kept:
                return
            if begin <= position and not self._explained[position - begin]:
                yield position

    def _words(self, shift: int) -> Iterator[int]:
        """Yield the places in an alignment where the first word of an FPDU may stand."""
        first = self._begin + shift
        return (first + word for word in header_words(self._octets[shift:]))

    def _explain(self, start: int, end: int) -> None:
        """Take note of octets in which no further FPDU begins."""
        begin = self._begin
        self._explained[start - begin : end - begin] = b"\1" * (end - start)

    def _readings(self, header: int) -> Iterator[_Reading]:
        """Yield what FPDUs the octets at ``header`` may be.

        The reserved bits of a Marker count here, which a sender must leave zero (RFC 5044 4.2):
        32 bits are no chance, 14 are.
        """
        if header + HEADER_LENGTH > self._island.end:
            return
        ulpdu_length = self._number(header)
        _, markers, origin, _ = self._known
        if not markers:
            yield _reading(header, ulpdu_length, None)
        if markers is False:
            return
        if origin is not None:
            phase = (header - origin) % MARKER_INTERVAL
            if phase == MARKER_LENGTH:
                if header - MARKER_LENGTH >= self._begin:
                    yield _reading(header - MARKER_LENGTH, ulpdu_length, 0)
            elif phase and phase % WORD == 0:
                yield _reading(header, ulpdu_length, phase)
            return
        for phase in {-back % MARKER_INTERVAL: None for back in self._markers_behind(header)}:
            reading = _reading(header, ulpdu_length, phase)
            if phase and reading.layout.markers:
                yield reading
        leading = header - MARKER_LENGTH
        if leading >= self._begin and self._word(leading) == 0 and self._is_captured(leading):
            yield _reading(leading, ulpdu_length, 0)
        if markers:
            # It may hold none.
            yield _reading(header, ulpdu_length, None)

    def _told(self, start: int, layout: Layout) -> tuple[int, int]:
        """Return how many Markers of an FPDU that is there point to its ULPDU_Length, and how many
        do not.  Those that the snap length cut off say nothing."""
        island = self._island
        said = layout.unpack.unpack_from(self._octets, start - self._begin)
        agreeing = others = 0
        for at, one, other in zip(layout.markers, said, layout.fpduptrs, strict=True):
            if island.absent and not self._is_captured(start + at):
                continue
            if one & FPDUPTR_MASK == other & FPDUPTR_MASK:
                agreeing += 1
            else:
                others += 1
        return agreeing, others

    def _is_captured(self, marker: int) -> bool:
        """Tell whether the snap length cut off nothing of a Marker."""
        end = marker + MARKER_LENGTH
        return self._island.captured_until(marker, end) == end

    def _number(self, position: int) -> int:
        at = position - self._begin
        return int.from_bytes(self._octets[at : at + HEADER_LENGTH], "big")

    def _word(self, position: int) -> int:
        at = position - self._begin
        return int.from_bytes(self._octets[at : at + WORD], "big")

    def _markers_behind(self, header: int) -> Iterator[int]:
        """Yield how far behind ``header`` words stand that read as Markers pointing there."""
        self.allowance -= _COST_OF_MARKERS
        at = header - self._begin
        words = self._octets[at + WORD : at + 2 * MARKER_INTERVAL]
        for found in agreeing_words(words, _POINTERS):
            yield found + WORD


def _in_common(one: bytes, other: bytes) -> int:
    """Return how many octets two strings of the same length begin with, both."""
    difference = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return len(one) - (difference.bit_length() + 7) // 8


def _reading(start: int, ulpdu_length: int, phase: int | None) -> _Reading:
    layout = fpdu_layout(ulpdu_length, phase)
    return _Reading(start, start + layout.length, layout, phase)


def head_makes_sense(head: bytes, *, any_stag: bool = False) -> bool:
    """Tell whether octets begin an FPDU, with or without a Marker in its DDP header.

    :param any_stag: as of :func:`~scapy_mpa.wire.rdmap.plausible`.
    """
    ulpdu_length = int.from_bytes(head[:HEADER_LENGTH], "big")
    return plausible(head[HEADER_LENGTH:], ulpdu_length, any_stag=any_stag) or any(
        plausible(head[HEADER_LENGTH:marker] + head[marker + MARKER_LENGTH :], ulpdu_length)
        for marker in range(WORD, HEAD - MARKER_LENGTH, WORD)
    )


def begins_otherwise(island: Island, position: int) -> bool:
    """Tell whether the first octets at a position begin no FPDU, however few there are."""
    if not island.held <= position < island.end:
        return False
    octets = island.read(position, min(position + MARKER_LENGTH + WORD, island.end))
    # A Marker may directly precede it (RFC 5044 4.3).
    controls = [octets[at + HEADER_LENGTH : at + WORD] for at in (0, MARKER_LENGTH)]
    if int.from_bytes(octets[:MARKER_LENGTH], "big") & FPDUPTR_MASK:
        controls.pop()
    return not island.absent and not any(
        len(each) < WORD - HEADER_LENGTH or may_begin_ulpdu(int.from_bytes(each, "big"))
        for each in controls
    )


def may_be_fpdu(island: Island, position: int) -> bool:
    """Tell whether an FPDU may begin at a position, as far as its header was captured."""
    end = position + MARKER_LENGTH + HEAD
    if not island.held <= position < end <= island.end:
        return True
    if island.absent and island.captured_until(position, end) < end:
        return True
    octets = island.read(position, end)
    marker, behind = octets[:MARKER_LENGTH], octets[MARKER_LENGTH:]
    # A Marker may directly precede it (RFC 5044 4.3).
    return head_makes_sense(octets[:HEAD], any_stag=True) or (
        int.from_bytes(marker, "big") & FPDUPTR_MASK == 0 and head_makes_sense(behind)
    )
