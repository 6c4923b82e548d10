# SPDX-License-Identifier: GPL-2.0-or-later
"""A startup frame that was not captured, or not yet: FPDUs after it are not kept waiting.

Its peer says where it ends, by what it had received (RFC 5044 7.1.2): the Responder with its Reply
(rule 2), the Initiator with its first octets after the Request (rule 3).  A good CRC shows that an
FPDU begins there.
"""

from __future__ import annotations

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.lost import Lost
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import streaming_of
from scapy_mpa.stream.halves.transitions import enter_full_operation
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.dialect import Dialect

__all__ = ["pass_by"]


def pass_by(startup: StartupPhase, half: HalfConnection) -> bool:
    """Have FPDUs begin after the hole in which the startup frame of a direction lies; return
    whether that is shown.

    If the frame is captured later, it is taken then.
    """
    begin, end, islands = half.begin, _ends_at(startup, half), half.islands.items
    if begin is None or end is None or islands[0].start != end:
        return False
    if startup.may_be(Dialect.OSC):
        # Its Markers lie elsewhere.
        return False
    for markers in (False, True):
        if FPDUReader(end, markers=markers, crc=True).verifies(islands[0], end):
            _take_peers(startup, half)
            if half.phase is Phase.STREAMING:
                enter_full_operation(half, end, markers=markers, crc=True)
                acks = half.counters.acks
                assert acks is not None
                acks.lost = Lost(begin, end)
            return True
    return False


def _take_peers(startup: StartupPhase, half: HalfConnection) -> None:
    """Take the startup frame of the peer, if it waits for that of a direction."""
    startup.waits_until = 0
    streaming = streaming_of(startup.halves[1 - half.direction])
    if streaming is not None:
        streaming.resume()


def _ends_at(startup: StartupPhase, half: HalfConnection) -> int | None:
    """Return where the startup frame of a direction ends that was not captured; None if that is not
    known."""
    if half.direction == startup.initiator or startup.state is not StartupState.REQUESTED:
        # A Reply may wait for its Request.
        peer = 1 - half.direction
        received = startup.heard(peer).get(startup.waiting[peer], startup.replied_to)
        return None if received is None else unwrap(received, half.begin or 0)
    return startup.early_ack
