# SPDX-License-Identifier: GPL-2.0-or-later
"""The FPDUs that the standards print octet by octet, read and made."""

from scapy.packet import Raw

from scapy_mpa.layers import FPDU, DDPUntagged, MPAMarker, RDMAPSend
from tests.wire.test_vectors import PAYLOAD, Vector, each_vector


@each_vector
def test_vector(vector: Vector) -> None:
    """Every field has the value that the annotations give it; what was read is built as it was,
    also with everything computed anew; and the octets follow from what a user types."""
    octets, phase, msn, version = vector.octets, vector.start, vector.msn, vector.revision
    fpdu = FPDU(octets, phase=phase)
    assert (fpdu.ulpdu_length, fpdu.pad, fpdu.crc_verdict()) == (42, b"", "good")
    assert fpdu.crc == int.from_bytes(octets[-4:], "little")
    assert fpdu.markers == [MPAMarker(reserved=0, fpduptr=vector.fpduptr)]
    assert fpdu.layers() == [FPDU, DDPUntagged, RDMAPSend, Raw]
    segment = fpdu[DDPUntagged]
    assert (segment.tagged, segment.last, segment.opcode, segment.qn) == (0, 1, 3, 0)
    assert (segment.ddp_version, segment.rdmap_version) == (version, version)
    assert (segment.msn, segment.mo, segment.invalidate_stag) == (msn, 0, 0)
    assert fpdu[Raw].load == PAYLOAD
    assert bytes(fpdu) == octets
    fpdu.recompute()
    assert (fpdu.ulpdu_length, fpdu.pad, fpdu.crc, fpdu.markers) == (None, None, None, None)
    assert bytes(fpdu) == octets
    typed = DDPUntagged(ddp_version=version, rdmap_version=version, msn=msn)
    assert bytes(FPDU(phase=phase) / typed / RDMAPSend() / PAYLOAD) == octets
