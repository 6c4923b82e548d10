# SPDX-License-Identifier: GPL-2.0-or-later
"""From an RDMAP message to its DDP segments (RFC 5041 5.2, RFC 5040 section 4)."""

from __future__ import annotations

from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem, Message
from scapy_mpa.wire.ddp import DDPHeader, cut_up
from scapy_mpa.wire.rdmap import build_control

__all__ = ["fpdus_of"]


def fpdus_of(
    message: Message,
    payload: bytes,
    options: Options,
    *,
    mulpdu: int,
    invalidate_stag: int | None = None,
) -> list[FPDUItem]:
    """Return the FPDUs of a message, cut up if it does not fit one.

    Only Sends, RDMA Writes and RDMA Read Responses may be cut up; all others fit.

    :param payload: what follows the DDP headers.
    :param mulpdu: octets of the largest ULPDU.
    """
    version = options.ddp_version
    control = build_control(message.opcode, options.rdmap_version)
    if message.stag is not None:
        header = DDPHeader(True, True, 0, version, control, message.stag, message.to)
    else:
        qn, msn = message.qn, message.msn
        header = DDPHeader(
            False, True, 0, version, control, None, None, invalidate_stag, qn, msn, 0
        )
    side = message.side
    return [FPDUItem(side, ulpdu, message) for ulpdu in cut_up(header, payload, mulpdu)]
