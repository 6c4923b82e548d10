# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections without iWARP: only their end is reported.

FPDUs need a Request in one direction and a Reply in the other (RFC 5044 7.1.2).  If no octets are
missing that may be startup frames, octets without good CRCs are no FPDUs.  Otherwise, headers that
make sense are not enough: one must continue another.
"""

from __future__ import annotations

import itertools
import random

import pytest

from scapy_mpa.stream.events import ConnectionEnded, GapFound
from tests.stream.cut import stream
from tests.stream.feed import fpdus
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import build_stream

SITUATIONS: dict[str, tuple[bool, tuple[int, ...], bytes | None, bool]] = {
    # Both directions are whole, without a startup frame.
    "the peer sends nothing": (True, (), b"", False),
    "the peer sends text": (True, (), b"220 ready\r\n", False),
    "the peer sends the same": (True, (), None, False),
    # The peer's direction was captured whole, so the missing octets are no startup frame.
    "octets before the FPDUs are missing": (True, (0,), b"USER anonymous\r\n", False),
    # The capture may lack the startup frames.
    "the SYNs are missing": (False, (), b"", True),
    "startup frames are missing": (True, (0, 1), b"", True),
    "the peer is missing": (True, (0, 1), b"", True),
}
"""Whether the SYNs were captured; which sides first sent 20 octets that were not captured, where 0
is the sender of the FPDUs; the peer's octets, None if the same; and whether FPDUs are found."""


@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_startup_frames(situation: str) -> None:
    """Without CRCs, FPDUs are found only if startup frames may be missing."""
    syn, missed, answer, is_mpa = SITUATIONS[situation]
    for markers, direction, size in itertools.product((False, True), (0, 1), (100, 1460, 9000)):
        octets, truth = stream(list(range(20, 300, 7)), markers=markers, crc=False)
        talk = Talk(syn=syn)
        for each in missed:
            talk.miss(each ^ direction, bytes(20))
        if answer != b"":
            talk.say(1 - direction, answer or octets, size=size)
        talk.say(direction, octets, size=size)
        talk.close()
        if situation == "the peer is missing":
            talk.segments = [each for each in talk.segments if each.direction == direction]
        events = talk.fed()
        found = [each.ulpdu for each in fpdus(events)]
        assert found == [each.ulpdu for each in truth if is_mpa]
        assert is_mpa or {type(each) for each in events} <= {ConnectionEnded, GapFound}
        assert missed or is_mpa or GapFound not in {type(each) for each in events}


def written(to: list[int], stag: int = 7) -> list[bytes]:
    """RDMA Writes of one segment each, at these offsets."""
    rng = random.Random(400)
    return [messages.write(stag, each, rng.randbytes(400))[0] for each in to]


ROWS: dict[str, tuple[list[bytes], bool]] = {
    "MSNs continue": ([messages.send(msn, bytes([msn]) * 300)[0] for msn in range(1, 20)], True),
    "MOs continue": (messages.send(5, random.Random(5).randbytes(9000), 600), True),
    "TOs continue": (written([at * 400 for at in range(20)]), True),
    "TOs continue within messages": (
        [each for at in range(9) for each in messages.write(at + 1, at << 40, bytes(1500), 600)],
        True,
    ),
    "TOs are far apart": (written([at * 100_003 for at in range(40)]), False),
    "TOs are equal": (written([4096] * 40), False),
    "TOs grow by one": (written(list(range(40))), False),
    "TOs grow by one, and two payloads have one octet": (
        [messages.write(7, at, bytes(at * 29 % 40))[0] for at in range(80)],
        False,
    ),
    "most TOs continue": (written([at * 400 for at in range(60) if at % 4]), True),
    "STags differ": ([written([0], stag=at)[0] for at in range(40)], False),
    "MSNs are equal": ([messages.send(1, bytes([at]) * 300)[0] for at in range(40)], False),
}
"""ULPDUs, and whether enough of them continue another one."""


@pytest.mark.parametrize("size", [90, 536, 1460, 21_888])
@pytest.mark.parametrize("row", ROWS)
def test_headers_that_continue(row: str, size: int) -> None:
    """Without beginning, CRCs and Markers, one header must continue another (RFC 5041 5)."""
    ulpdus, goes_on = ROWS[row]
    # With good CRCs, headers need not continue others.
    for crc in (False, True):
        octets, truth = build_stream(ulpdus, crc=crc)
        talk = Talk(syn=False)
        talk.say(0, octets, size=size)
        found = [each.ulpdu for each in fpdus(talk.closed())]
        assert found == [each.ulpdu for each in truth if goes_on or crc]
