# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of startup frames: each is taken after all octets that were sent before it.

These are the octets before it in its direction, and those of the other direction that its segment
acknowledges.  If both SYNs were captured, a frame *waits* until these octets were captured, too.
It waits for at most 64 segments of the connection, since the capture may lack the octets.  So the
table (:mod:`~scapy_mpa.stream.startup.steps`) need not handle disorder.
"""

from __future__ import annotations

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.streaming import streaming_of
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import NOWHERE, unwrap
from scapy_mpa.stream.startup.startup_phase import StartupPhase


def must_wait(
    startup: StartupPhase, half: HalfConnection, island: Island, found: FoundStartup
) -> bool:
    """Return whether a startup frame must wait for octets that were sent before it.

    :param island: holds the frame.
    """
    peer = half.peer
    ack = startup.received_before(half, found)
    if ack is not None:
        startup.note_received(half.direction, found.position, ack)
    if half.begin is None or peer.begin is None:
        return False
    received = (peer.acknowledged or 0) if ack is None else unwrap(ack, peer.begin)
    if startup.waits_until == 0:
        # Waiting frames keep their order, even when no more frames may wait.
        is_early = ack is not None and _precedes(startup, peer, found, received)
    else:
        is_early = (
            half.islands.lies_beyond(island)
            or lacks(peer, received)
            or startup.waiting[peer.direction] < received
        )
    if not is_early:
        startup.waiting[half.direction] = NOWHERE
        return False
    if startup.waits_until is None:
        startup.waits_until = half.owner.segments + LATE_SEGMENTS
    startup.waiting[half.direction] = min(found.position, startup.waiting[half.direction])
    return True


def lacks(half: HalfConnection, received: int) -> bool:
    """Return whether octets that the peer had received are not captured yet.

    :param half: the direction of these octets.
    :param received: position up to which the peer had received them.
    """
    islands = half.islands
    captured = half.begin if islands.front is None else islands.front_end()
    return captured is None or captured < received


def _precedes(
    startup: StartupPhase, peer: HalfConnection, found: FoundStartup, received: int
) -> bool:
    """Return whether a waiting startup frame of the peer was sent before this one.

    If a sender lies, each frame may acknowledge the other.

    :param received: position up to which the sender of this one had received the peer's octets.
    """
    first = startup.waiting[peer.direction]
    ack = startup.received_at.get((peer.direction, first))
    return first < received and (ack is None or unwrap(ack, found.end) < found.end)


def resume(startup: StartupPhase, segments: int) -> None:
    """Take the startup frames whose turn has come, or that have waited for long enough.

    :param segments: segments of the connection received so far.
    """
    if segments < (startup.waits_until or 0):
        _go_on(startup)
    else:
        wait_no_more(startup)
        startup.waits_until = None
        startup.waiting = [NOWHERE, NOWHERE]


def wait_no_more(startup: StartupPhase) -> None:
    """Take all startup frames that wait; from now on none waits."""
    had_waiting = startup.waits_until
    startup.waits_until = 0
    if had_waiting:
        _go_on(startup)


def _go_on(startup: StartupPhase) -> None:
    """Take frames that wait, and those after them, until nothing changes any more."""
    progress = -1
    while sum(startup.origins) > progress:
        progress = sum(startup.origins)
        for half in startup.halves:
            startup.look_after_end(half)
        for half in startup.halves:
            streaming = streaming_of(half)
            if streaming is not None:
                streaming.resume()
    if min(startup.waiting) == NOWHERE and startup.waits_until:
        startup.waits_until = None
