# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets that a scenario cannot express.  Most of them change a startup frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final, NamedTuple

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.ift_conversation import IFTConversation
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, DDPHeader, build_ddp
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, build_frame
from scapy_mpa.wire.rdmap import build_control
from scapy_mpa.wire.rdmap_names import AtomicOperation, Opcode
from scapy_mpa.wire.startup import StartupKind

__all__ = ["Preset", "presets"]

_STAG: Final = 0x10010001
_DRAFT: Final = Dialect.DRAFT_PEER_CONNECT_01.value
_GSO: Final = 0x08
"""The bit of Res by which Linux siw asks for FPDUs longer than a segment, and accepts them."""


class Preset(NamedTuple):
    """A conversation with a name."""

    name: str
    summary: str
    """What it shows, in a few words."""
    build: Callable[..., Conversation]
    """Takes a seed for the payload, and options of Conversation, which replace the preset's."""


def _preset(name: str, summary: str) -> Callable[[Callable[..., Conversation]], Preset]:
    """Make a preset of a function that takes a random generator in place of the seed."""
    return lambda build: Preset(
        name, summary, lambda seed, **options: build(Random(seed), **options)
    )


def presets() -> list[Preset]:
    """Return the presets of this module, in the order of the list."""
    return [each for each in globals().values() if isinstance(each, Preset)]


def _change(conversation: Conversation, *kinds: StartupKind, **fields: Any) -> None:
    """Give the startup frames of these kinds other fields."""
    for number, item in enumerate(conversation.script):
        if isinstance(item, StartupItem) and item.kind in kinds:
            conversation.script[number] = replace(item, **fields)


@_preset("draft-reply-unenhanced", "the draft, with a Reply of revision 2 without enhanced data")
def draft_reply_unenhanced(rng: Random, **options: Any) -> Conversation:
    """Such a Reply counts as one with A, B and C set (draft-ietf-storm-mpa-peer-connect-01 8)."""
    conversation = Conversation(**{"dialect": _DRAFT, **options})
    conversation.startup(ird=4, ord=4, control_flags="ABC", rtr="write")
    _change(conversation, StartupKind.REPLY, control_flags=None, ird=None, ord=None)
    conversation.responder.send(rng.randbytes(30))
    conversation.initiator.write(rng.randbytes(3000), _STAG, 0x1000)
    conversation.initiator.send(rng.randbytes(50))
    conversation.close()
    return conversation


@_preset("sequence-wrap", "sequence numbers that pass 2^32 in the middle of both streams")
def sequence_wrap(rng: Random, **options: Any) -> Conversation:
    """RFC 9293 3.4."""
    conversation = Conversation(**options)
    conversation.initiator.write(rng.randbytes(30_000), _STAG, 0)
    conversation.responder.read(rng.randbytes(10_000), _STAG, 0, 2, 0)
    conversation.close()
    return conversation.wrapping()


@_preset("rfc5044/c.2.5/permissive-meets-rdmac", "revision 1 asks, 0 answers: as in revision 0")
def permissive_meets_rdmac(rng: Random, **options: Any) -> Conversation:
    """The Initiator adapts to version 0, Markers both ways and CRCs, whatever its Request had."""
    conversation = Conversation(**{"revision": 0, "markers": True, **options})
    conversation.startup(b"from the IETF", b"from the RDMA Consortium")
    _change(conversation, StartupKind.REQUEST, revision=1, markers=False, crc=False)
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.send(rng.randbytes(5), solicited=True)
    conversation.close()
    return conversation


@_preset("siw-terminate", "Linux siw: FPDUs larger than a segment (GSO), a Terminate in its layout")
def siw_terminate(rng: Random, **options: Any) -> Conversation:
    """Res of Request and Reply has bit 0x08; the first octets of the Terminate are mirrored."""
    conversation = Conversation(**{"mulpdu": 8000, "packing": "stream", **options})
    conversation.startup(b"siw", b"siw, too")
    _change(conversation, *StartupKind, reserved=_GSO)
    left, right = conversation.sides
    left.write(rng.randbytes(20_000), _STAG, 0x1000)
    left.send(rng.randbytes(50))
    right.terminate(1, 2, 3, mirrored=True)
    conversation.close(1)
    return conversation


@_preset("sctp-draft-rtr-write", "DDP over SCTP: peer to peer, as the draft before RFC 6581 has it")
def sctp_draft_rtr_write(rng: Random, **options: Any) -> SctpConversation:
    """B of both sides, then a zero-length Write (draft-ietf-storm-mpa-peer-connect-01 7, 8).

    A scenario cannot express it: its dialect line selects SCTP, so it cannot select the draft.
    """
    conversation = SctpConversation(**{"dialect": _DRAFT, **options})
    conversation.startup(b"hello", b"welcome", ird=4, ord=4, rtr="write")
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.atomic(AtomicOperation.FETCH_ADD, _STAG, 8, add_or_swap_data=1, original=41)
    left.immediate(rng.randbytes(8))
    right.send(rng.randbytes(5000), solicited=True)
    conversation.close()
    return conversation


# -- iWARP Framing for TCP (draft-williams-iwarp-ift-01) ------------------------------------------


@_preset("ift-speculative", "iWARP Framing for TCP that allows speculative placement")
def ift_speculative(rng: Random, **options: Any) -> IFTConversation:
    """SP of both sides is set (8); it matters when segments are reordered.

    Frames are longer than segments.  One segment begins with payload that looks like a frame if the
    segment before is missing.
    """
    conversation = IFTConversation(**{"sp": True, "mulpdu": 4000, **options})
    left, right = conversation.sides
    left.write(rng.randbytes(6000), _STAG, 0)
    left.send(_payload_like_a_frame(conversation, rng))
    right.send(rng.randbytes(500))
    left.send(rng.randbytes(51))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2001), _STAG, 0, 2, 0)
    right.send(b"")
    left.send(rng.randbytes(3333), solicited=True)
    conversation.close()
    return conversation


def _payload_like_a_frame(conversation: IFTConversation, rng: Random) -> bytes:
    """Return data for a Send of the Initiator whose second segment begins like a frame."""
    own, peer = conversation.options.announced
    before = conversation.options.mss - FRAME_HEADER_LENGTH - UNTAGGED_LENGTH - CRC_LENGTH * own.hc
    header = DDPHeader(False, True, rsvdulp=build_control(Opcode.SEND, 1), qn=0, msn=1000, mo=0)
    frame = build_frame(
        build_ddp(header), rng.randbytes(64), peer.vtag, header_crc=own.hc, payload_crc=own.pc
    )
    return rng.randbytes(max(0, before)) + frame + rng.randbytes(1000)


@_preset("ift-ddp-mode", "iWARP Framing for TCP in DDP mode: no RDMAP")
def ift_ddp_mode(rng: Random, **options: Any) -> IFTConversation:
    """R of both sides is clear (4.2), so the ULP may use RsvdULP."""
    conversation = IFTConversation(**{"r": False, **options})
    left, right = conversation.sides
    left.frame(DDPHeader(True, False, 0, 1, 0xAB, stag=_STAG, to=0), rng.randbytes(500))
    left.frame(DDPHeader(True, True, 0, 1, 0xAB, stag=_STAG, to=500), rng.randbytes(77))
    right.frame(DDPHeader(False, True, rsvdulp=7, qn=5, msn=1, mo=0), rng.randbytes(33))
    conversation.close()
    return conversation
