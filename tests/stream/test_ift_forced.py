# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP Framing for TCP where the user says that it is spoken (draft-williams-iwarp-ift-01)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import IFTConversation
from scapy_mpa.records import Record
from scapy_mpa.stream.segment import ACK, SYN
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import plain
from tests.craft.strategies import framed_conversations
from tests.stream.ift import (
    HC,
    ISN,
    PC,
    PH,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    frame,
    indication,
    send,
    write,
)

IFT = Dialect.DRAFT_IFT_01
UNTOLD = {"connection", "frame", "time", "frames", "located_by", "out_of_order", "placed"}
MODE = {"offset", "rdmap_version", "opcode", "message", "invalidate_stag", "confirmed"}
"""What only indications tell."""


def of(records: list[Record], kind: str) -> list[Record]:
    """The records of a type."""
    return [record for record in records if record["type"] == kind]


def harmed(octets: bytes, *places: int) -> bytes:
    """Octets with bits of some of them turned over."""
    changed = bytearray(octets)
    for place in places:
        changed[place] ^= 0xFF
    return bytes(changed)


def begun(first: bytes, dialect: Dialect | None) -> list[Record]:
    """What is told of a connection that begins with these 64 octets, and of a frame in it."""
    capture = Capture(dialect=dialect)
    capture.segment(at=-65, flags=SYN, ack=0)
    capture.segment(at=-65, flags=SYN | ACK, side=1, ack=ISN + 1)
    capture.segment(first, -64, ack=ISN + 1)
    capture.segment(indication(R | HC | PC | PH, VTAG_B), -64, side=1)
    capture.segment(frame(send(1), b"hello"))
    capture.finish()
    return capture.records


GOOD = indication(R | HC | PC, VTAG_A)
BOTH_WRONG = harmed(GOOD, 0, 63)
STRANGE = harmed(GOOD, 40, 63)


@pytest.mark.parametrize("first", [BOTH_WRONG, STRANGE], ids=["magic and CRC", "reserved and CRC"])
def test_an_indication_with_one_thing_right(first: bytes) -> None:
    """It is taken for one where this dialect is forced, and what is wrong is reported."""
    told = begun(first, IFT)
    one, other = of(told, "adaption_indication")
    assert (one["vtag"], one["crc"], other["vtag"]) == (VTAG_A, "bad", VTAG_B)
    assert [record["vtag"] for record in of(told, "ift_frame")] == [VTAG_B]
    texts = [record["text"] for record in of(told, "error")]
    assert texts and all("draft-williams-iwarp-ift-01 4" in text for text in texts)
    (free,) = of(begun(first, None), "adaption_indication")
    assert free["vtag"] == VTAG_B


@given(st.binary(min_size=64, max_size=64))
@example(b"MPA ID Req Frame".ljust(64, b"\0"))
@settings(max_examples=60, deadline=None)
def test_other_octets_are_none(first: bytes) -> None:
    """Nothing makes an indication of octets with neither the magic nor the CRC nor the versions."""
    if first[:4] == GOOD[:4] or first[4:8] == GOOD[4:8]:
        return
    assert len(of(begun(first, IFT), "adaption_indication")) == 1


def midway(
    octets: bytes, dialect: Dialect | None = IFT, *, cut: int = 1460, begin: int = 5000
) -> list[Record]:
    """What is told of a direction that was captured from its midst on, in segments."""
    capture = Capture(dialect=dialect)
    for at in range(0, len(octets), cut):
        capture.segment(octets[at : at + cut], begin + at)
    capture.finish()
    return capture.records


@pytest.mark.parametrize(("hc", "pc"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("cut", [1460, 100, 7])
def test_4_2_captured_midway(hc: bool, pc: bool, cut: int) -> None:
    """VTag and CRCs are inferred from frames; what is before the first whole one is lost."""
    frames = [frame(write(7, 100 * n), bytes([n]) * 90, hc=hc, pc=pc) for n in range(1, 9)]
    told = midway(frames[0][33:] + b"".join(frames[1:]), cut=cut)
    found = of(told, "ift_frame")
    assert [each["to"] for each in found] == [100 * n for n in range(2, 9)]
    assert {each["vtag"] for each in found} == {VTAG_B}
    assert {each["offset"] for each in found} == {None}
    assert {each["header_crc"] for each in found} == {"good" if hc else "off"}
    assert {each["payload_crc"] for each in found} == {"good" if pc else "off"}
    (end,) = of(told, "connection")
    assert (end["dialect"], end["initiator"], end["errors"]) == (IFT.value, None, 0)
    assert not of(midway(b"".join(frames), None, cut=cut), "ift_frame")


def test_4_2_midway_without_crcs() -> None:
    """Nothing proves these, so nothing is said of them."""
    frames = [frame(write(7, 100 * n), bytes([n]) * 90, hc=False, pc=False) for n in range(9)]
    (end,) = midway(b"".join(frames))
    assert (end["type"], end["dialect"]) == ("connection", None)


def test_8_one_frame_proves_itself() -> None:
    """Both its CRCs are good; one alone, with nothing behind it, proves nothing."""
    assert len(of(midway(frame(send(3), b"hello")), "ift_frame")) == 1
    for hc, pc in (True, False), (False, True):
        assert not of(midway(frame(send(3), b"hello", hc=hc, pc=pc)), "ift_frame")
    # The CRC of no octets is good everywhere.
    assert not of(midway(frame(send(3), b"", hc=False) * 4), "ift_frame")


@settings(max_examples=60, deadline=None)
@given(framed_conversations(), st.integers(0, 100))
def test_begins_anywhere(conversation: IFTConversation, percent: int) -> None:
    """From whichever segment on a capture begins, nothing is found that is not there.

    All frames whose octets are there are found, of a direction in which one has both CRCs.
    """
    segments = conversation.segments()
    begin = 4 + (len(segments) - 4) * percent // 100
    kept = segments[begin:]
    told = of(plain(conversation.frames(kept), IFT), "ift_frame")

    def known(record: Record) -> Record:
        return {key: value for key, value in record.items() if key not in UNTOLD | MODE}

    every = of(conversation.truth(segments, payload=True), "ift_frame")
    wanted = [each for each in every if min(each["frames"]) > begin]
    told = [each for each in told if each["confirmed"] is not False]
    for record in told:
        assert known(record) in [known(each) for each in every]
    assert len({(each["src"], each["seq"]) for each in told}) == len(told)
    for side in {each["src"] for each in wanted}:
        mine = [known(each) for each in wanted if each["src"] == side]
        if any(
            (each["header_crc"], each["payload_crc"]) == ("good", "good") and each["payload_size"]
            for each in mine
        ):
            assert [known(each) for each in told if each["src"] == side] == mine
