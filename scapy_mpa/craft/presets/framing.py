# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets of iWARP Framing for TCP that no scenario can say (draft-williams-iwarp-ift-01)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.ift_conversation import IFTConversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, DDPHeader, build_ddp
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, build_frame
from scapy_mpa.wire.rdmap import build_control
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["ift_ddp_mode", "ift_speculative"]

_STAG: Final = 0x10010001


@preset("ift-speculative", "iWARP Framing for TCP that allows speculative placement")
def ift_speculative(rng: Random, **options: Any) -> IFTConversation:
    """SP of both sides (8): reorder its segments to see it.

    Frames are longer than segments, and one of these begins with octets of a payload that are a
    frame to whoever has not seen the one before.
    """
    conversation = IFTConversation(**{"sp": True, "mulpdu": 4000, **options})
    left, right = conversation.sides
    left.write(rng.randbytes(6000), _STAG, 0)
    left.send(_deception(conversation, rng))
    right.send(rng.randbytes(500))
    left.send(rng.randbytes(51))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2001), _STAG, 0, 2, 0)
    right.send(b"")
    left.send(rng.randbytes(3333), solicited=True)
    conversation.close()
    return conversation


def _deception(conversation: IFTConversation, rng: Random) -> bytes:
    """Return what the Initiator may send so that the second segment begins like a frame."""
    own, peer = conversation.options.announced
    before = conversation.options.mss - FRAME_HEADER_LENGTH - UNTAGGED_LENGTH - CRC_LENGTH * own.hc
    header = DDPHeader(False, True, rsvdulp=build_control(Opcode.SEND, 1), qn=0, msn=1000, mo=0)
    frame = build_frame(
        build_ddp(header), rng.randbytes(64), peer.vtag, header_crc=own.hc, payload_crc=own.pc
    )
    return rng.randbytes(max(0, before)) + frame + rng.randbytes(1000)


@preset("ift-ddp-mode", "iWARP Framing for TCP in DDP mode: no RDMAP")
def ift_ddp_mode(rng: Random, **options: Any) -> IFTConversation:
    """R is clear on both sides (4.2), so the ULP has RsvdULP for itself."""
    conversation = IFTConversation(**{"r": False, **options})
    left, right = conversation.sides
    left.frame(DDPHeader(True, False, 0, 1, 0xAB, stag=_STAG, to=0), rng.randbytes(500))
    left.frame(DDPHeader(True, True, 0, 1, 0xAB, stag=_STAG, to=500), rng.randbytes(77))
    right.frame(DDPHeader(False, True, rsvdulp=7, qn=5, msn=1, mo=0), rng.randbytes(33))
    conversation.close()
    return conversation
