# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDU geometry: the places of ULPDU, pad, Markers and CRC (RFC 5044 4.1 to 4.4).

An FPDU begins with ULPDU_Length, or with a Marker directly before it, and ends with its CRC.  The
places of its Markers depend on ULPDU_Length and on its *phase*: the offset of its first octet in
the Full Operation Phase of its direction, modulo 512.  Without Markers the phase is ``None``.

All parts of a conforming stream are multiples of four octets long.  So phases are multiples of
four, too, and a Marker splits neither the first word of an FPDU nor the CRC.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct, pack
from typing import Final, NamedTuple

from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.errors import LocalProtocolError

HEADER_LENGTH: Final = 2
"""Octets of the ULPDU_Length field."""

WORD: Final = 4
"""The length of every part of a conforming stream is a multiple of so many octets."""

MARKER_LENGTH: Final = WORD
MARKER_INTERVAL: Final = 512
FPDUPTR_MASK: Final = 0xFFFC
"""The low two bits of a received FPDUPTR are taken as zero (RFC 5044 4.2)."""

LARGEST_ULPDU_LENGTH: Final = 0xFFFF
"""The largest value of the field."""

SMALLEST_MULPDU: Final = 128
"""The least MULPDU, however small EMSS is (RFC 5044 4.5)."""

LARGEST_MULPDU: Final = 64768
"""Octets of a ULPDU from DDP, at most (RFC 5044 3)."""

_field: Final = Struct(">H").pack

_OCTETS_BETWEEN_MARKERS: Final = MARKER_INTERVAL - MARKER_LENGTH

# A stream of ordinary traffic needs a few hundred layouts (one ULPDU_Length at 128 phases).  The
# limit keeps hostile input from filling memory: layouts of 1024 largest FPDUs take about 12 MiB.
_CACHED_LAYOUTS: Final = 1024


class Layout(NamedTuple):
    """The places of the parts of one FPDU, in octets from its first octet."""

    length: int
    """Octets of the whole FPDU."""
    header: int
    """Where ULPDU_Length begins: 4 after a leading Marker, else 0."""
    pad: int
    """Octets of the pad, 0 to 3."""
    markers: tuple[int, ...]
    """Where each Marker begins, a leading one included."""
    fpduptrs: tuple[int, ...]
    """The right FPDUPTR of each of those Markers."""
    unpack: Struct
    """Unpacks the FPDUPTRs of all Markers from the octets of the FPDU."""
    phase: int | None
    """Offset of its first octet modulo 512, None without Markers."""


def pad_length(ulpdu_length: int) -> int:
    """Return the octets of pad, 0 to 3, for a ULPDU of ``ulpdu_length`` octets.

    The two octets of the ULPDU_Length field count for it, Markers do not (RFC 5044 4.1).
    """
    return -(ulpdu_length + HEADER_LENGTH) & 3


class FPDUFormat(NamedTuple):
    """How a dialect lays out its FPDUs."""

    pad_length: Callable[[int], int] = pad_length
    """Takes ULPDU_Length; returns the octets of pad, 0 to 3."""
    crc_length: int = CRC_LENGTH
    """Octets of the CRC field."""
    uncounted: int = 0
    """Octets of each FPDU that the count from Marker to Marker skips."""
    order: str = ">"
    """Octet order of FPDUPTR: ``>``, or ``<`` for the least significant octet first."""

    def layout(self, ulpdu_length: int, phase: int | None) -> Layout:
        """Return the places of the parts of an FPDU, as :func:`fpdu_layout` does."""
        return fpdu_layout(ulpdu_length, phase, self)


STANDARD: Final = FPDUFormat()
"""RFC 5044 4."""

SOFTUIWARP: Final = FPDUFormat(lambda ulpdu_length: ulpdu_length + HEADER_LENGTH & 3)
"""SoftUiWARP adds as many octets of pad as the remainder of the length before it divided by 4.

For ULPDUs of even length the result is that of RFC 5044; after one of odd length, all later FPDUs
are off the 4-octet grid by 2.  The CRC field is zero.  Its Markers are not known.
"""

OSC: Final = FPDUFormat(uncounted=CRC_LENGTH, order="<")
"""The Ohio Supercomputer Center's software iWARP, as far as its format is known, with CRCs on.

An FPDU has the layout of RFC 5044 4.3, but at another phase, which falls back by 4 octets with each
FPDU.  FPDUPTR is in the octet order of the host; least significant octet first is assumed.
Without Markers its FPDUs are those of RFC 5044.
"""

OSC_WITHOUT_CRCS: Final = FPDUFormat(crc_length=0, order="<")
"""The same with CRCs off: there is no CRC field, and Markers are at the places of RFC 5044."""


def fpdu_length(ulpdu_length: int, phase: int | None = None) -> int:
    """Return the octets that an FPDU occupies in the TCP stream.

    :param ulpdu_length: octets of the ULPDU, 0 to 65535.
    :param phase: offset of the FPDU's first octet modulo 512, or None without Markers.
    :raises LocalProtocolError: ``phase`` is no multiple of 4 below 512.
    """
    body = (ulpdu_length + HEADER_LENGTH + 3 & ~3) + CRC_LENGTH
    if phase is None:
        return body
    _check_phase(phase)
    return body + MARKER_LENGTH * _count_markers(body, phase)


def mulpdu(emss: int, *, markers: bool) -> int:
    """Return the octets of the largest ULPDU that fits one TCP segment (RFC 5044 4.5).

    :param emss: Effective Maximum Segment Size: octets of payload that a segment may carry.
    :param markers: whether the direction has Markers.
    """
    overhead = HEADER_LENGTH + CRC_LENGTH + (emss & 3)
    if markers:
        # The highest possible number of Markers.
        overhead += MARKER_LENGTH * -(-emss // MARKER_INTERVAL)
    return min(max(emss - overhead, SMALLEST_MULPDU), LARGEST_MULPDU)


@lru_cache(maxsize=_CACHED_LAYOUTS)
def fpdu_layout(ulpdu_length: int, phase: int | None = None, form: FPDUFormat = STANDARD) -> Layout:
    """Return the places of the parts of an FPDU (RFC 5044 4.1, 4.3).

    :param ulpdu_length: octets of the ULPDU, 0 to 65535.
    :param phase: offset of the FPDU's first octet modulo 512, or None without Markers.
    :param form: how its dialect lays it out.
    :raises LocalProtocolError: a value is out of range.
    """
    if not 0 <= ulpdu_length <= LARGEST_ULPDU_LENGTH:
        raise LocalProtocolError(f"ULPDU_Length {ulpdu_length} is not in 0 to 65535")
    pad = form.pad_length(ulpdu_length)
    unmarked = HEADER_LENGTH + ulpdu_length + pad + form.crc_length
    header = 0 if phase or phase is None else MARKER_LENGTH
    markers: tuple[int, ...] = ()
    if phase is not None:
        _check_phase(phase)
        markers = marker_places(unmarked, phase)
    count = len(markers)
    # In an FPDU near 64 KiB, FPDUPTR exceeds 16 bits; the field then has the lower 16 bits.
    fpduptrs = tuple([max(0, at - header) & 0xFFFF for at in markers])
    pick = (f"{markers[0] + 2}xH" if count else "") + f"{MARKER_INTERVAL - 2}xH" * (count - 1)
    length = unmarked + MARKER_LENGTH * count
    return Layout(length, header, pad, markers, fpduptrs, Struct(form.order + pick), phase)


def marker_places(length: int, phase: int) -> tuple[int, ...]:
    """Return the places of the Markers of an FPDU, counted from its first octet.

    :param length: octets of the FPDU without Markers.
    :param phase: offset of its first octet modulo 512.
    """
    first = -phase % MARKER_INTERVAL
    count = _count_markers(length, phase)
    return tuple(range(first, first + MARKER_INTERVAL * count, MARKER_INTERVAL))


def _count_markers(length: int, phase: int) -> int:
    """Return the number of Markers in an FPDU that has ``length`` octets without them."""
    # A Marker after the last octet of an FPDU belongs to the next FPDU (RFC 5044 4.3).
    after_first = length - -phase % MARKER_INTERVAL
    return max(0, -(-after_first // _OCTETS_BETWEEN_MARKERS))


def _check_phase(phase: int) -> None:
    if not 0 <= phase < MARKER_INTERVAL or phase & 3:
        raise LocalProtocolError(
            f"an FPDU cannot begin at offset {phase} modulo 512: "
            "with Markers it begins at a multiple of 4 (RFC 5044 4.3)"
        )


def strip_markers(octets: bytes, markers: Sequence[int]) -> bytes:
    """Return ``octets`` without the Markers that begin at the given places."""
    if not markers:
        return octets
    pieces = []
    start = 0
    for at in markers:
        pieces.append(octets[start:at])
        start = at + MARKER_LENGTH
    pieces.append(octets[start:])
    return b"".join(pieces)


@lru_cache(maxsize=_CACHED_LAYOUTS)
def marker_octets(at: int, header: int, order: str = ">") -> bytes:
    """Return the 4 octets of a conforming Marker (RFC 5044 4.3).

    :param at: where it begins, counted from the FPDU's first octet.
    :param header: where ULPDU_Length begins: 4 after a leading Marker, else 0.
    :param order: octet order of FPDUPTR, as in :class:`FPDUFormat`.
    """
    # In an FPDU near 64 KiB, FPDUPTR exceeds 16 bits.
    return pack(f"{order}2xH", max(0, at - header) & 0xFFFF)


def has_fpduptr(marker: int, fpduptr: int) -> bool:
    """Return whether a Marker has this FPDUPTR, without its low two bits (RFC 5044 4.2).

    :param marker: FPDUPTR, or all 4 octets of the Marker as a number.
    """
    return (marker ^ fpduptr) & FPDUPTR_MASK == 0


def insert_markers(octets: bytes, places: Sequence[int], markers: Sequence[bytes] = ()) -> bytes:
    """Return the octets of an unmarked FPDU with its Markers in their places.

    :param octets: ULPDU_Length, ULPDU, pad and, if it is known already, CRC.
    :param places: where the Markers begin, counted from the FPDU's first octet.
    :param markers: 4 octets for each Marker in place of those of RFC 5044 4.3.  If there are fewer
        than places, the other Markers conform.
    """
    header = MARKER_LENGTH if places and places[0] == 0 else 0
    pieces: list[bytes] = []
    taken = 0
    for index, at in enumerate(places):
        upto = at - MARKER_LENGTH * index
        marker = markers[index] if index < len(markers) else marker_octets(at, header)
        pieces += octets[taken:upto], marker
        taken = upto
    return b"".join((*pieces, octets[taken:]))


def build_fpdu(ulpdu: bytes, phase: int | None = None, *, crc: bytes | None = None) -> bytes:
    """Return a conforming FPDU around ``ulpdu``: length, pad, Markers and CRC computed.

    :param ulpdu: up to 65535 octets.
    :param phase: offset of the FPDU's first octet modulo 512, or None without Markers.
    :param crc: the 4 octets of a CRC field that is not in use; None: compute it.
    :raises LocalProtocolError: the ULPDU is too long or the phase is out of range.
    """
    layout = fpdu_layout(len(ulpdu), phase)
    body = b"".join((_field(len(ulpdu)), ulpdu, bytes(layout.pad)))
    # The CRC covers a Marker that lies between pad and CRC (RFC 5044 4.4).
    body = insert_markers(body, layout.markers) if layout.markers else body
    return body + (crc_field(body) if crc is None else crc)
