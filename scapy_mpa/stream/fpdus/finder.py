# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs in octets where no length leads: candidates, and which of them to believe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus.candidate import HEAD, UNREADABLE, WORD, Candidate, header_octets
from scapy_mpa.stream.fpdus.follower import LONGEST_CHAIN, OCTETS_FOR_ONE, FPDUFollower
from scapy_mpa.stream.fpdus.regularity import Irregular, Regularity
from scapy_mpa.stream.fpdus.search import (
    COST_OF_PLACE,
    SEARCHED_AT_A_TIME,
    SEARCHED_FIRST,
    header_words,
    zero_length_places,
)
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.crc import CRC_LENGTH, RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED, UNTAGGED_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    fpdu_length,
)
from scapy_mpa.wire.rdmap import TERMINATE_CONTROL_LENGTH, parse_control, plausible
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = [
    "CONVINCING_CHAIN",
    "FPDUFinder",
    "found_by",
    "head_of",
    "holds_itself",
    "is_tagged",
]

# What those places may overdraw it by for which more speaks than octets that make sense.
_OVERDRAFT: Final = 1 << 20
# The share of what is left that a place may cost for which nothing speaks but that a segment begins
# there, or that a Marker points to it.
_SMALL_SHARE: Final = 64
# What it costs to try a place for which nothing speaks, beside the octets of its FPDU.
_COST_OF_TRY: Final = 768
# The share of what may be spent so that one of them may cost.
_SHARE_OF_TRY: Final = 16
# What an FPDU of zero length costs: it takes no octets worth counting, but what follows is tried.
# A connection has one, if any, as RTR indication (RFC 6581 9.2).
_COST_OF_ZERO_LENGTH: Final = 1024
# Octets from where a Terminate begins to the length of the DDP segment whose headers it copies.
_COPY_AT: Final = HEADER_LENGTH + UNTAGGED_LENGTH + TERMINATE_CONTROL_LENGTH
# Octets of an FPDU beside its ULPDU, at least.
_LEAST_OVERHEAD: Final = HEADER_LENGTH + CRC_LENGTH
# Behind this offset modulo 512 a Marker falls in the DDP header of an FPDU.
_LAST_WHOLE_HEADER: Final = MARKER_INTERVAL - HEADER_LENGTH - UNTAGGED_LENGTH
CONVINCING_CHAIN: Final = 3
"""Headers that make sense, back to back, that nobody takes for chance."""

# The same, against the word of an FPDU that claims their octets as part of its payload.
_OUTWEIGHING_CHAIN: Final = 8


class FPDUFinder(FPDUFollower):
    """Looks for FPDUs of one direction, within what that may cost.

    For parameters see :class:`~scapy_mpa.stream.fpdus.candidate.FPDUReader`.
    """

    __slots__ = ()

    def _starts(
        self, island: Island, begin: int, limit: int, tried: int = 0, *, stop: int | None = None
    ) -> Iterator[int]:
        """Yield, ascending, where between ``begin`` and ``limit`` an FPDU may lie.

        Not where its CRC is bad, as far as that is quickly told.  What it costs to look at one is
        deducted, and what costs too much is passed over.

        :param tried: what ends here or before is none.
        :param stop: before which it must begin; None: ``limit``.
        """
        stop = limit if stop is None else min(stop, limit)
        begin += (self.origin - begin) % WORD
        if limit - begin < WORD:
            return
        likely: set[int] = set()
        pointed_until = begin
        # Most are none, and to tell that by their CRCs alone takes less than to try them.
        tells = self.crc and not island.absent
        # Window by window, so that memory does not grow with what is searched, and little ones
        # first, for what is found is mostly near.  None begins behind a leading Marker, whose FPDU
        # begins before it.
        size = SEARCHED_FIRST
        edge = begin + size
        edge += (self.origin + 2 * MARKER_LENGTH - edge) % MARKER_INTERVAL
        while begin < stop and self._allowance >= -_OVERDRAFT:
            upto = min(edge, stop)
            self._allowance -= (upto - begin) // OCTETS_FOR_ONE
            size = min(2 * size, SEARCHED_AT_A_TIME)
            edge += size
            if self.crc:
                boundaries = island.telling_boundaries(begin, upto)
                likely.update(at for at in boundaries if at >= begin and self._may_start(at))
            if self.markers:
                # No Marker points back any further.
                until = min(limit, upto + SEARCHED_AT_A_TIME + MARKER_INTERVAL)
                likely.update(self._pointed_at(island, pointed_until, until))
                pointed_until = until - MARKER_LENGTH + 1
            octets = island.read(begin, min(limit, upto + HEAD))
            there = len(octets)
            words = header_words(octets[: upto - begin]) if self._allowance >= 0 else []
            if self.crc and self._allowance >= 0:
                zeros = [begin + at for at in zero_length_places(octets)]
                self._allowance -= _COST_OF_ZERO_LENGTH * len(zeros)
                likely.update(zeros)
            self._allowance -= COST_OF_PLACE * len(words)
            here = {at for at in likely if begin <= at < upto}
            likely = {at for at in likely if at >= upto}
            for start in sorted({*self._starts_of(words, begin), *here}):
                is_likely = start in here
                if not is_likely and self._allowance < 0:
                    continue
                phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
                header = start - begin + (MARKER_LENGTH if phase == 0 else 0)
                if header + HEADER_LENGTH > there:
                    continue
                ulpdu_length = octets[header] << 8 | octets[header + 1]
                if start + ulpdu_length + _LEAST_OVERHEAD > limit:
                    continue
                if island.absent or (phase or MARKER_LENGTH) > _LAST_WHOLE_HEADER:
                    said = self._header_at(island, start, limit)
                    makes_sense = said is not None and said[0]
                else:
                    head = octets[header + HEADER_LENGTH : header + HEAD]
                    makes_sense = plausible(head, ulpdu_length)
                if not makes_sense and not is_likely:
                    continue
                length = fpdu_length(ulpdu_length, phase)
                # Where nothing else speaks for it, it was asked above whether it is worth it.
                if tried < start + length <= limit and (
                    not is_likely or self._is_worth_it(length, makes_sense=makes_sense)
                ):
                    self._allowance -= length
                    end = start - begin + length
                    if tells and end <= there and crc32c(octets[start - begin : end]) != RESIDUE:
                        continue
                    yield start
            begin = upto

    def _senseless(self, island: Island, begin: int, limit: int) -> Iterator[Candidate]:
        """Yield, ascending, the FPDUs between ``begin`` and ``limit`` whose CRC is good, and whose
        header makes no sense; those of zero length, which have none, are found otherwise.

        What that costs is deducted from what may be spent on nothing else.  Where there are
        Markers, long ones are found by these.
        """
        longest = self._spare // _SHARE_OF_TRY
        begin += (self.origin - begin) % WORD
        while begin < limit and self._spare > 0:
            upto = min(begin + SEARCHED_AT_A_TIME, limit)
            octets = island.read(begin, min(upto + longest + _LEAST_OVERHEAD, limit))
            self._spare -= len(octets)
            count = (upto - begin) // WORD
            room = limit - begin - _LEAST_OVERHEAD
            # Of most places the first octet of what would be their ULPDU_Length tells that none is.
            first = octets[: WORD * count : WORD]
            small = min(longest, room, 0xFFFF) // 256 + 1
            may_fit = first.translate(b"\1" * small + bytes(256 - small))
            for at in compress(range(count), may_fit):
                ulpdu_length = first[at] << 8 | octets[WORD * at + 1]
                if not ulpdu_length or ulpdu_length > longest or ulpdu_length > room - WORD * at:
                    continue
                start = begin + WORD * at
                phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
                if phase is not None and phase <= MARKER_LENGTH:
                    # What a Marker leads is found by that, and behind one none begins.
                    continue
                length = fpdu_length(ulpdu_length, phase)
                if start + length > limit:
                    continue
                self._spare -= _COST_OF_TRY + length
                if self._spare < 0:
                    return
                if crc32c(octets[WORD * at : WORD * at + length]) == RESIDUE:
                    fpdu = self._try(island, start, limit)
                    if isinstance(fpdu, Candidate) and not self._header_makes_sense(fpdu):
                        yield fpdu
            begin = upto

    def _may_start(self, position: int) -> bool:
        """Tell whether an FPDU may start at a position, by where it is and where Markers are."""
        phase = (position - self.origin) % MARKER_INTERVAL
        # A Marker that leads an FPDU is part of it.
        return phase % WORD == 0 and not (self.markers and phase == MARKER_LENGTH)

    def _is_worth_it(self, length: int, *, makes_sense: bool) -> bool:
        """Tell whether an FPDU is to be tried for which more speaks than octets that make sense."""
        if makes_sense:
            return self._allowance >= -_OVERDRAFT
        # Without CRCs, an FPDU that makes no sense is no evidence.
        return self.crc and _SMALL_SHARE * length <= self._allowance

    def _search(
        self,
        island: Island,
        begin: int,
        limit: int,
        *,
        final: bool,
        claimed: bool = False,
        liar: int | None = None,
        run: Run | None = None,
        bridge: Sequence[Candidate] = (),
    ) -> Candidate | None:
        """Return the first FPDU that begins at or behind ``begin`` beyond doubt.

        :param liar: where, before ``begin``, an FPDU begins for certain that is not what it says.

        One behind which the chain of lengths breaks may be part of a payload: it counts only if
        nothing better is there, and, with CRCs, nothing better will come.  But several in a row are
        taken for no payload if the header of the liar makes no sense.
        Something better is there if an FPDU is known to begin at ``limit`` and none before.

        :param claimed: an FPDU whose header makes sense says that all these octets are its own.
        :param run: behind which this is a search among others: nothing is tried twice.
        :param bridge: FPDUs over which lengths lead to ``limit``, where a verified one begins, from
            one that begins for certain: what may be payload of any of them does not count.
        """
        found = self._search_sense(
            island, begin, limit, final=final, claimed=claimed, liar=liar, run=run, bridge=bridge
        )
        if self.crc and not island.absent and (final or found is not None):
            # Nothing better will come for what stands before it: then a CRC is enough.
            senseless = self._senseless(island, begin, limit if found is None else found.start)
            return next(senseless, found)
        return found

    def _search_sense(
        self,
        island: Island,
        begin: int,
        limit: int,
        *,
        final: bool,
        claimed: bool,
        liar: int | None,
        run: Run | None,
        bridge: Sequence[Candidate],
    ) -> Candidate | None:
        """Do that for FPDUs for which more speaks than their CRC."""
        doubtful = None
        doubted_until = limit
        chained = begin
        repeated: set[bytes] = set()
        broken: set[int] = set()
        tried = run.searched if run is not None else 0
        for start in self._starts(island, begin, limit, tried):
            if start >= doubted_until:
                return doubtful
            if start < chained or start in broken:
                continue
            fpdu = self._try(island, start, limit)
            if isinstance(fpdu, int) or not fpdu.sound:
                continue
            if fpdu.crc != "good":
                if fpdu.is_pointed_at:
                    return fpdu
                needed = _OUTWEIGHING_CHAIN if claimed else CONVINCING_CHAIN
                if self._repeats(island, fpdu, limit, repeated) or self._is_copied(island, fpdu):
                    continue
                until = self._borne_out(island, fpdu, limit, needed, broken, final=final)
                if until is None:
                    repeated.add(head_of(fpdu))
                elif until == limit:
                    return self._uncontested(island, fpdu, limit, repeated)
                elif doubtful is None:
                    doubtful = fpdu
                    doubted_until = until
                continue
            count, breaks, chained = self._chain_from(island, fpdu, limit)
            if self._is_disowned(island, fpdu, chained, begin, limit, liar):
                continue
            if (
                self._is_convincing(island, fpdu, count, limit)
                and not breaks
                and (not bridge or self._outweighs(island, fpdu, bridge, limit))
            ):
                return fpdu
            if doubtful is None and (liar is not None or limit == island.end):
                doubtful = fpdu
            if count > 1 and liar is not None and not self._makes_sense(island, liar, limit):
                return fpdu
        if run is not None and self.crc and not island.absent and self._allowance >= 0:
            run.searched = limit if doubtful is None else doubtful.end - 1
        return doubtful if final or doubted_until < limit else None

    # -- without a CRC that tells --------------------------------------------------------------

    def _borne_out(
        self,
        island: Island,
        fpdu: Candidate,
        limit: int,
        needed: int,
        broken: set[int],
        *,
        final: bool,
    ) -> int | None:
        """Look for others that say, too, that an FPDU begins where it merely looks like one.

        A Marker does if it points there, or to where the lengths lead from there, a CRC that is
        good, or an FPDU that is known to begin at ``limit``.  If nothing of that is to be had,
        and no Marker contradicts, headers in a row do, or segments that begin and end with it.

        Return ``limit`` if that is enough, None if it is not.  A row behind which the lengths
        lead nowhere has a last one that lies, or is part of a payload.  It counts if nothing
        better begins before its last one, which is then returned.

        :param needed: how many headers in a row are no chance.
        :param broken: where the FPDUs of such rows begin: from there they lead nowhere, either.
        """
        following: Candidate | int = fpdu
        at = fpdu.start
        row: list[int] = []
        heads: set[bytes] = set()
        while at < limit and len(row) < LONGEST_CHAIN:
            if row:
                following = self._try(island, at, limit)
            if isinstance(following, int) or not following.sound:
                break
            if following.is_pointed_at or following.crc == "good":
                return limit
            self._allowance -= following.layout.length
            row.append(at)
            if not (self.markers and holds_itself(following)):
                heads.add(head_of(following))
            at = following.end
        if at == limit < island.end:
            return limit
        if self.markers:
            pointed = next(self._pointed_at(island, at, limit), None)
            if pointed is not None and pointed <= at:
                if pointed == at or pointed in row:
                    return limit
                # Only the last one may have lied, if it claims the place to which it points.
                return row[-1] if pointed > row[-1] and len(heads) > needed else None
            # Nothing but a Marker tells FPDUs from a payload that repeats itself.
            if not final and pointed is None:
                return None
        if isinstance(following, int):
            goes_on = self._may_begin(island, at, limit)
        else:
            goes_on = following.sound
        if not goes_on:
            broken.update(row)
            return row[-1] if len(heads) >= needed else None
        if following == UNREADABLE and self._stands_first(island, fpdu):
            return limit
        count = len(heads) if self.markers else len(row)
        is_enough = count >= needed or island.fills_segments(fpdu.start, fpdu.end)
        return limit if is_enough else None

    @staticmethod
    def _stands_first(island: Island, fpdu: Candidate) -> bool:
        """Tell whether a segment begins with the FPDU, and its header leaves no doubt.

        An untagged header has 43 bits that are known beforehand (RFC 5041 4.3, RFC 5040 4.1), a
        tagged one 13: among thousands of segments there is a payload that has these.
        """
        boundaries = island.telling_boundaries(fpdu.start, fpdu.start + 1)
        return not is_tagged(fpdu) and boundaries == [fpdu.start]

    def _repeats(self, island: Island, fpdu: Candidate, limit: int, repeated: set[bytes]) -> bool:
        """Tell whether what looks like a header is repeated: some payloads are full of such.

        It is if its own FPDU holds its first word once more, or the next one begins with it.  Where
        there are Markers, there is no need to believe it.

        :param repeated: headers that were found to be repeated, or to lead nowhere.
        """
        if not self.markers:
            return False
        head = head_of(fpdu)
        if head in repeated:
            return True
        if not holds_itself(fpdu):
            following = self._try(island, fpdu.end, limit)
            if isinstance(following, int):
                return False
            self._allowance -= following.layout.length
            if head_of(following) != head:
                return False
        repeated.add(head)
        return True

    def _is_copied(self, island: Island, fpdu: Candidate) -> bool:
        """Tell whether what looks like an FPDU is what a Terminate copies of one.

        That begins with its ULPDU_Length and its DDP header (RFC 5040 4.8), and where it holds all
        that its length says, as of an RDMA Read Request, it even ends where the Terminate does.
        """
        # A Marker may lie between the beginnings of the two.
        for start in (fpdu.start - _COPY_AT, fpdu.start - _COPY_AT - MARKER_LENGTH):
            if not (self._may_start(start) and island.holds(start, fpdu.start)):
                continue
            said = self._header_at(island, start, fpdu.start)
            if said is None or not said[0]:
                continue
            at = start + said[1].header + HEADER_LENGTH
            control = island.read(at, at + 2)
            if control < TAGGED and parse_control(control[1]).opcode == Opcode.TERMINATE:
                return start + said[1].length > fpdu.start
        return False

    def _uncontested(
        self, island: Island, fpdu: Candidate, limit: int, repeated: set[bytes]
    ) -> Candidate | None:
        """Return the FPDU, unless octets that it claims lead to its end just as well.

        Several in a row are more than one; of one and one, an untagged header says more than a
        tagged one, else that which goes on more regularly, or neither is certain.
        """
        if island.fills_segments(fpdu.start, fpdu.end):
            return fpdu
        for start in self._starts(island, fpdu.start + WORD, fpdu.end):
            first = following = self._try(island, start, fpdu.end)
            if isinstance(first, int) or not first.sound:
                continue
            if self._repeats(island, first, limit, repeated):
                continue
            count = 0
            at = start
            while not isinstance(following, int) and following.sound:
                self._allowance -= following.layout.length
                count += 1
                at = following.end
                if at == fpdu.end:
                    break
                following = self._try(island, at, fpdu.end)
            if at < fpdu.end:
                continue
            if count > 1 or is_tagged(fpdu) > is_tagged(first):
                return first
            if is_tagged(fpdu) == is_tagged(first):
                mine, other = (self._irregular(island, one, limit) for one in (fpdu, first))
                if mine != other:
                    return fpdu if mine < other else first
                behind = self._try(island, at, limit)
                return None if isinstance(behind, int) else behind
        return fpdu

    def _irregular(self, island: Island, fpdu: Candidate, limit: int) -> Irregular:
        """Return what is irregular about an FPDU and those behind it."""
        regularity = Regularity()
        following: Candidate | int = fpdu
        for _ in range(_OUTWEIGHING_CHAIN):
            if isinstance(following, int) or not following.sound:
                break
            header = header_octets(following.octets, following.layout)
            regularity.take(header, following.ulpdu_length)
            self._allowance -= following.layout.length
            following = self._try(island, following.end, limit)
        return regularity.irregular

    def _is_convincing(self, island: Island, fpdu: Candidate, count: int, limit: int) -> bool:
        """Tell whether an FPDU that a search has found stands where FPDUs stand."""
        return count > 1 or fpdu.end == limit or island.fills_segments(fpdu.start, fpdu.end)


def head_of(fpdu: Candidate) -> bytes:
    """Return ULPDU_Length and DDP header, as far as it tells one FPDU from the next."""
    return fpdu.octets[fpdu.layout.header :][: HEADER_LENGTH + UNTAGGED_LENGTH]


def holds_itself(fpdu: Candidate) -> bool:
    """Tell whether the octets of an FPDU hold its first word once more.

    Of an untagged one all of its header must come again: what is left of it is no chance.
    """
    octets, begin = fpdu.octets, fpdu.layout.header
    size = WORD if is_tagged(fpdu) else HEADER_LENGTH + UNTAGGED_LENGTH
    return octets.find(octets[begin : begin + size], begin + WORD) >= 0


def is_tagged(fpdu: Candidate) -> bool:
    """Tell whether the header of an FPDU is tagged, of which less is known beforehand."""
    at = fpdu.layout.header + HEADER_LENGTH
    return fpdu.octets[at : at + 1] >= TAGGED


def found_by(fpdu: Candidate) -> LocatedBy:
    """Return what led a search to an FPDU: its Markers speak louder than the search."""
    return "marker" if fpdu.is_pointed_at else "search"
