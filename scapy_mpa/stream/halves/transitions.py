# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves a direction from one phase to another, and replaces its reader."""

from __future__ import annotations

from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.fpdus.in_order import InOrder
from scapy_mpa.stream.halves.early import EarlyOctets
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.reader import FrameReader
from scapy_mpa.stream.halves.streaming import Streaming, streaming_of
from scapy_mpa.stream.inference.hypothesis import Inferred
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.wire.dialect import Dialect


def abandon(half: HalfConnection) -> None:
    """Forget the octets and their reader: after a fault their state is not known."""
    half.islands = Islands()
    half.reader = Streaming(half)
    half.phase = Phase.STREAMING
    half.held = 0
    half.budget.count(half)


def hold(half: HalfConnection) -> None:
    """Hold the octets after a startup frame until the peer's comes, unless FPDUs have begun."""
    streaming = streaming_of(half)
    if streaming is not None:
        half.phase = Phase.HELD
        streaming.look_afresh()


def resume_streaming(half: HalfConnection) -> bool:
    """Go back to streaming mode after a rejection; return whether the phase has changed."""
    streaming = streaming_of(half)
    if half.phase is not Phase.HELD or streaming is None:
        return False
    half.phase = Phase.STREAMING
    streaming.look_afresh()
    for island in half.islands.items:
        # Stretches in its midst must be scanned again.
        island.scanned = None
    return True


def enter_full_operation(
    half: HalfConnection,
    carried: Inferred,
    *,
    from_start: bool = True,
    dialect: Dialect | None = None,
) -> None:
    """Read the octets from an origin on as FPDUs (RFC 5044 7.1.2).

    :param carried: the origin, and what FPDUs are like, as startup frames or FPDUs show.
    :param from_start: whether the Full Operation Phase begins there; if not, Markers are only
        counted from there.
    :param dialect: of the startup frames.
    """
    origin, markers, crc, is_guess, crc_is_known = carried
    streaming = streaming_of(half)
    if streaming is not None:
        streaming.refuse_startup()
    half.phase = Phase.FULL
    # Nothing is known of SoftUiWARP with Markers or CRCs.  With CRCs alone, osc is as RFC 5044.
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

    :param position: where the startup frame begins.
    :param end: where it ends.  Startup frames are looked for from there on.
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
    """Let go of the octets before a position: they must not be searched for FPDUs."""
    islands = half.islands
    islands.front = max(position, islands.front or 0)
    island = islands.at(position)
    if island is not None and island.start < position:
        half.release(island, island.start, position)
        island.start = max(island.start, min(island.held, position))


def enter_other(half: HalfConnection, reader: FrameReader, origin: int) -> None:
    """Read the octets from ``origin`` on as frames of a framing other than MPA.

    :param reader: of these frames.
    """
    half.phase = Phase.OTHER
    half.reader = reader
    _begin_at(half, origin)
    _hand_over(half, origin)


def _begin_at(half: HalfConnection, origin: int) -> None:
    """Wait for nothing before ``origin``, where streaming mode ends."""
    first_hole, _ = next(half.islands.holes(), (origin, origin))
    if first_hole < origin:
        half.early = EarlyOctets(half.islands, origin)
    half.islands.front = half.islands.floor = max(origin, half.islands.floor)


def _hand_over(half: HalfConnection, begin: int) -> None:
    """Give the held octets from ``begin`` on to the new reader."""
    items = half.islands.items
    for island in list(items):
        if island.held > max(island.start, begin):
            # Octets that were released in streaming mode leave a hole.
            island.start = island.held
            island.has_hole = False
        island.scan = island.need = island.start
        # Those stretches were scanned for Keys.
        island.scanned = None
        if island.end > begin:
            half.purse.fill_more(island.end - max(island.start, begin))
            half.advance(island)
        else:
            # It holds at most a startup frame, which was read.
            half.release(island, island.start, island.end)
            if island is not items[-1]:
                items.remove(island)
    half.budget.count(half)
