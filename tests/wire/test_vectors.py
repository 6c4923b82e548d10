# SPDX-License-Identifier: GPL-2.0-or-later
"""The published FPDUs, octet by octet, built and dissected (RFC 5044 4.3 and 4.4).

RFC 5044 and draft-ietf-rddp-mpa-01 annotate the same two FPDUs; the draft's have DDP and RDMAP
version 0.  Each is a Send of 24 octets of zeros in one segment.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import DDPHeader, build_ddp
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout, strip_markers
from scapy_mpa.wire.rdmap import build_control
from scapy_mpa.wire.rdmap_names import Opcode

PAYLOAD = bytes(24)


class Vector(NamedTuple):
    """A published FPDU."""

    revision: int
    """The revision of MPA, and version of DDP and RDMAP."""
    start: int
    """Offset of the first octet, as the annotation counts it."""
    octets: bytes
    msn: int
    seq_offset: int
    """Offset of the ULPDU_Length field."""
    fpduptr: int


def figure_5(revision: int, control: str, crc: str) -> Vector:
    """The first FPDU of a stream, with a Marker before it."""
    octets = (
        "00 00  00 00"  # Marker
        "00 2a"  # ULPDU Length
        f"{control}  00 00 00 00"  # DDP Control Field, Reserved
        "00 00 00 00  00 00 00 01  00 00 00 00"  # Queue, MSN, MO
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    )
    return Vector(revision, 0x0000, bytes.fromhex(octets + crc), 1, 0x0004, 0)


def figure_6(revision: int, control: str, crc: str) -> Vector:
    """The second one, with a Marker between the DDP header and the data."""
    octets = (
        "00 2a"
        f"{control}  00 00 00 00"
        "00 00 00 00  00 00 00 02  00 00 00 00"
        "00 00  00 14"  # Marker
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
    )
    return Vector(revision, 0x01EC, bytes.fromhex(octets + crc), 2, 0x01EC, 0x14)


VECTORS = {
    # DDP Control Field; CRC32c.
    "RFC 5044 figure 5": figure_5(1, "41  43", "52 23 99 83"),
    "RFC 5044 figure 6": figure_6(1, "41  43", "84 92 58 98"),
    "draft-ietf-rddp-mpa-01 figure 5": figure_5(0, "40  03", "4c 86 b3 84"),
    "draft-ietf-rddp-mpa-01 figure 6": figure_6(0, "40  03", "a1 9c d1 03"),
}


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_build(vector: Vector) -> None:
    """Header, payload and place give the published octets, with the Marker as annotated.

    The CRC is good.  With any bit changed, also in the Marker, it is bad.
    """
    revision = vector.revision
    control = build_control(Opcode.SEND, revision)
    header = DDPHeader(False, True, 0, revision, control, qn=0, msn=vector.msn, mo=0)
    ulpdu = build_ddp(header) + PAYLOAD
    assert build_fpdu(ulpdu, vector.start % 512) == vector.octets
    layout = fpdu_layout(42, vector.start % 512)
    assert layout.length == len(vector.octets)
    assert vector.start + layout.header == vector.seq_offset
    assert layout.pad == 0
    (marker,) = layout.markers
    assert (vector.start + marker) % 512 == 0
    assert layout.fpduptrs == layout.unpack.unpack_from(vector.octets) == (vector.fpduptr,)
    assert crc_is_good(vector.octets)
    for bit in range(8 * len(vector.octets)):
        other = bytearray(vector.octets)
        other[bit // 8] ^= 1 << bit % 8
        assert not crc_is_good(other)


def test_figure_4() -> None:
    """RFC 5044 figure 4: ten octets of ULPDU, a Marker that says 12, six octets, a pad of two."""
    layout = fpdu_layout(16, 512 - 12)
    assert (layout.header, layout.markers, layout.fpduptrs, layout.pad) == (0, (12,), (12,), 2)
    assert layout.length == 28

    ulpdu = bytes(range(0xA0, 0xB0))
    fpdu = build_fpdu(ulpdu, 512 - 12)
    assert fpdu[:24] == bytes.fromhex("0010 a0a1a2a3 a4a5a6a7 a8a90000 000caaab acadaeaf 0000")
    assert strip_markers(fpdu, layout.markers)[2:18] == ulpdu
