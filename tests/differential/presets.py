# SPDX-License-Identifier: GPL-2.0-or-later
"""Which presets Wireshark reads as they are."""

from __future__ import annotations

from scapy_mpa.craft import Conversation, conversation_of
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.dialect import Dialect

__all__ = ["READABLE"]


def _is_readable(name: str) -> bool:
    """Whether it is MPA, without Markers and without what Wireshark has never heard of."""
    conversation = conversation_of(name)
    if type(conversation) is not Conversation:
        return False
    options = conversation.options
    if options.dialect in (Dialect.ERDMA, Dialect.OSC, Dialect.SOFTUIWARP):
        return False
    return not any(options.markers) and not options.has_rtr_frame


READABLE = [name for name in PRESETS if _is_readable(name)]
"""Names of the presets of which Wireshark finds everything."""
