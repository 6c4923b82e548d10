# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of the RNICs of RFC 5044 appendix C, by its figures."""

import pytest

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.interoperability import RNIC, Kinds, Offer, kinds_of
from tests.stream.feed import fpdus, of
from tests.stream.startup import ULPDUS, ended, reply, request
from tests.stream.talk import Talk
from tests.truth.mpastream import build_stream

RDMAC, NON_PERMISSIVE, PERMISSIVE = RNIC
KINDS = {"RDMAC": RDMAC, "Non-perms.": NON_PERMISSIVE, "Permissive": PERMISSIVE}

FIGURES = {
    15: (
        ("RDMAC M=1", "V=0 M=1/1", "close", "close"),
        ("Non-perms. M=0", "close", "V=1 M=0/0", "V=1 M=0/1"),
        ("Non-perms. M=1", "close", "V=1 M=1/0", "V=1 M=1/1"),
    ),
    16: (
        ("RDMAC M=1", "V=0 M=1/1", "N/A", "V=0 M=1/1"),
        ("Permissive M=0", "V=0 M=1/1", "V=1 M=0/0", "V=1 M=0/1"),
        ("Permissive M=1", "V=0 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
    ),
    17: (
        ("Non-perms. M=0", "V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"),
        ("Non-perms. M=1", "V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
        ("Permissive M=0", "V=1 M=0/0", "V=1 M=0/1", "V=1 M=0/0", "V=1 M=0/1"),
        ("Permissive M=1", "V=1 M=1/0", "V=1 M=1/1", "V=1 M=1/0", "V=1 M=1/1"),
    ),
}
"""A row for each Initiator, and a column for each Responder, in the same order: V, then M of the
receive direction of Initiator and Responder."""

CELLS = [
    (f"figure {number}", row[0], column[0], result)
    for number, rows in FIGURES.items()
    for row in rows
    for column, result in zip(rows, row[1:], strict=True)
]


def fields(heading: str, crc: bool) -> dict[str, int]:
    """Rev, M and C of the RNIC in the heading of a row or column (figure 14)."""
    name, markers = heading.split(" M=")
    if name == "RDMAC":
        return {"revision": 0, "markers": 1, "crc": 1}
    return {"revision": 1, "markers": int(markers), "crc": int(crc)}


def of_version(ulpdu: bytes, version: int) -> bytes:
    """A ULPDU with another DV and RV (RFC 5041 4.1, RFC 5040 4.1)."""
    return bytes([ulpdu[0] & ~3 | version, ulpdu[1] & 0x3F | version << 6]) + ulpdu[2:]


@pytest.mark.parametrize(("figure", "initiator", "responder", "result"), CELLS)
@pytest.mark.parametrize("crc", [False, True])
def test_figures(figure: str, initiator: str, responder: str, result: str, crc: bool) -> None:
    """Figures 14 to 17: a connection is read as its RNICs agree, and ``rnics`` names their types.

    Where the figure has N/A, the Responder adapts (C.2.3).  The dialect is forced, since
    revisions 0 and 1 are otherwise those of osc.
    """
    asked, answered = fields(initiator, crc), fields(responder, crc)
    if initiator == "RDMAC M=1" and responder.startswith("Permissive"):
        answered, result = fields("RDMAC M=1", crc), "V=0 M=1/1"
    talk = Talk()
    talk.say(0, request(**asked))
    at = talk.say(1, reply(**answered))
    ulpdus = [] if result == "close" else [of_version(each, int(result[2])) for each in ULPDUS]
    # M of the receive direction of Initiator and Responder.  The peer sends the Markers.
    markers, crcs = [result[-1] == "1", result[-3] == "1"], bool(asked["crc"] or answered["crc"])
    for direction in (0, 1) if ulpdus else ():
        octets, _ = build_stream(ulpdus, markers=markers[direction], crc=crcs)
        talk.say(direction, octets, size=700)
    talk.close()
    events = talk.fed(Dialect.RFC5044)
    end = ended(events)
    for direction in (0, 1):
        found = fpdus(events, direction)
        assert [each.ulpdu for each in found] == ulpdus
        assert {each.located_by for each in found} <= {"start", "length"}
    if ulpdus:
        assert [half.markers for half in end.halves] == markers
        assert end.crc is crcs
        checks = Checks()
        assert not of(ErrorFound, [each for event in events for each in checks.take(event)])
    else:
        # C.2.1: the Reply of an RNIC that closes has a revision that the Initiator does not know.
        wrong = [(each.code, each.seq) for each in of(ErrorFound, events)]
        is_higher = answered["revision"] > asked["revision"]
        assert wrong == [(ErrorCode.INVALID_STARTUP_FRAME, at)] * is_higher
    assert end.rnics is not None
    for kinds, heading in zip(end.rnics, (initiator, responder), strict=True):
        assert KINDS[heading.split(" M=")[0]] in kinds
        assert (RDMAC in kinds) <= (fields(heading, crc)["revision"] == 0 or "V=0" in result)


@pytest.mark.parametrize(
    ("request_", "reply", "kinds"),
    [
        ((0, 1, 1), (0, 1, 1), ((RDMAC,), (RDMAC, PERMISSIVE))),
        ((0, 1, 1), (1, 0, 1), ((RDMAC,), (NON_PERMISSIVE,))),
        ((1, 0, 0), (0, 1, 1), ((NON_PERMISSIVE, PERMISSIVE), (RDMAC,))),
        ((1, 1, 0), (1, 0, 1), ((NON_PERMISSIVE, PERMISSIVE), (NON_PERMISSIVE, PERMISSIVE))),
        # These are no RDMAC RNICs, and no IETF RNIC asks with revision 0.
        ((0, 0, 1), (0, 0, 1), None),
        ((0, 1, 0), (0, 1, 1), None),
        ((0, 1, 1), (0, 0, 1), None),
        # Outside the appendix.
        ((2, 0, 1), (2, 0, 1), None),
        ((1, 0, 1), (2, 0, 1), None),
        ((129, 0, 0), (129, 0, 0), None),
    ],
)
def test_kinds_of_rnic(
    request_: tuple[int, ...], reply: tuple[int, ...], kinds: Kinds | None
) -> None:
    """Permissive IETF RNICs cannot be distinguished from non-permissive ones (C.3)."""
    offers = (Offer(each[0], bool(each[1]), bool(each[2])) for each in (request_, reply))
    assert kinds_of(*offers) == kinds
