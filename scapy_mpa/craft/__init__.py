# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted iWARP connections: said with verbs, laid out into segments, frames and capture files.

A :class:`~scapy_mpa.craft.conversation.Conversation` has two sides, whose verbs append items to its
script (:mod:`~scapy_mpa.craft.script`).  A script is laid out (:mod:`~scapy_mpa.craft.layout`) into
the two TCP streams, and these are cut into segments (:mod:`~scapy_mpa.craft.segmentation`), to
which anything may happen (:mod:`~scapy_mpa.craft.impairments`).  :class:`Interleaved` merges
several conversations into one capture.  :func:`conversation_of` has conversations by name
(:mod:`~scapy_mpa.craft.presets`).
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
