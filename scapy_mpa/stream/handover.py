# SPDX-License-Identifier: GPL-2.0-or-later
"""Moves a connection from recovery to the straight path, and back.

Recovery (:mod:`~scapy_mpa.stream.connections`) follows a connection in any state, but takes a
hundred steps for each segment.  So a connection in order moves to the straight path: two
:class:`~scapy_mpa.stream.direction.Direction` objects follow it until one refuses a segment.
A connection that is ordinary from its SYN on (:mod:`~scapy_mpa.stream.ordinary_connection`) begins
on the straight path.  It comes to recovery when it refuses a segment.
"""

from __future__ import annotations

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.connections.reset import Reset
from scapy_mpa.stream.direction import PIECES, Direction
from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.holes import changes_soon
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.scan import begins_like_key
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.sequence import SEQUENCE_SPACE, compact, sequence_number
from scapy_mpa.stream.shapes import Kind
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.startup import KEY_LENGTH


def to_straight_path(connection: Connection) -> tuple[Direction, Direction] | None:
    """Take a connection out of recovery if a direction is in order; else return None.

    A direction that is not in order takes no octets on the straight path.
    """
    first, second = connection.halves
    startup = connection.startup
    if (
        connection.was_reset
        or connection.failed
        or not (first.phase is Phase.FULL or second.phase is Phase.FULL)
        # A connection from an endpoint to itself: its directions cannot be distinguished.
        or connection.identity.flow == connection.reverse
        or first.acknowledged is None
        or second.acknowledged is None
        or any(map(changes_soon, connection.halves))
        # A startup frame may follow where an FPDU must begin.
        or startup.state is StartupState.REJECTED
        or (startup.state is StartupState.REQUESTED and None in (first.framing, second.framing))
    ):
        return None
    silent = 1 - startup.initiator if startup.is_silent and startup.initiator is not None else None
    sender = first if silent == 1 else second
    if silent is not None and 0 < sender.counters.fpdus == sender.counters.crc_bad:
        # The Responder must not send after damaged FPDUs alone, which the straight path cannot
        # check.
        return None
    ready = [_is_ordinary(half) for half in connection.halves]
    if not any(is_ready and index != silent for index, is_ready in enumerate(ready)):
        return None
    acks = sequence_number(second.acknowledged), sequence_number(first.acknowledged)
    directions = (
        _direction(connection, first, acks, is_ready=ready[0]),
        _direction(connection, second, acks, is_ready=ready[1]),
    )
    for direction in directions:
        direction.peer = directions[1 - direction.index]
        direction.awaits_fpdu = direction.index == silent
        direction.can_read_next = direction.may_read_next
    connection.is_ordinary = True
    return directions


def to_recovery(directions: tuple[Direction, Direction]) -> None:
    """Give a connection back to recovery, in the state in which the straight path leaves it."""
    connection = directions[0].connection
    assert isinstance(connection, Connection)
    segments = directions[0].segments + directions[1].segments
    connection.is_ordinary = False
    connection.segments += segments
    startup = connection.startup
    startup.is_silent = any(direction.awaits_fpdu for direction in directions)
    for direction in directions:
        if not direction.reads_no_fpdus:
            _to_recovery(direction)
        direction.held = 0
        direction.shared.budget.count(direction)
    first, second = connection.halves
    first.acknowledge(directions[1].ack)
    second.acknowledge(directions[0].ack)
    for direction in directions:
        # The two refer to each other, and would stay in memory until garbage is collected.
        del direction.peer
        if direction.is_stuck:
            half = _half(direction)
            half.advance(half.islands.items[0])


def recover(ordinary: OrdinaryConnection) -> Connection:
    """Return an ordinary connection as recovery follows it, in the same state.

    Recovery reads segments like the first ones.  Their events were reported already, and are
    dropped.
    """
    shared = ordinary.initiator.shared
    beginning = list(ordinary.beginning())
    connection = Connection(ordinary.identity, Shared(Budget(Limits())), beginning[0])
    connection.reverse = ordinary.reverse
    for segment in beginning:
        connection.receive(segment)
    connection.shared = shared
    connection.times = ordinary.times
    connection.lingers = ordinary.lingers
    connection.closer = ordinary.closer
    directions, carries_fpdus = ordinary.directions, ordinary.carries_fpdus
    for direction, half in zip(directions, connection.halves, strict=False):
        half.fin = compact(direction.position) if direction.is_closed else None
        half.counters = direction.counters
        direction.connection, direction.half = connection, half
    if carries_fpdus:
        for direction in directions:
            direction.reads_no_fpdus = False
        connection.segments = 0
        connection.startup.negotiating = ordinary.negotiating
        to_recovery((directions[0], directions[1]))
    else:
        connection.segments = sum([direction.segments for direction in directions])
        for direction in directions:
            direction.held = 0
            shared.budget.count(direction)
            shared.budget.count(_half(direction))
        ordinary.leave()
    if ordinary.reset is not None:
        connection.reset = Reset(connection.half(ordinary.reset.flow), ordinary.reset)
    return connection


def _is_ordinary(half: HalfConnection) -> bool:
    """True if the straight path can follow a direction: it is in order after its last run."""
    items = half.islands.items
    if not isinstance(half.framing, Framing) or len(items) != 1 or half.fin is not None:
        return False
    island = items[0]
    run = island.runs[-1] if island.runs else None
    return (
        run is not None
        and run.is_certain
        and run.broken_at is None
        and run.next_by == "length"
        and not island.absent
        and not half.islands.lies_beyond(island)
        and island.count(run.end) <= PIECES
        # The budget must have room for the whole FPDU.
        and island.need - run.end <= half.budget.room
        # A startup frame may begin where an FPDU must begin.
        and not (
            run.end < island.end
            and begins_like_key(island.read(run.end, min(run.end + KEY_LENGTH, island.end)))
        )
        # A wrap of the sequence numbers would hide that missing octets were acknowledged.
        and (half.acknowledged or 0) // SEQUENCE_SPACE <= island.end // SEQUENCE_SPACE
    )


def _direction(
    connection: Connection, half: HalfConnection, acks: tuple[int, int], *, is_ready: bool
) -> Direction:
    """Return a direction that goes on where recovery stops."""
    shared, index = connection.shared, half.direction
    ack, acknowledged = acks[index], acks[1 - index]
    if not is_ready:
        # It may still send segments without octets that acknowledge nothing new.
        direction = Direction(
            shared, connection, index, half, shared.unread_shapes, acknowledged, 0, ack
        )
        direction.reads_no_fpdus = True
        return direction
    direction = _following(connection, half, ack)
    half.octets -= direction.offset + direction.pieces_length
    return direction


def _following(connection: Connection, half: HalfConnection, ack: int) -> Direction:
    """Return a direction that goes on after the reported FPDUs, and move the held octets to it."""
    shared, framing, island = connection.shared, half.framing, half.islands.items[0]
    assert isinstance(framing, Framing)
    table = shared.tables[Kind(framing.crc, framing.markers, framing.from_start)]
    origin, index, run = framing.origin, half.direction, island.runs[-1]
    direction = Direction(shared, connection, index, half, table, origin, run.end - origin, ack)
    held = island.chunks(island.start, island.end)
    first = island.runs[0].start
    # Octets before the first FPDU are the end of another, whose beginning may still be captured.
    if framing.crc:
        before = island.cut_out(island.start, first)
    else:
        before = [chunk for chunk in held if chunk.position < first]
        direction.last_fpdu = run.last - origin
        direction.unproven = held[len(before) :]
    pieces = island.cut_out(run.end, island.end)
    if pieces:
        direction.begin_with(pieces)
    half.let_go(island, island.start, island.end)
    half.hold_again(island, before)
    half.budget.count(half)
    return direction


def _half(direction: Direction) -> HalfConnection:
    assert direction.half is not None
    return direction.half


def _to_recovery(direction: Direction) -> None:
    """Set a half connection to the state of its direction on the straight path."""
    half, origin = _half(direction), direction.origin
    end = compact(direction.position)
    half.high = max(half.high or 0, end)
    half.octets += direction.offset + direction.pieces_length
    shape, upto = direction.shape, direction.offset
    for at, octets, _, last_shape in direction.ahead:
        if last_shape is not None:
            shape, upto = last_shape, at + len(octets)
    if shape is not None:
        half.note_end(origin + upto, is_last=shape.last)
    framing = half.framing
    assert isinstance(framing, Framing)
    island = half.islands.items[0]
    if not island.runs:
        run = framing.first_run(island)
        if direction.offset:
            run.next_by = "length"
        elif not (direction.pieces or direction.ahead):
            return
        island.runs = (run,)
    run = island.runs[-1]
    half.fill_purse(end - island.end)
    # Unproven octets include the pieces.
    half.hold_again(island, direction.unproven or direction.pieces)
    island.end = end
    if run.end != origin + direction.offset:
        # It was about another FPDU.
        run.search = None
    run.end = origin + direction.offset
    run.last = run.end if direction.shapes.crc else origin + direction.last_fpdu
    island.need = island.start
    for offset, octets, frame, last_shape in direction.ahead:
        inserted = half.islands.insert(origin + offset, octets, frame)
        if last_shape is not None:
            located_by: LocatedBy = "marker" if direction.shapes.marked else "search"
            _note_placed(inserted.islands[0], origin + offset, len(octets), located_by)
        half.octets += inserted.fresh
        half.held += inserted.fresh + CHUNK_OVERHEAD
        half.fill_purse(inserted.fresh)
        half.high = max(half.high, origin + offset + inserted.fresh)
    half.budget.count(half)


def _note_placed(island: Island, start: int, length: int, located_by: LocatedBy) -> None:
    """Note the FPDUs found in a segment after a hole."""
    run = island.runs[-1] if island.runs else None
    if run is None or run.end != start:
        run = Run(start, located_by)
        run.next_by = "length"
        island.runs += (run,)
        island.look_again()
    run.end = start + length
    run.last = run.end
