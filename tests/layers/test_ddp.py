# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP headers, and how the RDMAP message above them is chosen (RFC 5041 4, RFC 5040 4.1)."""

import pytest
from scapy.packet import Packet, Raw

from scapy_mpa import layers
from scapy_mpa.layers import (
    FPDU,
    DDPTagged,
    DDPUntagged,
    RDMAPAtomicRequest,
    RDMAPAtomicResponse,
    RDMAPImmediateData,
    RDMAPImmediateDataWithSE,
    RDMAPReadRequest,
    RDMAPReadResponse,
    RDMAPSend,
    RDMAPSendWithInvalidate,
    RDMAPSendWithSE,
    RDMAPSendWithSEAndInvalidate,
    RDMAPTerminate,
    RDMAPWrite,
)
from scapy_mpa.wire.errors import RemoteProtocolError

# RFC 5040 figure 4 and RFC 7306 figure 2: opcode, T, QN.
MESSAGES = {
    RDMAPWrite: (0, 1, None),
    RDMAPReadRequest: (1, 0, 1),
    RDMAPReadResponse: (2, 1, None),
    RDMAPSend: (3, 0, 0),
    RDMAPSendWithInvalidate: (4, 0, 0),
    RDMAPSendWithSE: (5, 0, 0),
    RDMAPSendWithSEAndInvalidate: (6, 0, 0),
    RDMAPTerminate: (7, 0, 2),
    RDMAPImmediateData: (8, 0, 0),
    RDMAPImmediateDataWithSE: (9, 0, 0),
    RDMAPAtomicRequest: (10, 0, 1),
    RDMAPAtomicResponse: (11, 0, 3),
}


def test_every_message_is_listed() -> None:
    """The table above has every RDMAP layer that there is."""
    assert {layer.__name__ for layer in MESSAGES} == {
        name for name in layers.__all__ if name.startswith("RDMAP")
    }


@pytest.mark.parametrize("message", MESSAGES, ids=lambda layer: layer.__name__)
def test_header_below_a_message(message: type[Packet]) -> None:
    """Opcode and QN come from the message above unless they are given, right or wrong; the opcode
    chooses the message, also one without a single octet."""
    opcode, tagged, qn = MESSAGES[message]
    header = DDPTagged if tagged else DDPUntagged
    octets = bytes(header() / message())
    assert octets[:2] == bytes([0xC1 if tagged else 0x41, 0x40 | opcode])
    assert qn is None or int.from_bytes(octets[6:10], "big") == qn
    segment = header(octets)
    assert segment.layers() == [header, message]
    assert bytes(segment) == octets
    fpdu = FPDU(bytes(FPDU() / segment))
    assert message in fpdu
    assert f"###[ {message().name} ]###" in fpdu.show(dump=True)
    below = header(opcode=15) if qn is None else header(opcode=15, qn=9)
    given = bytes(below / message())
    assert given[1] == 0x4F
    assert qn is None or given[6:10] == bytes([0, 0, 0, 9])


@pytest.mark.parametrize(
    ("segment", "opcode"), [(DDPTagged, 3), (DDPTagged, 12), (DDPUntagged, 0), (DDPUntagged, 15)]
)
def test_opcode_without_a_message(segment: type[Packet], opcode: int) -> None:
    """A reserved one, or one that does not go with this T bit: Raw, or nothing."""
    octets = bytes(segment(opcode=opcode) / b"abc")
    assert segment(octets).layers() == [segment, Raw]
    assert bytes(segment(octets)) == octets
    assert segment(octets[:-3]).layers() == [segment]


@pytest.mark.parametrize(
    ("message", "length"),
    [
        (RDMAPReadRequest, 28),
        (RDMAPTerminate, 4),
        (RDMAPImmediateData, 8),
        (RDMAPImmediateDataWithSE, 8),
        (RDMAPAtomicRequest, 52),
        (RDMAPAtomicResponse, 12),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_too_short_for_the_message(message: type[Packet], length: int) -> None:
    """As a payload it is Raw; by itself it is an error of ours."""
    below = DDPUntagged(opcode=MESSAGES[message][0])
    assert DDPUntagged(bytes(below / bytes(length))).layers()[1] is message
    assert DDPUntagged(bytes(below / bytes(length - 1))).layers() == [DDPUntagged, Raw]
    with pytest.raises(RemoteProtocolError, match=f"{length} octets, {length - 1} are there"):
        message(bytes(length - 1))


@pytest.mark.parametrize(("segment", "length"), [(DDPTagged, 14), (DDPUntagged, 18)])
def test_too_short_for_the_header(segment: type[Packet], length: int) -> None:
    """An error of ours."""
    with pytest.raises(RemoteProtocolError, match=f"{length} octets"):
        segment(b"\x80" * (length - 1))


def test_defaults() -> None:
    """A last segment of version 1; the first message of its queue."""
    assert bytes(DDPTagged()).hex(" ", 2) == "c140 0000 0000 0000 0000 0000 0000"
    assert bytes(DDPUntagged()).hex(" ", 2) == "4143 0000 0000 0000 0000 0000 0001 0000 0000"


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        (DDPTagged(stag=1, to=2), "DDP Tagged stag=0x1 to=0x2 L"),
        (DDPUntagged(last=0, qn=1, msn=2, mo=3), "DDP Untagged qn=1 msn=2 mo=3"),
        (
            DDPTagged() / RDMAPWrite() / b"x",
            "DDP Tagged stag=0x0 to=0x0 L / RDMA Write 1 octet / Raw",
        ),
    ],
)
def test_summary(segment: Packet, text: str) -> None:
    """Where the payload belongs, and whether the message is complete with it."""
    assert segment.summary() == text
