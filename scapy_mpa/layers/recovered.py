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
    RDMAPTerminate,
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
from scapy_mpa.wire.terminate import parse_terminate


def layer_of(event: object) -> Any:
    """Return the layer of an event, None if the event has no octets of a layer."""
    if isinstance(event, FPDURecovered):
        return _as_sent(FPDU(event.octets, phase=event.phase, dialect=event.dialect), event)
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


def _as_sent(fpdu: FPDU, event: FPDURecovered) -> FPDU:
    """Return an FPDU with its Terminate read as its sender meant it, as in the record of the FPDU.

    If the octets fit two layouts, it counts whether the Responder sent them.
    """
    terminate = fpdu.getlayer(RDMAPTerminate)
    if terminate is not None and event.connection.initiator == 1 - event.direction:
        octets = bytes(terminate)
        found = parse_terminate(octets, by_responder=True)
        if found.mirrored != terminate.mirrored:
            below = terminate.underlayer
            below.remove_payload()
            below.add_payload(RDMAPTerminate(octets, mirrored=found.mirrored))
            below.payload.evidence = found.evidence
    return fpdu
