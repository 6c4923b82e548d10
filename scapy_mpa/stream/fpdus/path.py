# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the FPDUs in some octets: they are the edges of the cheapest path through the octets.

A *place* is a position at which an FPDU may begin.  Nodes are places, and edges are FPDUs read
there.  An edge costs what must have happened if the FPDU is real: damage, a forged Marker, a wrong
ULPDU_Length.  Octets without an FPDU cost something, too.  So do proven FPDUs that would be payload
of another FPDU.  A place to which no length leads needs enough evidence, or the path pays for the
missing bits.  All bits are in one table (:mod:`~scapy_mpa.stream.fpdus.weights`).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import chain, islice
from math import log2
from typing import Final, Literal, NamedTuple, TypeAlias

from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.region import Edge, Region
from scapy_mpa.stream.limits import FRAMING_WINDOW, LONGEST_WAIT, READ_AT_A_TIME
from scapy_mpa.stream.purse import LOOK
from scapy_mpa.wire.fpdu import HEADER_LENGTH, WORD, fpdu_length

# Paths that are compared.  The steps that all of them share are reported.
_MOST_ENDS: Final = 13
# An FPDU with a wrong length ends before one of so many FPDUs, if its CRC shows the end.
_ENDS_TRIED: Final = 8
# A damaged FPDU is part of a burst if one of so many FPDUs before it is damaged, too.
_NEAR: Final = 4

Kind: TypeAlias = Literal["fpdu", "wrong length", "lost", "part"]
_Node: TypeAlias = Literal["enter", "at", "over", "jump", "leap", "wrong length", "done"]
"""``enter``: a path may begin anywhere in the region.  ``at``: an FPDU is read at the place.
``over``: the path passes over octets that may hold proven FPDUs.  ``jump``: it goes on at any place
from here on that has enough evidence.  ``leap``: the same, but it pays for evidence that is
missing.  ``wrong length``: the end of the FPDU at the place is not known.  ``done``: the path is at
the end of the region."""


class Step(NamedTuple):
    """A part of a path."""

    kind: Kind
    """``fpdu``: the FPDU ends where its length says.  ``wrong length``: it ends elsewhere.
    ``lost``: the snap length cut off its length.  ``part``: it goes on after the region."""
    edge: Edge
    by_length: bool
    """Whether the length of another FPDU leads to it."""


class Beyond(NamedTuple):
    """What is known about the octets after a region."""

    ends_at_known_fpdu: bool
    """An FPDU is known to begin where the region ends."""
    may_grow: bool
    """More octets may follow, so no FPDU is given up yet."""
    may_begin_at: Callable[[int], bool]
    """Whether a position is in the hole after the region, or an FPDU begins there."""


class Path(NamedTuple):
    """The cheapest path."""

    steps: Sequence[Step]
    shared: int
    """How many of its first steps are those of all paths that may be right."""


_Back: TypeAlias = "tuple[Step, _Back] | None"
_Passed: TypeAlias = tuple[float, int, _Node]
"""What ``over``, ``jump`` and ``leap`` need: the cost without the octets that are passed over,
where these begin, and the kind of node that follows."""


class _MustWaitError(Exception):
    """The search must wait for the next segment."""


class _Places:
    """The places in a region.  They are looked for block by block, when they are needed."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._looked = region.begin
        self._blocks = self._look()
        # Places with an FPDU that has evidence of its own (:attr:`Edge.is_sound`), ascending.
        self._sound: list[int] = []
        # How often each header occurs.
        self._key_counts: Counter[bytes] = Counter()
        self._evidence: dict[int, int] = {}
        # Proven FPDUs, the sums of the bits of their Markers, and where their lengths lead.
        self._proven: list[int] = []
        self._marker_sums = [0.0]
        self._row_ends: set[int] = set()

    def look(self) -> bool:
        """Look for places in the next block; return whether there was one.

        :raises _MustWaitError: the rest of the block must wait.
        """
        is_done = next(self._blocks, None)
        if is_done is False:
            raise _MustWaitError
        return is_done is True

    def _look(self) -> Iterator[bool]:
        """Look for places.  Yield True after each block, and False to wait."""
        region = self._region
        allowance = region.allowance
        while self._looked < region.limit and allowance.left > 0:
            while allowance.purse.slice <= 0:
                yield False
            upto = min(self._looked + READ_AT_A_TIME, region.limit)
            upto -= (upto - region.reader.origin) % WORD if upto < region.limit else 0
            upto = max(upto, self._looked + WORD)
            sound = []
            for start in region.likely(self._looked, upto):
                while allowance.purse.slice <= 0:
                    yield False
                if allowance.left <= 0:
                    break
                edge = region.place(start)
                if edge is None:
                    continue
                if edge.is_sound:
                    sound.append(start)
                if not region.crc:
                    self._key_counts[edge.key] += 1
            for start in sound:
                while allowance.purse.slice <= 0:
                    yield False
                self._sound.append(start)
                self._weigh(start)
            self._looked = upto
            yield True
        self._looked = region.limit

    def _weigh(self, start: int) -> None:
        """Note an FPDU as proven if it has enough evidence, or a proven one leads to it."""
        region = self._region
        searched = region.captured_octets(region.begin, start)
        if start in self._row_ends or self.evidence(start) >= _bits_to_believe(searched):
            edge = region.edge(start)
            assert edge is not None
            self._proven.append(start)
            self._marker_sums.append(self._marker_sums[-1] + edge.marker_bits)
            if edge.end is not None:
                self._row_ends.add(edge.end)

    def evidence(self, start: int) -> int:
        """Return the evidence for an FPDU at a place, in bits."""
        if start not in self._evidence:
            self._evidence[start] = self._region.evidence(start, self._key_counts)
        return self._evidence[start]

    def are_known(self, before: int) -> bool:
        """Return whether all places before a position were looked for."""
        return self._looked >= min(before, self._region.limit)

    def nested(self, after: int, before: int) -> float:
        """Return the cost of reading the known proven FPDUs between two places as payload.

        Each further FPDU adds to it.  So do their Markers: in a payload, Markers would be at other
        positions.
        """
        first = bisect_left(self._proven, after + 1)
        last = bisect_left(self._proven, before, first)
        if first == last:
            return 0
        marks = self._marker_sums[last] - self._marker_sums[first]
        return weights.NESTED + weights.MORE * (last - first - 1) + marks

    def holds_proven(self, after: int, before: int) -> bool:
        """Return whether proven FPDUs begin between two places."""
        while not (nested := self.nested(after, before)) and not self.are_known(before):
            self.look()
        return nested > 0

    def sound_after(self, at: int, before: int) -> tuple[list[int], int]:
        """Return, ascending, places with an FPDU that has evidence of its own.

        :param at: the first of them is here or after it, in the next block with any.
        :return: the places, and the position up to which these are all.
        """
        while True:
            upto = min(self._looked, before)
            sound = self._sound[bisect_left(self._sound, at) : bisect_left(self._sound, upto)]
            if sound or upto == before or not self.look():
                return sound, upto

    def sound_from(self, at: int, before: int) -> Iterator[int]:
        """Yield the same places one by one, block after block."""
        before = min(before, self._region.limit)
        while at < before:
            sound, at = self.sound_after(at, before)
            yield from sound


class PathSearch:
    """A search for the cheapest path through a region.

    :param is_certain: an FPDU is known to begin at one of the entries.
    """

    def __init__(
        self,
        region: Region,
        entries: Sequence[tuple[int, float]],
        *,
        is_certain: bool,
        beyond: Beyond,
    ) -> None:
        self._region = region
        self._beyond = beyond
        self._places = _Places(region)
        self._entries = {at for at, _ in entries}
        self._heap: list[tuple[float, int, _Node, int, _Back, _Passed | None]] = []
        self._count = 0
        self._done: list[tuple[float, _Back]] = []
        self._seen: set[int] = set()
        for at, cost in entries:
            self._push(cost, "at", at, None)
        if not is_certain:
            self._push(0, "enter", region.begin, None)

    def _push(
        self, cost: float, kind: _Node, at: int, back: _Back, passed: _Passed | None = None
    ) -> None:
        """Add a node to the queue."""
        self._count += 1
        heappush(self._heap, (cost, self._count, kind, at, back, passed))

    def _pass_over(self, cost: float, start: int, at: int, then: _Node, back: _Back) -> None:
        """Add a node after octets that may hold proven FPDUs.

        Looking for these is expensive, so it stops when another node is cheaper.

        :param cost: without such FPDUs.
        """
        nested = self._places.nested(start, at)
        if self._places.are_known(at):
            self._push(cost + nested, then, at, back)
        else:
            self._push(cost + nested, "over", at, back, (cost, start, then))

    def advance(self) -> bool:
        """Go on with the search; return whether it is finished, or must wait for a segment."""
        while self._heap:
            node = heappop(self._heap)
            if self._done and node[0] >= self._done[0][0] + weights.PROOF:
                break
            try:
                if self._region.allowance.purse.slice <= 0:
                    raise _MustWaitError
                self._take(*node)
            except _MustWaitError:
                # Nothing was added to the queue yet.
                heappush(self._heap, node)
                return False
            if len(self._done) == _MOST_ENDS:
                break
        return True

    def _take(
        self, cost: float, _: int, kind: _Node, at: int, back: _Back, passed: _Passed | None
    ) -> None:
        """Take the cheapest node from the queue."""
        if kind == "done":
            self._done.append((cost, back))
        elif kind == "enter":
            self._enter(cost)
        elif kind == "wrong length":
            self._leave_wrong_length(cost, at, back)
        elif passed is not None:
            base, start, then = passed
            if kind == "over":
                self._places.look()
                self._pass_over(base, start, at, then, back)
            else:
                self._jump(base, start, at, back, kind)
        elif at not in self._seen:
            self._go_on(cost, at, back)
            self._seen.add(at)

    @property
    def path(self) -> Path:
        """The cheapest path that was found."""
        if not self._done:
            return Path((), 0)
        chains = [_unrolled(back) for _, back in self._done]
        shared = 0
        for steps in zip(*chains, strict=False):
            if any(step.kind != steps[0].kind or step.edge != steps[0].edge for step in steps):
                break
            shared += 1
        return Path(chains[0], shared)

    def _enter(self, cost: float) -> None:
        """Begin at any place, or find no FPDU at all."""
        region = self._region
        passed = _cost_of(region.limit - region.begin)
        if not self._beyond.ends_at_known_fpdu:
            passed += weights.NOTHING
        self._end_without(cost + passed, region.begin - 1, None)
        self._push_jump(cost, region.begin - 1, region.begin, None, "jump")

    def _end_without(self, cost: float, start: int, back: _Back) -> None:
        """Go to the end of the region without another FPDU."""
        limit = self._region.limit
        cost += self._region.marker_contradictions(start, limit)
        then: _Node = "at" if self._beyond.ends_at_known_fpdu else "done"
        self._pass_over(cost, start, limit, then, back)

    def _go_on(self, cost: float, at: int, back: _Back) -> None:
        """Read the FPDU at a place to which a path leads."""
        region = self._region
        by_length = at in self._entries if back is None else back[0].kind == "fpdu"
        if at == region.limit:
            self._push(cost, "done", at, back)
            return
        edge = region.edge(at)
        if edge is None:
            return
        if edge.verdict == "short":
            self._end_within(cost, edge, by_length, back)
            return
        assert edge.end is not None
        step = Step("fpdu", edge, by_length), back
        if edge.verdict == "good":
            self._push(cost, "at", edge.end, step)
            return
        wrong = Step("wrong length", edge, by_length), back
        coincidence = region.coincidence(edge)
        # A length that leads to a good FPDU, and over no proven one, is right.  Otherwise the CRC
        # must show where the FPDU ends, which is expensive.
        is_right = coincidence >= weights.CRC and not self._places.holds_proven(at, edge.end)
        if not is_right and self._ends_elsewhere(cost, edge, wrong):
            return
        edge_cost = edge.cost
        if by_length and edge.verdict == "bad" and _is_damaged_near(back):
            goes_on = back is not None and edge.continues(back[0].edge)
            edge_cost -= weights.DAMAGED - (0 if goes_on else weights.BURST)
        self._pass_over(cost + edge_cost, at, edge.end, "at", step)
        self._push(cost + weights.WRONG_LENGTH + coincidence, "wrong length", at, wrong)

    def _ends_elsewhere(self, cost: float, edge: Edge, wrong: _Back) -> bool:
        """Go on where the CRC shows another end of an FPDU; return whether it shows one."""
        region, start, limit = self._region, edge.start, self._region.limit
        if not region.crc:
            return False
        ends = islice(self._places.sound_from(start + WORD, start + FRAMING_WINDOW), _ENDS_TRIED)
        is_end = self._beyond.ends_at_known_fpdu or not self._beyond.may_grow
        for end in chain(ends, [limit] * is_end):
            if region.may_end(edge, end):
                self._push(cost, "at", end, wrong)
                return True
        return False

    def _end_within(self, cost: float, edge: Edge, by_length: bool, back: _Back) -> None:
        """Take an FPDU that goes on after the region, or that has lost its length."""
        region, at, limit = self._region, edge.start, self._region.limit
        if edge.end is None and region.stretch.captured_until(at, min(at + 2 * WORD, limit)) < min(
            at + WORD + HEADER_LENGTH, limit
        ):
            # The snap length cut off its ULPDU_Length.
            lost = Step("lost", edge, by_length), back
            passed = _cost_of(region.captured_octets(at, limit))
            self._pass_over(cost + passed, at, limit, "done", lost)
            self._push_jump(cost, at, at + 1, lost, "jump")
            return
        wrong = Step("wrong length", edge, by_length), back
        if edge.end is not None and self._ends_elsewhere(cost, edge, wrong):
            return
        beyond = self._beyond
        is_senseless = edge.end is not None and not edge.makes_sense
        if not beyond.ends_at_known_fpdu:
            part: float = weights.SENSELESS + weights.DAMAGED if is_senseless else 0
            last = Step("part", edge, by_length), back
            self._pass_over(cost + part + edge.cost, at, limit, "done", last)
        if edge.end is not None:
            price: float = weights.WRONG_LENGTH
            if not is_senseless:
                price += weights.CARRIED * beyond.may_begin_at(edge.end)
            self._push(cost + price, "wrong length", at, wrong)

    def _leave_wrong_length(self, cost: float, at: int, back: _Back) -> None:
        """Go on after an FPDU whose length is wrong and whose CRC does not show its end."""
        limit = self._region.limit
        passed = _cost_of(limit - at)
        if not self._beyond.ends_at_known_fpdu:
            passed = 0 if self._beyond.may_grow else weights.NOTHING + passed
        self._end_without(cost + passed, at, back)
        self._push_jump(cost, at, at + fpdu_length(0), back, "leap")

    def _push_jump(self, cost: float, start: int, at: int, back: _Back, kind: _Node) -> None:
        """Add a node that goes on at any place from ``at`` on.

        :param cost: without the octets after ``start``, which are passed over.
        """
        least = cost + self._cost_between(start, at)
        self._push(least, kind, at, back, (cost, start, kind))

    def _cost_between(self, start: int, at: int) -> float:
        """Return the cost of passing over octets in which all places are known."""
        return (
            _cost_of(self._region.captured_octets(start, at))
            + self._places.nested(start, at)
            + self._region.marker_contradictions(start, at)
        )

    def _jump(self, cost: float, start: int, at: int, back: _Back, kind: _Node) -> None:
        """Go on at each place of the next block that has enough evidence.

        A ``leap`` also goes on at a place with less, and pays for the rest.
        """
        region, places = self._region, self._places
        before = min(start + LONGEST_WAIT, region.limit)
        sound, upto = places.sound_after(at, before)
        first = None
        for place in sound:
            if not region.allowance.spend(calls=LOOK):
                return
            passed = self._cost_between(start, place)
            first = passed if first is None else first
            if passed > first + weights.PROOF or region.allowance.purse.slice <= 0:
                # Cheaper nodes come first.
                upto = place
                break
            octets = region.captured_octets(start, place)
            lacking = max(0, _bits_to_believe(octets) - places.evidence(place))
            if kind == "leap" or not lacking:
                self._push(cost + passed + lacking, "at", place, back)
        if upto < before:
            self._push_jump(cost, start, upto, back, kind)


def _is_damaged_near(back: _Back) -> bool:
    """Return whether one of the last FPDUs of a path is damaged."""
    for _ in range(_NEAR):
        if back is None:
            break
        step, back = back
        if step.edge.verdict == "bad":
            return True
    return False


def _cost_of(octets: int) -> float:
    """Return the cost of passing over octets."""
    return min(weights.PER_OCTET * octets, weights.NOTHING)


def _bits_to_believe(octets: int) -> float:
    """Return the bits that prove an FPDU after so many octets.  Each word of these may look like an
    FPDU by chance."""
    return min(weights.PROOF, weights.MARGIN + log2(octets / WORD + 1))


def _unrolled(back: _Back) -> list[Step]:
    steps = []
    while back is not None:
        step, back = back
        steps.append(step)
    return steps[::-1]
