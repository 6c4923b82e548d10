# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of any kind, those among them that most captures have none of."""

from __future__ import annotations

from typing import Final, TypeAlias

from scapy_mpa.stream.events.connection import ConnectionEnded
from scapy_mpa.stream.events.faults import ErrorFound, GapFound, OverlapDiffers
from scapy_mpa.stream.events.ift import AdaptionIndicationSeen, IFTFrameRecovered
from scapy_mpa.stream.events.message import MessageRecovered, Part
from scapy_mpa.stream.events.mpa import FPDURecovered, StartupSeen, StreamingSeen
from scapy_mpa.stream.events.sctp import (
    ChunksMissing,
    DDPSegmentRecovered,
    SctpConnectionId,
    SessionControlSeen,
)

__all__ = [
    "CARRIERS",
    "AdaptionIndicationSeen",
    "Carrier",
    "ChunksMissing",
    "DDPSegmentRecovered",
    "Event",
    "IFTFrameRecovered",
    "MessageRecovered",
    "Part",
    "SctpConnectionId",
    "SessionControlSeen",
]

Carrier: TypeAlias = FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered
"""Every event that is a :class:`DDPCarrier`."""

CARRIERS: Final = (FPDURecovered, IFTFrameRecovered, DDPSegmentRecovered)
"""The same, for ``isinstance``, which is quicker with a tuple."""

Event: TypeAlias = (
    StartupSeen
    | StreamingSeen
    | FPDURecovered
    | GapFound
    | OverlapDiffers
    | ErrorFound
    | ConnectionEnded
    | AdaptionIndicationSeen
    | IFTFrameRecovered
    | SessionControlSeen
    | DDPSegmentRecovered
)
