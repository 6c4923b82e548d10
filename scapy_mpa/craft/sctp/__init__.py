# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafting DDP over SCTP (RFC 5043).

:class:`SctpConversation` has the verbs of
:class:`~scapy_mpa.craft.conversation.Conversation`; they make DATA chunks.
"""

from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.craft.sctp.packets import SctpSegment
from scapy_mpa.craft.sctp.script import AssociateItem, ChunkItem, ControlItem

__all__ = ["AssociateItem", "ChunkItem", "ControlItem", "SctpConversation", "SctpSegment"]
