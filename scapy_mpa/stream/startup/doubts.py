# SPDX-License-Identifier: GPL-2.0-or-later
"""What seems to be a startup frame, and may as well be part of an FPDU's payload.

Which of the two it is its peer knows: it answers a startup frame, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.inference.surroundings import fpdus_before
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.stream.startup import order
from scapy_mpa.stream.startup.steps import StartupState
from scapy_mpa.wire.startup import StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = ["had_begun", "take"]


def take(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> None:
    """Take what may be a startup frame, and see whether it is a Reply to the last that the peer
    has sent.

    Until the Reply is there, the Initiator sends nothing behind its Request (RFC 5044 7.1.2
    rule 3).
    """
    other = startup.halves[1 - half.direction]
    received = order.received_before(startup, half, found)
    if found.startup.kind is not StartupKind.REPLY or half.streaming is None:
        return
    is_asked = other.doubtful is not None and other.doubtful.awaits_reply(received)
    if is_asked or _awaits_reply(startup, other, received):
        half.streaming.confirm()


def _awaits_reply(startup: StartupPhase, asking: HalfConnection, received: int | None) -> bool:
    """Tell whether the last that a side sent is a Request that was not answered.

    :param received: sequence number of what its peer had received then.
    """
    end = startup.origins[asking.direction]
    return (
        startup.state is StartupState.REQUESTED
        and asking.direction == startup.initiator
        and (
            received == sequence_number(end)
            or (asking.islands.at(end) is None and (asking.acknowledged or 0) <= end)
        )
    )


def had_begun(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether who sent a doubtful startup frame had FPDUs of its peer by then.

    Those come behind the startup frames of both (RFC 5044 7.1.2 rules 3, 4).
    """
    streaming = half.streaming
    if streaming is None or streaming.doubtful is None:
        return False
    received = startup.heard.get((half.direction, streaming.doubtful.found.position))
    islands = startup.halves[1 - half.direction].islands.items
    if received is None or not islands:
        return False
    position = unwrap(received, islands[0].start)
    # Those that were passed on are not held any more.
    runs = (run for island in islands for run in island.runs)
    return any(run.start < position and not run.is_empty for run in runs) or (
        fpdus_before(islands, position, half.purse)
    )
