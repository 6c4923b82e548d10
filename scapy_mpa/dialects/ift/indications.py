# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications of a direction in streaming mode (draft-williams-iwarp-ift-01 section 4)."""

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
    """Finds connections that speak iWARP Framing for TCP."""

    def look(self, half: HalfConnection, island: Island, position: int) -> None:
        """Take what may be adaption indications.

        :param position: from where on they are looked for.
        """
        begin = max(position, island.held)
        end = begin + INDICATION_LENGTH
        is_first = (
            begin == island.start
            and half.may_begin_at(island, begin)
            and island.captured_until(begin, end) == end
        )
        found = find_indication(island, begin, is_first=is_first)
        while isinstance(found, FoundIndication):
            is_first = is_first and found.position == begin
            frames = island.frames(found.position, found.end)
            _phase_of(half).take(half, found, frames, is_first=is_first)
            if half.phase is not Phase.STREAMING:
                return
            found = find_indication(island, found.end)
        if found is not None:
            # A startup frame may still come, too, and until it is whole there are few octets.
            island.scan = found

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Return that octets begin like an adaption indication, if they do."""
        return _INDICATION if begins_indication(island, position) else None


def _phase_of(half: HalfConnection) -> IFTPhase:
    """Return what is known of the indications of a connection."""
    owner = half.owner
    if not isinstance(owner.other, IFTPhase):
        owner.other = IFTPhase(owner.halves)
    return owner.other
