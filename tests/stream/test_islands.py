# SPDX-License-Identifier: GPL-2.0-or-later
"""Captured octets between holes: the first captured copy of an octet stays (RFC 5044 A.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.islands import Islands

# Small enough that stretches meet, overlap and enclose one another all the time.
PLACES = st.integers(1000, 1120)
STRETCH = st.tuples(PLACES, st.integers(1, 60))


class Model:
    """The naive truth: position -> (octet, frame), the first one to come stays."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, int]] = {}

    def insert(self, position: int, octets: bytes, frame: int) -> tuple[set[int], set[int]]:
        """Return the positions that were new, and those that were not."""
        places = set(range(position, position + len(octets)))
        repeated = places & self.known.keys()
        for at, octet in enumerate(octets, position):
            self.known.setdefault(at, (octet, frame))
        return places - repeated, repeated

    def stretches(self) -> list[tuple[int, int]]:
        """Contiguous stretches, ascending."""
        found: list[tuple[int, int]] = []
        for at in sorted(self.known):
            if found and found[-1][1] == at:
                found[-1] = (found[-1][0], at + 1)
            else:
                found.append((at, at + 1))
        return found

    def octets(self, start: int, end: int) -> bytes:
        return bytes(self.known[at][0] for at in range(start, end))

    def frames(self, start: int, end: int) -> list[int]:
        return list(dict.fromkeys(self.known[at][1] for at in range(start, end)))


def octets_of(number: int, length: int) -> bytes:
    """Octets that say which insertion they belong to."""
    return bytes((number * 37 + at * 11) & 0xFF for at in range(length))


def check(islands: Islands, model: Model) -> None:
    """Islands are the model's stretches, and read like them."""
    assert [(each.start, each.end) for each in islands.items] == model.stretches()
    for island in islands.items:
        assert island.read(island.start, island.end) == model.octets(island.start, island.end)


@given(stretches=st.lists(STRETCH, min_size=1, max_size=25), data=st.data())
def test_islands_are_what_a_dictionary_would_hold(
    stretches: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Any order, any overlap: same octets, same holes, same frames, same account."""
    islands, model = Islands(), Model()
    for number, (position, length) in enumerate(stretches, 1):
        octets = octets_of(number, length)
        fresh, repeated = model.insert(position, octets, number)
        inserted = islands.insert(position, octets, number)
        assert inserted.fresh == len(fresh)
        told = [at for start, end in inserted.repeated for at in range(start, end)]
        assert len(told) == len(set(told)) and set(told) == repeated
        check(islands, model)
        for at in fresh:
            assert sum(each.start <= at < each.end for each in inserted.islands) == 1
        assert all(each in islands.items for each in inserted.islands)
    island = data.draw(st.sampled_from(islands.items))
    start = data.draw(st.integers(island.start, island.end - 1))
    end = data.draw(st.integers(start + 1, island.end))
    assert island.read(start, end) == model.octets(start, end)
    assert list(island.frames(start, end)) == model.frames(start, end)


@given(
    stretches=st.lists(STRETCH, min_size=1, max_size=20),
    released=st.tuples(PLACES, st.integers(0, 80)),
    later=st.lists(STRETCH, max_size=8),
)
def test_released_octets_still_count_as_captured(
    stretches: list[tuple[int, int]],
    released: tuple[int, int],
    later: list[tuple[int, int]],
) -> None:
    """What was given up is no hole, lies within what was asked for, and is never taken again."""
    islands, model = Islands(), Model()
    for number, (position, length) in enumerate(stretches, 1):
        model.insert(position, octets_of(number, length), number)
        islands.insert(position, octets_of(number, length), number)
    start, end = released[0], sum(released)
    gone: set[int] = set()
    for island in islands.items:
        for chunk in island.release(max(start, island.start), min(end, island.end)):
            stop = chunk.position + len(chunk.octets)
            assert start <= chunk.position and stop <= end
            assert chunk.octets == model.octets(chunk.position, stop)
            gone |= set(range(chunk.position, stop))
    for number, (position, length) in enumerate(later, 100):
        fresh, repeated = model.insert(position, octets_of(number, length), number)
        inserted = islands.insert(position, octets_of(number, length), number)
        assert inserted.fresh == len(fresh)
        assert sum(stop - at for at, stop in inserted.repeated) == len(repeated)
    assert [(each.start, each.end) for each in islands.items] == model.stretches()
    for island in islands.items:
        kept = [at for at in range(island.start, island.end) if at not in gone]
        for at in kept:
            assert island.read(at, at + 1) == model.octets(at, at + 1)


def test_octets_below_the_floor_are_not_taken() -> None:
    """What lies before a gap that was reported can fill nothing any more."""
    islands = Islands()
    islands.floor = 100
    inserted = islands.insert(90, octets_of(1, 20), 1)
    assert (inserted.fresh, inserted.repeated) == (10, [(90, 100)])
    (island,) = islands.items
    assert (island.start, island.end) == (100, 110)
    assert island.read(100, 110) == octets_of(1, 20)[10:]
    assert islands.insert(50, bytes(30), 2).fresh == 0


@given(
    pieces=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    absent=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=4),
    asked=st.tuples(st.integers(0, 60), st.integers(1, 40)),
)
def test_captured_until_finds_the_first_octet_cut_off(
    pieces: list[int], absent: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    """The first octet of a stretch that the snap length cut off, else the stretch's end."""
    islands = Islands()
    at = 0
    for piece in pieces:
        islands.insert(at, bytes(piece), 1)
        at += piece
    cut: set[int] = set()
    for start, length in absent:
        if start + length <= at and not cut & set(range(start, start + length)):
            islands.mark_absent(start, start + length)
            cut |= set(range(start, start + length))
    (island,) = islands.items
    start, end = asked[0], sum(asked)
    if end <= at:
        assert island.captured_until(start, end) == min(
            (each for each in cut if start <= each < end), default=end
        )


def test_boundaries_of_segments_are_known() -> None:
    """A segment begins or ends there: a hint where FPDUs begin (RFC 5044 A.1)."""
    island = Islands()
    island.insert(100, bytes(10), 1)
    island.insert(110, bytes(5), 2)
    only: Island = island.items[0]
    assert [at for at in range(100, 116) if only.is_boundary(at)] == [100, 110, 115]
