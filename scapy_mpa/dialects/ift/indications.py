# SPDX-License-Identifier: GPL-2.0-or-later
"""Looks for adaption indications where directions begin (draft-williams-iwarp-ift-01 4)."""

from __future__ import annotations

from scapy_mpa.dialects.ift.phase import IFTPhase
from scapy_mpa.dialects.ift.scan import begins_indication, indication_at
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.other import Beginning
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.ift_indication import DOCUMENT, INDICATION_LENGTH

_INDICATION = Beginning("an adaption indication", INDICATION_LENGTH, f"{DOCUMENT} 4.2")


class Indications:
    """Finds connections that use iWARP Framing for TCP."""

    def look(self, half: HalfConnection, island: Island, position: int) -> None:
        """Look for an adaption indication where a direction begins, and take it.

        :param position: octets before it were looked at.
        """
        start = island.start
        if position > start or not half.may_begin_at(island, start):
            return
        found = indication_at(island, start)
        if found is True:
            # Keep its octets: a startup frame may still come, too.
            island.scan = start
        elif found and all(one.phase is Phase.STREAMING for one in half.owner.halves):
            _phase_of(half).take(half, found, island.frames(start, found.end))

    def begins(self, island: Island, position: int) -> Beginning | None:
        """Describe an adaption indication if octets begin like one, else return None."""
        return _INDICATION if begins_indication(island, position) else None


def _phase_of(half: HalfConnection) -> IFTPhase:
    """Return the indications of a connection; create the object on first use."""
    owner = half.owner
    if not isinstance(owner.other, IFTPhase):
        owner.other = IFTPhase(owner.halves)
    return owner.other
