# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of any kind, and those among them that bring a DDP segment."""

from __future__ import annotations

from typing import Final, TypeAlias

from scapy_mpa.stream.events.connection import ConnectionEnded
from scapy_mpa.stream.events.faults import ErrorFound, GapFound, OverlapDiffers
from scapy_mpa.stream.events.ift import AdaptionIndicationSeen, IFTFrameRecovered
from scapy_mpa.stream.events.mpa import FPDURecovered, StartupSeen, StreamingSeen
from scapy_mpa.stream.events.sctp import DDPSegmentRecovered, SessionControlSeen

__all__ = ["CARRIERS", "Carrier", "Event"]

Carrier: TypeAlias = FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered
"""Every event that brings a DDP segment, for messages and for checks.

One that does not carry RDMAP is none of theirs.  One that is not acceptable holds its place in the
stream, but what is in it does not count."""

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
