# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets that Wireshark reads without cleaning."""

from __future__ import annotations

from scapy_mpa.craft import Conversation, conversation_of
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.dialect import Dialect

__all__ = ["READABLE"]


def _is_readable(name: str) -> bool:
    """Whether a preset is MPA without Markers, and without what Wireshark does not know."""
    conversation = conversation_of(name)
    if type(conversation) is not Conversation:
        return False
    options = conversation.options
    if options.dialect in (Dialect.ERDMA, Dialect.OSC, Dialect.SOFTUIWARP):
        return False
    return not any(options.markers) and not options.has_rtr_frame


READABLE = [name for name in PRESETS if _is_readable(name)]
"""Names of the presets in which Wireshark finds everything."""
