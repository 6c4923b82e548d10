# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: how connections end (RFC 5044 7.2)."""

from __future__ import annotations

from random import Random
from typing import Any

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset

__all__ = ["close", "close_by_responder", "half_close", "open_end", "reset"]


def _talk(rng: Random, options: dict[str, Any]) -> Conversation:
    """Let both sides send, and leave the connection open."""
    conversation = Conversation(**options)
    conversation.initiator.send(rng.randbytes(200))
    conversation.responder.send(rng.randbytes(200))
    return conversation


@preset("close", "the Initiator closes, and the Responder does, too")
def close(rng: Random, **options: Any) -> Conversation:
    """FIN from both sides."""
    conversation = _talk(rng, options)
    conversation.close(conversation.initiator.index)
    return conversation


@preset("close-by-responder", "the Responder closes first, after a pause")
def close_by_responder(rng: Random, **options: Any) -> Conversation:
    """FIN from both sides, the other way round."""
    conversation = _talk(rng, options)
    conversation.pause(1.0)
    conversation.close(conversation.responder.index)
    return conversation


@preset("half-close", "the Initiator closes, and the Responder never does")
def half_close(rng: Random, **options: Any) -> Conversation:
    """The Responder merely acknowledges."""
    conversation = _talk(rng, options)
    conversation.close(conversation.initiator.index, both=False)
    return conversation


@preset("reset", "the Responder resets the connection")
def reset(rng: Random, **options: Any) -> Conversation:
    """A RST in place of a FIN."""
    conversation = _talk(rng, options)
    conversation.reset(conversation.responder.index)
    return conversation


@preset("open-end", "the capture ends before the connection does")
def open_end(rng: Random, **options: Any) -> Conversation:
    """Nothing ends it."""
    return _talk(rng, options)
