# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that a single DDP segment shows (RFC 5041 7.1, RFC 5040 7.2, RFC 7306 8.2)."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.rules import header_violation, violation


def tagged(control: int, rdmap: int, to: int = 0, payload: bytes = b"") -> bytes:
    """A Tagged segment."""
    return struct.pack(">BBIQ", control, rdmap, 1, to) + payload


def untagged(
    rdmap: int, qn: int = 0, payload: bytes = b"", mo: int = 0, control: int = 0x41, word: int = 0
) -> bytes:
    """An Untagged segment."""
    return struct.pack(">BBIIII", control, rdmap, word, qn, 1, mo) + payload


def terminate(control: str, headers: bytes = b"") -> bytes:
    """A Terminate with such a control field, and what follows it."""
    return untagged(0x47, 2, bytes.fromhex(control) + headers)


READ_REQUEST = struct.pack(">IQIIQ", 1, 0, 100, 2, 0)
ATOMIC_REQUEST = struct.pack(">IIIQQQQQ", 0, 1, 2, 8, 0, 0, 0, 0)

RIGHT = {
    "write": tagged(0xC1, 0x40),
    "write up to the last octet": tagged(0xC1, 0x40, (1 << 64) - 4, b"abcd"),
    "write of nothing, anywhere": tagged(0xC1, 0x40, (1 << 64) - 1),
    "rdma consortium": tagged(0xC0, 0x00),
    "rdmap version 0": tagged(0xC1, 0x00),
    "reserved bits": tagged(0xFD, 0x70),
    "read response": tagged(0x81, 0x42),
    "send": untagged(0x43),
    "send with a word that means nothing": untagged(0x43, word=7),
    "send up to the last octet": untagged(0x43, mo=0xFFFFFFFB, payload=b"abcd"),
    "read request": untagged(0x41, 1, READ_REQUEST),
    "part of a read request": untagged(0x41, 1, READ_REQUEST[:9], control=0x01),
    "rest of a read request": untagged(0x41, 1, READ_REQUEST[9:], mo=9),
    "terminate": terminate("02000000"),
    "terminate with zeros for headers": terminate("02000000", bytes(2 + 18 + 28)),
    "terminate with zeros for a read request": terminate(
        "0206C0000012", untagged(0x43) + bytes(28)
    ),
    "immediate data": untagged(0x48, 0, bytes(8)),
    "atomic request": untagged(0x4A, 1, ATOMIC_REQUEST),
    "atomic request at an arbitrary offset": untagged(
        0x4A, 1, payload=struct.pack(">IIIQQQQQ", 0, 1, 2, 12, 0, 0, 0, 0)
    ),
    "atomic response": untagged(0x4B, 3, bytes(12)),
}

WRONG = {
    "no header": (b"", "RFC 5041 4.4", None),
    "half a header": (untagged(0x43)[:17], "RFC 5041 4.4", None),
    "tagged version": (tagged(0xC2, 0x40), "RFC 5041 4.1", (1, 1, 4)),
    "untagged version": (untagged(0x43, control=0x43), "RFC 5041 4.1", (1, 2, 6)),
    "ddp version 0 alone": (tagged(0xC0, 0x40), "RFC 5041 4.1", (1, 1, 4)),
    "to wraps": (tagged(0xC1, 0x40, (1 << 64) - 3, b"abcd"), "RFC 5041 7.1", (1, 1, 3)),
    "queue 4": (untagged(0x43, 4), "RFC 5041 7.1", (1, 2, 1)),
    "too long": (untagged(0x43, mo=0xFFFFFFFC, payload=b"abcd"), "RFC 5041 5.2", (1, 2, 5)),
    "rdmap version": (untagged(0x83), "RFC 5040 4.1", (0, 2, 5)),
    "rdmap version of immediate data": (untagged(0x08), "RFC 7306 4.1", (0, 2, 5)),
    "opcode 12": (untagged(0x4C), "RFC 5040 4.1", (0, 2, 6)),
    "tagged send": (tagged(0xC1, 0x43), "RFC 5040 4.1", (0, 2, 6)),
    "untagged write": (untagged(0x40), "RFC 5040 4.1", (0, 2, 6)),
    "send on queue 1": (untagged(0x43, 1), "RFC 5040 4.1", (0, 2, 6)),
    "read request and payload": (untagged(0x41, 1, READ_REQUEST + b"x"), "RFC 5040 4.2", None),
    "late read request": (untagged(0x41, 1, READ_REQUEST[:9], mo=20), "RFC 5040 4.2", None),
    **{
        f"{what} with mo {mo}": (untagged(control, qn, octets, mo=mo), "RFC 5041 4.3", (1, 2, code))
        for what, control, qn, octets, mo, code in (
            ("read request", 0x41, 1, READ_REQUEST, 27, 5),
            ("read request", 0x41, 1, READ_REQUEST, 28, 4),
            ("immediate data", 0x48, 0, bytes(8), 1, 5),
            ("atomic request", 0x4A, 1, ATOMIC_REQUEST, 1, 5),
            ("atomic response", 0x4B, 3, bytes(12), 12, 4),
            ("terminate", 0x47, 2, bytes(4), 49, 5),
        )
    },
    "early read request": (untagged(0x41, 1, bytes(4), mo=20), "RFC 5040 4.4", None),
    "short read request": (untagged(0x41, 1, bytes(27)), "RFC 5040 4.4", None),
    "source wraps": (
        untagged(0x41, 1, struct.pack(">IQIIQ", 1, 0, 4, 2, (1 << 64) - 3)),
        "RFC 5040 7.2",
        (0, 1, 4),
    ),
    "short terminate": (untagged(0x47, 2, bytes(3)), "RFC 5040 4.8", None),
    "terminate and payload": (terminate("0200000001"), "RFC 5040 4.8", None),
    "terminate and too many zeros": (
        terminate("02000000", bytes(2 + 18 + 28 + 1)),
        "RFC 5040 4.8",
        None,
    ),
    "immediate data of 9": (untagged(0x49, 0, bytes(9)), "RFC 7306 6.3", None),
    "operation 1": (untagged(0x4A, 1, b"\0\0\0\1" + ATOMIC_REQUEST[4:]), "RFC 7306 5.2.1", None),
    "short atomic response": (untagged(0x4B, 3, bytes(11)), "RFC 7306 5.2.2", None),
}


@pytest.mark.parametrize("name", WRONG)
def test_something_is_wrong(name: str) -> None:
    """A segment that a receiver must not accept is reported with its clause and its Terminate."""
    ulpdu, clause, terminate = WRONG[name]
    found = violation(ulpdu, len(ulpdu))
    assert found is not None
    assert (found.clause, found.terminate) == (clause, terminate)
    assert f"({clause})" in str(found)


def test_faults_without_rdmap() -> None:
    """RsvdULP and QN are the ULP's (RFC 5041 4). The other fields of DDP are checked."""
    headers = {name: (ddp_header_of(ulpdu), len(ulpdu)) for name, (ulpdu, *_) in WRONG.items()}
    assert {
        name
        for name, (header, length) in headers.items()
        if header is not None
        and header_violation(header, length - header.length, rdmap=False) is not None
    } == {"tagged version", "untagged version", "to wraps", "too long"}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_wrong(name: str) -> None:
    """A segment that a receiver must accept, or must not check, has no fault.  Neither has any part
    of it that the snap length left."""
    ulpdu = RIGHT[name]
    for there in range(len(ulpdu) + 1):
        assert violation(ulpdu[:there], len(ulpdu)) is None


@given(st.binary(max_size=120), st.integers(0, 70000))
def test_any_octets_have_a_verdict(ulpdu: bytes, more: int) -> None:
    """Whatever the octets are, there is an answer."""
    found = violation(ulpdu, len(ulpdu) + more)
    assert found is None or str(found)
