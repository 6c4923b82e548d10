# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP that begin in what others claim, and what reading those costs.

The sizes of a frame with a good header CRC may be a lie (draft-williams-iwarp-ift-01 5.1): only the
payload CRC speaks for them, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from scapy_mpa.records import Record
from scapy_mpa.stream.octets.island import Island
from tests.stream.ift import (
    BOTH,
    HC,
    PC,
    SP,
    VTAG_B,
    Capture,
    R,
    crc,
    errors,
    frame,
    of,
    places,
    send,
    stream,
    write,
)

_CLAIMED = 60_001
"""Nothing begins where it ends: those that are made here are 24 octets apart."""


def liar(number: int, claimed: int = _CLAIMED) -> bytes:
    """A frame without the payload that its sizes claim, its header CRC good."""
    head = b"\0\x0e" + claimed.to_bytes(2, "big") + VTAG_B.to_bytes(2, "big") + write(7, number)
    return head + crc(head)


def wrong(claimed: int) -> bytes:
    """As much of a frame as a search goes by, with nothing behind it."""
    return b"\0\x0e" + claimed.to_bytes(2, "big") + VTAG_B.to_bytes(2, "big") + b"\xc1"


@contextmanager
def reads() -> Iterator[list[int]]:
    """Note how many octets are read out of islands, piece by piece."""
    noted = []
    read = Island.read

    def noting(island: Island, start: int, end: int) -> bytes:
        noted.append(end - start)
        return read(island, start, end)

    with patch.object(Island, "read", noting):
        yield noted


def captured(
    octets: bytes, flags: int = BOTH, *, hole: int = 0, size: int = 1400, close: bool = True
) -> Capture:
    """A capture of octets in segments.

    :param hole: octets before them that it misses.
    """
    capture = Capture()
    capture.begin(flags)
    for at in range(0, len(octets), size):
        capture.segment(octets[at : at + size], hole + at)
    if close:
        capture.close(hole + len(octets))
    return capture


def told(capture: Capture) -> list[Record]:
    """What was told of frames."""
    return of(capture.records, "ift_frame")


def brought(capture: Capture) -> int:
    """How many octets of payload frames brought, all together."""
    return sum(len(str(each["payload"])) // 2 for each in told(capture))


@pytest.mark.parametrize("flags", [BOTH, BOTH | SP, R | HC, R | HC | SP])
@pytest.mark.parametrize(("hole", "size"), [(500, 1400), (500, 24), (0, 24), (0, 50_000)])
def test_5_1_claims_bring_no_octets_twice(flags: int, hole: int, size: int) -> None:
    """However many frames claim them: they are the first one's, and one's that begins in it."""
    octets = b"".join(map(liar, range(4_000)))
    with reads() as noted:
        capture = captured(octets, flags, hole=hole, size=size)
    assert brought(capture) < 4 * len(octets)
    # The CRCs of some are checked nevertheless; that is bounded for a connection.
    allowed = (1 << 24) + 16 * len(octets)
    assert sum(noted) < allowed + 60 * len(octets)
    # What the last ones claim is not there, and none can be followed from where the others do.
    found = {each["offset"] for each in told(capture)}
    assert {hole + at for at in range(0, len(octets) - 2 * _CLAIMED, 24)} <= found


@pytest.mark.parametrize("flags", [BOTH, BOTH | SP])
def test_5_1_what_is_claimed_is_read_for_no_wrong_header(flags: int) -> None:
    """A header CRC that is bad says enough: what a header claims is not looked at then."""
    octets = wrong(30_000) * 15_000
    with reads() as noted:
        capture = captured(octets, flags, hole=500)
    assert not told(capture)
    assert sum(noted) < 100 * len(octets)


def test_5_1_a_frame_in_what_another_claims() -> None:
    """Of frames that claim the same octets the first has them, and the one whose CRC is good."""
    one, other = liar(1), liar(2, 700)
    good = frame(write(8, 0), b"\x5a" * 400)
    octets = one + other + good + stream(1, 59_000)[0] + bytes(3_000)
    capture = captured(octets)
    first, second, third, fourth = told(capture)[:4]
    assert [each["offset"] for each in (first, second, third, fourth)] == places(
        [one, other, good, b""]
    )
    assert {each["header_crc"] for each in (first, second, third, fourth)} == {"good"}
    assert [each["payload_crc"] for each in (first, second, third)] == ["bad", "bad", "good"]
    assert first["payload"] == octets[24 : 24 + _CLAIMED].hex()
    assert second["payload"] == ""
    assert third["payload"] == "5a" * 400
    assert fourth["payload"] == "01" * 59_000 and fourth["payload_crc"] == "good"
    wrong_sizes = "another frame begins in what the sizes claim (draft-williams-iwarp-ift-01 5.1)"
    assert errors(capture.records).count(wrong_sizes) == 2


@pytest.mark.parametrize("flags", [BOTH, R | HC])
@pytest.mark.parametrize("hole", [0, 500])
def test_5_1_frames_behind_very_many_claims(flags: int, hole: int) -> None:
    """What is allowed for the claims of others is not taken from frames that keep theirs."""
    liars = b"".join(liar(number, 30_001) for number in range(4_000))
    good = stream(60, 700, pc=bool(flags & PC))
    capture = captured(liars + b"".join(good), flags, hole=hole)
    at = [hole + len(liars) + place for place in places(good)]
    whole = {each["offset"]: each for each in told(capture)}
    assert set(at) <= set(whole)
    assert {whole[place]["payload_crc"] for place in at} == {"good" if flags & PC else "off"}
    assert [whole[place]["payload"] for place in at] == [
        (bytes([msn]) * 700).hex() for msn in range(1, 61)
    ]


@pytest.mark.parametrize("junk", [*range(2_030, 2_060), 6_100, 14_330, 131_000, 131_070])
def test_8_a_frame_is_found_however_far_behind(junk: int) -> None:
    """A search takes octets in pieces, and frames lie across the ends of these."""
    good = stream(2)
    capture = captured(bytes([0x33]) * junk + b"".join(good), hole=500)
    assert [each["offset"] for each in told(capture)] == [
        500 + junk + place for place in places(good)
    ]


def test_5_1_a_claim_that_grows() -> None:
    """Where each segment brings one more frame, it does not bring all before it again."""
    octets = b"".join(map(liar, range(4_000)))
    capture = captured(octets, hole=0, size=24, close=False)
    assert len(told(capture)) > 1_000
    assert brought(capture) < 4 * len(octets)


def test_8_1_a_header_that_makes_no_sense_stops_no_search() -> None:
    """Its CRC may be good: what it claims is not waited for."""
    nonsense = b"\0\x12\xff\xf0" + VTAG_B.to_bytes(2, "big") + b"\x42" + send(1)[1:]
    octets = nonsense + crc(nonsense) + b"".join(stream(3))
    capture = captured(octets, BOTH | SP, hole=500, close=False)
    assert not told(capture)
    capture.close(500 + len(octets))
    assert [each["offset"] for each in told(capture)] == [
        500 + len(nonsense) + 4 + place for place in places(stream(3))
    ]
    assert {each["placed"] for each in told(capture)} == {"speculative"}
