# SPDX-License-Identifier: GPL-2.0-or-later
"""What seems to be a startup frame, and may as well be part of an FPDU's payload.

Which of the two it is its peer knows: it answers a startup frame, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import unwrap
from scapy_mpa.stream.startup import answers
from scapy_mpa.wire.startup import StartupKind

if TYPE_CHECKING:
    from scapy_mpa.stream.startup.startup_phase import StartupPhase

__all__ = ["had_begun", "take"]


def take(startup: StartupPhase, half: HalfConnection, found: FoundStartup) -> None:
    """Take what may be a startup frame, and see whether it was answered, or answers another.

    Until the Reply is there, the Initiator sends nothing behind its Request (RFC 5044 7.1.2
    rule 3).
    """
    other = startup.halves[1 - half.direction]
    streaming, asking = half.streaming, other.streaming
    received = answers.received_before(startup, half, found)
    if received is not None:
        answers.remember(startup, half, found.position, received)
    if streaming is not None and answers.was_accepted(startup, half, found):
        streaming.confirm()
    if found.startup.kind is not StartupKind.REPLY or asking is None or streaming is None:
        return
    if received is not None:
        asking.answer(unwrap(received, other.high or 0))
    if other.direction == startup.initiator:
        answers.find_repeated(startup, received)
    is_asked = asking.doubtful is not None and asking.doubtful.awaits_reply(received)
    if is_asked or answers.awaits_reply(startup, other, received):
        streaming.confirm()


def had_begun(startup: StartupPhase, half: HalfConnection) -> bool:
    """Tell whether who sent a doubtful startup frame had FPDUs of its peer by then.

    Those come behind the startup frames of both (RFC 5044 7.1.2 rules 3, 4).
    """
    streaming = half.streaming
    if streaming is None or streaming.doubtful is None or startup.received is None:
        return False
    received = startup.received.before(half.direction, streaming.doubtful.found.position)
    islands = startup.halves[1 - half.direction].islands.items
    if received is None or not islands:
        return False
    position = unwrap(received, islands[0].start)
    # Most captures need none of it, and a command is to start soon.
    from scapy_mpa.stream.inference.surroundings import fpdus_before

    # Those that were passed on are not held any more.
    runs = (run for island in islands for run in island.runs)
    return any(run.start < position and not run.is_empty for run in runs) or (
        fpdus_before(islands, position, half.purse)
    )
