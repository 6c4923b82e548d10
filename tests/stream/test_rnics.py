# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of the RNICs of RFC 5044 appendix C, by its figures."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.interoperability import RNIC
from tests.stream.feed import fpdus
from tests.stream.startup import ULPDUS, ended, reply, request
from tests.stream.talk import Talk
from tests.truth.mpastream import build_stream
from tests.wire.test_interoperability import CELLS

KINDS = {
    "RDMAC": RNIC.RDMAC,
    "Non-perms.": RNIC.NON_PERMISSIVE,
    "Permissive": RNIC.PERMISSIVE,
}


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
    sent: tuple[list[bytes], list[bytes]] = [], []
    markers: list[bool] | None = None
    if result != "close":
        version, agreed = int(result[2]), result[-3:]
        # M of the receive direction of Initiator and Responder.  The peer sends the Markers.
        markers = [agreed[2] == "1", agreed[0] == "1"]
        crcs = bool(asked["crc"] or answered["crc"])
        for direction in (0, 1):
            ulpdus = [of_version(each, version) for each in ULPDUS]
            octets, _ = build_stream(ulpdus, markers=markers[direction], crc=crcs)
            talk.say(direction, octets, size=700)
            sent[direction].extend(ulpdus)
    talk.close()
    events = talk.fed(Dialect.RFC5044)
    end = ended(events)
    for direction in (0, 1):
        found = fpdus(events, direction)
        assert [each.ulpdu for each in found] == sent[direction]
        assert {each.located_by for each in found} <= {"start", "length"}
    if markers is not None:
        assert [half.markers for half in end.halves] == markers
        assert end.crc is bool(asked["crc"] or answered["crc"])
        checks = Checks()
        assert not [
            each for event in events for each in checks.take(event) if isinstance(each, ErrorFound)
        ]
    else:
        # C.2.1: the Reply of an RNIC that closes has a revision that the Initiator does not know.
        wrong = [(each.code, each.seq) for each in events if isinstance(each, ErrorFound)]
        is_higher = answered["revision"] > asked["revision"]
        assert wrong == [(ErrorCode.INVALID_STARTUP_FRAME, at)] * is_higher
    assert end.rnics is not None
    for kinds, heading in zip(end.rnics, (initiator, responder), strict=True):
        assert KINDS[heading.split(" M=")[0]] in kinds
        assert (RNIC.RDMAC in kinds) <= (fields(heading, crc)["revision"] == 0 or "V=0" in result)
