# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds adaption indications in streaming mode octets (draft-williams-iwarp-ift-01 section 4).

An indication has the magic number and a good CRC.  After other octets, such as those with which the
ULP agrees on RDMA, it is doubtful all the same, since it may be part of a capture sent over TCP
(:mod:`~scapy_mpa.dialects.ift.phase`).
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


def find_indication(island: Island, start: int) -> FoundIndication | int | None:
    """Return the first indication at or after a position.

    If it is incomplete, return its position.  If there is none, return None.
    """
    octets = island.read(start, island.end) if start < island.end else b""
    at = octets.find(_MAGIC)
    while at >= 0:
        whole = octets[at : at + INDICATION_LENGTH]
        if len(whole) < INDICATION_LENGTH:
            return start + at
        indication = parse_indication(whole)
        if indication.crc_is_good():
            return FoundIndication(start + at, whole, indication)
        at = octets.find(_MAGIC, at + 1)
    return None


def begins_indication(island: Island, start: int) -> bool:
    """True if octets begin with the magic number and the versions of an indication."""
    end = start + _VERSIONS_AT + len(_VERSIONS)
    return island.holds(start, end) and island.read(start, end) == _MAGIC + _VERSIONS
