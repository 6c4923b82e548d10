# SPDX-License-Identifier: GPL-2.0-or-later
"""The order of startup frames: each is taken after all that was sent before it.

Sent before a frame: all octets before it in its direction, and those of the other direction that
its segment acknowledges.  With both SYNs a frame *waits* until all that was captured, for 64
segments of the connection at most: what it waits for may not have been captured at all.  So the
table (:mod:`~scapy_mpa.stream.startup.steps`) need know nothing of disorder.
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
    startup: StartupPhase,
    half: HalfConnection,
    island: Island,
    found: FoundStartup,
) -> bool:
    """Tell whether a startup frame must wait for what was sent before it.

    :param island: that holds it.
    """
    other = startup.halves[1 - half.direction]
    received = startup.received_before(half, found)
    if received is not None:
        startup.hear(half.direction, found.position, received)
    if half.begin is None or other.begin is None:
        return False
    had = (other.acknowledged or 0) if received is None else unwrap(received, other.begin)
    if startup.waits_until == 0:
        # What waits keeps its order even when nothing more is waited for.
        is_early = received is not None and _precedes(startup, other, found, had)
    else:
        is_early = (
            half.islands.lies_beyond(island)
            or lacks(other, had)
            or startup.waiting[other.direction] < had
        )
    if not is_early:
        startup.waiting[half.direction] = NOWHERE
        return False
    if startup.waits_until is None:
        startup.waits_until = half.owner.segments + LATE_SEGMENTS
    startup.waiting[half.direction] = min(found.position, startup.waiting[half.direction])
    return True


def lacks(half: HalfConnection, had: int) -> bool:
    """Tell whether octets that the peer had received are not captured yet.

    :param half: the direction of these octets.
    :param had: position up to which the peer had received them.
    """
    islands = half.islands
    captured = half.begin if islands.front is None else islands.front_end()
    return captured is None or captured < had


def _precedes(startup: StartupPhase, other: HalfConnection, found: FoundStartup, had: int) -> bool:
    """Tell whether a startup frame of the peer waits that was sent before this one.

    Acknowledgements of a sender that lies may say so of both.

    :param had: up to where the sender of this one had received the peer's octets.
    """
    first = startup.waiting[other.direction]
    received = startup.heard.get((other.direction, first))
    return first < had and (received is None or unwrap(received, found.end) < found.end)


def resume(startup: StartupPhase, segments: int) -> None:
    """Take the startup frames whose turn has come, or that have waited for long enough.

    :param segments: of the connection received so far.
    """
    if segments < (startup.waits_until or 0):
        _go_on(startup)
    else:
        wait_no_more(startup)
        startup.waits_until = None
        startup.waiting = [NOWHERE, NOWHERE]


def wait_no_more(startup: StartupPhase) -> None:
    """Take what waits as it stands; from now on nothing waits."""
    is_waiting = startup.waits_until
    startup.waits_until = 0
    if is_waiting:
        _go_on(startup)


def _go_on(startup: StartupPhase) -> None:
    """Take what waits, and what follows it, for as long as that changes something."""
    come_to = -1
    while sum(startup.origins) > come_to:
        come_to = sum(startup.origins)
        for half in startup.halves:
            startup.look_after_end(half)
        for half in startup.halves:
            streaming = streaming_of(half)
            if streaming is not None:
                streaming.resume()
    if min(startup.waiting) == NOWHERE and startup.waits_until:
        startup.waits_until = None
