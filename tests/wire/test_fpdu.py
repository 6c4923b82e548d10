# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDU geometry against streams made octet by octet (RFC 5044 4.1 to 4.4).

Also that of OSC's software iWARP: Markers that drift, and no CRC field where CRCs are off.
"""

import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.craft import FPDUItem
from scapy_mpa.craft.assemble import assemble
from scapy_mpa.wire import fpdu
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import DDPHeader, build_ddp
from scapy_mpa.wire.rdmap import build_control
from tests.truth import oscwalker
from tests.truth.mpastream import TrueFPDU, build_stream
from tests.wire.placed import placed

PHASES = [phase for phase in range(0, 512, 4) if phase != 4]
"""Where in a stream with Markers an FPDU can begin, modulo 512.  Not at 4: the Marker before it
would be its own."""

OCTETS = random.Random(5044).randbytes(65535)


def lengths(phase: int) -> Iterator[int]:
    """ULPDU_Lengths that matter at a phase: the shortest, and those that end near a Marker."""
    yield from range(9)
    for interval in (0, 1):
        # An FPDU with so many octets in its ULPDU ends where that Marker begins.
        fit = 512 - phase + 508 * interval - 6
        yield from range(max(9, fit - 10), fit + 11)


def check(ulpdu_length: int, phase: int | None) -> None:
    """All that is computed about such an FPDU agrees with the stream."""
    octets, truth = placed(OCTETS[:ulpdu_length], phase)
    layout = fpdu.fpdu_layout(ulpdu_length, phase)

    assert fpdu.fpdu_length(ulpdu_length, phase) == layout.length == len(octets)
    assert layout.header == truth.seq_offset - truth.start
    assert layout.pad == fpdu.pad_length(ulpdu_length) == -(ulpdu_length + 2) % 4
    places = [
        at - truth.start
        for at in range(truth.start, truth.end)
        if phase is not None and at % 512 == 0
    ]
    assert layout.markers == tuple(places)
    assert len(layout.markers) == truth.markers
    fpduptrs = tuple(int.from_bytes(octets[at + 2 : at + 4], "big") for at in places)
    assert layout.fpduptrs == layout.unpack.unpack_from(octets) == fpduptrs

    unmarked = fpdu.strip_markers(octets, layout.markers)
    plain, _ = build_stream([OCTETS[:ulpdu_length]])
    assert unmarked[:-4] == plain[:-4]
    assert unmarked[-4:] == octets[-4:]
    assert fpdu.insert_markers(unmarked, layout.markers) == octets
    assert fpdu.build_fpdu(OCTETS[:ulpdu_length], phase) == octets
    assert crc_is_good(octets)


@pytest.mark.examples
@pytest.mark.parametrize("phase", PHASES)
def test_around_every_marker(phase: int) -> None:
    """At every phase: the shortest FPDUs, and those that end just before or after a Marker."""
    for ulpdu_length in lengths(phase):
        check(ulpdu_length, phase)


def test_without_markers() -> None:
    """Length field, ULPDU and pad are a multiple of 4 octets, and the CRC follows."""
    for ulpdu_length in [*range(600), 1442, 8938, 64768, 65535]:
        check(ulpdu_length, None)


@given(st.integers(0, 64768) | st.sampled_from((64769, 65535)), st.sampled_from(PHASES))
@example(65020, 508)
@example(65535, 0)
def test_any_length(ulpdu_length: int, phase: int) -> None:
    """Any ULPDU, anywhere in a marked stream.

    DDP may pass down no more than 64768 octets (RFC 5044 3).  The last Marker of a longer FPDU
    holds the lower 16 bits of its distance.
    """
    check(ulpdu_length, phase)


# -- published FPDUs -------------------------------------------------------------------------------


PUBLISHED = [
    # DDP Control Field; CRC32c of figures 5 and 6.
    (1, "41 43", "52 23 99 83", "84 92 58 98"),  # RFC 5044
    (0, "40 03", "4c 86 b3 84", "a1 9c d1 03"),  # draft-ietf-rddp-mpa-01
]


@pytest.mark.parametrize(("version", "control", "first", "second"), PUBLISHED)
def test_figures_5_and_6(version: int, control: str, first: str, second: str) -> None:
    """Header, payload and place give the published octets, with the Marker as annotated.

    RFC 5044 and draft-ietf-rddp-mpa-01 annotate the same two FPDUs; the draft's have DDP and RDMAP
    version 0.  Each is a Send in one segment.  The tests' own maker of streams gives the same.

    The CRC is good.  With any bit changed, also in the Marker, it is bad.
    """
    rdmap = build_control(3, version)
    ulpdus = [
        build_ddp(DDPHeader(False, True, 0, version, rdmap, qn=0, msn=msn, mo=0)) + bytes(24)
        for msn in (1, 2)
    ]
    header = f"{control} 00000000 00000000 0000000"
    # Marker and ULPDU_Length, DDP header, data, CRC; in figure 6 the Marker is before the data.
    figure_5 = bytes.fromhex(f"0000 0000 002a {header}1 00000000 {'00' * 24} {first}")
    figure_6 = bytes.fromhex(f"002a {header}2 00000000 0000 0014 {'00' * 24} {second}")
    assert fpdu.build_fpdu(ulpdus[0], 0) == figure_5
    assert fpdu.build_fpdu(ulpdus[1], 0x1EC) == figure_6
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


ULPDUS = st.lists(st.binary(max_size=1400), min_size=1, max_size=12)


@given(ULPDUS, st.booleans(), st.booleans())
def test_built_as_counted(ulpdus: list[bytes], markers: bool, crc: bool) -> None:
    """A walker that counts octets one by one reads what was built FPDU by FPDU."""
    form = fpdu.OSC if crc else fpdu.OSC_WITHOUT_CRCS
    stream = b""
    phase = 0 if markers else None
    phases, ends = [], []
    for ulpdu in ulpdus:
        phases.append(phase)
        octets = assemble(FPDUItem(0, ulpdu), phase, crc=crc, form=form)
        stream += octets
        ends.append(len(stream))
        if phase is not None:
            phase = (phase + len(octets) - form.uncounted) % fpdu.MARKER_INTERVAL
    walked = list(oscwalker.fpdus_of(stream, markers=markers, crc=crc))
    assert [each.ulpdu for each in walked] == ulpdus
    assert [each.end for each in walked] == ends
    assert all(each.agrees() and each.crc_good is (True if crc else None) for each in walked)
    for each, own in zip(walked, phases, strict=True):
        layout = form.layout(len(each.ulpdu), own)
        assert layout.length == each.end - each.begin
        assert layout.header == each.header - each.begin
        assert layout.markers == tuple(at - each.begin for at, _ in each.markers)
        assert layout.unpack.unpack_from(stream, each.begin) == layout.fpduptrs
