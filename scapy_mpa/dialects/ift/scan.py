# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds adaption indications in streaming mode octets (draft-williams-iwarp-ift-01 section 4).

At the beginning of a direction, two of three signs are enough: the magic number; a good CRC;
correct versions, reserved flags and reserved octets.  Elsewhere, such as after octets with which
the ULP agrees on RDMA, a receiver must be able to accept the indication.  Even then it is doubtful,
since it may be part of a capture sent over TCP (:mod:`~scapy_mpa.dialects.ift.phase`).
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


def find_indication(
    island: Island, start: int, *, is_first: bool = False
) -> FoundIndication | int | None:
    """Return the first indication at or after a position.

    If it is incomplete, return its position.  If there is none, return None.

    :param is_first: the direction begins at ``start``, where an indication may have faults.
    """
    octets = island.read(start, island.end) if start < island.end else b""
    at = 0 if is_first and _may_begin(octets) else octets.find(_MAGIC)
    while at >= 0:
        whole = octets[at : at + INDICATION_LENGTH]
        if len(whole) < INDICATION_LENGTH:
            return start + at
        indication = parse_indication(whole)
        if not indication.problems() or (is_first and at == 0 and _is_meant(indication)):
            return FoundIndication(start + at, whole, indication)
        at = octets.find(_MAGIC, at + 1)
    return None


def begins_indication(island: Island, start: int) -> bool:
    """True if octets begin with the magic number and the versions of an indication."""
    end = start + _VERSIONS_AT + len(_VERSIONS)
    return island.holds(start, end) and island.read(start, end) == _MAGIC + _VERSIONS


def may_become_indication(island: Island, start: int) -> bool:
    """True if an indication without its last octets may begin at a position."""
    end = island.captured_until(start, min(start + INDICATION_LENGTH, island.end))
    if end == start + INDICATION_LENGTH:
        return False
    return not island.holds(start, end) or _may_begin(island.read(start, end))


def _may_begin(octets: bytes) -> bool:
    """True if octets, even a few, begin like an indication."""
    end = _VERSIONS_AT + len(_VERSIONS)
    return _MAGIC.startswith(octets[:_VERSIONS_AT]) or octets[_VERSIONS_AT:end] == _VERSIONS


def _is_meant(indication: AdaptionIndication) -> bool:
    """True if octets that begin like an indication are meant as one, even with faults."""
    has_known_values = (
        indication.version == indication.bc_version == VERSION
        and not indication.reserved_flags
        and not any(indication.reserved)
    )
    return (indication.magic == MAGIC) + indication.crc_is_good() + has_known_values > 1
