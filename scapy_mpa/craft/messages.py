# SPDX-License-Identifier: GPL-2.0-or-later
"""From an RDMAP message to its DDP segments (RFC 5041 5.2, RFC 5040 section 4)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem, Message
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH, DDPHeader
from scapy_mpa.wire.rdmap import build_control

__all__ = ["fpdus_of"]

_TO: Final = (1 << 64) - 1


def fpdus_of(
    message: Message, payload: bytes, options: Options, *, invalidate_stag: int | None = None
) -> list[FPDUItem]:
    """Return the FPDUs of a message, cut up if it does not fit one (RFC 5041 5.2).

    Only Sends, RDMA Writes and RDMA Read Responses may be cut up; all others fit.

    :param payload: what follows the DDP headers.
    """
    tagged = message.stag is not None
    room = options.mulpdu_of(message.side) - (TAGGED_LENGTH if tagged else UNTAGGED_LENGTH)
    control = build_control(message.opcode, options.rdmap_version)
    version = options.ddp_version
    length = len(payload)
    items = []
    for at in range(0, length, room) or (0,):
        last = at + room >= length
        if message.stag is not None and message.to is not None:
            to = message.to + at & _TO
            header = DDPHeader(True, last, 0, version, control, message.stag, to)
        else:
            header = DDPHeader(
                *(False, last, 0, version, control, None, None),
                *(invalidate_stag or 0, message.qn, message.msn, at),
            )
        piece = payload if last and not at else payload[at : at + room]
        items.append(FPDUItem(message.side, header, piece, message))
    return items
