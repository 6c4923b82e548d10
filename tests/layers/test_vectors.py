# SPDX-License-Identifier: GPL-2.0-or-later
"""The FPDUs that the standards print octet by octet, read and made."""

import pytest
from scapy.packet import Raw

from scapy_mpa.layers import FPDU, DDPUntagged, MPAMarker, RDMAPSend

DATA = bytes(24)


def first(control: str, crc: str) -> bytes:
    """The first FPDU of a stream, which a Marker precedes."""
    header = f"0000 0000 002a {control} 00000000 00000000 00000001 00000000"
    return bytes.fromhex(header) + DATA + bytes.fromhex(crc)


def second(control: str, crc: str) -> bytes:
    """An FPDU at offset 0x1ec, with a Marker between the DDP header and the data."""
    header = f"002a {control} 00000000 00000000 00000002 00000000 0000 0014"
    return bytes.fromhex(header) + DATA + bytes.fromhex(crc)


# octets, phase, msn, DDP and RDMAP version, FPDUPTR
VECTORS = {
    "RFC 5044 figure 5": (first("4143", "52239983"), 0, 1, 1, 0),
    "RFC 5044 figure 6": (second("4143", "84925898"), 0x1EC, 2, 1, 0x14),
    "draft-ietf-rddp-mpa-01 figure 5": (first("4003", "4c86b384"), 0, 1, 0, 0),
    "draft-ietf-rddp-mpa-01 figure 6": (second("4003", "a19cd103"), 0x1EC, 2, 0, 0x14),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vector(name: str) -> None:
    """Every field has the value that the annotations give it; what was read is built as it was,
    also with everything computed anew; and the octets follow from what a user types."""
    octets, phase, msn, version, fpduptr = VECTORS[name]
    fpdu = FPDU(octets, phase=phase)
    assert (fpdu.ulpdu_length, fpdu.pad, fpdu.crc_verdict()) == (42, b"", "good")
    assert fpdu.crc == int.from_bytes(octets[-4:], "little")
    assert fpdu.markers == [MPAMarker(reserved=0, fpduptr=fpduptr)]
    assert fpdu.layers() == [FPDU, DDPUntagged, RDMAPSend, Raw]
    segment = fpdu[DDPUntagged]
    assert (segment.tagged, segment.last, segment.opcode, segment.qn) == (0, 1, 3, 0)
    assert (segment.ddp_version, segment.rdmap_version) == (version, version)
    assert (segment.msn, segment.mo, segment.invalidate_stag) == (msn, 0, 0)
    assert fpdu[Raw].load == DATA
    assert bytes(fpdu) == octets
    fpdu.recompute()
    assert (fpdu.ulpdu_length, fpdu.pad, fpdu.crc, fpdu.markers) == (None, None, None, None)
    assert bytes(fpdu) == octets
    typed = DDPUntagged(ddp_version=version, rdmap_version=version, msn=msn)
    assert bytes(FPDU(phase=phase) / typed / RDMAPSend() / DATA) == octets
