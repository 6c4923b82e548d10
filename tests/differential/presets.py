# SPDX-License-Identifier: GPL-2.0-or-later
"""Which presets Wireshark reads as they are."""

from __future__ import annotations

from scapy_mpa.craft import Conversation, conversation_of
from scapy_mpa.craft.presets import PRESETS

__all__ = ["READABLE"]


def _is_readable(name: str) -> bool:
    """Whether it is MPA, without Markers and without what Wireshark has never heard of."""
    conversation = conversation_of(name)
    if type(conversation) is not Conversation:
        return False
    return not any(conversation.options.markers) and not conversation.options.has_rtr_frame


READABLE = [name for name in PRESETS if _is_readable(name)]
"""Names of the presets of which Wireshark finds everything."""
