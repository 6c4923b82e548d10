# SPDX-License-Identifier: GPL-2.0-or-later
"""Where FPDUs begin and end in the islands of one direction, and whether they are what they say.

The rules (RFC 5044 6, and section 8 for what does not fit):

* An FPDU is *located* by the beginning of the Full Operation Phase, by the end of the FPDU
  before it, by a Marker, or, last, by search.
* It is *verified* by its CRC.  Without CRCs its Markers must agree on where it begins and its
  DDP and RDMAP headers must make sense.
* Behind a verified FPDU the next one begins: that start is certain, so whatever stands there
  is reported, good or bad.  Any other start counts only if the FPDU there is verified.
* An FPDU that is not verified may have lied about its length.  What follows is believed once
  the chain of lengths comes to a verified FPDU, or to the very place where one is known to
  begin; else the octets behind its start are searched.

An island beyond a hole is framed at once if there are Markers to start from.  Without them
nothing but a search could help, and the octets of a payload may look like an FPDU: such an
island waits until the hole is filled, or is known to stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, Protocol

from scapy_mpa.stream.events import CrcVerdict, LocatedBy
from scapy_mpa.stream.islands import Island, Run
from scapy_mpa.stream.search import header_words
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    Layout,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["FRAMING_WINDOW", "Candidate", "Framing", "Sink"]

FRAMING_WINDOW: Final = 66_560
"""No FPDU is longer: 64 KiB of ULPDU, 130 Markers, header, pad and CRC.  Octets that could not
be placed are of no use once this much follows them."""

_FIRST_SEARCH: Final = 2_048
# How many unverified FPDUs in a row the chain of lengths may cross before it is given up.
_LONGEST_BRIDGE: Final = 16
# What a search may spend on CRCs: a multiple of the octets that the stream brought, so that no
# content makes the cost per octet grow, and something to begin with.
_CRC_OCTETS_AT_FIRST: Final = 1 << 20
_CRC_OCTETS_PER_OCTET: Final = 16
# Headers that make sense, back to back, that nobody takes for chance.
_CONVINCING_CHAIN: Final = 3
# Sound FPDUs in a row behind which nobody looks for a break any more.
_LONGEST_CHAIN: Final = 64
_WORD: Final = 4
# Octets for which the chain of lengths is waited for, if what comes next looks like an FPDU.
_LONGEST_WAIT: Final = 8 * FRAMING_WINDOW
# What :meth:`Framing._try` says of an FPDU whose ULPDU_Length was not captured.
_UNREADABLE: Final = -1
# The header words that say whether a ULPDU makes sense: the longest fixed header of RFC 7306.
_HEAD: Final = HEADER_LENGTH + 18 + MARKER_LENGTH


class Candidate(NamedTuple):
    """Octets that may be an FPDU."""

    start: int
    end: int
    ulpdu_length: int
    layout: Layout
    octets: bytes
    crc: CrcVerdict
    agrees: bool
    """Whether its Markers say that it begins where it does."""
    sound: bool
    """Whether it is verified."""


class Sink(Protocol):
    """Who is told what framing finds."""

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Take an FPDU."""

    def wrong(self, code: ErrorCode, position: int, text: str) -> None:
        """Take an error."""

    def cut_off(self, start: int, end: int) -> None:
        """Take note of a stretch in which the snap length cut off what is needed to go on."""

    def unfinished(self, position: int, length: int) -> None:
        """Take note of an FPDU of which only the first ``length`` octets will ever be there."""

    def release(self, island: Island, start: int, end: int) -> None:
        """Give up octets whose work is done."""


class Framing:
    """Finds the FPDUs of one direction in its islands.

    :param sink: who is told.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are to be checked.
    :param from_start: whether the phase is known to begin at ``origin``; if not, that is merely
        a place from which Markers can be counted.
    """

    __slots__ = ("_allowance", "_sink", "crc", "from_start", "markers", "origin")

    def __init__(
        self, sink: Sink, origin: int, *, markers: bool, crc: bool, from_start: bool = True
    ) -> None:
        self._sink = sink
        self.origin = origin
        self.from_start = from_start
        self.markers = markers
        self.crc = crc
        self._allowance = _CRC_OCTETS_AT_FIRST

    def advance(self, island: Island, fresh: int, *, final: bool = False) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        :param final: nothing will be added to its end.
        """
        self.allow(fresh)
        if island.joined:
            self._fill(island)
        elif island.end < island.need and not final:
            return
        if not island.runs and not self._locate(island):
            return
        if not island.open_left and not island.settled:
            self._settle(island)
        self._follow(island, island.runs[-1], island.end, final=final)

    def allow(self, fresh: int) -> None:
        """Let searches spend what so many octets of stream are worth."""
        self._allowance += fresh * _CRC_OCTETS_PER_OCTET

    def verifies(self, island: Island, start: int) -> bool | None:
        """Tell whether a verified FPDU stands at ``start``; None if octets are missing for it."""
        fpdu = self._try(island, start, island.end)
        if not isinstance(fpdu, int):
            return fpdu.sound
        if fpdu == _UNREADABLE:
            return False
        if start + MARKER_LENGTH + _WORD > island.end:
            return None
        return None if self._looks_like_start(island, start, island.end) else False

    # -- one FPDU ----------------------------------------------------------------------------

    def _try(self, island: Island, start: int, limit: int) -> Candidate | int:
        """Read the FPDU at ``start``, or say up to which position octets are needed for it."""
        phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
        header = start + MARKER_LENGTH if phase == 0 else start
        if header + HEADER_LENGTH > limit:
            return header + HEADER_LENGTH
        if island.absent and island.captured_until(start, header + HEADER_LENGTH) < header + 2:
            return _UNREADABLE
        ulpdu_length = int.from_bytes(island.read(header, header + HEADER_LENGTH), "big")
        layout = fpdu_layout(ulpdu_length, phase)
        end = start + layout.length
        if end > limit:
            return end
        octets = island.read(start, end)
        if island.absent and (seen := island.captured_until(start, end)) < end:
            return self._judge_cut(start, ulpdu_length, layout, octets[: seen - start])
        agrees = not layout.markers or self._agrees(layout, octets)
        if self.crc:
            good = crc32c(octets) == RESIDUE
            crc: CrcVerdict = "good" if good else "bad"
            return Candidate(start, end, ulpdu_length, layout, octets, crc, agrees, good)
        sound = agrees and self._plausible(octets, layout, ulpdu_length)
        return Candidate(start, end, ulpdu_length, layout, octets, "off", agrees, sound)

    def _judge_cut(self, start: int, ulpdu_length: int, layout: Layout, seen: bytes) -> Candidate:
        """Judge an FPDU whose end the snap length cut off: its header must speak for it."""
        enough = len(seen) >= layout.header + HEADER_LENGTH
        sound = enough and self._plausible(seen, layout, ulpdu_length)
        crc: CrcVerdict = "unknown" if self.crc else "off"
        return Candidate(start, start + layout.length, ulpdu_length, layout, seen, crc, True, sound)

    @staticmethod
    def _agrees(layout: Layout, octets: bytes) -> bool:
        said = layout.unpack.unpack_from(octets)
        return said == layout.fpduptrs or all(
            one & FPDUPTR_MASK == other & FPDUPTR_MASK
            for one, other in zip(said, layout.fpduptrs, strict=True)
        )

    @staticmethod
    def _plausible(octets: bytes, layout: Layout, ulpdu_length: int) -> bool:
        head = octets[: layout.header + _HEAD]
        body = strip_markers(head, [at for at in layout.markers if at < len(head)])
        return plausible(body[HEADER_LENGTH:], ulpdu_length)

    def _pass_on(self, island: Island, run: Run, fpdu: Candidate) -> None:
        """Report an FPDU and count it to the run behind which it stands."""
        self._sink.found(island, fpdu, run.next_by)
        run.next_by = "length"
        run.last = fpdu.start
        run.end = fpdu.end
        if fpdu.crc == "bad":
            self._wrong(
                ErrorCode.CRC_MISMATCH,
                fpdu.start + fpdu.layout.header,
                f"CRC does not match the FPDU (ULPDU_Length {fpdu.ulpdu_length})",
            )
        elif not fpdu.agrees:
            self._wrong(
                ErrorCode.MARKER_MISMATCH,
                fpdu.start + fpdu.layout.header,
                f"Markers point elsewhere than to their FPDU (ULPDU_Length {fpdu.ulpdu_length})",
            )

    def _wrong(self, code: ErrorCode, position: int, text: str) -> None:
        self._sink.wrong(code, position, text)

    # -- the chain of lengths ----------------------------------------------------------------

    def _follow(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on behind a run.

        :param limit: where the next run begins, or the island ends.
        :param final: nothing more will come between here and there.
        """
        while True:
            if run.trouble is None:
                self._chain(island, run, limit, final=final)
            if run.trouble is None or not self._recover(island, run, limit, final=final):
                return

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Pass on FPDU after FPDU, up to the limit or to the first that is not verified."""
        while True:
            at = run.end
            if at == limit:
                island.need = limit + 1
                break
            fpdu = self._try(island, at, limit)
            if isinstance(fpdu, int):
                island.need = fpdu
                if final or fpdu == _UNREADABLE:
                    run.trouble = at
                break
            if fpdu.sound:
                self._pass_on(island, run, fpdu)
                continue
            if fpdu.crc == "bad":
                # Its start is certain, whatever it holds.
                self._pass_on(island, run, fpdu)
                run.trouble = at
            else:
                # Without CRCs, it may be the one before that lied.
                run.trouble = at if self.crc else run.last
            break
        # Without CRCs a length is not proven before the next FPDU stands behind it.
        done = run.end if self.crc else run.last
        self._sink.release(island, run.start, done if run.trouble is None else run.trouble)

    # -- behind an FPDU that is not verified ---------------------------------------------------

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where FPDUs begin; tell whether that succeeded."""
        trouble = run.trouble
        assert trouble is not None
        bridge: list[Candidate] = []
        if run.anchored:
            bridge, reached, need = self._bridge(island, run.end, limit)
            need_at = bridge[-1].end if bridge else run.end
            alone = len(bridge) == 1 and bridge[0].agrees and island.is_boundary(limit)
            if reached == "sound" or (reached == "end" and (final or (not self.crc and alone))):
                for fpdu in bridge:
                    self._pass_on(island, run, fpdu)
                if self.crc:
                    self._embedded(island, trouble, run.end)
                run.trouble = None
                return True
            likely = self._looks_like_start(island, need_at, limit)
            patience = _LONGEST_WAIT if likely else FRAMING_WINDOW
            if reached != "long" and not final and limit - trouble < patience:
                island.need = min(need, trouble + patience)
                return False
        longest = _LONGEST_WAIT if run.anchored else FRAMING_WINDOW
        is_too_much = limit - trouble > longest + FRAMING_WINDOW
        if limit < run.search_at and not (final or is_too_much):
            island.need = run.search_at
            return False
        found = self._search(island, trouble + _WORD, limit, final=final or is_too_much)
        if found is not None:
            self._resume(island, run, found)
            return True
        if final:
            self._abandon(island, run, bridge, limit)
        else:
            if is_too_much:
                run.trouble = limit - FRAMING_WINDOW
                run.anchored = False
                # A late copy may fill the hole before the island, and need what follows it.
                kept = run.start + FRAMING_WINDOW if run.is_empty else run.start
                island.is_torn = island.is_torn or run.is_empty
                trouble = run.trouble
                self._sink.release(island, kept, trouble)
            island.need = run.search_at = limit + max(_FIRST_SEARCH, limit - trouble)
        return False

    def _bridge(
        self, island: Island, at: int, limit: int
    ) -> tuple[list[Candidate], Literal["sound", "end", "short", "long"], int]:
        """Follow lengths over FPDUs that are not verified.

        Return them, what came behind them, and how far octets are needed to say more.
        """
        bridge: list[Candidate] = []
        while len(bridge) < _LONGEST_BRIDGE:
            if at == limit:
                return bridge, "end", limit + 1
            fpdu = self._try(island, at, limit)
            if fpdu == _UNREADABLE:
                return bridge, "long", limit
            if isinstance(fpdu, int):
                return bridge, "short", fpdu
            if fpdu.sound:
                return bridge, "sound", limit
            bridge.append(fpdu)
            at = fpdu.end
        return bridge, "long", limit

    def _embedded(self, island: Island, start: int, end: int) -> None:
        """Report the FPDUs that an FPDU with a lying ULPDU_Length swallowed whole.

        They must lead exactly to ``end``, where a verified FPDU begins: no payload that merely
        looks like FPDUs does, for the swallowing one ends with a CRC of its own.
        """
        for at, _ in self._starts(island, start + _WORD, end):
            if self._allowance < 0 or not self._is_plausible_at(island, at, end):
                continue
            chain = []
            while at < end:
                fpdu = self._try(island, at, end)
                if isinstance(fpdu, int) or not fpdu.sound:
                    break
                self._allowance -= fpdu.layout.length
                chain.append(fpdu)
                at = fpdu.end
            else:
                for fpdu in chain:
                    self._sink.found(island, fpdu, _found_by(fpdu))
                return

    def _resume(self, island: Island, run: Run, found: Candidate) -> None:
        """Go on at an FPDU that a search has found."""
        begin = run.end
        if island.absent and island.captured_until(begin, found.start) < found.start:
            self._sink.cut_off(begin, found.start)
        elif self.crc and run.anchored and begin == run.trouble and begin + _HEAD <= found.start:
            # What begins here claims octets that belong to others.
            self._pass_on(island, run, self._liar(island, begin, found.start))
        elif begin < found.start and begin > run.start:
            self._wrong(
                ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                begin,
                f"{found.start - begin} octets in which no FPDU begins",
            )
        if run.is_empty:
            run.start = found.start
        run.end = run.last = found.start
        run.next_by = _found_by(found)
        run.trouble = None
        run.anchored = True
        run.search_at = 0

    def _liar(self, island: Island, start: int, end: int) -> Candidate:
        """Return the FPDU at ``start``, whose ULPDU_Length reaches beyond ``end``."""
        phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
        header = start + MARKER_LENGTH if phase == 0 else start
        ulpdu_length = int.from_bytes(island.read(header, header + HEADER_LENGTH), "big")
        layout = fpdu_layout(ulpdu_length, phase)
        octets = island.read(start, end)
        return Candidate(start, end, ulpdu_length, layout, octets, "bad", True, False)

    def _abandon(self, island: Island, run: Run, bridge: list[Candidate], limit: int) -> None:
        """Say what stays unexplained, now that nothing more will come."""
        assert run.trouble is not None
        if bridge and not self.crc:
            self._pass_on(island, run, bridge[0])
        if run.end < limit:
            if run.anchored and run.end == run.trouble and not bridge:
                self._sink.unfinished(run.end, limit - run.end)
            elif run.end > run.start:
                self._wrong(
                    ErrorCode.CRC_MISMATCH if self.crc else ErrorCode.MARKER_MISMATCH,
                    run.end,
                    f"{limit - run.end} octets in which no FPDU begins",
                )
        run.trouble = None
        run.end = run.last = limit

    # -- without a chain -----------------------------------------------------------------------

    def _locate(self, island: Island) -> bool:
        """Find a place to start from in an island; tell whether there is one."""
        if self.from_start and island.start <= self.origin < island.end:
            island.runs.append(self._first_run(island))
            return True
        found = self._by_marker(island, island.end)
        if found is not None:
            island.runs.append(Run(found.start, "marker"))
            return True
        if island.open_left:
            return False
        # Nothing leads anywhere: a run of no FPDUs, behind which only a search can help.
        run = Run(island.start, "search")
        run.trouble = island.start - _WORD
        run.anchored = False
        island.runs.append(run)
        island.settled = True
        island.need = island.end
        return True

    def _first_run(self, island: Island) -> Run:
        """Return the run that begins with the Full Operation Phase."""
        run = Run(self.origin, "start")
        # What lies before is none of framing's business, and is released with the rest.
        run.start = island.start
        island.settled = True
        return run

    def _by_marker(self, island: Island, limit: int) -> Candidate | None:
        """Return the first verified FPDU that a Marker before ``limit`` leads to."""
        if not self.markers:
            return None
        length = island.end - island.start
        if island.open_left and length - island.tried < min(MARKER_INTERVAL, island.tried):
            # Growing by less at a time, it would be gone over too often.
            return None
        island.tried = length
        lowest = max(island.start, self.origin) if self.from_start else island.start
        # Beyond the window all has been decided: no FPDU is longer, whatever a Marker says.
        nearest = max(island.start, limit - FRAMING_WINDOW, island.start)
        for begin, end in ((island.start, island.start + FRAMING_WINDOW), (nearest, limit)):
            for start in self._pointed_at(island, begin, min(end, limit)):
                if start >= lowest:
                    fpdu = self._try(island, start, limit)
                    if not isinstance(fpdu, int) and fpdu.sound:
                        return fpdu
        return None

    def _next_marker(self, position: int) -> int:
        return position + (self.origin - position) % MARKER_INTERVAL

    def _pointed_at(self, island: Island, begin: int, limit: int) -> Iterator[int]:
        """Yield where each Marker says that its FPDU starts."""
        for marker in range(self._next_marker(begin), limit - MARKER_LENGTH + 1, MARKER_INTERVAL):
            fpduptr = int.from_bytes(island.read(marker + 2, marker + 4), "big") & FPDUPTR_MASK
            start = marker - fpduptr
            if (start - self.origin) % MARKER_INTERVAL == MARKER_LENGTH:
                start -= MARKER_LENGTH
            yield start

    def _starts(self, island: Island, begin: int, limit: int) -> Iterator[tuple[int, bool]]:
        """Yield, ascending, where between ``begin`` and ``limit`` an FPDU may start.

        With each place comes whether more than two octets that make sense speak for it.
        """
        begin += (self.origin - begin) % _WORD
        if limit - begin < _WORD:
            return
        likely: set[int] = set()
        if self.crc:
            boundaries = island.telling_boundaries(begin, limit)
            likely.update(at for at in boundaries if (at - self.origin) % _WORD == 0)
        if self.markers:
            likely.update(self._pointed_at(island, begin, limit))
        possible = set(likely)
        for word in header_words(island.read(begin, limit)):
            start = begin + word
            phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
            if phase != 0:
                possible.add(start - MARKER_LENGTH if phase == MARKER_LENGTH else start)
        yield from ((at, at in likely) for at in sorted(possible) if begin <= at < limit)

    def _search(self, island: Island, begin: int, limit: int, *, final: bool) -> Candidate | None:
        """Return the first FPDU that begins at or behind ``begin`` beyond doubt.

        One behind which the chain of lengths breaks may be part of a payload: it counts only if
        nothing better is there, and nothing better will come.
        """
        doubtful = None
        for start, is_likely in self._starts(island, begin, limit):
            if not is_likely and (
                self._allowance < 0 or not self._is_plausible_at(island, start, limit)
            ):
                continue
            fpdu = self._try(island, start, limit)
            if isinstance(fpdu, int):
                continue
            self._allowance -= fpdu.layout.length
            if fpdu.sound:
                count, breaks = self._chain_from(island, fpdu, limit)
                if self._is_convincing(island, fpdu, count, limit) and not breaks:
                    return fpdu
                if self.crc and doubtful is None:
                    doubtful = fpdu
        return doubtful if final else None

    def _is_plausible_at(self, island: Island, start: int, limit: int) -> bool:
        """Tell whether the header at ``start`` makes sense and its FPDU ends before the limit."""
        phase = (start - self.origin) % MARKER_INTERVAL if self.markers else None
        header = start + MARKER_LENGTH if phase == 0 else start
        head = island.read(start, min(limit, header + _HEAD))
        if len(head) < _HEAD - MARKER_LENGTH - UNTAGGED_LENGTH + TAGGED_LENGTH:
            return False
        ulpdu_length = int.from_bytes(head[header - start : header - start + 2], "big")
        layout = fpdu_layout(ulpdu_length, phase)
        return start + layout.length <= limit and self._plausible(head, layout, ulpdu_length)

    def _chain_from(self, island: Island, fpdu: Candidate, limit: int) -> tuple[int, bool]:
        """Follow the chain of lengths from an FPDU that a search has found.

        Return how many FPDUs, it included, are verified, and whether the chain then breaks.
        """
        count = 1
        at = fpdu.end
        while count < _LONGEST_CHAIN and at < limit:
            following = self._try(island, at, limit)
            if following == _UNREADABLE:
                return count + island.is_boundary(fpdu.start), False
            if isinstance(following, int):
                likely = self._looks_like_start(island, at, limit)
                return count + likely, not likely and at + MARKER_LENGTH + _WORD <= limit
            if not following.sound:
                # Those that are damaged may stand between it and the next sound one.
                bridge, reached, _ = self._bridge(island, at, limit)
                self._allowance -= sum(each.layout.length for each in bridge)
                goes_on = reached == "sound" or self._looks_like_start(island, at, limit)
                return count + goes_on, not goes_on and reached != "end"
            self._allowance -= following.layout.length
            count += 1
            at = following.end
        return count, False

    def _is_convincing(self, island: Island, fpdu: Candidate, count: int, limit: int) -> bool:
        """Tell whether an FPDU that a search has found stands where FPDUs stand."""
        fills = island.fills_segments(fpdu.start, fpdu.end)
        if self.crc:
            return count > 1 or fpdu.end == limit or fills
        return bool(fpdu.layout.markers) or count >= _CONVINCING_CHAIN or fills

    def _looks_like_start(self, island: Island, position: int, limit: int) -> bool:
        """Tell whether the first word of an FPDU at ``position`` is there and makes sense."""
        phase = (position - self.origin) % MARKER_INTERVAL if self.markers else None
        word = position + MARKER_LENGTH if phase == 0 else position
        return word + _WORD <= limit and any(
            True for _ in header_words(island.read(word, word + _WORD))
        )

    # -- between runs --------------------------------------------------------------------------

    def _fill(self, island: Island) -> None:
        """Use what a filled hole has brought: go from run to run, and make them one."""
        island.joined = False
        runs = island.runs
        if not runs:
            return
        if self.from_start and island.start <= self.origin < runs[0].start:
            runs.insert(0, self._first_run(island))
        elif island.open_left and (found := self._by_marker(island, runs[0].start)) is not None:
            runs.insert(0, Run(found.start, "marker"))
        while len(runs) > 1:
            self._unite(island, runs[0], runs.pop(1))

    def _unite(self, island: Island, run: Run, right: Run) -> None:
        """Pass on what lies between two runs, and make them one."""
        self._follow(island, run, right.start, final=True)
        run.end = right.end
        run.last = right.last
        run.trouble = right.trouble
        run.next_by = right.next_by
        run.anchored = right.anchored

    def _settle(self, island: Island) -> None:
        """Search before the first run, now that the hole before it will not be filled."""
        island.settled = True
        first = island.runs[0]
        if island.start < first.start:
            found = self._search(island, island.start, first.start, final=True)
            if found is not None:
                run = Run(found.start, _found_by(found))
                island.runs.insert(0, run)
                self._unite(island, run, island.runs.pop(1))


def _found_by(fpdu: Candidate) -> LocatedBy:
    """Return what led a search to an FPDU: its Markers speak louder than the search."""
    return "marker" if fpdu.layout.markers and fpdu.agrees else "search"
