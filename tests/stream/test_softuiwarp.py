# SPDX-License-Identifier: GPL-2.0-or-later
"""SoftUiWARP: pads of (ULPDU_Length + 2) mod 4 octets, CRC fields of zeros."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Segment, impair
from scapy_mpa.craft.impairments import CaptureLoss, Reordering, SnapLength
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import plain, printed
from tests.stream.crafted import INITIATOR, Record, of
from tests.stream.feed import fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import ended, reply, request
from tests.truth import messages
from tests.truth.mpastream import build_stream

LENGTHS = st.lists(st.integers(0, 700), min_size=1, max_size=12)
FORCED = Dialect.SOFTUIWARP


def with_pad(ulpdu: bytes) -> bytes:
    """An FPDU with SoftUiWARP's pad."""
    pad = (len(ulpdu) + 2) % 4
    return struct.pack(">H", len(ulpdu)) + ulpdu + b"\0" * pad + b"\0\0\0\0"


def conversation(lengths: Sequence[int], dialect: str | None, **options: Any) -> Conversation:
    """Sends of these lengths from the Initiator, and an answer."""
    made = Conversation(dialect=dialect, crc=False, **options)
    rng = Random(str(lengths))
    for length in lengths:
        made.initiator.send(rng.randbytes(length))
    made.responder.send(b"even")
    made.close()
    return made


def without(records: list[Record], *names: str) -> list[Record]:
    """Records without some of their keys."""
    return [{key: each[key] for key in each if key not in names} for each in records]


def damaged(segments: list[Segment], data: st.DataObject, rng: Random, seed: int) -> list[Segment]:
    """The segments, damaged in one way or not at all."""
    ways: tuple[Any, ...] = (None, "bit", CaptureLoss(0.1), Reordering(0.3), SnapLength(120))
    damage = data.draw(st.sampled_from(ways))
    if damage is None:
        return segments
    if damage != "bit":
        return impair(segments, damage, seed=seed)
    hit = rng.randrange(5, len(segments))
    octets = bytearray(segments[hit].octets)
    if octets:
        octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
    return [*segments[:hit], replace(segments[hit], octets=bytes(octets)), *segments[hit + 1 :]]


@given(LENGTHS, st.sampled_from(("aligned", "packed", "stream")), st.integers(60, 1460))
def test_recognised(lengths: list[int], packing: Any, mss: int) -> None:
    """After an FPDU of odd length three others prove the dialect.  No FPDU is lost, and none is
    false.

    The dialect, and the first FPDU with another pad, may be reported a little later.
    """
    made = conversation([*lengths, 1, 2, 3, 4, 5], "softuiwarp", packing=packing, mss=mss)
    frames = made.frames()
    when = ("frame", "time", "timestamp")
    names = (*when, "frames", "captured", "captured_from", "dialect")
    truth = made.truth(messages=True, payload=True)
    for found in (plain(frames), printed(frames)):
        mine, wanted = (of(each, "fpdu", INITIATOR) for each in (found, truth))
        assert [each["seq"] for each in mine] == [each["seq"] for each in wanted]
        for one, other in zip(without(mine, *names), without(wanted, *names), strict=True):
            assert one == {key: other[key] for key in one}
        (connection,) = of(found, "connection")
        assert connection["dialect"] == "softuiwarp"
        assert not of(found, "error")
    messages, expected = (of(each, "message") for each in (plain(frames), truth))
    for part in (part for each in messages + expected for part in each["parts"]):
        del part["frames"]
    messages, expected = (
        without(each, *when, "captured", "captured_from") for each in (messages, expected)
    )
    assert sorted(messages, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(("markers", "crc"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_only_without_markers_and_crcs(markers: int, crc: int) -> None:
    """With either it is RFC 5044, even if lengths with SoftUiWARP's pads lead to headers."""
    ulpdus = [messages.send(msn, bytes(msn + 8))[0] for msn in range(8)]
    whole, _ = build_stream(ulpdus[:1], markers=bool(markers), crc=bool(crc))
    letters: dict[str, Octets] = {
        "Q": request(markers=markers, crc=crc),
        "A": reply(markers=markers, crc=crc),
        "1": whole + b"".join(map(with_pad, ulpdus[1:])),
        "2": whole,
    }
    events = Scene(">Q <A >1 <2 >F <F", letters).fed()
    is_known = not (markers or crc)
    assert ended(events).dialect is (FORCED if is_known else Dialect.RFC5044)
    count = 8 if is_known else 2
    assert [each.ulpdu for each in fpdus(events, 0)][:count] == ulpdus[:count]
    if crc:
        assert [each.crc for each in fpdus(events, 0)] == ["good", "bad"]


def test_two_at_the_end_are_enough() -> None:
    """After an FPDU of odd length, two more are enough if the stream ends where they end."""
    one, two = (
        of(plain(conversation(lengths, "softuiwarp").frames()), "connection")[0]["dialect"]
        for lengths in ([1, 2], [1, 2, 4])
    )
    assert (one, two) == ("rfc5044", "softuiwarp")


@given(st.lists(st.integers(0, 99), min_size=1, max_size=9), st.integers(0, 2**32), st.data())
def test_conforming_streams_are_not_recognised_as_it(
    lengths: list[int], seed: int, data: st.DataObject
) -> None:
    """Even with damage, or with payload that looks like FPDUs of SoftUiWARP."""
    made = Conversation(crc=data.draw(st.booleans()), packing="stream", mss=300)
    rng = Random(seed)
    for length in lengths:
        row = [bytes([0x41, 0x43]) + bytes(16) + bytes(each) for each in (length, 1, 3, 2)]
        payload = b"".join(map(with_pad, row))
        shift = data.draw(st.integers(0, 7))
        made.initiator.send(rng.randbytes(shift) + payload)
        made.initiator.send(rng.randbytes(length))
    made.close()
    segments = damaged(made.segments(), data, rng, seed)
    records = plain(made.frames(segments))
    for connection in of(records, "connection"):
        assert connection["dialect"] in ("rfc5044", None)
