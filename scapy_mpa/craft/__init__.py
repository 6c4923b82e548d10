# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted iWARP connections: said with verbs, laid out into segments, frames and capture files.

A :class:`~scapy_mpa.craft.conversation.Conversation` has two sides, whose verbs append items to its
script (:mod:`~scapy_mpa.craft.script`).  A script is laid out (:mod:`~scapy_mpa.craft.layout`) into
the two TCP streams, and these are cut into segments (:mod:`~scapy_mpa.craft.segmentation`), to
which anything may happen (:mod:`~scapy_mpa.craft.impairments`).  :class:`Interleaved` merges
several conversations into one capture.  :func:`conversation_of` has conversations by name
(:mod:`~scapy_mpa.craft.presets`).
"""

from scapy_mpa.craft.captured import Captured
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.ift_conversation import IFTConversation, IFTSide
from scapy_mpa.craft.impairments import (
    CaptureLoss,
    Duplication,
    Impairment,
    LateStart,
    Loss,
    Overlap,
    Reordering,
    Resegmentation,
    SnapLength,
    StartupCut,
    impair,
)
from scapy_mpa.craft.interleaved import Interleaved
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR, RESPONDER, Options
from scapy_mpa.craft.presets import conversation_of
from scapy_mpa.craft.recorded import recorded
from scapy_mpa.craft.script import (
    CloseItem,
    FlushItem,
    FPDUItem,
    FrameItem,
    FrameOverrides,
    HandshakeItem,
    IndicationItem,
    Item,
    Message,
    OctetsItem,
    Overrides,
    PauseItem,
    ResetItem,
    StartupItem,
)
from scapy_mpa.craft.sctp import AssociateItem, ChunkItem, ControlItem, SctpConversation
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.side import Side

__all__ = [
    "INITIATOR",
    "RESPONDER",
    "AssociateItem",
    "CaptureLoss",
    "Captured",
    "ChunkItem",
    "CloseItem",
    "ControlItem",
    "Conversation",
    "Duplication",
    "Endpoint",
    "FPDUItem",
    "FlushItem",
    "FrameItem",
    "FrameOverrides",
    "HandshakeItem",
    "IFTConversation",
    "IFTSide",
    "Impairment",
    "IndicationItem",
    "Interleaved",
    "Item",
    "LateStart",
    "Loss",
    "Message",
    "OctetsItem",
    "Options",
    "Overlap",
    "Overrides",
    "PauseItem",
    "Placed",
    "Reordering",
    "Resegmentation",
    "ResetItem",
    "SctpConversation",
    "Segment",
    "Side",
    "SnapLength",
    "StartupCut",
    "StartupItem",
    "conversation_of",
    "impair",
    "recorded",
]
