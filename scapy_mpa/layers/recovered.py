# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes layers of the events of the stream core."""

from __future__ import annotations

from typing import Any

from scapy_mpa.layers import (
    FPDU,
    MPA,
    DDPSegmentChunk,
    DDPStreamSessionControl,
    IFTAdaptionIndication,
    IFTFrame,
)
from scapy_mpa.stream.events import (
    AdaptionIndicationSeen,
    DDPSegmentRecovered,
    FPDURecovered,
    IFTFrameRecovered,
    SessionControlSeen,
    StartupSeen,
)
from scapy_mpa.wire.dialect import Dialect


def layer_of(event: object) -> Any:
    """Return the layer of an event, None if the event has no octets of a layer."""
    if isinstance(event, FPDURecovered):
        return FPDU(event.octets, phase=event.phase, dialect=event.dialect)
    if isinstance(event, IFTFrameRecovered):
        return IFTFrame(event.octets, crcs=event.crcs)
    if isinstance(event, AdaptionIndicationSeen):
        return IFTAdaptionIndication(event.octets)
    if isinstance(event, DDPSegmentRecovered):
        return DDPSegmentChunk(event.octets)
    if isinstance(event, StartupSeen | SessionControlSeen):
        layer = MPA if isinstance(event, StartupSeen) else DDPStreamSessionControl
        # The only dialect that the octets do not show.
        draft = Dialect.DRAFT_PEER_CONNECT_01
        given = {"dialect": draft.value} if event.dialect is draft else {}
        return layer(event.octets, **given)
    return None
