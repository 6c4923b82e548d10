# SPDX-License-Identifier: GPL-2.0-or-later
"""A startup frame that was not captured, or not yet: FPDUs after it are not kept waiting.

Its peer says where it ends, by what it had received (RFC 5044 7.1.2): the Responder with its Reply
(rule 2), the Initiator with its first octets after the Request (rule 3).  So that is where the Full
Operation Phase begins, if FPDUs are found there.
"""

from __future__ import annotations

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.lost import Lost
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.inference.hypothesis import Inferred
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState

__all__ = ["ends_at", "pass_by"]


def ends_at(startup: StartupPhase, half: HalfConnection) -> int | None:
    """Return where the startup frame of a direction ends, if nothing of it was captured, and what
    follows it was; None if that is not known."""
    if half.direction == startup.initiator or startup.state is not StartupState.REQUESTED:
        # A Reply may wait for its Request.
        peer = 1 - half.direction
        received = startup.heard(peer).get(startup.waiting[peer], startup.replied_to)
        end = None if received is None else unwrap(received, half.begin or 0)
    else:
        end = startup.early_ack
    return end if half.islands.items[0].start == end else None


def pass_by(startup: StartupPhase, half: HalfConnection, inferred: Inferred) -> bool:
    """Wait no more for the startup frame of a direction if an FPDU stands where it ends; return
    whether the direction is still to begin.

    :param inferred: what it carries.
    """
    end = inferred.origin
    reader = FPDUReader(end, markers=inferred.markers, crc=inferred.crc)
    if half.begin is None or not reader.verifies(half.islands.items[0], end):
        return False
    half.counters.lost = Lost(half.begin, end)
    # The frame of the peer has waited for it.
    startup.waits_until = 0
    streaming = streaming_of(startup.halves[1 - half.direction])
    if streaming is not None:
        streaming.resume()
    return is_unknown(half)
