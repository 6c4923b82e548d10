# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications of a direction in streaming mode (draft-williams-iwarp-ift-01 section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.ift_scan import (
    FoundIndication,
    find_indication,
    first_indication,
    may_be_indication,
)
from scapy_mpa.stream.octets.scan import holds_key
from scapy_mpa.wire.ift_indication import INDICATION_LENGTH

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection
    from scapy_mpa.stream.octets.island import Island

__all__ = ["doubt_indications", "take_indication"]


def take_indication(half: HalfConnection, island: Island, *, final: bool) -> bool:
    """Tell whether an adaption indication stands where octets begin, or may yet.

    One that does is passed on.

    :param final: nothing will be added to the end of the island.
    """
    start = island.start
    if island.held != start or not half.may_begin_at(island, start):
        return False
    end = start + INDICATION_LENGTH
    forced = half.owner.assumes_ift
    # What does not begin like one is not waited for: it may be a startup frame.
    if not (may_be_indication(island) or (forced and island.end >= end)):
        return False
    if island.end < end:
        # Each octet may bring the Key, and there are few.
        return not final and not holds_key(island)
    found = first_indication(island, forced=forced)
    if found is None:
        return False
    island.scan = end
    half.owner.ift_phase().take(half, found, island.frames(start, end))
    return True


def doubt_indications(half: HalfConnection, island: Island, position: int) -> None:
    """Pass on what may be adaption indications, behind octets in streaming mode.

    :param position: from where on they are looked for.
    """
    found = find_indication(island, position)
    while isinstance(found, FoundIndication):
        frames = island.frames(found.position, found.end)
        half.owner.ift_phase().doubt(half, found, frames)
        if half.phase is not Phase.STREAMING:
            return
        found = find_indication(island, found.position + 1)
    if found is not None:
        # A startup frame may still come, too, and until it is whole there are few octets.
        island.scan = found
