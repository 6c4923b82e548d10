# SPDX-License-Identifier: GPL-2.0-or-later
"""From one phase of a direction to the next, and what takes over from streaming mode."""

from __future__ import annotations

from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.fpdus.in_order import InOrder
from scapy_mpa.stream.halves.early import Early
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.reader import FrameReader
from scapy_mpa.stream.halves.streaming import Streaming, streaming_of
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.wire.dialect import Dialect


def abandon(half: HalfConnection) -> None:
    """Forget its octets, and what reads them: after a fault nobody knows how they stand."""
    half.islands = Islands()
    half.reader = Streaming(half)
    half.phase = Phase.STREAMING
    half.held = 0
    half.budget.count(half)


def hold(half: HalfConnection) -> None:
    """Keep what follows the startup frame until the peer's is there, if it is not known."""
    streaming = streaming_of(half)
    if streaming is not None:
        half.phase = Phase.HELD
        streaming.look_afresh()


def resume_streaming(half: HalfConnection) -> bool:
    """Go back to streaming mode: the connection was rejected; return whether that is news."""
    streaming = streaming_of(half)
    if half.phase is not Phase.HELD or streaming is None:
        return False
    half.phase = Phase.STREAMING
    streaming.look_afresh()
    for island in half.islands.items:
        # What was found in its midst counts anew.
        island.scanned = None
    return True


def enter_full_operation(
    half: HalfConnection,
    origin: int,
    *,
    markers: bool,
    crc: bool,
    from_start: bool = True,
    is_guess: bool = False,
    crc_is_known: bool = True,
    dialect: Dialect | None = None,
) -> None:
    """Take what begins at ``origin`` for FPDUs (RFC 5044 7.1.2).

    :param from_start: whether that is the beginning of the Full Operation Phase, and not
        merely a place from which Markers can be counted.
    :param is_guess: whether Markers may as well be elsewhere.
    :param crc_is_known: whether it is known that CRCs are on, or off.
    :param dialect: what the startup frames are of.
    """
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.refuse_startup()
    half.phase = Phase.FULL
    # Of SoftUiWARP's Markers and CRCs nothing is known; with CRCs alone osc is as RFC 5044.
    if (dialect is Dialect.SOFTUIWARP and not (markers or crc)) or (
        dialect is Dialect.OSC and (markers or not crc)
    ):
        half.reader = InOrder(
            half, origin, dialect, markers=markers, crc=crc, from_start=from_start
        )
    else:
        half.reader = Framing(
            half,
            origin,
            markers=markers,
            crc=crc,
            from_start=from_start,
            is_guess=is_guess,
            crc_is_known=crc_is_known,
        )
    if from_start:
        _begin_at(half, origin)
    _hand_over(half, origin if from_start else 0)


def leave_full_operation(half: HalfConnection, position: int, end: int) -> None:
    """Go back to streaming mode at a startup frame that stands where an FPDU must begin.

    :param position: where it begins.
    :param end: where it ends, from which on startup frames are looked for.
    """
    half.phase = Phase.STREAMING
    half.reader = Streaming(half)
    _let_go_before(half, position)
    half.islands.floor = max(position, half.islands.floor)
    for island in half.islands.items:
        island.runs = ()
        island.settled = island.has_hole = False
        island.scan = island.need = max(island.start, end)
        island.scanned = None


def _let_go_before(half: HalfConnection, position: int) -> None:
    """Let go of octets before a position, which are not to be searched for FPDUs."""
    islands = half.islands
    islands.front = max(position, islands.front or 0)
    island = islands.at(position)
    if island is not None and island.start < position:
        half.release(island, island.start, position)
        island.start = max(island.start, min(island.held, position))


def enter_other(half: HalfConnection, reader: FrameReader, origin: int) -> None:
    """Take what begins at ``origin`` for frames of another framing than MPA's.

    :param reader: finds them.
    """
    half.phase = Phase.OTHER
    half.reader = reader
    _begin_at(half, origin)
    _hand_over(half, origin)


def _begin_at(half: HalfConnection, origin: int) -> None:
    """Wait for nothing before ``origin``, where streaming mode ends."""
    early = Early(half.islands, origin)
    if any(early.holes()):
        half.early = early
    half.islands.front = half.islands.floor = max(origin, half.islands.floor)


def _hand_over(half: HalfConnection, begin: int) -> None:
    """Have what is held from ``begin`` on read by what has taken over from streaming mode."""
    items = half.islands.items
    for island in list(items):
        if island.held > max(island.start, begin):
            # What was released in streaming mode leaves a hole.
            island.start = island.held
            island.has_hole = False
        island.scan = island.need = island.start
        # It was for Keys.
        island.scanned = None
        if island.end > begin:
            half.purse.fill_more(island.end - max(island.start, begin))
            half.advance(island)
        else:
            # No more than a startup frame, which has been read.
            half.release(island, island.start, island.end)
            if island is not items[-1]:
                items.remove(island)
    half.budget.count(half)
