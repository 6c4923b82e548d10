# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: iWARP Framing for TCP (draft-williams-iwarp-ift-01)."""

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

__all__ = ["ift", "ift_ddp_mode", "ift_one_crc", "ift_speculative", "ift_without_crcs"]

_STAG: Final = 0x10010001


def _talk(conversation: IFTConversation, rng: Random) -> IFTConversation:
    """Let both sides say a little of everything, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(51))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2001), _STAG, 0, 2, 0)
    right.send(b"")
    left.send(rng.randbytes(3333), solicited=True)
    conversation.close()
    return conversation


@preset("ift", "iWARP Framing for TCP: both CRCs, whatever length frames have")
def ift(rng: Random, **options: Any) -> IFTConversation:
    """Adaption indications, then frames that are not padded (4, 5.1)."""
    return _talk(IFTConversation(**options), rng)


@preset("ift-one-crc", "iWARP Framing for TCP: header CRCs one way, payload CRCs the other way")
def ift_one_crc(rng: Random, **options: Any) -> IFTConversation:
    """What a side sends is for itself to say (4.2)."""
    usual = {"hc": (True, False), "pc": (False, True)}
    return _talk(IFTConversation(**{**usual, **options}), rng)


@preset("ift-without-crcs", "iWARP Framing for TCP without any CRC")
def ift_without_crcs(rng: Random, **options: Any) -> IFTConversation:
    """Sizes and VTags are all there is."""
    return _talk(IFTConversation(**{"hc": False, "pc": False, **options}), rng)


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
    return _talk(conversation, rng)


def _deception(conversation: IFTConversation, rng: Random) -> bytes:
    """Return what the Initiator may send so that the second segment begins like a frame."""
    announced = conversation.options.ift
    assert announced is not None
    own, peer = announced
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
