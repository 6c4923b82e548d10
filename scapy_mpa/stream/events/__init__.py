# SPDX-License-Identifier: GPL-2.0-or-later
"""The events that the stream core reports.

``direction`` is 0 for the direction of the connection's first captured segment, else 1.
``frame`` and ``time_ns`` are those of the captured frame that completed the event.

Events are named tuples: some are made a million times, and dataclasses would add a quarter to the
start time of a command.
"""

from typing import Final, TypeAlias

from scapy_mpa.stream.events.carrier import CrcVerdict, LocatedBy, Place
from scapy_mpa.stream.events.connection import (
    Cause,
    Closer,
    ConnectionEnded,
    ConnectionId,
    End,
    Ending,
    HalfSummary,
    Negotiated,
    Timing,
    end_of,
    names_of,
)
from scapy_mpa.stream.events.faults import ErrorFound, GapFound, GapReason, OverlapDiffers
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
    "Cause",
    "ChunksMissing",
    "Closer",
    "ConnectionEnded",
    "ConnectionId",
    "CrcVerdict",
    "DDPSegmentRecovered",
    "End",
    "Ending",
    "ErrorFound",
    "Event",
    "FPDURecovered",
    "GapFound",
    "GapReason",
    "HalfSummary",
    "IFTFrameRecovered",
    "LocatedBy",
    "MessageRecovered",
    "Negotiated",
    "OverlapDiffers",
    "Part",
    "Place",
    "SctpConnectionId",
    "SessionControlSeen",
    "StartupSeen",
    "StreamingSeen",
    "Timing",
    "end_of",
    "names_of",
]

Carrier: TypeAlias = FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered
"""Every event that brings a DDP segment, for messages and for checks.

Both ignore a carrier without RDMAP.  A carrier that is not acceptable holds its place in the
stream, but its content does not count."""

CARRIERS: Final = (FPDURecovered, IFTFrameRecovered, DDPSegmentRecovered)
"""The same for ``isinstance``, which is faster with a tuple."""

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
