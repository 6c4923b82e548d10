# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of iWARP Framing for TCP (draft-williams-iwarp-ift-01), in order and with holes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import ACK, FIN, RST, SYN
from tests.stream.ift import (
    FIRST,
    HC,
    IH,
    IP,
    ISN,
    PC,
    PH,
    RM,
    SM,
    SP,
    VTAG_A,
    VTAG_B,
    Capture,
    R,
    errors,
    frame,
    frames,
    indication,
    of,
    read_request,
    send,
    write,
)
from tests.stream.work import calls

BOTH = R | HC | PC
ORDERED = "in order", None
CONFIRMED = "speculative", True
TAKEN_BACK = "speculative", False
NEVER = "speculative", None


def stream(count: int = 6, size: int = 100, **crcs: bool) -> list[bytes]:
    """Frames with a Send each."""
    return [frame(send(msn), bytes([msn % 256]) * size, **crcs) for msn in range(1, count + 1)]


def places(octets: list[bytes]) -> list[int]:
    """Where each begins."""
    return [sum(map(len, octets[:number])) for number in range(len(octets))]


# -- 4: adaption indications -----------------------------------------------------------------------


def test_4_1_both_indications_are_reported() -> None:
    """Each with its flags, by the names of the draft."""
    capture = Capture()
    one, other = of(capture.begin(R | HC | SP, R | PC), "adaption_indication")
    assert (one["ph"], one["r"], one["hc"], one["pc"], one["sp"]) == (0, True, True, False, True)
    assert (other["ph"], other["hc"], other["pc"]) == (1, False, True)
    assert (one["vtag"], other["vtag"]) == (VTAG_A, VTAG_B)
    assert one["crc"] == other["crc"] == "good"
    (ended,) = of(capture.finish(), "connection")
    assert ended["dialect"] == "draft-williams-iwarp-ift-01"
    assert ended["revision"] is None


@pytest.mark.parametrize("ending", ["closed", "reset", None])
@pytest.mark.parametrize("lost", [False, True])
def test_4_2_phase_0_is_not_answered(ending: str | None, lost: bool) -> None:
    """It is told if the connection ended first, unless the answer may not have been captured."""
    capture = Capture()
    capture.segment(at=-65, flags=SYN, ack=0)
    capture.segment(at=-65, flags=SYN | ACK, side=1, ack=ISN + 1)
    capture.segment(indication(BOTH, VTAG_A), -64, ack=ISN + 1)
    capture.segment(ack=ISN + 1 + 64 * lost)
    if ending is not None:
        last = FIN if ending == "closed" else RST
        capture.segment(flags=ACK | last, ack=ISN + 1 + 64 * lost)
    capture.finish()
    told = [
        f"the connection was {ending} before phase 0 was answered (draft-williams-iwarp-ift-01 4.2)"
    ]
    assert errors(capture.records) == (told if ending is not None and not lost else [])


@pytest.mark.parametrize("cut", [1, 3, 4, 8, 63])
def test_4_1_an_indication_in_pieces(cut: int) -> None:
    """It may come in any number of segments."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    octets = indication(BOTH, VTAG_A)
    assert not capture.segment(octets[:cut], -64)
    (told,) = capture.segment(octets[cut:], cut - 64)
    assert told["type"] == "adaption_indication"


def test_4_1_the_magic_alone_is_no_evidence() -> None:
    """Other protocols may begin with RDDP."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(b"RDDP is what we speak here, and a lot of other octets follow. " * 3, -64)
    (ended,) = capture.finish()
    assert ended["dialect"] is None and ended["errors"] == 0


def test_4_2_whoever_sends_phase_0_is_the_initiator() -> None:
    """Node A need not be the one that opens the TCP connection."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(indication(BOTH, VTAG_B), -64, side=1)
    capture.segment(indication(BOTH | PH, VTAG_A), -64)
    (ended,) = of(capture.finish(), "connection")
    assert ended["initiator"] == "10.0.0.2:4000"


def test_4_2_frames_wait_for_phase_1() -> None:
    """What their VTag must be is known only then."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    (one,) = stream(1)
    capture.segment(indication(BOTH, VTAG_A) + one, -64)
    assert not of(capture.records, "ift_frame")
    told = capture.segment(indication(BOTH | PH, VTAG_B), -64, side=1)
    assert frames(told) == [(0, *ORDERED)]


def talked(octets: bytes, answer: bytes) -> Capture:
    """A capture in which octets in streaming mode come first, in segments of their own."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(b"HELLO\r\n" + octets, -64)
    capture.segment(b"RDMA SPOKEN HERE\r\n" + answer, -64, side=1)
    return capture


def test_4_after_octets_in_streaming_mode() -> None:
    """A ULP may negotiate the upgrade first; frames are counted from the indication (4)."""
    capture = talked(indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_B))
    assert len(of(capture.records, "adaption_indication")) == 2
    told = capture.segment(stream(1)[0], 7)
    assert frames(told) == [(0, *ORDERED)]


def test_4_a_file_that_holds_an_indication() -> None:
    """It travels over TCP as well, and then the peer sends none, or no frame follows."""
    one, answer = indication(BOTH, VTAG_A), indication(BOTH | PH, VTAG_B)
    record = bytes(range(100))
    for octets, other in ((one, b"thanks"), (one + record, answer), (one, answer + record)):
        capture = talked(octets, other)
        assert not capture.records
        (ended,) = of(capture.finish(), "connection")
        assert ended["dialect"] is None and ended["errors"] == 0


@pytest.mark.parametrize(
    ("flags", "answer", "text"),
    [
        (BOTH, BOTH & ~R, "one side asks for RDMA mode and the other one for DDP mode"),
        (BOTH | PH, BOTH, "both sides sent phase 1"),
        (BOTH | SM, BOTH | RM, "periodic markers are agreed on"),
        (BOTH | RM, BOTH | SM, "periodic markers are agreed on"),
    ],
)
def test_4_2_negotiation_fails(flags: int, answer: int, text: str) -> None:
    """Each failure is an error at the indication that shows it."""
    (told,) = errors(Capture().begin(flags, answer))
    assert told.startswith(text)


def test_4_2_phase_0_is_answered_by_something_else() -> None:
    """Octets of any other kind are no answer."""
    capture = Capture()
    capture.segment(at=-65, flags=2, ack=0)
    capture.segment(at=-65, flags=18, side=1)
    capture.segment(indication(BOTH, VTAG_A), -64)
    capture.segment(b"HTTP/1.1 400 Bad Request\r\n\r\n", -64, side=1)
    assert "no adaption indication answers" in errors(capture.finish())[0]


def test_9_markers_are_not_defined() -> None:
    """Where markers are agreed on nothing is framed, and the other direction is."""
    capture = Capture()
    capture.begin(BOTH | SM, BOTH | RM)
    capture.segment(stream(1)[0])
    capture.segment(frame(send(1), b"x", VTAG_A), side=1)
    (ended,) = of(capture.finish(), "connection")
    assert ended["markers"] == {"src": True, "dst": False}
    assert ended["fpdus"] == {"src": 0, "dst": 1}


# -- 5, 6: frames in order -------------------------------------------------------------------------


@pytest.mark.parametrize("crcs", [(True, True), (True, False), (False, True), (False, False)])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_6_however_segments_are_cut(crcs: tuple[bool, bool], data: st.DataObject) -> None:
    """Frames of any length, whose CRCs are not aligned, are delivered in order (5.1, 7.2)."""
    hc, pc = crcs
    sizes = data.draw(st.lists(st.integers(0, 700), min_size=1, max_size=8))
    octets = [
        frame(send(msn), bytes([msn]) * size, hc=hc, pc=pc) for msn, size in enumerate(sizes, 1)
    ]
    whole = b"".join(octets)
    capture = Capture()
    capture.begin(R | HC * hc | PC * pc)
    at = 0
    while at < len(whole):
        step = data.draw(st.integers(1, len(whole)))
        capture.segment(whole[at : at + step], at)
        at += step
    assert frames(capture.records) == [(place, *ORDERED) for place in places(octets)]
    told = of(capture.records, "ift_frame")
    assert [len(str(each["payload"])) // 2 for each in told] == sizes
    verdicts = {(each["header_crc"], each["payload_crc"]) for each in told}
    assert verdicts == {("good" if hc else "off", "good" if pc else "off")}
    assert [each["complete"] for each in of(capture.records, "message")] == [True] * len(sizes)
    assert not errors(capture.close(len(whole)))


def test_5_1_header_crc_wrong() -> None:
    """The frame is reported with its verdict, and those behind it are found."""
    one, two, three = stream(3)
    two = two[:24] + b"\0\0\0\0" + two[28:]
    capture = Capture()
    capture.begin()
    capture.segment(one + two + three)
    told = of(capture.records, "ift_frame")
    assert [each["header_crc"] for each in told] == ["good", "bad", "good"]
    assert "the header CRC does not match" in errors(capture.records)[0]
    # A receiver makes no message of it (7).
    messages = of(capture.records, "message")
    assert [each["msn"] for each in messages if each["fpdus"]] == [1, 3]
    assert of(capture.close(len(one + two + three)), "connection")[0]["crc_bad"]["src"] == 1


def test_5_1_payload_crc_wrong() -> None:
    """The header CRC proves where the next frame begins."""
    one, two = stream(2)
    capture = Capture()
    capture.begin()
    told = capture.segment(one[:-1] + bytes([one[-1] ^ 1]) + two)
    assert [each["payload_crc"] for each in of(told, "ift_frame")] == ["bad", "good"]
    assert "the payload CRC does not match" in errors(told)[0]


def _with_wrong(octets: bytes, *, header: bool, payload: bool) -> bytes:
    """The frame of a Send with other CRCs than it must have."""
    changed = bytearray(octets)
    for at, is_wrong in ((24, header), (len(octets) - 4, payload)):
        for place in range(at, at + 4):
            changed[place] ^= 0xFF * is_wrong
    return bytes(changed)


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize(
    ("header", "payload"), [(True, False), (False, True), (True, True)], ids=["h", "p", "hp"]
)
def test_4_2_crcs_that_the_receiver_ignores(header: bool, payload: bool, speculative: bool) -> None:
    """With IH and IP of the receiver nothing follows from CRCs that are wrong, all of them."""
    octets = [_with_wrong(each, header=header, payload=payload) for each in stream(6)]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP * speculative, BOTH | IH * header | IP * payload)
    for number in (0, 1, 3, 4, 2, 5):
        capture.segment(octets[number], at[number])
    told = of(capture.records, "ift_frame")
    verdicts = {(each["header_crc"], each["payload_crc"]) for each in told}
    assert verdicts == {("bad" if header else "good", "bad" if payload else "good")}
    how = CONFIRMED if speculative else ORDERED
    assert frames(told) == [
        (place, *(how if number in (3, 4) else ORDERED)) for number, place in enumerate(at)
    ]
    assert [each["complete"] for each in of(capture.records, "message")] == [True] * 6
    assert not errors(capture.records)
    (ended,) = of(capture.close(at[-1] + len(octets[-1])), "connection")
    assert (ended["crc_bad"]["src"], ended["errors"]) == (6, 0)


@pytest.mark.parametrize(("flag", "wrong"), [(IH, "header"), (IP, "payload")])
def test_4_2_ignoring_is_for_the_receiver_to_say(flag: int, wrong: str) -> None:
    """IH and IP of the sender of a frame are about the other direction."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | flag, BOTH)
    is_header = wrong == "header"
    told = capture.segment(_with_wrong(one, header=is_header, payload=not is_header) + two)
    assert f"the {wrong} CRC does not match" in errors(told)[0]
    assert [each["msn"] for each in of(told, "message") if each["fpdus"]] == [2]


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
def test_5_1_a_payload_size_that_lies(crcs: int) -> None:
    """Frames that are swallowed are found, and what is behind them."""
    octets = stream(6, hc=bool(crcs & HC), pc=bool(crcs & PC))
    ddp, payload = octets[1][6:24], octets[1][24:]
    # The header CRC is made of what the header says, right or wrong.
    lie = frame(ddp, bytes(100), hc=False, pc=False)[:2] + (5000).to_bytes(2, "big")
    lie += octets[1][4:6] + ddp
    if crcs & HC:
        from tests.stream.ift import crc

        lie += crc(lie)
        payload = payload[4:]
    octets[1] = lie + payload
    capture = Capture()
    capture.begin(R | crcs)
    capture.segment(b"".join(octets))
    capture.close(len(b"".join(octets)))
    told = of(capture.records, "ift_frame")
    assert {each["msn"] for each in told} >= {1, 3, 4, 5, 6}
    assert errors(capture.records)


def test_4_2_vtag_wrong() -> None:
    """A frame with another VTag is reported, and flagged."""
    one = frame(send(1), b"x", 0x1111)
    capture = Capture()
    capture.begin()
    told = capture.segment(one + stream(1)[0])
    assert [each["vtag"] for each in of(told, "ift_frame")] == [0x1111, VTAG_B]
    assert errors(told) == [
        "the frame has VTag 0x1111 instead of 0xc3d4 (draft-williams-iwarp-ift-01 4.2)"
    ]


def test_6_closed_amid_a_frame() -> None:
    """A frame of which the end never came is told of."""
    (one,) = stream(1)
    capture = Capture()
    capture.begin()
    capture.segment(one[:50])
    assert errors(capture.close(50)) == [
        "the connection was closed 50 octets into a frame (draft-williams-iwarp-ift-01 6)"
    ]


def test_ddp_mode_has_no_rdmap() -> None:
    """In DDP mode RsvdULP is the ULP's, and there are no RDMAP messages (4.2, R)."""
    capture = Capture()
    capture.begin(HC, HC)
    told = capture.segment(frame(write(7, 8), b"x", pc=False))
    (record,) = of(told, "ift_frame")
    assert (record["stag"], record["to"], record["opcode"], record["message"]) == (7, 8, None, None)
    assert not of(capture.finish(), "message")


# -- 6: holes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
def test_6_what_lies_behind_a_hole_waits(crcs: int) -> None:
    """Without SP nothing is placed out of order: it waits, and is delivered when it is its turn."""
    octets = stream(4, hc=bool(crcs & HC), pc=bool(crcs & PC))
    at = places(octets)
    capture = Capture()
    capture.begin(R | crcs)
    for number in (0, 2, 3):
        capture.segment(octets[number], at[number])
    assert frames(capture.records) == [(0, *ORDERED)]
    capture.segment(octets[1], at[1])
    assert frames(capture.records) == [(place, *ORDERED) for place in at]


@pytest.mark.parametrize("crcs", [HC | PC, HC, PC, 0])
@pytest.mark.parametrize("shift", [0, 37])
def test_8_a_hole_that_stays_is_a_gap(crcs: int, shift: int) -> None:
    """Behind it frames are found by search, and no octet is invented."""
    octets = stream(8, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    at = places(octets)
    capture = Capture()
    capture.begin(R | crcs)
    start, end = at[1] + 10, at[2] + shift
    capture.segment(whole[:start])
    capture.segment(whole[end:], end)
    capture.acknowledge(len(whole), 80)
    capture.finish()
    lost = {1} | ({2} if shift else set())
    expected = [place for number, place in enumerate(at) if number not in lost]
    assert [offset for offset, *_ in frames(capture.records)] == expected
    (gap,) = (each for each in of(capture.records, "gap") if each["length"] == end - start)
    assert gap["seq"] == FIRST + start
    first = next(each for each in of(capture.records, "ift_frame") if each["offset"] >= end)
    assert first["located_by"] == "search"
    assert not errors(capture.records)


def test_6_a_late_copy_fills_a_hole() -> None:
    """Even behind the acknowledgement: what lies between is found once."""
    octets = stream(6)
    at = places(octets)
    capture = Capture()
    capture.begin()
    cut = at[3] + 11
    whole = b"".join(octets)
    capture.segment(octets[0])
    capture.segment(whole[cut:], cut)
    capture.acknowledge(len(whole), 80)
    capture.segment(whole[at[1] : cut], at[1])
    capture.finish()
    assert sorted(offset for offset, *_ in frames(capture.records)) == at
    assert not of(capture.records, "gap", "error")


def test_6_octets_that_the_snap_length_cut_off() -> None:
    """A frame that was cut is told of as far as it was captured."""
    octets = stream(3)
    at = places(octets)
    capture = Capture()
    capture.begin()
    for place, each in zip(at, octets, strict=True):
        capture.segment(each[:60], place, length=len(each))
    capture.finish()
    told = of(capture.records, "ift_frame")
    assert [each["offset"] for each in told] == at
    assert {(each["header_crc"], each["payload_crc"]) for each in told} == {("good", "unknown")}
    assert {each["payload"] for each in told[:1]} == {(b"\x01" * 32).hex()}
    assert not errors(capture.records)


# -- 8: speculative placement ----------------------------------------------------------------------


def test_8_placed_and_confirmed() -> None:
    """What lies beyond a hole is placed, and confirmed once all before it is there."""
    octets = stream(4)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(octets[0])
    capture.segment(octets[2] + octets[3], at[2])
    assert frames(capture.records) == [(0, *ORDERED)]
    told = capture.segment(octets[1], at[1])
    assert frames(told) == [(at[1], *ORDERED), (at[2], *CONFIRMED), (at[3], *CONFIRMED)]
    assert [each["out_of_order"] for each in of(told, "ift_frame")] == [False, True, True]
    assert [each["frames"] for each in of(told, "ift_frame")] == [[7], [6], [6]]
    (ended,) = of(capture.finish(), "connection")
    assert ended["out_of_order"]["src"] == 2
    assert ended["farthest_ahead"]["src"] == at[3] - at[1]
    assert len(of(capture.records, "message")) == 4


def test_8_only_if_the_sender_allows_it() -> None:
    """SP of the receiver's own indication is about the other direction (4.2)."""
    octets = stream(3)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH, BOTH | SP)
    for number in (0, 2, 1):
        capture.segment(octets[number], at[number])
    assert frames(capture.records) == [(place, *ORDERED) for place in at]


def test_8_a_hole_that_stays_leaves_it_unconfirmed() -> None:
    """Nobody can say then whether it was placed rightly."""
    octets = stream(4)
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(octets[0])
    capture.segment(octets[2] + octets[3], at[2])
    capture.finish()
    assert frames(capture.records) == [(0, *ORDERED), (at[2], *NEVER), (at[3], *NEVER)]


def test_8_wrongly_placed_and_taken_back() -> None:
    """A payload that looks like a frame, where a segment begins, deceives only for a while."""
    fake = frame(send(9), b"not a frame at all")
    one = frame(send(1), bytes(200) + fake + bytes(40))
    (two,) = stream(1)
    two = frame(send(2), b"rest")
    cut = one.index(fake)
    whole = one + two
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(whole[:100])
    capture.segment(whole[cut:], cut)
    told = capture.segment(whole[100:cut], 100)
    assert frames(told) == [(cut, *TAKEN_BACK), (0, *ORDERED), (len(one), *CONFIRMED)]
    assert not errors(told)
    # What was taken back is no message.
    assert [each["msn"] for each in of(capture.records, "message")] == [1, 2]
    (ended,) = of(capture.finish(), "connection")
    assert ended["fpdus"]["src"] == 2


@pytest.mark.parametrize("speculative", [False, True])
@given(crcs=st.sampled_from([HC | PC, HC, PC, 0]), size=st.integers(30, 400), seed=st.integers(0))
@settings(max_examples=60, deadline=None)
def test_6_captured_in_any_order(speculative: bool, crcs: int, size: int, seed: int) -> None:
    """Whatever the order of all segments, handshake and indications too, all is found once."""
    octets = stream(12, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    flags = R | crcs | SP * speculative
    segments: list[tuple[bytes, int, dict[str, int]]] = [
        (b"", -65, {"flags": SYN, "ack": 0}),
        (b"", -65, {"flags": SYN | ACK, "side": 1, "ack": ISN + 1}),
        (indication(flags, VTAG_A), -64, {"ack": ISN + 1}),
        (indication(flags | PH, VTAG_B), -64, {"side": 1}),
        *((whole[at : at + size], at, {}) for at in range(0, len(whole), size)),
    ]
    random.Random(seed).shuffle(segments)
    capture = Capture()
    for piece, at, more in segments:
        capture.segment(piece, at, **more)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert sorted(kept) == places(octets)
    assert not errors(capture.records)


@pytest.mark.parametrize("speculative", [False, True])
@given(
    crcs=st.sampled_from([HC | PC, HC, PC, 0]),
    start=st.integers(50, 900),
    length=st.integers(1, 900),
    size=st.integers(3, 600),
    seed=st.integers(0, 1 << 32),
)
@settings(max_examples=25, deadline=None)
def test_6_late_copies_of_what_was_given_up(
    speculative: bool, crcs: int, start: int, length: int, size: int, seed: int
) -> None:
    """Octets may come to lie before frames whose hole was given up: nothing is called wrong.

    If they come soon, all is found.
    """
    octets = stream(16, hc=bool(crcs & HC), pc=bool(crcs & PC))
    whole = b"".join(octets)
    end = start + length
    capture = Capture()
    capture.begin(R | crcs | SP * speculative)
    capture.segment(whole[:start])
    capture.segment(whole[end:], end)
    capture.acknowledge(len(whole), 80)
    pieces = [(at, min(at + size, end)) for at in range(start, end, size)]
    random.Random(seed).shuffle(pieces)
    for at, upto in pieces:
        capture.segment(whole[at:upto], at)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert not errors(capture.records)
    assert len(kept) == len(set(kept)) and set(kept) <= set(places(octets))
    if len(pieces) < 60:
        assert sorted(kept) == places(octets)


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(send(3), b"x", VTAG_A), id="VTag"),
        pytest.param(frame(send(3), b"x")[:24] + b"\0\0\0\0" + b"x" * 5, id="header CRC"),
        pytest.param(frame(send(3)[:17], b"x"), id="header length"),
        pytest.param(frame(send(3)[:6] + b"\0\0\0\x09" + send(3)[10:], b"x"), id="QN"),
        pytest.param(frame(b"\x42" + send(3)[1:], b"x"), id="DV"),
        pytest.param(frame(send(1), b"x"), id="MSN that was delivered"),
        pytest.param(frame(send(3, 0xFFFFFFFF), b"xy"), id="MO"),
        pytest.param(frame(write(7, (1 << 64) - 1), b"xy"), id="TO"),
        pytest.param(frame(read_request(3), b"x" * 27), id="payload length"),
    ],
)
def test_8_1_what_disqualifies(tail: bytes) -> None:
    """A frame with an invalid field is not placed before its turn."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    capture.segment(tail, len(one + two))
    capture.segment(two, len(one))
    capture.finish()
    assert not [each for each in frames(capture.records) if each[1] == "speculative"]


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(frame(write(7, (1 << 64) - 2), b"xy"), id="last TO"),
        pytest.param(frame(read_request(1), b"x" * 28), id="RDMA Read Request"),
        pytest.param(frame(send(3, 0xFFFFFFFE), b"x"), id="last MO"),
    ],
)
def test_8_1_what_does_not_disqualify(tail: bytes) -> None:
    """A frame that goes as far as is possible is placed before its turn."""
    one, two = stream(2)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    capture.segment(tail, len(one + two))
    capture.segment(two, len(one))
    assert (len(one + two), *CONFIRMED) in frames(capture.records)


def test_8_errors_are_not_reported_speculatively() -> None:
    """A frame with a bad payload CRC is told of only in order."""
    one, two, three = stream(3)
    three = three[:-1] + bytes([three[-1] ^ 0xFF])
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(one)
    assert not capture.segment(three, len(one + two))
    told = capture.segment(two, len(one))
    assert frames(told) == [(len(one), *ORDERED), (len(one + two), *ORDERED)]
    assert "the payload CRC does not match" in errors(told)[0]


def test_8_2_nothing_that_was_placed_is_overwritten() -> None:
    """What would overwrite waits for its turn; what touches nothing may be placed."""
    first = frame(write(7, 1000), bytes(100))
    hole = frame(write(7, 5000), bytes(100))
    over = frame(write(7, 1099), bytes(50))
    beside = frame(write(7, 1149), bytes(50))
    other = frame(write(8, 1000), bytes(50))
    octets = [first, hole, over, beside, other]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(first)
    capture.segment(over + beside + other, at[2])
    told = capture.segment(hole, at[1])
    assert frames(told) == [
        (at[1], *ORDERED),
        (at[2], *ORDERED),
        (at[3], *CONFIRMED),
        (at[4], *CONFIRMED),
    ]


def test_8_2_an_in_order_placement_that_overwrites() -> None:
    """It is done, and what it overwrites is taken back and placed again."""
    first = frame(write(1, 0), bytes(10))
    hole = frame(write(7, 1000), bytes(100))
    early = frame(write(7, 1050), bytes(100))
    octets = [first, hole, early]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(first)
    capture.segment(early, at[2])
    told = capture.segment(hole, at[1])
    assert frames(told) == [(at[2], *TAKEN_BACK), (at[1], *ORDERED), (at[2], *ORDERED)]


def test_8_2_buffers_of_which_track_is_lost() -> None:
    """Where it is no longer known what was written, nothing is placed speculatively."""
    scattered = [frame(write(7, 1000 * number), b"x") for number in range(300)]
    hole = frame(write(8, 0), b"x")
    early = frame(write(7, 999_999), b"x")
    elsewhere = frame(write(9, 999_999), b"x")
    octets = [*scattered, hole, early, elsewhere]
    at = places(octets)
    capture = Capture()
    capture.begin(BOTH | SP)
    capture.segment(b"".join(scattered))
    capture.segment(early + elsewhere, at[301])
    told = capture.segment(hole, at[300])
    assert [how for _, *how in frames(told)] == [[*ORDERED], [*ORDERED], [*CONFIRMED]]


def test_8_2_work_does_not_grow_with_what_is_placed() -> None:
    """However many frames are outstanding, one in order costs as much."""
    front = b"".join(frame(write(7, 10 * number), b"x") for number in range(600))
    costs = []
    for count in (500, 4000):
        ahead = b"".join(
            frame(write(100 + number % 900, number // 900), b"x") for number in range(count)
        )
        capture = Capture()
        capture.begin(BOTH | SP)
        for place in range(0, len(ahead), 1400):
            capture.segment(ahead[place : place + 1400], len(front) + 100 + place)
        costs.append(calls(lambda capture=capture: capture.segment(front)))
    assert costs[1] < 1.2 * costs[0]


@given(
    st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 3), st.integers(0, 40), st.integers(0, 12), st.booleans()
        ),
        max_size=40,
    ),
    st.integers(0, 1 << 20),
)
@settings(max_examples=150, deadline=None)
def test_8_2_as_a_receiver_would(told: list[tuple[bool, int, int, int, bool]], seed: int) -> None:
    """What is placed speculatively touches nothing that was placed before, octet for octet.

    What a frame in order overwrites is taken back, and told again in its turn.
    """
    octets = [
        frame(write(stag, to, last), bytes(size)) if is_tagged else frame(send(1 + stag, to), b"x")
        for is_tagged, stag, to, size, last in told
    ]
    at = places(octets)
    order = list(range(len(octets)))
    random.Random(seed).shuffle(order)
    capture = Capture()
    capture.begin(BOTH | SP)
    for number in order:
        capture.segment(octets[number], at[number])
    found = frames(capture.records)
    kept = [each for each in found if each[2] is not False]
    assert [offset for offset, *_ in kept] == at
    # Of those that were taken back each lies behind a frame in order that has the same octets.
    for number, (offset, _, confirmed) in enumerate(found):
        if confirmed is False:
            assert (offset, *ORDERED) in found[number:]
    # What was confirmed overwrites nothing that was placed before it, in order or ahead.
    claims = {
        place: {(each[:2], octet) for octet in range(each[2], each[2] + each[3])}
        for place, each in zip(at, told, strict=True)
        if each[0]
    }
    speculative = [offset for offset, how, confirmed in kept if how == "speculative"]
    for one in speculative:
        for other in speculative:
            if one != other and one in claims and other in claims:
                assert not claims[one] & claims[other]
    for one in speculative:
        for other in at:
            if other < one and other in claims and one in claims and other not in speculative:
                assert not claims[one] & claims[other]
    assert not errors(capture.records)


# -- whatever octets arrive ------------------------------------------------------------------------


@given(st.integers(0, 1 << 32), st.sampled_from([HC | PC, HC, PC, 0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_octets(seed: int, crcs: int, speculative: bool) -> None:
    """Garbage among frames, in any order: read to the end, nothing twice."""
    rng = random.Random(seed)
    whole = b"".join(
        each if rng.random() < 0.7 else rng.randbytes(rng.randrange(200))
        for each in stream(20, hc=bool(crcs & HC), pc=bool(crcs & PC))
    )
    pieces = []
    at = 0
    while at < len(whole):
        step = rng.randrange(1, 400)
        pieces.append((at, whole[at : at + step]))
        at += step
    pieces = [each for each in pieces if rng.random() < 0.95]
    if rng.random() < 0.5:
        rng.shuffle(pieces)
    capture = Capture(Limits(octets_per_half=8192))
    capture.begin(R | crcs | SP * speculative)
    for at, octets in pieces:
        capture.segment(octets, at, ack=FIRST)
    capture.close(len(whole))
    kept = [offset for offset, _, confirmed in frames(capture.records) if confirmed is not False]
    assert len(kept) == len(set(kept))
    assert len(of(capture.records, "connection")) == 1


def test_limits_hold() -> None:
    """Behind a hole that stays no more is held than is allowed, and what is given up is a gap."""
    capture = Capture(Limits(octets_per_half=50_000))
    capture.begin(BOTH | SP)
    octets = stream(400, size=1000)
    at = places(octets)
    for place, each in zip(at[1:], octets[1:], strict=True):
        capture.segment(each, place)
    found = {offset for offset, *_ in frames(capture.records)}
    assert len(found) > 300
    assert {each["reason"] for each in of(capture.records, "gap")} == {"limit"}
