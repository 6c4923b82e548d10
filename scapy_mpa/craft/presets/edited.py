# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets that a scenario cannot express.  Most of them change a startup frame."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.rdmap_names import AtomicOperation
from scapy_mpa.wire.startup import StartupKind

__all__ = [
    "draft_reply_unenhanced",
    "permissive_meets_rdmac",
    "sctp_draft_rtr_write",
    "sequence_wrap",
    "siw_terminate",
]

_STAG: Final = 0x10010001
_DRAFT: Final = Dialect.DRAFT_PEER_CONNECT_01.value
_GSO: Final = 0x08
"""The bit of Res with which siw asks for FPDUs that are larger than a segment, and grants them."""


def _change(conversation: Conversation, *kinds: StartupKind, **fields: Any) -> None:
    """Give the startup frames of these kinds other fields."""
    for number, item in enumerate(conversation.script):
        if isinstance(item, StartupItem) and item.kind in kinds:
            conversation.script[number] = replace(item, **fields)


@preset("draft-reply-unenhanced", "the draft, with a Reply of revision 2 without enhanced data")
def draft_reply_unenhanced(rng: Random, **options: Any) -> Conversation:
    """As if it had A, B and C set (draft-ietf-storm-mpa-peer-connect-01 8)."""
    conversation = Conversation(**{"dialect": _DRAFT, **options})
    conversation.startup(ird=4, ord=4, control_flags="ABC", rtr="write")
    _change(conversation, StartupKind.REPLY, control_flags=None, ird=None, ord=None)
    conversation.responder.send(rng.randbytes(30))
    conversation.initiator.write(rng.randbytes(3000), _STAG, 0x1000)
    conversation.initiator.send(rng.randbytes(50))
    conversation.close()
    return conversation


@preset("sequence-wrap", "sequence numbers that pass 2^32 in the middle of both streams")
def sequence_wrap(rng: Random, **options: Any) -> Conversation:
    """RFC 9293 3.4."""
    conversation = Conversation(**options)
    conversation.initiator.write(rng.randbytes(30_000), _STAG, 0)
    conversation.responder.read(rng.randbytes(10_000), _STAG, 0, 2, 0)
    conversation.close()
    return conversation.wrapping()


@preset("rfc5044/c.2.5/permissive-meets-rdmac", "revision 1 asks, 0 answers: as in revision 0")
def permissive_meets_rdmac(rng: Random, **options: Any) -> Conversation:
    """The Initiator adapts: version 0, Markers both ways, CRCs, whatever it has asked for."""
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


@preset("siw-terminate", "Linux siw: FPDUs larger than a segment (GSO), a Terminate in its layout")
def siw_terminate(rng: Random, **options: Any) -> Conversation:
    """Bit 0x08 of Res in Request and Reply; the Terminate has its first four octets mirrored."""
    conversation = Conversation(**{"mulpdu": 8000, "packing": "stream", **options})
    conversation.startup(b"siw", b"siw, too")
    _change(conversation, *StartupKind, reserved=_GSO)
    left, right = conversation.sides
    left.write(rng.randbytes(20_000), _STAG, 0x1000)
    left.send(rng.randbytes(50))
    right.terminate(1, 2, 3, mirrored=True)
    conversation.close(1)
    return conversation


@preset("sctp-draft-rtr-write", "DDP over SCTP: peer to peer, as the draft before RFC 6581 has it")
def sctp_draft_rtr_write(rng: Random, **options: Any) -> SctpConversation:
    """B of both sides, then a zero-length Write (draft-ietf-storm-mpa-peer-connect-01 7, 8).

    In a scenario the dialect says that it goes over SCTP, and no other can be said.
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
