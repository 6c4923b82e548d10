# SPDX-License-Identifier: GPL-2.0-or-later
"""Find where FPDUs may begin in the octets of one island.

:mod:`~scapy_mpa.stream.inference.verified` reads FPDUs there by their CRCs, and
:mod:`~scapy_mpa.stream.inference.rows` without CRCs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from scapy_mpa.stream.fpdus.candidate import HEAD
from scapy_mpa.stream.fpdus.heads import rest_makes_sense
from scapy_mpa.stream.fpdus.search import agreeing_words, header_words
from scapy_mpa.stream.limits import READ_AT_A_TIME, STREAMING_OCTETS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.stretch import Stretch
from scapy_mpa.stream.purse import Allowance, Purse
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, WORD, has_fpduptr
from scapy_mpa.wire.rdmap import BOUNDS

# The words after a ULPDU_Length, if they are Markers that point to it.  The second Marker counts,
# too, since the first may be forged.
_POINTERS: Final = b"".join(
    back.to_bytes(WORD, "big") for back in range(WORD, 2 * MARKER_INTERVAL, WORD)
)
# The QN of an FPDU, without and with a Marker before it in the header.
_QN: Final = slice(8, 12)
_QN_AFTER_MARKER: Final = slice(12, 16)
# Octets up to the end of an untagged header.  Segments of one message differ in MO alone.
_KEY_OCTETS: Final = HEADER_LENGTH + UNTAGGED_LENGTH


class Memory(Protocol):
    """What is remembered about earlier searches in a direction."""

    without_crcs: object
    """Octets without an FPDU with a good CRC, and what was known when they were searched."""


class Known(NamedTuple):
    """What is known about a direction before its octets are searched."""

    crc: bool | None
    """Whether CRCs are on, None if that is not known."""
    markers: bool | None
    """Whether there are Markers, None if that is not known."""
    origin: int | None
    """Position at which its Full Operation Phase begins, None if that is not known."""
    carries_fpdus: bool
    """Whether it is known to carry FPDUs, for example since the other direction does."""
    purse: Purse
    """The purse that pays for searches of its octets."""
    memory: Memory
    unasked: bool = False
    """Whether it is known that no startup frame asked for MPA.  Then only two good CRCs in a row
    are believed."""


class Candidates:
    """A search of one island: its octets, and which of them belong to FPDUs that were found.

    :param allowance: what may be spent on the search.
    """

    def __init__(self, island: Island, known: Known, allowance: Allowance) -> None:
        self.island = island
        self.known = known
        # No FPDU begins before the phase.
        begin = island.start if known.origin is None else max(island.start, known.origin)
        self.stretch = Stretch(island, begin, island.end)
        self.boundaries = dict.fromkeys(island.segment_starts(begin, island.end))
        """The beginnings of segments that are not tiny."""
        self._explained = bytearray(len(self.stretch.octets))
        self.allowance = allowance
        """What may still be spent."""
        self._was_left_out = False
        # A repeated header is no new evidence: a payload may repeat it.
        self._seen: set[bytes] = set()

    @property
    def is_all(self) -> bool:
        """Whether the allowance was enough so far."""
        return self.allowance.left >= 0 and not self._was_left_out

    def explain(self, start: int, end: int) -> None:
        """Note octets in which no further FPDU begins."""
        begin = self.stretch.begin
        self._explained[start - begin : end - begin] = b"\1" * (end - start)

    def is_explained(self, position: int) -> bool:
        """Return whether the octet at a position belongs to an FPDU that was found."""
        return bool(self._explained[position - self.stretch.begin])

    def headers(self) -> Iterator[int | None]:
        """Yield the positions of headers that make sense and are in no FPDU found so far.

        Yield None if the search must wait.

        First those at the beginnings of segments, then those of the likeliest alignment, then those
        of the other alignments, in the order of the octets.
        """
        begin, end = self.stretch.begin, self.stretch.end
        counts = [0] * WORD
        for chunk in self.island.chunks(begin, end):
            counts[(chunk.position - begin) % WORD] += 1
        likeliest, *others = sorted(range(WORD), key=lambda each: -counts[each])
        yield from self._sensible([[*self.boundaries]])
        yield from self._sensible(self._words([likeliest]))
        yield from self._sensible(self._words(others))

    def _sensible(self, pieces: Iterable[Sequence[int]]) -> Iterator[int | None]:
        """Yield the places with a header that makes sense and is in no FPDU found so far.

        Other places cost something, too: octets may be full of words that begin like a header.
        Most of them are passed over by their first octets, without a call.

        :param pieces: the places in each piece of the octets.
        """
        allowance, begin, octets = self.allowance, self.stretch.begin, self.stretch.octets
        for places in pieces:
            while allowance.purse.slice <= 0:
                yield None
            passed = 0
            for position in places:
                if allowance.left < 0:
                    self._was_left_out = True
                    return
                at = position - begin
                if at < 0 or self._explained[at]:
                    continue
                head = octets[at : at + HEAD]
                control = head[HEADER_LENGTH:WORD]
                if control not in BOUNDS:
                    passed += 1
                    continue
                shortest, longest, queue = BOUNDS[control]
                key = head[:_KEY_OCTETS]
                is_known = key in self._seen or not shortest <= head[0] << 8 | head[1] <= longest
                if is_known or queue not in (None, head[_QN], head[_QN_AFTER_MARKER]):
                    passed += 1
                elif rest_makes_sense(head):
                    self._seen.add(key)
                    yield position
                else:
                    allowance.spend(calls=20)
                    while allowance.purse.slice <= 0:
                        yield None
            allowance.spend(calls=passed)

    def _words(self, shifts: Iterable[int]) -> Iterator[list[int]]:
        """Yield, ascending, positions of some alignments at which the first word of an FPDU may be.

        They come in pieces.  The beginnings of segments are left out.
        """
        boundaries, stretch = self.boundaries, self.stretch
        for start, upto in self._captured():
            for begin in range(start, upto, READ_AT_A_TIME):
                end = min(begin + READ_AT_A_TIME, upto)
                found: list[int] = []
                for shift in shifts:
                    first = begin + (stretch.begin + shift - begin) % WORD
                    octets = stretch.read(first, min(end + WORD - 1, upto))
                    found += [first + word for word in header_words(octets)]
                yield [each for each in sorted(found) if each not in boundaries]

    def _captured(self) -> Iterator[tuple[int, int]]:
        """Yield the begin and end of each stretch of captured octets, ascending.

        The rest was cut off by the snap length, and is read as zeros.  It may be most of the
        island, since a frame is as long as it claims.
        """
        at = self.stretch.begin
        for start, end in self.island.absent or ():
            if at < start:
                yield at, start
            at = max(at, end)
        if at < self.stretch.end:
            yield at, self.stretch.end

    def markers_after(self, header: int) -> list[int]:
        """Return how far after ``header`` there are words that read as Markers pointing to it."""
        self.allowance.spend(calls=1)
        words = self.stretch.read(header + WORD, header + 2 * MARKER_INTERVAL)
        return [found + WORD for found in agreeing_words(words, _POINTERS)]

    def may_be_led(self, header: int) -> bool:
        """Return whether the FPDU with its ULPDU_Length at ``header`` may begin with a Marker.

        The FPDUPTR of that Marker is 0.
        """
        marker = header - MARKER_LENGTH
        if marker < self.stretch.begin or not self.stretch.is_captured(marker, header):
            return False
        return has_fpduptr(self.stretch.number(marker, header), 0)


def candidates(islands: Sequence[Island], known: Known) -> Iterator[Candidates]:
    """Yield a search of each island, until too many octets were searched.

    Octets of an island may be let go of while the search of another one waits.
    """
    purse, counted = known.purse, STREAMING_OCTETS
    for island in islands:
        if island.held > island.start:
            continue
        counted -= min(island.end - island.start, counted)
        search = Candidates(island, known, purse.lend())
        try:
            yield search
        finally:
            purse.cut_short += search.allowance.is_short and not search.is_all
        if not counted:
            break
