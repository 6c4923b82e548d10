# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: what RFC 6581 and draft-ietf-storm-mpa-peer-connect-01 can agree on beyond the usual."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final, Literal

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.negotiation import LEFT_TO_ULP
from scapy_mpa.wire.startup import StartupKind

__all__ = [
    "depths_left_to_ulp",
    "draft_reply_unenhanced",
    "draft_rtr_read",
    "draft_rtr_send",
    "draft_rtr_write",
    "draft_ulp_send",
]

_DRAFT: Final = Dialect.DRAFT_PEER_CONNECT_01


def _of_draft(options: dict[str, Any]) -> Conversation:
    return Conversation(**{"dialect": _DRAFT, **options})


def _end(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Responder speak, and then the Initiator; close."""
    conversation.responder.send(rng.randbytes(30))
    conversation.initiator.write(rng.randbytes(3000), 0x10010001, 0x1000)
    conversation.initiator.send(rng.randbytes(50))
    conversation.close()
    return conversation


def _rtr(
    kind: Literal["send", "write", "read"], rng: Random, options: dict[str, Any]
) -> Conversation:
    conversation = _of_draft(options)
    conversation.startup(ird=4, ord=4, control_flags="ABC", rtr=kind)
    return _end(conversation, rng)


@preset("draft-rtr-send", "the draft before RFC 6581, with a zero-length Send as RTR indication")
def draft_rtr_send(rng: Random, **options: Any) -> Conversation:
    """Control flags A, B and C: Send, Write and Read will do (the draft, 8)."""
    return _rtr("send", rng, options)


@preset("draft-rtr-write", "the same with a zero-length RDMA Write")
def draft_rtr_write(rng: Random, **options: Any) -> Conversation:
    """Its flag is B, which RFC 6581 has for a Send."""
    return _rtr("write", rng, options)


@preset("draft-rtr-read", "the same with a zero-length RDMA Read")
def draft_rtr_read(rng: Random, **options: Any) -> Conversation:
    """Its flag is C, which RFC 6581 has for a Write."""
    return _rtr("read", rng, options)


@preset("draft-ulp-send", "the draft, with a Reply that asks for a Send of the ULP's")
def draft_ulp_send(rng: Random, **options: Any) -> Conversation:
    """No flag in the Reply (the draft, 8)."""
    conversation = _of_draft(options)
    conversation.startup(ird=4, ord=4, control_flags="ABC", reply_control_flags="")
    conversation.initiator.send(rng.randbytes(20))
    return _end(conversation, rng)


@preset("draft-reply-unenhanced", "the draft, with a Reply of revision 2 without enhanced data")
def draft_reply_unenhanced(rng: Random, **options: Any) -> Conversation:
    """As if it had A, B and C set (the draft, 8)."""
    conversation = _of_draft(options)
    conversation.startup(ird=4, ord=4, control_flags="ABC", rtr="write")
    script = [
        replace(item, control_flags=None, ird=None, ord=None)
        if isinstance(item, StartupItem) and item.kind is StartupKind.REPLY
        else item
        for item in conversation.script
    ]
    return _end(conversation.with_script(script), rng)


@preset("depths-left-to-ulp", "IRD and ORD 0x3FFF: they are left to the ULP (RFC 6581 9.1)")
def depths_left_to_ulp(rng: Random, **options: Any) -> Conversation:
    """In the Reply as in the Request."""
    conversation = Conversation(**{"revision": 2, **options})
    conversation.startup(ird=LEFT_TO_ULP, ord=LEFT_TO_ULP)
    conversation.initiator.send(rng.randbytes(20))
    return _end(conversation, rng)
