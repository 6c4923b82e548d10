# SPDX-License-Identifier: GPL-2.0-or-later
"""The published FPDUs, octet by octet (RFC 5044 4.3 and 4.4).

RFC 5044 and draft-ietf-rddp-mpa-01 annotate the same two FPDUs; the draft's have DDP and RDMAP
version 0.  Each is a Send of 24 octets of zeros in one segment.  The tests' own maker of streams
gives the same octets.
"""

from __future__ import annotations

import pytest

from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import DDPHeader, build_ddp
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout, strip_markers
from scapy_mpa.wire.rdmap import build_control
from tests.truth.mpastream import TrueFPDU, build_stream

PAYLOAD = bytes(24)


@pytest.mark.parametrize(
    ("version", "control", "first", "second"),
    [
        # DDP Control Field; CRC32c of figures 5 and 6.
        (1, "41 43", "52 23 99 83", "84 92 58 98"),  # RFC 5044
        (0, "40 03", "4c 86 b3 84", "a1 9c d1 03"),  # draft-ietf-rddp-mpa-01
    ],
)
def test_figures_5_and_6(version: int, control: str, first: str, second: str) -> None:
    """Header, payload and place give the published octets, with the Marker as annotated.

    The CRC is good.  With any bit changed, also in the Marker, it is bad.
    """
    rdmap = build_control(3, version)
    ulpdus = [
        build_ddp(DDPHeader(False, True, 0, version, rdmap, qn=0, msn=msn, mo=0)) + PAYLOAD
        for msn in (1, 2)
    ]
    header = f"{control} 00000000 00000000 0000000"
    # Marker and ULPDU_Length, DDP header, data, CRC; in figure 6 the Marker is before the data.
    figure_5 = bytes.fromhex(f"0000 0000 002a {header}1 00000000 {PAYLOAD.hex()} {first}")
    figure_6 = bytes.fromhex(f"002a {header}2 00000000 0000 0014 {PAYLOAD.hex()} {second}")
    assert build_fpdu(ulpdus[0], 0) == figure_5
    assert build_fpdu(ulpdus[1], 0x1EC) == figure_6
    # Figure 6 begins at 0x1EC, so an FPDU of 492 octets is before it.
    octets, truth = build_stream([ulpdus[0]], markers=True)
    assert (octets, truth) == (figure_5, [TrueFPDU(0, 4, 0x34, 42, ulpdus[0], 1, True)])
    octets, truth = build_stream([bytes(482), ulpdus[1]], markers=True)
    assert octets[0x1EC:] == figure_6
    assert truth[1] == TrueFPDU(0x1EC, 0x1EC, 0x220, 42, ulpdus[1], 1, True)
    for figure in (figure_5, figure_6):
        assert crc_is_good(figure)
        for bit in range(8 * len(figure)):
            other = bytearray(figure)
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
