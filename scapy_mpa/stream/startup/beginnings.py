# SPDX-License-Identifier: GPL-2.0-or-later
"""Unknown beginnings: directions whose startup frames were not captured, or not all.

This module decides when to look at them, and what one direction shows of the other.
:mod:`~scapy_mpa.stream.inference.hypothesis` finds what their octets show.

FPDUs do not wait for a startup frame that was not captured, or not yet.  The peer's acknowledgement
shows where the frame ends (RFC 5044 7.1.2).  The Responder acknowledges the Request with its Reply
(rule 2), and the Initiator the Reply with its first octets after the Request (rule 3).  If FPDUs
are found there, the Full Operation Phase begins there.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.extent import is_whole
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.halves.transitions import enter_full_operation
from scapy_mpa.stream.inference.candidates import Known
from scapy_mpa.stream.inference.hypothesis import Inferred, infer, shows_crcs
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import may_be_rtr, startup_at
from scapy_mpa.stream.purse import Search
from scapy_mpa.stream.sequence import NOWHERE, unwrap
from scapy_mpa.stream.startup.order import lacks
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH, Dialect
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH

_LONGEST: Final = STARTUP_HEADER_LENGTH + LARGEST_PD_LENGTH
"""Octets of the longest startup frame: at most these are kept of one that is captured late."""


def conclude(startup: StartupPhase) -> None:
    """Find out what both directions carry: nothing more will come."""
    halves = startup.halves
    if not any(half.octets or half.islands.items for half in halves):
        # Only SYNs were captured.  There may be very many such connections.
        return
    # What one direction shows helps with the other.
    for half in (*halves, halves[0]):
        _look(startup, half, must_decide=True, at_once=True, crc=True)
    for half in halves:
        look(startup, half, must_decide=True, at_once=True)


def look(startup: StartupPhase, half: HalfConnection, *, must_decide: bool, at_once: bool) -> None:
    """Look at a direction whose startup is not fully known.

    :param must_decide: decide as if nothing more came.
    :param at_once: the decision cannot wait for the next segment.
    """
    cut_short = half.purse.cut_short
    _look(startup, half, must_decide=must_decide, at_once=at_once)
    is_short = must_decide and half.purse.cut_short > cut_short and half.octets > 0
    if is_short and is_unknown(half) and not half.unsearched:
        half.unsearched = True
        half.purse.unsearched += 1


def _look(
    startup: StartupPhase,
    half: HalfConnection,
    *,
    must_decide: bool,
    at_once: bool,
    crc: bool = False,
) -> None:
    """Look at a direction whose startup is not fully known, and at its peer if that helps.

    CRCs count as off only if the peer shows no CRC.  A CRC is far better evidence than headers in
    a payload.

    :param crc: look for FPDUs with CRCs only.
    """
    peer, streaming = half.peer, streaming_of(half)
    may_wait = half.phase is Phase.HELD and not must_decide
    is_unanswered = half.direction == startup.initiator and peer.framing is None
    if may_wait and is_unanswered and not lacks(peer, peer.acknowledged or 0):
        # The Reply was captured, or was not sent yet.
        return
    if startup.state is StartupState.REJECTED:
        return
    known = _known_of(startup, half)
    is_early = False
    if streaming is not None and not must_decide and streaming.awaits_startup():
        after = _known_after(startup, half, known)
        if after is None:
            streaming.look_soon()
            return
        known, is_early = after, True
    if not is_unknown(half) or (crc and known.crc is False):
        return
    if may_wait and known.origin is None:
        # An Rtr Frame may still be captured.
        return
    known = known._replace(crc=crc or known.crc)
    islands = _islands(half, known)
    if not islands:
        return
    if startup.may_be(Dialect.OSC):
        # Only its startup frames show where its FPDUs begin.
        return
    # A search that waits goes on only in the same islands: others may be joined or let go of.
    key = known, must_decide, *((island, island.start) for island in islands)
    inferred = half.purse.search(
        key, lambda: _search(startup, half, known, islands, final=must_decide), at_once=at_once
    )
    if inferred is None:
        if half.purse.waits(key) and streaming is not None:
            streaming.look_soon()
        return
    if is_early and not _skip_startup(startup, half, inferred):
        return
    enter_full_operation(
        half,
        inferred,
        from_start=known.origin is not None,
        dialect=Dialect.SOFTUIWARP if startup.may_be(Dialect.SOFTUIWARP) else None,
    )
    _look(startup, peer, must_decide=must_decide, at_once=at_once)


def _search(
    startup: StartupPhase, half: HalfConnection, known: Known, islands: list[Island], *, final: bool
) -> Search[Inferred | None]:
    """Return what a direction carries; None if it is not proven, or if its peer has CRCs."""
    inferred = yield from infer(islands, known, final=final)
    if inferred is None or known.crc is not None or (inferred.crc and inferred.crc_is_known):
        return inferred
    of_peer = _known_of(startup, half.peer)
    searched = _islands(half.peer, of_peer)
    has_crcs = is_unknown(half.peer) and (yield from shows_crcs(searched, of_peer))
    return None if has_crcs else inferred


def _islands(half: HalfConnection, known: Known) -> list[Island]:
    """Return the islands that may hold FPDUs, if all their octets are held."""
    begin = known.origin
    return [island for island in half.islands.whole() if begin is None or begin < island.end]


def _known_of(startup: StartupPhase, half: HalfConnection) -> Known:
    """Return what is known of a direction."""
    direction = half.direction
    peer = half.peer
    if _is_unasked(startup, half):
        return Known(True, None, None, False, half.purse, half, unasked=True)
    is_held = half.phase is Phase.HELD
    if startup.state is StartupState.ACCEPTED and direction == startup.initiator:
        # The octets that may be an Rtr Frame were not captured.
        is_held = False
    origin = startup.origins[direction] if is_held else None
    if origin is not None and direction == startup.initiator and startup.may_await_rtr:
        island = half.islands.at(origin)
        if island is None or (island.holds(origin) and may_be_rtr(island, origin)):
            # An Rtr Frame may lie in the hole there, or be only partly captured.
            origin = None
    return Known(
        startup.shows_crc,
        startup.has_markers(direction),
        origin,
        carries_fpdus=is_held or peer.phase is not Phase.STREAMING,
        purse=half.purse,
        memory=half,
    )


def _is_unasked(startup: StartupPhase, half: HalfConnection) -> bool:
    """Return whether a direction can carry no FPDUs, since nobody has asked for MPA.

    In each direction a startup frame precedes all FPDUs, perhaps after octets of streaming mode
    (RFC 5044 7.1.2 rules 1 and 2).  So if one direction was captured whole, from the SYN on, and
    neither holds a startup frame, neither carries FPDUs.  One exception: good CRCs in the peer show
    that MPA is spoken against the rules.
    """
    peer = half.peer
    if peer.framing is not None or any(_holds_startup(startup, each) for each in (half, peer)):
        return False
    return is_whole(half) or is_whole(peer)


def _holds_startup(startup: StartupPhase, half: HalfConnection) -> bool:
    """Return whether a startup frame was found in a direction; it may still wait for its turn."""
    is_found = startup.origins[half.direction] > 0 or startup.waiting[half.direction] != NOWHERE
    return is_found or half.phase is not Phase.STREAMING


def _known_after(startup: StartupPhase, half: HalfConnection, known: Known) -> Known | None:
    """Return what is known of the FPDUs after a startup frame that was not captured at all.

    None if the peer's was not captured either, or if more than one frame may be missing.

    :param known: what is known apart from that.
    """
    peer = half.peer
    waits_at = startup.waiting[peer.direction]
    if half.direction == startup.initiator or startup.state is not StartupState.REQUESTED:
        received = startup.received_at.get((peer.direction, waits_at), startup.replied_to)
        end = None if received is None else unwrap(received, half.begin or 0)
    else:
        end = startup.early_ack
    if end is None or half.islands.items[0].start != end or end - (half.begin or 0) > _LONGEST:
        return None
    # A Reply that waits for its Request has not been taken yet, so read it here.
    island = peer.islands.at(waits_at)
    found = None if island is None else startup_at(island, waits_at)
    if found is not None:
        known = known._replace(crc=found.startup.crc or known.crc, markers=found.startup.markers)
    return known._replace(origin=end, carries_fpdus=True)


def _skip_startup(startup: StartupPhase, half: HalfConnection, inferred: Inferred) -> bool:
    """Stop waiting for the startup frame of a direction if an FPDU stands where it ends.

    Return whether the FPDUs of the direction are still to begin.

    :param inferred: what the direction carries.
    """
    end = inferred.origin
    reader = FPDUReader(end, markers=inferred.markers, crc=inferred.crc)
    # If the snap length cut off the CRCs, the startup frame or more octets may still show it.
    is_shown = inferred.crc_is_known and reader.verifies(half.islands.items[0], end)
    if not is_shown:
        return False
    # The peer's startup frame has waited for this one.
    startup.waits_until = 0
    streaming = streaming_of(half.peer)
    if streaming is not None:
        streaming.resume()
    return is_unknown(half)
