# SPDX-License-Identifier: GPL-2.0-or-later
"""What a session with enhanced messages has negotiated, and whether both sides kept to it.

The rules are those of RFC 6581 9, or of the draft before it where the user says so: Enhanced
Initiate and Accept are equivalent to a Request and the Reply that accepts (RFC 6581 7).  The active
side's first DDP segment is the RTR indication, if one is called for; the passive side need not wait
for it, since a DDP segment cannot be taken for session control.
"""

from __future__ import annotations

from scapy_mpa.dialects.sctp.half import SessionHalf
from scapy_mpa.stream.events import Negotiated
from scapy_mpa.stream.startup.negotiation import LONGEST_RTR, negotiated
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.negotiation import SCTP_WORDS, negotiate
from scapy_mpa.wire.sctp_ddp import SessionControl
from scapy_mpa.wire.startup import StartupKind


def note_control(half: SessionHalf, serial: int, control: SessionControl) -> None:
    """Take note of the message that a direction begins with, if it has enhanced data."""
    if half.begun and serial == 0 and control.enhanced and half.startup is None:
        half.startup = control.startup


def note_segment(half: SessionHalf, serial: int, ulpdu: bytes, ulpdu_length: int) -> None:
    """Take note of the first DDP segment of a direction.

    :param ulpdu: as far as it was captured.
    """
    if half.begun and serial == 1 and half.first_segment is None:
        head = ulpdu[:LONGEST_RTR]
        if len(head) == min(ulpdu_length, LONGEST_RTR):
            half.first_segment = head, ulpdu_length


def negotiated_by(
    active: SessionHalf, passive: SessionHalf, dialect: Dialect | None = None
) -> Negotiated | None:
    """Return what two directions came to, None if nothing was negotiated.

    :param dialect: whose meaning the control flags have; None: that of RFC 6581.
    """
    request, reply = active.startup, passive.startup
    if request is None or reply is None:
        return None
    if request.kind is not StartupKind.REQUEST or reply.kind is not StartupKind.REPLY:
        return None
    agreed = negotiate(request, reply, dialect, SCTP_WORDS)
    return None if agreed is None else negotiated(agreed, active.first_segment)
