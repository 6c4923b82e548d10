# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one island by their CRCs, wherever they may begin.

What is believed of them is decided in :mod:`~scapy_mpa.stream.inference.inferred`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from scapy_mpa.stream.fpdus.candidate import FRAMING_WINDOW, HEAD, WORD
from scapy_mpa.stream.fpdus.heads import head_makes_sense
from scapy_mpa.stream.inference.places import Ballot
from scapy_mpa.stream.inference.rows import PLAUSIBLE_ROW
from scapy_mpa.stream.inference.sight import COST_OF_FAILURE, COST_OF_PLACE, Reading, Sight
from scapy_mpa.wire.ddp import TAGGED, TAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_layout,
    fpdu_length,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["Look"]

# FPDUs in a row that nobody takes for chance.
_VERIFIED_ROW: Final = 2
# Markers, 512 octets apart, that nobody takes for chance.
_TELLING_MARKERS: Final = 2
# Those between them with a bad CRC over which lengths may lead.
_MOST_DAMAGED: Final = 4
# FPDUs behind a verified one whose headers, as far as they lead, nobody takes for chance.
_PLAUSIBLE_BEHIND: Final = PLAUSIBLE_ROW - 1
# What a header costs whose FPDU the snap length cut off: next to nothing is to be done, and there
# may be very many of them before one that is whole.
_COST_OF_CUT_OFF: Final = 512


# The octets of a tagged FPDU in which its header lies, and a Marker that may fall in it.
_TAGGED_HEAD: Final = HEADER_LENGTH + TAGGED_LENGTH + MARKER_LENGTH


class Look:
    """One look at the octets of an island for them."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def count(self, ballots: dict[int, Ballot]) -> bool:
        """Let verified FPDUs vote, by alignment; tell whether no more votes are needed."""
        sight = self._sight
        island, scope = sight.island, sight.scope
        if island.crcless == scope:
            return False
        is_fruitless = True
        for header in self._headers():
            reading = None
            if self._is_cut(header):
                sight.allowance -= _COST_OF_CUT_OFF
            else:
                reading = next(sight.verified(header), None)
                sight.allowance -= COST_OF_FAILURE // 2 * (reading is None)
            row = 0
            while reading is not None:
                is_fruitless = False
                row += 1
                ballot = ballots.setdefault(reading.start % WORD, Ballot(reading.start))
                was_counted = sight.explained[reading.start - sight.begin]
                if not was_counted:
                    self._vote(ballot, reading)
                if row >= _VERIFIED_ROW or sight.known.sure or self._fills_segments(reading):
                    ballot.is_believed = True
                elif not self._may_be_all(reading):
                    ballot.is_doubtful = True
                if ballot.is_settled(sight.known.markers, sight.known.origin):
                    return True
                if was_counted:
                    break
                sight.explain(reading.start, reading.end)
                end = reading.end
                reading = sight.following(end, reading)
                if reading is None:
                    # What is behind it is looked at in many ways, and there may be very many.
                    sight.allowance -= 2 * COST_OF_FAILURE
                    between = self._cut_off(end) or self._damaged(end)
                    for other in between:
                        self._vote(ballot, other)
                    # No chance leads over them.
                    ballot.is_believed |= bool(between)
                    self._hear_begun(ballot, end)
        if is_fruitless and sight.is_all:
            island.crcless = scope
        return False

    def _fills_segments(self, reading: Reading) -> bool:
        """Tell whether one FPDU is enough, for it begins and ends where segments do."""
        sight = self._sight
        return not sight.known.unasked and sight.island.fills_segments(reading.start, reading.end)

    def _headers(self) -> Iterator[int]:
        """Yield where a ULPDU_Length may stand, and one of 0 last: no header makes sense of it."""
        sight = self._sight
        for header in sight.headers():
            claimed = header + fpdu_length(sight.number(header))
            if not (sight.recurs(header, claimed) and sight.explained[header - sight.begin]):
                yield header
        yield from sight.zero_lengths()

    def _may_be_all(self, reading: Reading) -> bool:
        """Tell whether the other octets of the island may be what holes leave of the FPDUs before
        and behind it, or of a startup frame."""
        sight = self._sight
        start, end = reading.start, reading.end
        return start - sight.begin < FRAMING_WINDOW and (
            self._may_be_cut_off(end)
            or (sight.word(end) & FPDUPTR_MASK == 0 and self._may_be_cut_off(end + MARKER_LENGTH))
        )

    def _may_be_cut_off(self, header: int) -> bool:
        """Tell whether an FPDU that is not all there may have its ULPDU_Length at ``header``."""
        sight = self._sight
        end = sight.island.end
        if header + HEADER_LENGTH > end:
            return True
        head = sight.octets[header - sight.begin :][:HEAD]
        if len(head) < HEAD:
            return True
        goes_beyond = header + fpdu_length(sight.number(header)) > end
        return (goes_beyond or self._is_cut(header)) and head_makes_sense(head, any_stag=True)

    def _is_cut(self, header: int) -> bool:
        """Tell whether the snap length cut off something of the FPDU at ``header``."""
        sight = self._sight
        if not sight.island.absent:
            return False
        claimed = header + fpdu_length(sight.number(header))
        return sight.island.captured_until(header, claimed) < claimed

    def _cut_off(self, at: int) -> list[Reading]:
        """Return the FPDUs behind one that is verified of each of which the snap length cut off
        something, if lengths lead over them to the next verified one, or over enough of them.

        :param at: where the first one begins.
        """
        sight = self._sight
        passed: list[Reading] = []
        if not sight.island.absent:
            return passed
        while len(passed) < _PLAUSIBLE_BEHIND:
            reading = self._cut_off_at(at)
            if reading is None or sight.allowance < 0:
                return []
            passed.append(reading)
            at = reading.end
            if sight.following(at) is not None:
                break
        return passed

    def _cut_off_at(self, at: int) -> Reading | None:
        """Return the FPDU that begins at ``at`` if its header makes sense, and so does the one to
        which its length leads, and the snap length cut off something of it."""
        sight = self._sight
        for header in self._headers_at(at):
            for reading in sight.readings(header):
                start, end = reading.start, reading.end
                is_cut = start == at and sight.island.captured_until(start, end) < end
                if is_cut and next(self._headers_at(end), None) is not None:
                    return reading
        return None

    def _headers_at(self, at: int) -> Iterator[int]:
        """Yield where the header of an FPDU that begins at ``at`` was captured and makes sense."""
        sight = self._sight
        for header in (at, at + MARKER_LENGTH):
            begin = header - sight.begin
            upto = sight.island.captured_until(at, min(header + HEAD, sight.island.end))
            is_there = upto - header >= HEAD - MARKER_LENGTH
            if is_there and head_makes_sense(sight.octets[begin : upto - sight.begin]):
                yield header

    def _damaged(self, at: int, depth: int = _MOST_DAMAGED) -> list[Reading]:
        """Return the FPDUs over which lengths lead from one that is verified to the next.

        How many Markers they hold is known then, though their CRCs do not fit.
        """
        sight = self._sight
        sight.allowance -= COST_OF_PLACE
        ends: set[int] = set()
        for header in (at, at + MARKER_LENGTH):
            begin = header - sight.begin
            if not head_makes_sense(sight.octets[begin : begin + HEAD]):
                continue
            for reading in sight.readings(header):
                start, end = reading.start, reading.end
                # How many Markers there are tells where it ends, not where they are.
                if start != at or end > sight.island.end or end in ends or sight.allowance < 0:
                    continue
                ends.add(end)
                if sight.following(end) is not None:
                    return [reading]
                if depth > 1 and (others := self._damaged(end, depth - 1)):
                    return [reading, *others]
        return []

    def _hear_begun(self, ballot: Ballot, at: int) -> None:
        """Let an FPDU vote that follows one that is verified and is not all there, by Markers."""
        sight = self._sight
        for header in (at, at + MARKER_LENGTH):
            begin = header - sight.begin
            if not head_makes_sense(sight.octets[begin : begin + HEAD]):
                continue
            if header + fpdu_length(sight.number(header)) <= sight.island.end:
                continue
            backs = Counter(back % MARKER_INTERVAL for back in sight.markers_behind(header))
            for back, count in backs.items():
                # The first alone may be a number in the header, or in the payload.
                if count >= _TELLING_MARKERS:
                    ballot.count_begun(header + back)

    def _vote(self, ballot: Ballot, reading: Reading) -> None:
        sight = self._sight
        start, end, layout, _ = reading
        if ballot.reference >= sight.begin:
            ballot.first = min(ballot.first, start)
        if not layout.markers:
            pointing: list[int] = []
            if sight.known.markers:
                # A lie may hide one of those that must be somewhere.
                words = map(start.__add__, sight.markers_behind(start))
                pointing += [word for word in words if word < end]
            ballot.count_unmarked(start, end, pointing)
        elif layout.header:
            ballot.count_marked(start, end, [start], HEAD)
        else:
            ulpdu_length = sight.number(start)
            others = {
                back: reading._replace(layout=fpdu_layout(ulpdu_length, -back % MARKER_INTERVAL))
                for back in sight.markers_behind(start)
            }
            agreeing = {
                back: sight.told(start, other.layout)[0]
                for back, other in others.items()
                if start + other.layout.length == end
            }
            most = max(agreeing.values(), default=0)
            backs = [back for back, count in agreeing.items() if count == most]
            # One of them may be a number in the header, which then makes no sense without it.
            telling = [
                back for back in backs if plausible(sight.header(others[back]), ulpdu_length)
            ]
            positions = [start + back for back in telling or backs]
            control = start + HEADER_LENGTH - sight.begin
            is_tagged = sight.octets[control : control + 1] >= TAGGED
            ballot.count_marked(start, end, positions, _TAGGED_HEAD if is_tagged else HEAD)
