# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: DDP over SCTP (RFC 5043, RFC 6581 7)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.wire.rdmap_names import AtomicOperation

__all__ = [
    "sctp",
    "sctp_bundled",
    "sctp_draft_rtr_write",
    "sctp_enhanced",
    "sctp_fragments",
    "sctp_reject",
    "sctp_rtr_write",
]

_STAG: Final = 0x10010001


def _talk(conversation: SctpConversation, rng: Random) -> SctpConversation:
    """Let both sides say a little of everything, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.atomic(AtomicOperation.FETCH_ADD, _STAG, 8, add_or_swap_data=1, original=41)
    left.immediate(rng.randbytes(8))
    right.send(rng.randbytes(5000), solicited=True)
    conversation.close()
    return conversation


@preset("sctp", "DDP over SCTP (RFC 5043): a session that both sides end")
def sctp(rng: Random, **options: Any) -> SctpConversation:
    """Initiate, Accept, DDP Segments, Terminate both ways; the passive side speaks first."""
    conversation = SctpConversation(**options)
    conversation.startup(b"hello", b"welcome")
    conversation.responder.send(rng.randbytes(10))
    return _talk(conversation, rng)


@preset("sctp-enhanced", "DDP over SCTP with IRD and ORD, as RFC 6581 has it")
def sctp_enhanced(rng: Random, **options: Any) -> SctpConversation:
    """Enhanced Initiate and Enhanced Accept."""
    conversation = SctpConversation(**{"revision": 2, **options})
    conversation.startup(b"hello", b"welcome", ird=32, ord=16, reply_ird=16, reply_ord=8)
    return _talk(conversation, rng)


@preset("sctp-rtr-write", "DDP over SCTP: peer to peer, an RDMA Write as RTR indication")
def sctp_rtr_write(rng: Random, **options: Any) -> SctpConversation:
    """A and C of both sides, then a zero-length Write (RFC 6581 7, 9.2)."""
    return _peers(SctpConversation(**{"dialect": "rfc6581", **options}), rng)


@preset("sctp-draft-rtr-write", "DDP over SCTP: the same as the draft before RFC 6581 has it")
def sctp_draft_rtr_write(rng: Random, **options: Any) -> SctpConversation:
    """B of both sides, then a zero-length Write (draft-ietf-storm-mpa-peer-connect-01 7, 8)."""
    draft = "draft-ietf-storm-mpa-peer-connect-01"
    return _peers(SctpConversation(**{"dialect": draft, **options}), rng)


def _peers(conversation: SctpConversation, rng: Random) -> SctpConversation:
    conversation.startup(b"hello", b"welcome", ird=4, ord=4, rtr="write")
    return _talk(conversation, rng)


@preset("sctp-reject", "DDP over SCTP: an enhanced session that is rejected")
def sctp_reject(rng: Random, **options: Any) -> SctpConversation:
    """Enhanced Initiate and Enhanced Reject (RFC 6581 7)."""
    conversation = SctpConversation(**{"revision": 2, **options})
    conversation.startup(rng.randbytes(64), b"no", rejected=True)
    conversation.close(1)
    return conversation


@preset("sctp-bundled", "DDP over SCTP: several DATA chunks in a packet")
def sctp_bundled(rng: Random, **options: Any) -> SctpConversation:
    """As many as fit (RFC 5043 11.2)."""
    conversation = SctpConversation(**{"packing": "packed", **options})
    for _ in range(12):
        conversation.initiator.send(rng.randbytes(100))
    return _talk(conversation, rng)


@preset("sctp-fragments", "DDP over SCTP: DDP Segments that need several DATA chunks")
def sctp_fragments(rng: Random, **options: Any) -> SctpConversation:
    """What a sender should avoid (RFC 5043 9)."""
    return _talk(SctpConversation(**{"mulpdu": 4000, **options}), rng)
