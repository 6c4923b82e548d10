# SPDX-License-Identifier: GPL-2.0-or-later
"""A startup frame that was not captured, or not yet: FPDUs after it do not wait for it.

The peer's acknowledgement shows where the frame ends (RFC 5044 7.1.2).  The Responder acknowledges
the Request with its Reply (rule 2), and the Initiator the Reply with its first octets after the
Request (rule 3).  If FPDUs are found there, the Full Operation Phase begins there.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.candidate import FPDUReader
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.inference.candidates import Known
from scapy_mpa.stream.inference.hypothesis import Inferred
from scapy_mpa.stream.octets.scan import startup_at
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH

_LONGEST: Final = STARTUP_HEADER_LENGTH + LARGEST_PD_LENGTH
"""Octets of the longest startup frame: at most these are kept of one that is captured late."""


def known_after(startup: StartupPhase, half: HalfConnection, known: Known) -> Known | None:
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


def skip_startup(startup: StartupPhase, half: HalfConnection, inferred: Inferred) -> bool:
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
