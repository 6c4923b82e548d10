# SPDX-License-Identifier: GPL-2.0-or-later
"""Half connections at rest: in order, with nothing held, nothing missing and nothing to decide.

That is how nearly all directions are nearly all of the time, and of nearly all connections at once
where there are a hundred thousand.  What framing and islands are then follows from a few numbers.
So such a direction does without them, until anything asks for them.

Before that it waits with its startup frame for the peer's, as all of them may at the same time.
Then islands are *folded*: they follow from the segment of that frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.sequence import compact

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection

__all__ = ["LENT", "Rest", "folded", "lay_down", "unfold", "wake"]

_FOLDED: Final = 64
"""Octets of a startup frame that may be folded: a header and what most ULPs add to it."""


class Rest:
    """What framing and islands of a direction at rest are made anew from.

    :param end: position behind the last FPDU, or ``origin`` if there is none yet.
    :param origin: position of offset 0 of the Full Operation Phase.
    :param markers: whether the direction has Markers.
    :param crc: whether its CRCs are to be checked.
    """

    __slots__ = ("crc", "end", "markers", "origin")

    def __init__(self, end: int, origin: int, *, markers: bool, crc: bool) -> None:
        self.end = end
        self.origin = origin
        self.markers = markers
        self.crc = crc


LENT: Final = Rest(0, 0, markers=False, crc=False)
"""Stands for the rest of a direction that the straight path has, and knows."""


def lay_down(half: HalfConnection) -> None:
    """Do without framing and islands, if these are what :func:`wake` makes anew.

    Only for who is not called by what reads octets, which would go on with what is gone.
    """
    if half.rest is not None or half.held:
        return
    framing, islands = half.framing, half.islands
    if not isinstance(framing, Framing) or len(islands.items) != 1:
        return
    island = islands.items[0]
    origin = framing.origin
    if (
        framing.from_start
        and framing.crc_is_known
        and not framing.is_guess
        and framing.has_spent_nothing(island.end - origin)
        and islands.floor == islands.front == origin
        and island.start == half.begin
        and island.start <= origin <= island.end
        and not (island.open_left or island.joined or island.is_torn or island.leads)
        and not island.absent
        and _is_one_run(island, origin)
    ):
        half.begin = compact(island.start)
        # As one object where there is no FPDU yet.
        origin = compact(origin)
        end = compact(island.end) if island.end > origin else origin
        half.lay_down(Rest(end, origin, markers=framing.markers, crc=framing.crc))


def _is_one_run(island: Island, origin: int) -> bool:
    """Tell whether all behind the origin was passed on without ado, be it nothing yet."""
    runs = island.runs
    if len(runs) != 1:
        return not runs and island.end == origin
    run = runs[0]
    return (
        run.start == island.start
        and run.trouble is None
        and run.anchored
        and run.next_by == "length"
        and not (run.search or run.searched or run.awaits)
        and island.settled
    )


def wake(half: HalfConnection, rest: Rest) -> tuple[Framing, Islands]:
    """Return framing and islands, made anew; the half connection is to be at rest no more."""
    assert rest is not LENT
    origin, end = rest.origin, rest.end
    framing = Framing(half, origin, markers=rest.markers, crc=rest.crc)
    framing.allow(end - origin)
    begin = half.begin
    assert begin is not None
    island = Island(begin)
    island.end = end
    island.open_left = False
    if end > origin:
        run = Run(begin, "length")
        run.end = run.last = end
        island.runs = (run,)
        island.settled = True
    islands = Islands()
    islands.floor = islands.front = origin
    islands.items = [island]
    return framing, islands


def folded(half: HalfConnection, islands: Islands) -> Chunk | None:
    """Return the only segment of a direction, if islands are what :func:`unfold` makes of it."""
    begin, items = half.begin, islands.items
    if begin is None or half.cuts is not None or len(items) != 1:
        return None
    island = items[0]
    end = island.end
    chunks = island.chunks(begin, end)
    if (
        islands.floor == islands.front == island.start == begin
        and island.scan == end
        and island.need <= end <= begin + _FOLDED
        and not (island.open_left or island.joined or island.is_torn or island.leads)
        and not (island.runs or island.absent or island.scanned or island.settled)
        and len(chunks) == 1
        and chunks[0].position == begin
        and isinstance(chunks[0].frame, int)
    ):
        # With the same object for where it begins.
        return Chunk(begin, chunks[0].octets, chunks[0].frame)
    return None


def unfold(chunk: Chunk) -> Islands:
    """Return islands that are no more than a startup frame, which was read."""
    island = Island(chunk.position)
    island.append(chunk)
    island.scan = chunk.end
    island.open_left = False
    islands = Islands()
    islands.floor = islands.front = chunk.position
    islands.items = [island]
    return islands
