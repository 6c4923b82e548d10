# SPDX-License-Identifier: GPL-2.0-or-later
"""Recognises adaption indications (draft-williams-iwarp-ift-01 section 4).

An indication has the magic number and a good CRC.
"""

from typing import Final, NamedTuple

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.ift_indication import (
    INDICATION_LENGTH,
    MAGIC,
    VERSION,
    AdaptionIndication,
    parse_indication,
)

_MAGIC: Final = MAGIC.to_bytes(4, "big")
_VERSIONS: Final = VERSION.to_bytes(2, "big") * 2
_VERSIONS_AT: Final = len(_MAGIC)


class FoundIndication(NamedTuple):
    """An adaption indication in a stream."""

    position: int
    octets: bytes
    indication: AdaptionIndication

    @property
    def end(self) -> int:
        """Position after the indication."""
        return self.position + INDICATION_LENGTH


def indication_at(island: Island, start: int) -> FoundIndication | bool:
    """Return the indication at a position.

    True if octets are missing that may make it one, False if there is none.
    """
    octets = island.read(start, min(island.end, start + INDICATION_LENGTH))
    if not octets.startswith(_MAGIC[: len(octets)]):
        return False
    if len(octets) < INDICATION_LENGTH:
        return True
    indication = parse_indication(octets)
    return indication.crc_is_good() and FoundIndication(start, octets, indication)


def begins_indication(island: Island, start: int) -> bool:
    """True if octets begin with the magic number and the versions of an indication."""
    end = start + _VERSIONS_AT + len(_VERSIONS)
    return island.holds(start, end) and island.read(start, end) == _MAGIC + _VERSIONS
