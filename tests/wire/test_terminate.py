# SPDX-License-Identifier: GPL-2.0-or-later
"""The Terminate Header, as RFC 5040 4.8 has it and as Linux' siw writes it."""

from itertools import product

import pytest

from scapy_mpa.wire.terminate import ERROR_TYPES, is_defined, parse_terminate, terminate_text
from tests.truth import messages

TAGGED = messages.write(0xDEADBEEF, 0x1000, b"")[0]
UNTAGGED = messages.send(7, b"")[0]
READ_REQUEST = messages.read_request(3, 1, 2, 3, 4, 5)[0]

NAMES = {
    # RFC 5040 figure 9.
    (0, 0, 0x00): "RDMA / Local Catastrophic Error",
    (0, 1, 0x00): "RDMA / Remote Protection Error / Invalid STag",
    (0, 1, 0x01): "RDMA / Remote Protection Error / Base or bounds violation",
    (0, 1, 0x02): "RDMA / Remote Protection Error / Access rights violation",
    (0, 1, 0x03): "RDMA / Remote Protection Error / STag not associated with RDMAP Stream",
    (0, 1, 0x04): "RDMA / Remote Protection Error / TO wrap",
    (0, 1, 0x09): "RDMA / Remote Protection Error / STag cannot be Invalidated",
    (0, 1, 0xFF): "RDMA / Remote Protection Error / Unspecified Error",
    (0, 2, 0x05): "RDMA / Remote Operation Error / Invalid RDMAP version",
    (0, 2, 0x06): "RDMA / Remote Operation Error / Unexpected OpCode",
    (0, 2, 0x07): "RDMA / Remote Operation Error / Catastrophic error, localized to RDMAP Stream",
    (0, 2, 0x08): "RDMA / Remote Operation Error / Catastrophic error, global",
    (0, 2, 0x09): "RDMA / Remote Operation Error / STag cannot be Invalidated",
    (0, 2, 0xFF): "RDMA / Remote Operation Error / Unspecified Error",
    # RFC 5041 7.2.
    (1, 0, 0x00): "DDP / Local Catastrophic",
    (1, 1, 0x00): "DDP / Tagged Buffer Error / Invalid STag",
    (1, 1, 0x01): "DDP / Tagged Buffer Error / Base or bounds violation",
    (1, 1, 0x02): "DDP / Tagged Buffer Error / STag not associated with DDP Stream",
    (1, 1, 0x03): "DDP / Tagged Buffer Error / TO wrap",
    (1, 1, 0x04): "DDP / Tagged Buffer Error / Invalid DDP version",
    (1, 2, 0x01): "DDP / Untagged Buffer Error / Invalid QN",
    (1, 2, 0x02): "DDP / Untagged Buffer Error / Invalid MSN - no buffer available",
    (1, 2, 0x03): "DDP / Untagged Buffer Error / Invalid MSN - MSN range is not valid",
    (1, 2, 0x04): "DDP / Untagged Buffer Error / Invalid MO",
    (1, 2, 0x05): "DDP / Untagged Buffer Error / DDP Message too long for available buffer",
    (1, 2, 0x06): "DDP / Untagged Buffer Error / Invalid DDP version",
    # RFC 5044 8.
    (2, 0, 0x01): "LLP / MPA / TCP connection closed, terminated, or lost",
    (2, 0, 0x02): "LLP / MPA / Received MPA CRC does not match the calculated value for the FPDU",
    (2, 0, 0x03): (
        "LLP / MPA / Received MPA Marker and ULPDU Length fields do not agree on the FPDU start"
    ),
    (2, 0, 0x04): "LLP / MPA / Invalid MPA Request Frame or MPA Response Frame received",
    # RFC 6581 8.
    (2, 0, 0x05): "LLP / MPA / Local catastrophic",
    (2, 0, 0x06): "LLP / MPA / Insufficient IRD resources",
    (2, 0, 0x07): "LLP / MPA / No matching RTR option",
}
"""Every defined (Layer, EType, Error Code), copied from the standards."""

NUMBERS = {
    (0, 0, 0x55): "RDMA / Local Catastrophic Error",
    (0, 2, 0x02): "RDMA / Remote Operation Error / code 0x02",
    (1, 3, 0x10): "DDP / Reserved for the use by the LLP / code 0x10",
    (2, 1, 0x02): "LLP / error type 1 / code 0x02",
    (7, 8, 0xFE): "layer 7 / error type 8 / code 0xfe",
}
"""Errors that no standard names, which are shown by their numbers."""


# Names


def test_every_defined_error_has_its_name() -> None:
    """The text is the layer, the error type and the code as their documents name them."""
    texts = NAMES | NUMBERS
    assert {error: terminate_text(*error) for error in texts} == texts


def test_nothing_else_is_defined() -> None:
    """Except RDMA's Local Catastrophic Error, where any code is acceptable."""
    defined = {
        (layer, etype, code)
        for layer in range(16)
        for etype in range(16)
        for code in range(256)
        if is_defined(layer, etype, code)
    }
    assert defined == set(NAMES) | {(0, 0, code) for code in range(256)}
    assert {(layer, etype) for layer, etype, _ in NAMES} == set(ERROR_TYPES) - {(1, 3)}


# The header as RFC 5040 has it

LENGTH, IN_ERROR, COPY = "ddp_segment_length", "ddp_header", "rdmap_header"

COPIED: dict[str, tuple[str, dict[str, object]]] = {
    # Fields that are not listed are neither set nor present.
    "no header": ("12 03 00 00", {}),
    "tagged": (
        f"11 00 c0 00 0064 {TAGGED.hex()}",
        {"m": True, "d": True, LENGTH: 100, IN_ERROR: TAGGED},
    ),
    "untagged, after an error of tagged ones": (
        f"11 00 c0 00 0064 {UNTAGGED.hex()} ab",
        {"m": True, "d": True, LENGTH: 100, IN_ERROR: UNTAGGED, "trailing": b"\xab"},
    ),
    "Read Request": (
        f"01 01 e0 00 002e {READ_REQUEST.hex()}",
        {
            **{"m": True, "d": True, "r": True, LENGTH: 46},
            **{IN_ERROR: READ_REQUEST[:18], COPY: READ_REQUEST[18:]},
        },
    ),
    # M says that the length is valid, D that it is present (RFC 5040 4.8).  With either it is read.
    "M alone": ("12 03 80 00 0064", {"m": True, LENGTH: 100}),
    "D alone": (f"12 03 40 00 0064 {UNTAGGED.hex()}", {"d": True, LENGTH: 100, IN_ERROR: UNTAGGED}),
    "R alone": (f"01 01 20 00 {READ_REQUEST[18:].hex()}", {"r": True, COPY: READ_REQUEST[18:]}),
    # Zeros may stand in place of headers (RFC 5040 7.1).
    "zeros without bits": ("12 03 00 00" + "00" * 48, {"trailing": bytes(48)}),
}

CUT = {
    "12 03 c0 00": "DDP Segment Length has 2 octets, 0 are there",
    "12 03 c0 00 07": "DDP Segment Length has 2 octets, 1 are there",
    "12 03 c0 00 0064": "the copied DDP header has 18 octets, 0 are there",
    "12 03 c0 00 0064 4143": "the copied DDP header has 18 octets, 2 are there",
    "11 03 c0 00 0064 c140": "the copied DDP header has 14 octets, 2 are there",
    "01 01 20 00 ff": "the copied RDMA Read Request Header has 28 octets, 1 are there",
}


@pytest.mark.parametrize("what", COPIED)
def test_copied_headers(what: str) -> None:
    """Figures 7 and 8: bits say what is copied.  The T bit of a DDP header gives its length."""
    octets, expected = COPIED[what]
    found = parse_terminate(bytes.fromhex(octets))
    bits = {**dict.fromkeys(("m", "d", "r", "mirrored"), False), "reserved": 0, "trailing": b""}
    absent = dict.fromkeys((LENGTH, IN_ERROR, COPY, "problem"))
    assert {name: getattr(found, name) for name in (*bits, *absent)} == {
        **bits,
        **absent,
        **expected,
    }
    assert found[:3] == (int(octets[0]), int(octets[1]), int(octets[3:5], 16))


@pytest.mark.parametrize("octets", CUT)
def test_copied_headers_cut(octets: str) -> None:
    """The part of a copied header that is there is given, and the missing part is reported."""
    found = parse_terminate(bytes.fromhex(octets))
    assert found.problem == CUT[octets]
    for kind in (bytearray, memoryview):
        assert parse_terminate(kind(bytes.fromhex(octets))) == found
    length = b"" if found.ddp_segment_length is None else b"\0\x64"
    parts = (length, found.ddp_header or b"", found.rdmap_header or b"", found.trailing)
    assert b"".join(parts) == bytes.fromhex(octets)[4:]
    assert (found.trailing == b"") == (octets != "12 03 c0 00 07")


# Which layout: RFC 5040's


def test_conforming_is_never_read_as_mirrored() -> None:
    """A defined error with reserved bits zero is read as RFC 5040 has it, whatever follows."""
    octets_after = (b"", b"\0\x64" + TAGGED, b"\0\x64" + READ_REQUEST, bytes(60))
    for error, bits, rest in product(NAMES, range(8), octets_after):
        layer, etype, code = error
        found = parse_terminate(bytes((layer << 4 | etype, code, bits << 5, 0)) + rest)
        assert (found.mirrored, found[:3], found.reserved) == (False, error, 0)


# Which layout: siw's

SIW = [
    # First octets, what follows, (Layer, EType, Error Code): seen from siw as Responder.
    ("21040300", "000a", UNTAGGED, (1, 2, 4)),
    ("11010300", "0014", TAGGED, (1, 1, 1)),
    ("01000300", "0010", TAGGED, (1, 0, 0)),
    ("11040000", "", b"", (1, 1, 4)),
    ("20050000", "", b"", (0, 2, 5)),
    ("20060000", "", b"", (0, 2, 6)),
    ("10000700", "0000", READ_REQUEST, (0, 1, 0)),
    ("20070300", "0000", READ_REQUEST[:18], (0, 2, 7)),
    ("02030000", "", b"", (2, 0, 3)),
    # Seen from siw as Initiator, after a Reply it does not accept.
    ("02040000", "", b"", (2, 0, 4)),
    ("02060000", "", b"", (2, 0, 6)),
    ("02070000", "", b"", (2, 0, 7)),
]

EITHER_WAY = {
    # Both layouts give a defined error, no bit is set and nothing follows.
    "20050000": (2, 0, 5),
    "20060000": (2, 0, 6),
    "02060000": (0, 2, 6),
    "02070000": (0, 2, 7),
}
"""Octets that siw sent and that are ambiguous, and their meaning by RFC 5040."""


@pytest.mark.parametrize(("control", "length", "copied", "error"), SIW)
def test_siw(control: str, length: str, copied: bytes, error: tuple[int, int, int]) -> None:
    """Read as siw writes it, each Terminate means what siw meant.  The octets alone show that, too,
    unless RFC 5040's reading is as good."""
    octets = bytes.fromhex(control + length) + copied
    as_siw, found = parse_terminate(octets, mirrored=True), parse_terminate(octets)
    assert (as_siw[:3], as_siw.mirrored, as_siw.ambiguous) == (error, True, False)
    assert (as_siw.d, as_siw.r) == (bool(copied), len(copied) > 18)
    assert (as_siw.ddp_header or b"") + (as_siw.rdmap_header or b"") == copied
    assert not length or as_siw.ddp_segment_length == int(length, 16)
    # By figure 8 it is another layer, without bits, and the headers are trailing octets.
    insisted = parse_terminate(octets, mirrored=False)
    assert insisted[:3] == (int(control[0]), int(control[1]), int(control[2:4], 16))
    assert (insisted.d, insisted.trailing, insisted.mirrored) == (False, octets[4:], False)
    assert insisted.evidence == "the caller asked for this reading"
    if control in EITHER_WAY:
        assert (found.mirrored, found.ambiguous) == (False, True)
        assert found[:3] == EITHER_WAY[control]
        assert found.evidence == f"both readings possible: mirrored it is {NAMES[error]}"
    else:
        assert (found[:3], found.ambiguous) == (error, False)
        assert found.mirrored is (control != "11040000")
        assert (found.ddp_header or b"") + (found.rdmap_header or b"") == copied
    assert (found.trailing, found.problem) == (b"", None)


EVIDENCE = [
    ("2102c000 0000" + UNTAGGED.hex(), False, "M, D or R is set where RFC 5040 figure 8"),
    ("21020300 0000" + UNTAGGED.hex(), True, "set mirrored, and octets follow"),
    ("20060300 0000" + UNTAGGED.hex(), True, "set mirrored, and octets follow"),
    ("5f000300 0000" + UNTAGGED.hex(), True, "set mirrored, and octets follow"),
    ("12020300 0000" + UNTAGGED.hex(), False, "only RFC 5040's layout gives a defined error"),
    ("21020301 0000" + UNTAGGED.hex(), True, "only mirrored do the octets give"),
    ("11020300", False, "both layouts give the same error"),
    ("11021300 0000" + TAGGED.hex(), False, "both layouts give the same error"),
    ("12020000", False, "only RFC 5040's layout gives a defined error"),
    ("10010000", True, "only mirrored do the octets give a defined error"),
    ("01000000", False, "both readings possible: mirrored it is DDP / Local Catastrophic"),
    *(
        (f"{control}0000", False, "both readings possible")
        for control in ("2005", "2006", "2007", "0206")
    ),
    ("5f000000", False, "neither layout gives a defined error"),
    ("31000000", False, "neither layout gives a defined error"),
]


@pytest.mark.parametrize(("octets", "mirrored", "evidence"), EVIDENCE)
def test_evidence(octets: str, mirrored: bool, evidence: str) -> None:
    """Each kind of evidence gives the right reading, and is shown in one line."""
    found = parse_terminate(bytes.fromhex(octets))
    assert found.mirrored is mirrored
    assert evidence in found.evidence
    # Only the Initiator reports MPA errors 5 and 6 (RFC 6581 8).  A Responder means RDMAP's.
    of_responder = parse_terminate(bytes.fromhex(octets), by_responder=True)
    assert of_responder.mirrored is (mirrored or octets in ("20050000", "20060000"))
    assert of_responder.ambiguous is found.ambiguous
    assert "\n" not in found.evidence
    assert found.ambiguous is evidence.startswith("both readings")


# There and back
