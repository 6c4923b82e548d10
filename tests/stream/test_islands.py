# SPDX-License-Identifier: GPL-2.0-or-later
"""Captured octets between holes: the first captured copy of an octet stays (RFC 5044 A.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.octets.islands import Islands

# So small that stretches often touch, overlap and enclose each other.
PLACES = st.integers(1000, 1120)
STRETCH = st.tuples(PLACES, st.integers(1, 60))


class Model:
    """The simple truth: position -> (octet, frame), where the first one stays."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, int]] = {}

    def insert(self, position: int, octets: bytes, frame: int) -> tuple[set[int], set[int]]:
        """Insert octets; return the new positions, and those known before."""
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
    """Octets that differ for each insertion."""
    return bytes((number * 37 + at * 11) & 0xFF for at in range(length))


def check(islands: Islands, model: Model) -> None:
    """Check that islands are the stretches of the model, with the same octets."""
    assert [(each.start, each.end) for each in islands.items] == model.stretches()
    for island in islands.items:
        assert island.read(island.start, island.end) == model.octets(island.start, island.end)


@given(stretches=st.lists(STRETCH, min_size=1, max_size=25), data=st.data())
def test_islands_equal_the_model(stretches: list[tuple[int, int]], data: st.DataObject) -> None:
    """In any order, with any overlap: same octets, holes, frames and counts."""
    islands, model = Islands(), Model()
    for number, (position, length) in enumerate(stretches, 1):
        octets = octets_of(number, length)
        fresh, repeated = model.insert(position, octets, number)
        inserted = islands.insert(position, octets, number)
        assert inserted.fresh == len(fresh)
        again = [at for start, end in inserted.repeated for at in range(start, end)]
        assert len(again) == len(set(again)) and set(again) == repeated
        check(islands, model)
        for at in fresh:
            assert sum(each.start <= at < each.end for each in inserted.islands) == 1
        assert all(each in islands.items for each in inserted.islands)
    island = data.draw(st.sampled_from(islands.items))
    start = data.draw(st.integers(island.start, island.end - 1))
    end = data.draw(st.integers(start + 1, island.end))
    assert island.read(start, end) == model.octets(start, end)
    assert list(island.frames(start, end)) == model.frames(start, end)


def test_octets_below_the_floor_are_not_taken() -> None:
    """Octets before a reported gap cannot fill a hole any more."""
    islands = Islands()
    islands.floor = 100
    inserted = islands.insert(90, octets_of(1, 20), 1)
    assert (inserted.fresh, inserted.repeated) == (10, [(90, 100)])
    (island,) = islands.items
    assert (island.start, island.end) == (100, 110)
    assert island.read(100, 110) == octets_of(1, 20)[10:]
    assert islands.insert(50, bytes(30), 2).fresh == 0
