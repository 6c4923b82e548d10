# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications in streaming mode octets (draft-williams-iwarp-ift-01 section 4).

The magic number alone proves nothing.  Where octets begin, an indication is taken for one if its
CRC is good, or if everything in it that is known beforehand is as it must be: 48 octets.  One whose
magic number is wrong is known by its CRC and its versions.  One of these three will do where the
user says that this dialect is spoken.

When the ULP agrees on RDMA first, octets of its own come before.  There an indication must be one
that a receiver may accept, and is still doubtful, since captures travel over TCP, too
(:mod:`~scapy_mpa.stream.ift.phase`).
"""

from typing import Final, NamedTuple

from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_LENGTH, ulpdu_lengths
from scapy_mpa.wire.ift_indication import (
    INDICATION_LENGTH,
    MAGIC,
    VERSION,
    AdaptionIndication,
    parse_indication,
)

__all__ = [
    "FoundIndication",
    "SeenIndication",
    "find_indication",
    "first_indication",
    "may_be_indication",
]

_MAGIC: Final = MAGIC.to_bytes(4, "big")
_VERSIONS: Final = VERSION.to_bytes(2, "big") * 2
_VERSIONS_AT: Final = len(_MAGIC)
_CRC_ALONE: Final = False, True, False


class FoundIndication(NamedTuple):
    """An adaption indication in a stream."""

    position: int
    octets: bytes
    indication: AdaptionIndication

    @property
    def end(self) -> int:
        """Position behind it."""
        return self.position + INDICATION_LENGTH


class SeenIndication(NamedTuple):
    """An indication, and what was captured of it when."""

    found: FoundIndication
    frames: tuple[int, ...]
    """The captured frames that brought it."""
    frame: int
    """The one that completed it."""
    time_ns: int


def may_be_indication(island: Island) -> bool:
    """Tell whether an island begins like an indication, as far as it goes."""
    start = island.start
    end = min(start + _VERSIONS_AT + len(_VERSIONS), island.end)
    octets = island.read(start, island.captured_until(start, end))
    return _MAGIC.startswith(octets[:_VERSIONS_AT]) or octets[_VERSIONS_AT:] == _VERSIONS


def first_indication(island: Island, *, forced: bool = False) -> FoundIndication | None:
    """Return the indication with which an island begins, None if it is too short, or that is
    doubtful.

    :param forced: the user says that there is one: less will do.
    """
    start, end = island.start, island.start + INDICATION_LENGTH
    if end > island.end or island.captured_until(start, end) < end:
        return None
    octets = island.read(start, end)
    told = parse_indication(octets)
    is_as_known = (
        told.version == told.bc_version == VERSION
        and not told.reserved_flags
        and not any(told.reserved)
    )
    evidence = told.magic == MAGIC, told.crc_is_good(), is_as_known
    # The first, and one of the others; or both of these.
    needed = 1 if forced else 2
    if sum(evidence) < needed or (evidence == _CRC_ALONE and _is_fpdu(octets)):
        return None
    return FoundIndication(start, octets, told)


def _is_fpdu(octets: bytes) -> bool:
    """Tell whether so many octets may be one FPDU, whose CRC is that of an indication, too.

    A Marker may be in it, directly before ULPDU_Length as well (RFC 5044 4.3).
    """
    unmarked, marked = (ulpdu_lengths(len(octets) - more) for more in (0, MARKER_LENGTH))
    first, second = (
        int.from_bytes(octets[at : at + HEADER_LENGTH], "big") for at in (0, MARKER_LENGTH)
    )
    return first in unmarked or first in marked or second in marked


def find_indication(island: Island, start: int) -> FoundIndication | int | None:
    """Return the next indication from a place on that a receiver may accept.

    Return where one has begun that is not whole; None if there is none.
    """
    begin = max(start, island.held)
    octets = island.read(begin, island.end) if begin < island.end else b""
    at = octets.find(_MAGIC)
    while at >= 0:
        position = begin + at
        if position + INDICATION_LENGTH > island.end:
            return position
        whole = octets[at : at + INDICATION_LENGTH]
        told = parse_indication(whole)
        if not told.problems():
            return FoundIndication(position, whole, told)
        at = octets.find(_MAGIC, at + 1)
    return None
