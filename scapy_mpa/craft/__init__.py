# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted iWARP connections, as segments, frames and capture files.

A :class:`~scapy_mpa.craft.conversation.Conversation` has two sides, whose verbs append items to its
script (:mod:`~scapy_mpa.craft.script`).  :mod:`~scapy_mpa.craft.layout` places the items in the two
TCP streams, and :mod:`~scapy_mpa.craft.segmentation` cuts these into segments.  :func:`impair`
loses, copies, reorders or cuts segments (:mod:`~scapy_mpa.craft.impairments`).
:class:`Interleaved` merges several conversations into one capture.

:func:`recorded` makes a conversation of a captured connection.  :func:`conversation_of` returns a
preset conversation by its name (:mod:`~scapy_mpa.craft.presets`).
"""

from scapy_mpa.craft import impairments, script, sctp
from scapy_mpa.craft.captured import Captured
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.ift_conversation import IFTConversation, IFTSide
from scapy_mpa.craft.impairments import *
from scapy_mpa.craft.interleaved import Interleaved
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.presets import conversation_of
from scapy_mpa.craft.recorded import recorded
from scapy_mpa.craft.script import *
from scapy_mpa.craft.sctp import *
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.side import Side

__all__ = [
    *impairments.__all__,
    *script.__all__,
    *sctp.__all__,
    "INITIATOR",
    "RESPONDER",
    "Captured",
    "Conversation",
    "Endpoint",
    "IFTConversation",
    "IFTSide",
    "Interleaved",
    "Options",
    "Placed",
    "Segment",
    "Side",
    "conversation_of",
    "recorded",
]
