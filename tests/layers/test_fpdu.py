# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDU with Markers and without: what is computed, what is kept, what is cut short (RFC 5044 4)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.packet import Padding, Raw

from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, MPAMarker, RDMAPSend
from scapy_mpa.wire.fpdu import build_fpdu, fpdu_layout
from tests.layers.strategies import ulpdus
from tests.truth import messages, mpastream
from tests.wire.placed import placed

WRITE = messages.write(0xDEADBEEF, 0x1000, b"hello")[0]


def plain(ulpdu: bytes) -> bytes:
    """The octets of an FPDU, made by the tests' own maker of streams."""
    return mpastream.build_stream([ulpdu])[0]


def test_crc_stays_after_a_change_until_cleared() -> None:
    """As with any Scapy checksum: a dissected one is kept, ``del`` has it computed."""
    fpdu = FPDU(plain(WRITE))
    before = fpdu.crc
    fpdu[DDPTagged].stag = 1
    assert bytes(fpdu)[-4:] == before.to_bytes(4, "little")
    assert fpdu.crc_verdict() == "bad"
    changed = plain(messages.write(1, 0x1000, b"hello")[0])
    del fpdu.crc
    assert bytes(fpdu) == changed
    fpdu[FPDU].crc = 5
    fpdu[FPDU].crc = None
    assert bytes(fpdu) == changed


# No FPDU follows another one at phase 4: a CRC that ends there would lie where a Marker must.
PHASES = st.integers(0, 127).map(lambda word: word * 4).filter(lambda phase: phase != 4)


@given(st.binary(min_size=1, max_size=1300), ulpdus(), st.binary(max_size=3), st.none() | PHASES)
def test_any_octets_are_rebuilt(octets: bytes, ulpdu: bytes, pad: bytes, phase: int | None) -> None:
    """Any octets are built again as they were read, with Markers, without, and as SoftUiWARP.

    Lengths, Markers, pads and CRCs may be wrong.
    """
    damaged = placed(ulpdu, phase)[0][: -4 - len(pad)] + pad + octets[:4].ljust(4)
    for each in (octets, damaged):
        assert bytes(FPDU(each, phase=phase)) == each
        assert bytes(FPDU(each, dialect="softuiwarp")) == each


@pytest.mark.examples
@pytest.mark.parametrize("phase", [None, 0, 8, 488, 492, 496, 500, 504, 508])
def test_cut_short_anywhere(phase: int | None) -> None:
    """Before, in, and behind a Marker, and in any other field."""
    octets, _ = placed(messages.read_request(1, 2, 3, 4, 5, 6)[0] + bytes(range(256)) * 3, phase)
    for length in range(1, len(octets)):
        fpdu = FPDU(octets[:length], phase=phase)
        assert bytes(fpdu) == octets[:length]
        assert fpdu.crc_verdict() == "unknown"
        assert bytes(fpdu.copy()) == octets[:length]


def test_given_markers_replace_computed_ones() -> None:
    """From the first on; those left are computed, and the CRC covers what was given."""
    given = [MPAMarker(reserved=7), MPAMarker(fpduptr=3)]
    fpdu = FPDU(bytes(FPDU(phase=0, markers=given) / Raw(bytes(1400))), phase=0)
    found = [(marker.reserved, marker.fpduptr) for marker in fpdu.markers]
    assert found == [(7, 0), (0, 3), (0, 1020)]
    assert fpdu.crc_verdict() == "good"
    assert len(bytes(fpdu)) == len(placed(bytes(1400), 0)[0])


def test_markers_that_find_no_place_are_left_out() -> None:
    """A payload that has become shorter needs fewer of them."""
    fpdu = FPDU(bytes(FPDU(phase=0) / Raw(bytes(1400))), phase=0)
    fpdu.payload = Raw(b"short")
    del fpdu.ulpdu_length, fpdu.pad, fpdu.crc
    assert bytes(fpdu) == placed(b"short", 0)[0]


def test_show() -> None:
    """Phase and Markers are shown where there are some, and the CRC as number and octets."""
    fpdu = FPDU(bytes(FPDU(phase=0) / DDPUntagged() / RDMAPSend() / bytes(24)), phase=0)
    text = fpdu.show(dump=True)
    for line in ("phase     = 0", "|###[ MPA Marker ]###", "crc       = 0x83992352 (52 23 99 83)"):
        assert f"{line}\n" in text
    assert fpdu.summary().startswith("MPA FPDU 42 octets, 1 Marker, CRC good / DDP Untagged ")


# FPDUPTR cannot span the largest one.
@example(bytes(65535), 508, 0)
@given(ulpdus(), st.none() | PHASES, st.integers(0, 0xFFFF))
def test_fpdu_and_codec(ulpdu: bytes, phase: int | None, reserved: int) -> None:
    """Both build the same octets, and know the same Markers and pad, as another maker of streams
    has them, whatever the reserved half of Markers holds.  Computed anew, they are the same."""
    plain = build_fpdu(ulpdu, phase)
    assert bytes(FPDU(phase=phase) / Raw(ulpdu)) == plain
    layout = fpdu_layout(len(ulpdu), phase)
    octets, _ = placed(ulpdu, phase, marker_reserved=reserved)
    read = FPDU(octets, phase=phase)
    assert len(read.pad) == layout.pad
    assert tuple(marker.fpduptr for marker in read.markers or ()) == layout.fpduptrs
    assert all(marker.reserved == reserved for marker in read.markers or ())
    assert bytes(read.payload) == ulpdu
    assert bytes(read) == octets
    assert read.crc_verdict() == "good"
    assert FPDU(octets + b"next", phase=phase)[Padding].load == b"next"
    read.ulpdu_length, read.pad = 0, b"?"
    read.recompute()
    assert bytes(read) == plain


@given(ulpdus(), st.binary(max_size=9))
def test_softuiwarp(ulpdu: bytes, behind: bytes) -> None:
    """Pads of (ULPDU_Length + 2) mod 4 octets, and CRC fields of zeros.

    Every field is what it says, what lies behind is padding, and all is rebuilt as it came.
    """
    pad = bytes((len(ulpdu) + 2) % 4)
    octets = len(ulpdu).to_bytes(2, "big") + ulpdu + pad + bytes(4)
    packet = FPDU(octets + behind, dialect="softuiwarp")
    assert (packet.ulpdu_length, packet.pad, packet.crc) == (len(ulpdu), pad, 0)
    assert bytes(packet.payload) == ulpdu + behind
    assert (packet[Padding].load if behind else b"") == behind
    assert packet.crc_verdict() == "off"
    assert bytes(packet) == octets + behind
    packet.recompute()
    assert bytes(packet) == octets + behind
