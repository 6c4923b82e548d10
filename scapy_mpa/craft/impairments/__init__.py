# SPDX-License-Identifier: GPL-2.0-or-later
"""What may happen to segments before and at the point where they are captured.

An impairment takes a list of :class:`~scapy_mpa.craft.segment.Segment` in the order in which they
are captured and returns another one.  They can be chained, best in the order of the world: how the
sender cuts its stream up, what the network does, what the capture does.  The times of what they
return never go backwards.

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
