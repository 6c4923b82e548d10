# SPDX-License-Identifier: GPL-2.0-or-later
"""Unknown beginnings: directions whose startup frames were not captured, or not all.

Here is when they are looked at, and what one direction says of the other; what their octets say
is :mod:`~scapy_mpa.stream.inference.hypothesis`.
"""

from __future__ import annotations

from scapy_mpa.stream.fpdus.in_order import InOrder
from scapy_mpa.stream.halves.extent import is_whole
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.halves.transitions import enter_full_operation
from scapy_mpa.stream.inference.candidates import Known
from scapy_mpa.stream.inference.hypothesis import infer, shows_crcs
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import may_be_rtr
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.stream.startup import lost, rtr
from scapy_mpa.stream.startup.order import lacks
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState, rtr_may_follow
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import WORD


def conclude(startup: StartupPhase) -> None:
    """Find out what can be found out, now that nothing more will come."""
    halves = startup.halves
    if not any(half.octets or half.islands.items for half in halves):
        # Nothing but SYNs, of which there may be very many.
        return
    # What one direction shows counts for the other.
    for half in (*halves, halves[0]):
        look(startup, half, must_decide=True, crc=True)
    for half in halves:
        decide(startup, half)


def decide(startup: StartupPhase, half: HalfConnection) -> None:
    """Decide what a direction carries, as if nothing more came.

    Called more than once: also when there are many octets, or little memory.
    """
    cut_short = half.purse.cut_short
    look(startup, half, must_decide=True)
    is_short = half.purse.cut_short > cut_short and half.octets > 0
    if is_short and is_unknown(half) and not half.unsearched:
        half.unsearched = True
        half.purse.unsearched += 1


def look(
    startup: StartupPhase, half: HalfConnection, *, must_decide: bool = False, crc: bool = False
) -> None:
    """Look at a direction of which not all is known; at the other one, too, if that helps.

    CRCs count as off only if the other direction does not show any: headers in a payload weigh
    nothing beside a CRC.

    :param must_decide: as if nothing more came.
    :param crc: only CRCs are to be looked for.
    """
    other, streaming = startup.halves[1 - half.direction], streaming_of(half)
    may_wait = half.phase is Phase.HELD and not must_decide
    if half.direction == startup.initiator:
        if may_wait and other.framing is None and not lacks(other, other.acknowledged or 0):
            # The Reply is there, or has not been sent.
            return
        rtr.find_unanswered(startup, half, final=must_decide)
    if startup.state is StartupState.REJECTED:
        return
    known = _known_of(startup, half)
    is_early = False
    if streaming is not None and not must_decide and streaming.awaits_startup():
        after = lost.known_after(startup, half, known)
        if after is None:
            streaming.look_soon()
            return
        known, is_early = after, True
    if not is_unknown(half) or (crc and known.crc is False):
        return
    if may_wait and known.origin is None:
        # An Rtr Frame may yet be captured.
        return
    known = known._replace(crc=crc or known.crc)
    islands = _islands(half, known)
    if not islands:
        return
    if startup.may_be(Dialect.OSC):
        # Its startup frames may yet come.
        if must_decide and _begin_osc(half, known):
            look(startup, other, must_decide=must_decide)
        return
    inferred = infer(islands, known, final=must_decide)
    if inferred is None:
        return
    has_crcs = inferred.crc and inferred.crc_is_known
    if known.crc is None and not has_crcs and _shows_crcs(startup, other):
        return
    if is_early and not lost.pass_by(startup, half, inferred):
        return
    enter_full_operation(
        half,
        inferred.origin,
        markers=inferred.markers,
        crc=inferred.crc,
        from_start=known.origin is not None,
        is_guess=inferred.is_guess,
        crc_is_known=inferred.crc_is_known,
        dialect=Dialect.SOFTUIWARP if startup.may_be(Dialect.SOFTUIWARP) else None,
    )
    look(startup, other, must_decide=must_decide)


def _shows_crcs(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether an FPDU with a good CRC is in a direction that is unknown."""
    known = _known_of(startup, half)
    return is_unknown(half) and shows_crcs(_islands(half, known), known)


def _islands(half: HalfConnection, known: Known) -> list[Island]:
    """Return the islands in which FPDUs may lie, all of whose octets are there."""
    begin = known.origin
    return [each for each in half.islands.whole() if begin is None or begin < each.end]


def _begin_osc(half: HalfConnection, known: Known) -> bool:
    """Have a direction read as osc's, which the user says is spoken; return whether that was done.

    Its startup frame must have been captured, and an FPDU after it.
    """
    island = None if known.origin is None else half.islands.at(known.origin)
    if known.origin is None or island is None or not island.holds(known.origin):
        return False
    # A Marker of zeros leads the first FPDU (RFC 5044 4.3).
    first = island.read(known.origin, known.origin + WORD)
    markers = first == bytes(WORD) if known.markers is None else known.markers
    for crc in (True, False) if known.crc is None else (known.crc,):
        reader = InOrder(half, known.origin, Dialect.OSC, markers=markers, crc=crc)
        if reader.begins(island):
            enter_full_operation(half, known.origin, markers=markers, crc=crc, dialect=Dialect.OSC)
            return True
    return False


def _known_of(startup: StartupPhase, half: HalfConnection) -> Known:
    """Return what is known of a direction."""
    direction = half.direction
    other = startup.halves[1 - direction]
    if _is_unasked(startup, half):
        return Known(True, None, None, False, half.purse, half, unasked=True)
    is_held = half.phase is Phase.HELD
    if startup.state is StartupState.ACCEPTED and direction == startup.initiator:
        # What may be an Rtr Frame was not captured.
        is_held = False
    origin = startup.origins[direction] if is_held else None
    if (
        origin is not None
        and direction == startup.initiator
        and rtr_may_follow(*startup.declared)
        and not startup.saw_rtr
    ):
        island = half.islands.at(origin)
        if island is None or (island.holds(origin) and may_be_rtr(island, origin)):
            # An Rtr Frame may lie in the hole there, or in part.
            origin = None
    return Known(
        startup.shows_crc,
        startup.has_markers(direction),
        origin,
        carries_fpdus=is_held or other.phase is not Phase.STREAMING,
        purse=half.purse,
        memory=half,
    )


def _is_unasked(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether no FPDUs can follow in a direction, since nobody has asked for MPA.

    Each direction begins with a startup frame, whatever octets of streaming mode stand before it
    (RFC 5044 7.1.2 rules 1 and 2).  So if one was captured whole, from the SYN on, and neither
    holds a startup frame, neither carries FPDUs.  One exception: good CRCs in the peer show that
    MPA is spoken against the rules.
    """
    other = startup.halves[1 - half.direction]
    if other.framing is not None or any(_holds_startup(startup, each) for each in (half, other)):
        return False
    return is_whole(half) or is_whole(other)


def _holds_startup(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether a startup frame was found in a direction, though it may wait for its turn."""
    is_found = startup.origins[half.direction] > 0 or startup.waiting[half.direction] != NOWHERE
    return is_found or half.phase is not Phase.STREAMING
