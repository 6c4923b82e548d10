# SPDX-License-Identifier: GPL-2.0-or-later
"""Find words in unknown octets that may be the first word of an FPDU.

This is the last resort, if neither a length nor a Marker leads to an FPDU.  The first word of an
FPDU holds ULPDU_Length and the control octets of DDP and RDMAP (RFC 5044 4.1, RFC 5041 4.1, RFC
5040 4.1).  No Marker can split it.  Of the 65536 values of the two control octets, some forty make
sense.
"""

from __future__ import annotations

from itertools import compress, islice
from typing import Final

from scapy_mpa.stream.ordinary import read
from scapy_mpa.stream.shapes import Shapes
from scapy_mpa.wire.ddp import TAGGED_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, WORD, build_fpdu
from scapy_mpa.wire.rdmap_names import TAGGED_OPCODES, Opcode

_PLACES_TRIED: Final = 8
"""Places that :func:`fpdus_within` tries, at most.  Of random words, one in 1600 reads as a
header."""

SHORTEST: Final = HEADER_LENGTH + TAGGED_LENGTH + WORD
"""Octets of an FPDU without Markers that carries no payload at all."""

ZERO_LENGTH: Final = build_fpdu(b"")
"""An FPDU of length zero with a CRC and without Markers.  An RTR indication may be one (RFC 6581
9.2)."""


def _tables() -> tuple[bytes, bytes]:
    """Return a table for each control octet: a bit for each kind of segment that may have it.

    A word is a candidate if both its octets have a bit in common.  The kinds: tagged and untagged,
    with DDP and RDMAP version 1 (the RFCs) or 0 (draft-ietf-rddp-mpa-01, RDMAC).
    """
    ddp = bytearray(256)
    rdmap = bytearray(256)
    for version in (0, 1):
        for tagged in (False, True):
            bit = 1 << (2 * version + tagged)
            for last in (0x00, 0x40):
                ddp[tagged << 7 | last | version] |= bit
            for opcode in Opcode:
                if (opcode in TAGGED_OPCODES) == tagged:
                    rdmap[version << 6 | opcode] |= bit
    return bytes(ddp), bytes(rdmap)


_DDP, _RDMAP = _tables()


def zero_length_places(octets: bytes) -> list[int]:
    """Return, ascending, each multiple of 4 at which an FPDU of zero length has a good CRC."""
    places = []
    at = octets.find(ZERO_LENGTH)
    while at >= 0:
        if at % WORD == 0:
            places.append(at)
        at = octets.find(ZERO_LENGTH, at + 1)
    return places


def agreeing_words(octets: bytes, expected: bytes) -> list[int]:
    """Return, ascending, each multiple of 4 at which both hold the same word.

    All words are compared at once: equal words become zeros.
    """
    size = min(len(octets), len(expected)) & -WORD
    found, wanted = int.from_bytes(octets[:size], "big"), int.from_bytes(expected[:size], "big")
    differences = (found ^ wanted).to_bytes(size, "big")
    if bytes(WORD) not in differences:
        return []
    words = memoryview(differences).cast("I")
    return [WORD * number for number, word in enumerate(words) if not word]


def header_words(octets: bytes) -> list[int]:
    """Return, ascending, each multiple of 4 at which the first word of an FPDU may be.

    A handful of calls works on all octets at once; none is needed for each word.
    """
    first = octets[2::WORD].translate(_DDP)
    second = octets[3::WORD].translate(_RDMAP)
    count = len(second)
    both = int.from_bytes(first[:count], "big") & int.from_bytes(second, "big")
    if not both:
        # This is usual in other traffic, and fast.
        return []
    marks = both.to_bytes(count, "big")
    return list(compress(range(0, WORD * count, WORD), marks))


class _Nobody:
    """A direction whose rows are not kept."""

    ack = 0


def fpdus_within(octets: bytes, offset: int, shapes: Shapes) -> list[int]:
    """Return, ascending, the first places in octets at which whole and sound FPDUs begin.

    Words that read as headers show the places.  Only the first few of these are tried.

    :param offset: position of ``octets`` in the stream, as in :func:`read`.
    """
    if len(octets) < SHORTEST:
        return []
    skipped = -offset % WORD
    found = []
    for word in islice(header_words(octets[skipped:]), _PLACES_TRIED):
        at = skipped + word
        if shapes.marked and (offset + at) % MARKER_INTERVAL == MARKER_LENGTH <= at:
            # The FPDU begins with a Marker.
            at -= MARKER_LENGTH
        if read(_Nobody, octets, at, offset + at, 0, 0, 0, shapes, []) > at:
            found.append(at)
    return found
