# SPDX-License-Identifier: GPL-2.0-or-later
"""What tells FPDUs of the Ohio Supercomputer Center's software iWARP from those of RFC 5044.

The octets of one direction are read both ways from the beginning of its Full Operation Phase, up to
the first FPDU that cannot be both:

* With CRCs it is osc's if its CRC is good with Markers where osc has them, and these point as
  osc's do, but not as RFC 5044 has it.  That may be one without any, where RFC 5044 has one.
* Without CRCs it is osc's if its header makes sense and a Marker points back to it with the least
  significant octet first.  Where no Marker tells, it is if RFC 5044's lengths lead to no header
  that makes sense, but osc's, which leave no room for a CRC field, to three in a row, or to two at
  which the stream ends; one is enough where the sender has closed right behind it, or the user says
  that osc is spoken.

What conforms to RFC 5044 is none of osc's, whatever else it may look like.  With CRCs that takes
all 32 bits of its Markers if those of osc's have theirs: a payload may hold the 14 that count
(RFC 5044 4.3).
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from scapy_mpa.stream.fpdus.candidate import HEAD
from scapy_mpa.wire import osc
from scapy_mpa.wire.crc import CRC_LENGTH, RESIDUE, crc32c
from scapy_mpa.wire.fpdu import (
    FPDUPTR_MASK,
    HEADER_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    MARKER_RESERVED,
    Layout,
    fpdu_layout,
    strip_markers,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["is_osc"]

_ROW: Final = 4
_SHORTEST_ROW: Final = 3
"""FPDUs in a row that nobody takes for chance; the first one is the same either way."""


class _Read(NamedTuple):
    """An FPDU as it is read one of the two ways."""

    layout: Layout
    octets: bytes
    """As far as they are there."""

    @property
    def is_whole(self) -> bool:
        return len(self.octets) == self.layout.length

    @property
    def crc_is_good(self) -> bool:
        return self.is_whole and crc32c(self.octets) == RESIDUE

    @property
    def agrees(self) -> bool:
        """Whether its Markers point to its ULPDU_Length."""
        said = self.layout.unpack.unpack_from(self.octets)
        pairs = zip(said, self.layout.fpduptrs, strict=True)
        return all(not (one ^ other) & FPDUPTR_MASK for one, other in pairs)

    @property
    def is_conforming(self) -> bool:
        """Whether there are some that do, and all of their 32 bits are as they should be."""
        places = self.layout.markers
        halves = (self.octets[at : at + len(MARKER_RESERVED)] for at in places)
        return bool(places) and self.agrees and all(half == MARKER_RESERVED for half in halves)

    @property
    def is_pointed_at(self) -> bool:
        """Whether one of its Markers points back, and not to what directly follows it."""
        return any(fpduptr & FPDUPTR_MASK for fpduptr in self.layout.fpduptrs) and self.agrees

    @property
    def makes_sense(self) -> bool | None:
        """Whether its header does; None if it is not there."""
        layout = self.layout
        head = self.octets[: layout.header + HEAD]
        if len(head) < min(layout.header + HEAD, layout.length):
            return None
        body = strip_markers(head, [at for at in layout.markers if at < len(head)])
        length = int.from_bytes(body[:HEADER_LENGTH], "big")
        return plausible(body[HEADER_LENGTH:], length)


def _read(octets: bytes, at: int, phase: int | None, *, is_osc: bool, crc: bool) -> _Read | None:
    """Read the FPDU at a place; None if its ULPDU_Length is not there."""
    header = at + MARKER_LENGTH if phase == 0 else at
    if header + HEADER_LENGTH > len(octets):
        return None
    length = int.from_bytes(octets[header : header + HEADER_LENGTH], "big")
    layout = osc.fpdu_layout(length, phase, crc) if is_osc else fpdu_layout(length, phase)
    return _Read(layout, octets[at : at + layout.length])


def is_osc(
    octets: bytes,
    *,
    markers: bool,
    crc: bool,
    final: bool,
    is_all: bool = False,
    is_said: bool = False,
) -> bool | None:
    """Tell whether the octets of a direction are FPDUs of osc, and not of RFC 5044.

    :param octets: from the beginning of the Full Operation Phase on.
    :param markers: whether the direction has Markers.
    :param crc: whether CRCs are on.
    :param final: no more will come.
    :param is_all: no more was sent.
    :param is_said: the user says that they are: then one header that makes sense is enough, without
        CRCs, where RFC 5044 leads to none.
    :return: None if they do not tell, or not yet.
    """
    if crc:
        return _with_crcs(octets, final=final) if markers else None
    least = 1 if is_said else _ROW
    return _without_crcs(octets, least, markers=markers, final=final, is_all=is_all)


def _with_crcs(octets: bytes, *, final: bool) -> bool | None:
    at = skipped = 0
    while True:
        phase = at % MARKER_INTERVAL
        standard = _read(octets, at, phase, is_osc=False, crc=True)
        other = _read(octets, at, (phase - skipped) % MARKER_INTERVAL, is_osc=True, crc=True)
        if standard is not None and standard.crc_is_good and standard.agrees:
            if other is None or not _are_one(standard, other):
                # A payload may hold the 14 bits that count of a Marker.
                is_better = other is not None and other.crc_is_good and other.is_conforming
                return is_better and not standard.is_conforming
        elif other is None or not (other.crc_is_good and other.agrees):
            return None
        elif standard is None or not standard.is_whole:
            # Nothing but the end tells that no more of it comes.
            return True if final else None
        else:
            return True
        at += standard.layout.length
        skipped += CRC_LENGTH


def _are_one(standard: _Read, other: _Read) -> bool:
    """Tell whether an FPDU is the same either way, and what its Markers say fits both."""
    one, two = standard.layout, other.layout
    return (one.length, one.markers) == (two.length, two.markers) and other.agrees


class _Row(NamedTuple):
    """FPDUs from the beginning on that make sense, read one of the two ways."""

    fpdus: int
    is_pointed_at: bool
    """Whether a Marker tells that they are some."""
    how: Literal["broken", "ended", "short"]
    """What comes behind them: what makes no sense, nothing, or not all of one."""


def _without_crcs(
    octets: bytes, least: int, *, markers: bool, final: bool, is_all: bool
) -> bool | None:
    standard = _row(octets, markers=markers, is_osc=False)
    other = _row(octets, markers=markers, is_osc=True)
    if standard.is_pointed_at or standard.fpdus == _ROW or other.how == "broken":
        return False
    if other.is_pointed_at and final:
        return True
    if is_all and other.how == "ended" and other.fpdus and standard.how != "ended":
        # To RFC 5044 it was closed amid a CRC field.
        return True
    if standard.how != "broken":
        return None
    if other.is_pointed_at:
        return True
    ends = final and other.how == "ended"
    return True if other.fpdus >= (min(least, _SHORTEST_ROW) if ends else least) else None


def _row(octets: bytes, *, markers: bool, is_osc: bool) -> _Row:
    at = 0
    for fpdus in range(_ROW):
        if at == len(octets):
            return _Row(fpdus, False, "ended")
        phase = at % MARKER_INTERVAL if markers else None
        fpdu = _read(octets, at, phase, is_osc=is_osc, crc=False)
        makes_sense = None if fpdu is None else fpdu.makes_sense
        if makes_sense is False:
            return _Row(fpdus, False, "broken")
        if fpdu is None or makes_sense is None or not fpdu.is_whole:
            return _Row(fpdus, False, "short")
        if not fpdu.agrees:
            return _Row(fpdus, False, "broken")
        if fpdu.is_pointed_at:
            return _Row(fpdus + 1, True, "short")
        at += fpdu.layout.length
    return _Row(_ROW, False, "short")
