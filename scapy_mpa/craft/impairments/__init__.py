# SPDX-License-Identifier: GPL-2.0-or-later
"""Impairments of segments: by the sender, by the network, and by the capture.

An impairment takes a list of :class:`~scapy_mpa.craft.segment.Segment` in the order of capture, and
returns another list.  Chain them in the natural order: resegmentation by the sender, the network,
the capture.  The times in the returned list never go backwards.

>>> from scapy_mpa.craft import Conversation
>>> conversation = Conversation(packing="stream")
>>> message = conversation.initiator.write(bytes(100_000))
>>> segments = impair(conversation.segments(), Loss(0.02), Reordering(0.1), seed=1)
>>> truth = conversation.truth(segments)
"""

from scapy_mpa.craft.impairments.base import Impairment, impair
from scapy_mpa.craft.impairments.capture import CaptureLoss, LateStart, SnapLength, StartupCut
from scapy_mpa.craft.impairments.network import Duplication, Loss, Reordering
from scapy_mpa.craft.impairments.overlap import Overlap
from scapy_mpa.craft.impairments.resegmentation import Resegmentation

__all__ = [
    "CaptureLoss",
    "Duplication",
    "Impairment",
    "LateStart",
    "Loss",
    "Overlap",
    "Reordering",
    "Resegmentation",
    "SnapLength",
    "StartupCut",
    "impair",
]
