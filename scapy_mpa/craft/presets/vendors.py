# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: stacks in the field that differ from the documents (docs/dialects.md)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset

__all__ = ["erdma"]

_STAG: Final = 0x10010001


def _talk(conversation: Conversation, rng: Random) -> Conversation:
    """Let both sides say a little, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3001), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.send(rng.randbytes(5), solicited=True)
    left.write(rng.randbytes(1500), _STAG, 0x2000)
    left.send(rng.randbytes(31))
    conversation.close()
    return conversation


@preset("erdma", "Alibaba's erdma: revision 129, with an extension in the startup frames")
def erdma(rng: Random, **options: Any) -> Conversation:
    """Neither Markers nor CRCs."""
    conversation = Conversation(**{"dialect": "erdma", **options})
    conversation.startup(
        b"from erdma", b"to erdma", extension=rng.randbytes(8), reply_extension=rng.randbytes(8)
    )
    return _talk(conversation, rng)
