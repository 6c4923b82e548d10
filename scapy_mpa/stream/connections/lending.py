# SPDX-License-Identifier: GPL-2.0-or-later
"""Which connections are lent, and how they are given and taken back (:mod:`.loan`)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.connections.loan import LENT_PIECES, Loan
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.rest import LENT, Rest, lay_down
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD
from scapy_mpa.stream.octets.island import Run
from scapy_mpa.stream.sequence import SEQUENCE_SPACE, compact, sequence_number
from scapy_mpa.stream.startup.steps import StartupState

__all__ = ["lend", "reclaim"]

_WORTH_LENDING: Final = 16
"""Segments that a loan must bring forward to be worth what giving it takes."""

_HASTY_LOANS: Final = 4
"""Loans in a row that may bring less before there is a pause; some do while a connection begins."""


def lend(connection: Connection, *, may_begin: bool = True) -> tuple[Loan, Loan] | None:
    """Lend both directions of a connection, if all is in order.

    :param may_begin: whether that may be before its first FPDU.
    """
    one, other = connection.halves
    if connection.was_reset or not (one.phase is Phase.FULL or other.phase is Phase.FULL):
        return None
    if connection.segments < connection.lend_at:
        return None
    if _awaits_copies(one) or _awaits_copies(other):
        return None
    if connection.identity.flow == connection.reverse:
        # A connection from an endpoint to itself: nobody could tell the two apart.
        return None
    if one.acknowledged is None or other.acknowledged is None:
        return None
    startup = connection.startup
    if startup.state in (StartupState.REQUESTED, StartupState.REJECTED):
        # A startup frame may stand where an FPDU must begin.
        return None
    if startup.negotiating is not None and startup.negotiating.holds_back():
        return None
    lay_down(one)
    lay_down(other)
    silent = 1 - startup.initiator if startup.is_silent and startup.initiator is not None else None
    if silent is not None and connection.halves[silent].fpdus:
        # It spoke before it was to, and what it said may still be asked for to judge that.
        return None
    # The first FPDU may be the RTR indication, which is looked at more closely.
    begins = not startup.awaits_rtr
    ready = [half for half in connection.halves if _takes_data(half, may_begin=begins)]
    if not any(half.direction != silent and (may_begin or _has_begun(half)) for half in ready):
        return None
    loans = (
        Loan(one, connection, sequence_number(other.acknowledged)),
        Loan(other, connection, sequence_number(one.acknowledged)),
    )
    for half, loan in zip(connection.halves, loans, strict=True):
        loan.peer = loans[1 - loan.direction]
        loan.awaits = loan.direction == silent
        if half in ready:
            _lend(half, loan)
        else:
            # It may still send what carries nothing.  Where it stands is not known, and nothing is
            # to have begun there.
            loan.seq = loan.peer.ack + SEQUENCE_SPACE
            loan.begin = loan.end
    connection.hand_over()
    connection.is_lent = True
    return loans


def reclaim(connection: Connection, loans: tuple[Loan, Loan]) -> None:
    """Take both directions back as the borrower has left them."""
    connection.is_lent = False
    if loans[0].segments + loans[1].segments >= _WORTH_LENDING:
        connection.hasty_loans = 0
    else:
        connection.hasty_loans += 1
        if connection.hasty_loans > _HASTY_LOANS:
            connection.lend_at = connection.segments + _WORTH_LENDING
    if connection.startup.is_silent:
        connection.startup.is_silent = loans[0].awaits or loans[1].awaits
    # Whoever still looks at one must not keep both alive.
    loans[0].peer = loans[0]
    loans[1].peer = loans[1]
    for half, loan in zip(connection.halves, loans, strict=True):
        _reclaim(half, loan)
    connection.catch_up(loans[0].segments + loans[1].segments)
    one, other = connection.halves
    one.acknowledge(loans[1].ack)
    other.acknowledge(loans[0].ack)


def _awaits_copies(half: HalfConnection) -> bool:
    """Tell whether a copy may bring octets of a direction that the snap length cut off."""
    return half.cuts is not None and half.cuts.awaited is not None


def _takes_data(half: HalfConnection, *, may_begin: bool) -> bool:
    """Tell whether a direction is in its ordinary state.

    :param may_begin: whether that may be before its first FPDU.
    """
    rest = half.rest
    if rest is None:
        if _run_to_lend(half) is None:
            return False
        end = half.islands.items[0].end
    elif half.fin is None and (_has_begun(half) or (may_begin and rest.crc)):
        # Without CRCs, the first FPDU is looked at more closely than a borrower does.
        end = rest.end
    else:
        return False
    # Sequence numbers do not tell what was acknowledged ahead if they wrap on the way there.
    return (half.acknowledged or 0) // SEQUENCE_SPACE <= end // SEQUENCE_SPACE


def _has_begun(half: HalfConnection) -> bool:
    """Tell whether an FPDU was found in a direction that is in its ordinary state."""
    rest = half.rest
    return rest is None or rest.end > rest.origin


def _run_to_lend(half: HalfConnection) -> Run | None:
    """Return the run that a direction goes on with if it is in its ordinary state, else None."""
    items = half.islands.items
    if half.framing is None or len(items) != 1 or half.fin is not None:
        return None
    if not half.framing.is_standard:
        return None
    island = items[0]
    run = island.runs[-1] if island.runs else None
    if (
        run is None
        or not (run.anchored and run.trouble is None and run.next_by == "length")
        or island.absent
        or half.islands.lies_beyond(island)
        or island.count(run.end) > LENT_PIECES
    ):
        return None
    # Of those that were merged a borrower does not know the frames.
    held = island.chunks(island.start, island.end)
    return run if all(isinstance(chunk.frame, int) for chunk in held) else None


def _lend(half: HalfConnection, loan: Loan) -> None:
    """Fill in the loan of a direction that is in its ordinary state."""
    rest = half.rest
    if rest is None:
        _lend_octets(half, loan)
        lay_down(half)
        rest = half.rest
    if rest is not None:
        _lend_rest(half, rest, loan)
    # Mostly 0, which is no object of its own, and so needs no counting.
    half.octets -= loan.end - loan.begin


def _lend_rest(half: HalfConnection, rest: Rest, loan: Loan) -> None:
    """Fill in the loan of a direction at rest, which then has no other place."""
    assert half.begin is not None
    loan.begin = half.begin
    loan.move(rest.end)
    loan.startup = rest.origin - half.begin
    loan.markers = rest.markers
    loan.crc = rest.crc
    half.lay_down(LENT)
    # What the loan knows better is not kept twice.
    half.high = half.acknowledged = half.begin


def _lend_octets(half: HalfConnection, loan: Loan) -> None:
    """Fill in the loan of a direction that is not at rest; what it holds goes to the borrower."""
    run, framing = _run_to_lend(half), half.framing
    assert run is not None
    assert framing is not None
    island = half.islands.items[0]
    first = island.runs[0].start
    loan.begin = island.start
    loan.move(island.end)
    # What lies before the first FPDU is the end of one whose beginning may yet come.
    if framing.crc:
        before = island.cut_out(island.start, first)
    else:
        held = island.chunks(island.start, island.end)
        before = [each for each in held if each.position < first]
        loan.holding.last = run.last
        loan.holding.tail = held[len(before) :]
    pieces = island.cut_out(run.end, island.end)
    if pieces:
        loan.holding.pieces = pieces
        loan.holding.missing = island.need - island.end
    loan.startup = framing.origin - island.start
    loan.from_start = framing.from_start
    loan.markers = framing.markers
    loan.crc = framing.crc
    half.let_go(island, island.start, island.end)
    half.hold_again(island, before)
    half.budget.count(half)


def _reclaim(half: HalfConnection, loan: Loan) -> None:
    """Take back a direction as the borrower has left it."""
    if not loan.takes_data:
        return
    end = compact(loan.end)
    half.high = max(half.high or 0, end)
    half.octets += end - loan.begin
    half.fpdus += loan.fpdus
    if half.rest is LENT:
        half.lay_down(Rest(end, compact(loan.origin), markers=loan.markers, crc=loan.crc))
        waiting = loan.waiting
        if not (waiting.tail or waiting.pieces or waiting.early):
            return
    _reclaim_octets(half, loan)


def _reclaim_octets(half: HalfConnection, loan: Loan) -> None:
    """Take back what the borrower has of the octets of a direction, and how far it has come."""
    framing = half.framing
    assert framing is not None
    island = half.islands.items[0]
    run = island.runs[-1]
    waiting = loan.waiting
    framing.allow(loan.end - island.end)
    done = waiting.pieces[0].position if waiting.pieces else loan.end
    half.hold_again(island, waiting.pieces if loan.crc else waiting.tail)
    island.end = loan.end
    run.end = done
    run.last = done if loan.crc else waiting.last
    island.need = island.start
    for position, octets, frame in waiting.early:
        inserted = half.islands.insert(position, octets, frame)
        half.octets += inserted.fresh
        half.held += inserted.fresh + CHUNK_OVERHEAD
        framing.allow(inserted.fresh)
        half.high = max(half.high or 0, position + inserted.fresh)
    half.budget.count(half)
