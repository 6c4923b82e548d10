# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks for adaption indications in streaming mode (draft-williams-iwarp-ift-01 section 4)."""

from __future__ import annotations

from scapy_mpa.dialects.ift.phase import IFTPhase
from scapy_mpa.dialects.ift.scan import FoundIndication, begins_indication, find_indication
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.other import Beginning
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.ift_indication import DOCUMENT, INDICATION_LENGTH

_INDICATION = Beginning("an adaption indication", INDICATION_LENGTH, f"{DOCUMENT} 4.2")


class Indications:
    """Finds connections that use iWARP Framing for TCP."""

    def look(self, half: HalfConnection, island: Island, position: int) -> None:
        """Look for adaption indications, and take those found.

        :param position: where the search begins.
        """
        begin = max(position, island.held)
        may_begin = begin == island.start and half.may_begin_at(island, begin)
        found = find_indication(island, begin)
        while isinstance(found, FoundIndication):
            is_first = may_begin and found.position == begin
            frames = island.frames(found.position, found.end)
            _phase_of(half).take(half, found, frames, is_first=is_first)
            if half.phase is not Phase.STREAMING:
                return
            found = find_indication(island, found.end)
        if found is not None:
            # Keep the octets of the incomplete indication, and scan these few again: a startup
            # frame may still come, too.
            island.scan = found

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Describe an adaption indication if octets begin like one, else return None."""
        return _INDICATION if begins_indication(island, position) else None


def _phase_of(half: HalfConnection) -> IFTPhase:
    """Return the indications of a connection; create the object on first use."""
    owner = half.owner
    if not isinstance(owner.other, IFTPhase):
        owner.other = IFTPhase(owner.halves)
    return owner.other
