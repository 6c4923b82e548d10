# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase, clause by clause (RFC 5044 7.1.1 to 7.1.3)."""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, StartupSeen
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import INITIATOR_FLOW, RESPONDER_FLOW, fpdus
from tests.stream.test_connections import Talk
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, SYN
from tests.truth.mpastream import REPLY_KEY, REQUEST_KEY, TrueFPDU, build_stream, startup_frame

INITIATOR, RESPONDER = "10.0.0.1:40000", "10.0.0.2:4000"

ULPDUS = [messages.send(msn, bytes([msn]) * 300)[0] for msn in range(1, 9)]

# What an RFC looks like on its way through a TCP connection.
PROSE = b"""\
   Key:  This field contains the "key" used to validate that both sender
      and receiver of the frame are using MPA.  Initiator mode senders
      MUST set this field to the fixed value "MPA ID Req Frame" or (in
      byte order) 4D 50 41 20 49 44 20 52 65 71 20 46 72 61 6D 65 (in
      hexadecimal).  Responder mode receivers MUST check this field for
      the same value.  Responders send "MPA ID Rep Frame" or (in byte
      order) 4D 50 41 20 49 44 20 52 65 70 20 46 72 61 6D 65.

   MPA ID Req Frame
MPA ID Rep Frame MPA ID Req FrameMPA ID Req Frame
"""


def request(**fields: object) -> bytes:
    """A Request that asks for CRCs, unless told otherwise."""
    return startup_frame(REQUEST_KEY, **{"crc": 1, **fields})  # type: ignore[arg-type]


def reply(**fields: object) -> bytes:
    """A Reply that asks for CRCs, unless told otherwise."""
    return startup_frame(REPLY_KEY, **{"crc": 1, **fields})  # type: ignore[arg-type]


def stream(*, markers: bool = False, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """A few FPDUs."""
    return build_stream(ULPDUS, markers=markers, crc=crc, idle_crc_field=b"\xde\xad\xbe\xef")


def seen(events: list[Event]) -> list[StartupSeen]:
    """The startup frames."""
    return [each for each in events if isinstance(each, StartupSeen)]


def errors(events: list[Event]) -> list[tuple[int, ErrorCode | None, int]]:
    """Direction, code and sequence number of each error."""
    return [
        (each.direction, each.code, each.seq) for each in events if isinstance(each, ErrorFound)
    ]


def ended(events: list[Event]) -> ConnectionEnded:
    """The end of the one connection."""
    (end,) = [each for each in events if isinstance(each, ConnectionEnded)]
    return end


def found(events: list[Event], direction: int) -> list[bytes]:
    """The ULPDUs of a direction."""
    return [each.ulpdu for each in fpdus(events, direction)]


def check_works(
    events: list[Event],
    initiator: int = 0,
    wrong: list[tuple[int, ErrorCode | None, int]] | None = None,
) -> None:
    """The connection was accepted, all FPDUs were found from the start, nothing else is wrong."""
    for direction in (0, 1):
        assert found(events, direction) == ULPDUS
        assert fpdus(events, direction)[0].located_by == "start"
        assert {each.crc for each in fpdus(events, direction)} == {"good"}
    assert errors(events) == (wrong or [])
    end = ended(events)
    expected = (INITIATOR, RESPONDER) if initiator == 0 else (RESPONDER, INITIATOR)
    assert (end.initiator, end.responder, end.rejected) == (*expected, False)


def test_immediate_startup() -> None:
    """Request and Reply first thing on the connection, then FPDUs (7.1.4.2, rules 1 to 4)."""
    octets, _ = stream()
    talk = Talk()
    at = talk.say(0, request(private_data=b"hello")), talk.say(1, reply(private_data=b"world"))
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    first, second = seen(events)
    assert (first.startup.kind, second.startup.kind) == (StartupKind.REQUEST, StartupKind.REPLY)
    assert (first.direction, second.direction) == (0, 1)
    assert (first.startup.private_data, second.startup.private_data) == (b"hello", b"world")
    assert (first.seq, second.seq) == at
    assert (first.octets, second.octets) == (
        request(private_data=b"hello"),
        reply(private_data=b"world"),
    )


def test_the_side_that_accepts_the_tcp_connection_may_be_the_initiator() -> None:
    """Initiator and Responder have nothing to do with SYN and SYN,ACK (7.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(1, request())
    talk.say(0, reply())
    talk.say(1, octets)
    talk.say(0, octets)
    talk.close()
    events = talk.fed()
    check_works(events, initiator=1)
    assert ended(events).direction == 1


@pytest.mark.parametrize("size", [1, 2, 5, 19, 20, 21, 100])
@pytest.mark.parametrize("private", [0, 1, 512])
def test_startup_frames_in_pieces(size: int, private: int) -> None:
    """A startup frame is a stretch of the stream, however it is cut (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    data = random.Random(size).randbytes(private)
    talk.say(0, request(private_data=data), size=size)
    last = len(talk.segments)
    talk.say(1, reply(private_data=data), size=size)
    talk.say(0, octets, size=size if size > 2 else None)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    first = seen(events)[0]
    assert first.startup.data == data
    assert first.frame == last
    assert first.frames == tuple(range(4, last + 1))


@pytest.mark.parametrize("late", [False, True])
def test_startup_frame_captured_out_of_order(late: bool) -> None:
    """The pieces of a Request come in any order, its end before its Key (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(private_data=bytes(40)), size=7)
    if late:
        talk.segments[3:] = talk.segments[:2:-1]
    else:
        talk.segments[3:5] = talk.segments[4:2:-1]
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


def test_startup_frame_and_fpdus_in_one_segment() -> None:
    """The last octets of the Reply and the first FPDUs share a segment (7.1.2 rule 7).

    That Responder had no FPDU before it spoke (rule 4).
    """
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    at = talk.say(1, reply() + octets)
    talk.say(0, octets)
    talk.close()
    check_works(talk.fed(), wrong=[(1, None, at + 20)])


@pytest.mark.parametrize("text", [b"HELLO\r\n", PROSE, bytes(range(256)) * 20, b"MPA ID Re", b"M"])
@pytest.mark.parametrize("size", [1, 9, 1460])
def test_delayed_startup(text: bytes, size: int) -> None:
    """Streaming mode octets in both directions, then the startup frames (7.1.3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, text, size=size)
    talk.say(1, text, size=size)
    talk.say(0, request(), size=size)
    talk.say(1, reply(), size=size)
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    assert len(seen(events)) == 2


@pytest.mark.parametrize("lead", [b"HELLO\r\n", b"MPA ID Re", b"> MPA ID Req Fram"])
def test_delayed_startup_in_the_segment_of_the_last_streaming_octets(lead: bytes) -> None:
    """The point where MPA begins need not be a segment's (7.1: "exactly locates the point")."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, lead + request())
    talk.say(1, lead + reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize("swapped", [False, True])
def test_delayed_startup_behind_many_streaming_octets(swapped: bool) -> None:
    """However much was said before, and whatever the order of capture (7.1.3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, b"text" * 100_000, size=1460)
    talk.say(1, b"more" * 100_000, size=1460)
    frame = request(private_data=b"private")
    talk.say(0, b"last words" + frame[:11])
    talk.say(0, frame[11:])
    # The two pieces of the Request, the other way round.
    if swapped:
        talk.segments[-2:] = talk.segments[:-3:-1]
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize("size", [1, 40, 1460])
@pytest.mark.parametrize("syn", [False, True])
def test_a_key_in_ordinary_text_is_no_startup_frame(size: int, syn: bool) -> None:
    """The Keys stand in the RFC, which travels over TCP, too: no frame, no error, no FPDU."""
    talk = Talk(syn=syn)
    talk.say(0, b"GET /rfc5044.txt HTTP/1.0\r\n\r\n")
    talk.say(1, b"HTTP/1.0 200 OK\r\n\r\n" + PROSE * 3, size=size)
    talk.close()
    events = talk.fed()
    assert seen(events) == [] and errors(events) == [] and fpdus(events) == []
    assert ended(events).initiator is None


@pytest.mark.parametrize("between", [b"", b"no?\r\n", b"let us talk\r\n" * 20, b"x" * 50_000])
@pytest.mark.parametrize("size", [3, 1460])
def test_rejection_and_a_second_request(between: bytes, size: int) -> None:
    """R leaves the TCP connection open, on which MPA may be started again (7.1.2 rules 2, 3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1, private_data=b"busy"))
    if between:
        talk.say(0, between, size=max(size, 100))
        talk.say(1, between, size=max(size, 100))
    talk.say(0, request(private_data=b"please"), size=size)
    talk.say(1, reply(), size=size)
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    assert [each.startup.rejected for each in seen(events)] == [False, True, False, False]


def test_rejection_then_the_other_side_initiates() -> None:
    """The ULP may use the connection for other purposes, this one included (7.1.2 rule 3)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1))
    talk.say(1, request())
    talk.say(0, reply())
    talk.say(1, octets)
    talk.say(0, octets)
    talk.close()
    check_works(talk.fed(), initiator=1)


@pytest.mark.parametrize("after", [b"", b"bye\r\n", b"plain text " * 8_000])
def test_rejection_and_nothing_but_text(after: bytes) -> None:
    """A rejected connection is one without MPA; its octets are the ULP's (7.1.2 rule 3)."""
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1))
    if after:
        talk.say(0, after, size=1000)
        talk.say(1, after, size=1000)
    talk.close()
    events = talk.fed()
    assert len(seen(events)) == 2
    assert fpdus(events) == [] and errors(events) == []
    assert ended(events).rejected


@pytest.mark.parametrize("markers", [0, 1])
def test_rejection_and_octets_that_could_have_been_an_fpdu(markers: int) -> None:
    """What the ULP says next is nobody's business, a short "FPDU" with no CRC included (rule 3)."""
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply(rejected=1, markers=markers))
    talk.say(0, bytes(4 * markers) + b"\0\4" + b"no FPDU!!!")
    for _ in range(5):
        talk.say(0, b"more" * 10)
        talk.say(1, b"more" * 10)
    talk.close()
    events = talk.fed()
    assert fpdus(events) == [] and errors(events) == []
    assert ended(events).rejected


def two_startups(markers: int, lost: tuple[int, ...], late: int | None = None) -> list[Event]:
    """A rejection, a second startup and FPDUs; of the four frames some are lost, or one is late."""
    octets, truth = stream(markers=bool(markers))
    talk = Talk()
    frames = (
        request(markers=markers),
        reply(markers=markers, rejected=1),
        request(markers=markers, private_data=bytes(30)),
        reply(markers=markers, private_data=bytes(2)),
    )
    for number, frame in enumerate(frames):
        talk.say(number % 2, frame, captured=number not in lost)
        if late is not None and number == late + 1:
            talk.segments[-2:] = talk.segments[-1], talk.segments[-2]
    talk.say(0, octets, size=1000)
    talk.say(1, octets, size=1000)
    talk.close()
    events = talk.fed()
    for direction in (0, 1):
        assert found(events, direction) == [fpdu.ulpdu for fpdu in truth]
    assert errors(events) == []
    there = {frame for number, frame in enumerate(frames) if number not in lost}
    assert there.issuperset(each.octets for each in seen(events))
    return events


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize(
    "lost", [each for count in range(1, 5) for each in combinations(range(4), count)]
)
def test_rejection_and_what_was_not_captured(lost: tuple[int, ...], markers: int) -> None:
    """Whichever of the startup frames the capture lacks, every FPDU is found (7.1.2 rule 3)."""
    two_startups(markers, lost)


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("late", [None, 0, 1, 2])
def test_rejection_and_frames_captured_late(late: int | None, markers: int) -> None:
    """No startup frame is taken for the answer to another one, or for an FPDU (7.1.2 rule 3)."""
    events = two_startups(markers, (), late)
    assert len(seen(events)) == 4
    offsets = [fpdu.seq_offset for fpdu in stream(markers=bool(markers))[1]]
    assert [each.offset for each in fpdus(events, 0)] == offsets
    assert [each.offset for each in fpdus(events, 1)] == offsets
    assert not ended(events).rejected


def test_initiator_initiator() -> None:
    """Two Requests are an incorrect start, told by their Keys (7.1.2 rule 8)."""
    talk = Talk()
    talk.say(0, request())
    at = talk.say(1, request())
    talk.close()
    events = talk.fed()
    assert [each.startup.kind for each in seen(events)] == [StartupKind.REQUEST] * 2
    assert errors(events) == [(1, ErrorCode.INVALID_STARTUP_FRAME, at)]
    assert fpdus(events) == []


def test_a_reply_that_answers_no_request() -> None:
    """Who awaits a Request and gets a Reply has an invalid frame (7.1.2 rules 2, 5; 8 code 4)."""
    talk = Talk()
    at = talk.say(1, reply())
    talk.close()
    events = talk.fed()
    assert [each.startup.kind for each in seen(events)] == [StartupKind.REPLY]
    assert errors(events) == [(1, ErrorCode.INVALID_STARTUP_FRAME, at)]


def test_a_reply_captured_before_its_request() -> None:
    """A capture may hold an answer before the question: nothing is wrong with the connection."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    talk.segments[-2:] = talk.segments[:-3:-1]
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize(
    "bad",
    [
        request(private_data=bytes(513)),
        request(private_data=bytes(2000)),
        request(revision=3),
        request(revision=130),
        request(revision=255, private_data=b"data"),
        request(revision=2, enhanced=1),
        request(revision=2, enhanced=1, private_data=b"abc"),
    ],
    ids=["513", "2000", "rev 3", "rev 130", "rev 255", "S and none", "S and 3"],
)
@pytest.mark.parametrize("size", [1, 4000])
@pytest.mark.parametrize("answered", [False, True])
def test_a_request_that_no_receiver_may_accept(bad: bytes, size: int, answered: bool) -> None:
    """PD_Length above 512, an unknown Rev, S without room for its data (7.1.1, RFC 6581 6)."""
    talk = Talk()
    at = talk.say(0, bad, size=size)
    if answered:
        talk.say(1, reply())
    talk.close()
    events = talk.fed()
    assert seen(events)[0].octets == bad
    assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]


def test_512_octets_of_private_data_are_allowed() -> None:
    """The most that PD_Length may say (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(private_data=bytes(512)))
    talk.say(1, reply(private_data=bytes(512)))
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize("closed", [False, True])
def test_a_request_that_never_becomes_whole(closed: bool) -> None:
    """PD_Length promises octets that do not come: an improper frame (7.1.2 rule 9), or one that the
    end of the connection cut short (rule 10)."""
    talk = Talk()
    at = talk.say(0, request(private_data=b"only this", pd_length=100))
    if closed:
        talk.close()
    events = talk.fed()
    (first,) = seen(events)
    assert first.octets == request(private_data=b"only this", pd_length=100)
    code = ErrorCode.CONNECTION_LOST if closed else ErrorCode.INVALID_STARTUP_FRAME
    assert errors(events) == [(0, code, at)]


@pytest.mark.parametrize("pd_length", [9000, 65535])
@pytest.mark.parametrize("size", [50, 1460])
@pytest.mark.parametrize("markers", [0, 1])
def test_a_reply_that_claims_what_follows_it(pd_length: int, size: int, markers: int) -> None:
    """PD_Length above 512 of a Reply behind which there are FPDUs is reported, once, and they are
    found (7.1.1, 7.1.2 rule 9)."""
    octets, _ = stream(markers=bool(markers))
    talk = Talk()
    talk.say(0, request(markers=markers))
    at = talk.say(1, reply(private_data=b"only this", pd_length=pd_length, markers=markers))
    for direction in (0, 1):
        talk.say(direction, octets, size=size)
    talk.close()
    events = talk.fed()
    assert [found(events, direction) for direction in (0, 1)] == [ULPDUS] * 2
    assert errors(events) == [(1, ErrorCode.INVALID_STARTUP_FRAME, at)]


@pytest.mark.parametrize("place", range(16))
@pytest.mark.parametrize("size", [1, 20])
def test_a_key_with_one_wrong_octet(place: int, size: int) -> None:
    """A Key that is none, where one must stand: code 4, in pieces or in one (7.1.2 rule 5)."""
    key = bytearray(request())
    key[place] ^= 0x80
    talk = Talk()
    at = talk.say(0, bytes(key), size=size)
    talk.close()
    events = talk.fed()
    assert seen(events) == []
    assert errors(events) == [(0, ErrorCode.INVALID_STARTUP_FRAME, at)]


@pytest.mark.parametrize("asked", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_markers_are_what_the_receiver_asked_for(asked: tuple[int, int]) -> None:
    """M in the Request is about what the Responder sends, M in the Reply the other way (7.1.1)."""
    half = stream(markers=bool(asked[1])), stream(markers=bool(asked[0]))
    talk = Talk()
    talk.say(0, request(markers=asked[0]))
    talk.say(1, reply(markers=asked[1]))
    talk.say(0, half[0][0], size=1000)
    talk.say(1, half[1][0], size=1000)
    talk.close()
    events = talk.fed()
    check_works(events)
    for direction in (0, 1):
        counted = [each.markers for each in fpdus(events, direction)]
        assert counted == [fpdu.markers for fpdu in half[direction][1]]
        assert ended(events).halves[direction].markers == bool(asked[1 - direction])


@pytest.mark.parametrize("asked", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("markers", [0, 1])
def test_crcs_are_on_if_either_side_wants_them(asked: tuple[int, int], markers: int) -> None:
    """C is an OR of both sides (7.1.1); with CRCs off the field means nothing (4.1)."""
    crc = any(asked)
    octets, truth = stream(markers=bool(markers), crc=crc)
    talk = Talk()
    talk.say(0, request(crc=asked[0], markers=markers))
    talk.say(1, reply(crc=asked[1], markers=markers))
    talk.say(0, octets, size=1000)
    talk.say(1, octets, size=1000)
    talk.close()
    events = talk.fed()
    for direction in (0, 1):
        assert found(events, direction) == [fpdu.ulpdu for fpdu in truth]
        assert {each.crc for each in fpdus(events, direction)} == {"good" if crc else "off"}
    assert errors(events) == []
    assert ended(events).crc is crc


def test_r_in_a_request_is_not_looked_at() -> None:
    """R has no meaning in a Request (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(rejected=1))
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize("reserved", [1, 15])
def test_reserved_bits_are_not_looked_at(reserved: int) -> None:
    """Res is not checked at the receiver (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(reserved=reserved))
    talk.say(1, reply(reserved=reserved))
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    check_works(talk.fed())


@pytest.mark.parametrize("upto", [1, 10, 20, 27])
def test_octets_in_the_syn(upto: int) -> None:
    """TCP Fast Open: the first octet is the one behind the SYN (RFC 7413 2)."""
    octets, _ = stream()
    frame = request(private_data=b"private")
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, frame[:upto], flags=SYN)
    talk.say(1, flags=SYN | ACK)
    if frame[upto:]:
        talk.say(0, frame[upto:])
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    assert seen(events)[0].seq == 1001


def test_octets_in_the_syn_that_the_peer_did_not_take() -> None:
    """What a SYN carried may come again behind it (RFC 7413 4.1.3)."""
    octets, _ = stream()
    talk = Talk(syn=False)
    talk.next = [1000, 5000]
    talk.say(0, request(), flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.copy(0, 1001, request())
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    assert len(seen(events)) == 2


@pytest.mark.parametrize("crc", [0, 1])
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("lost", ["request", "reply", "both"])
def test_startup_frames_that_were_not_captured(crc: int, markers: int, lost: str) -> None:
    """What the capture lacks of the Startup Phase costs no FPDU that it holds (7.1.2, 4.3)."""
    octets, truth = stream(markers=bool(markers), crc=bool(crc))
    talk = Talk()
    frames = request(crc=crc, markers=markers), reply(crc=crc, markers=markers)
    talk.say(0, frames[0], captured=lost == "reply")
    talk.say(1, frames[1], captured=lost == "request")
    talk.say(0, octets, size=1000)
    talk.say(1, octets, size=1000)
    talk.close()
    events = talk.fed()
    for direction in (0, 1):
        assert found(events, direction) == [fpdu.ulpdu for fpdu in truth]
    assert errors(events) == []


@pytest.mark.parametrize("markers", [0, 1])
def test_neither_the_reply_nor_the_first_fpdu_was_captured(markers: int) -> None:
    """Only what lies in the hole is lost."""
    octets, truth = stream(markers=bool(markers))
    talk = Talk()
    talk.say(0, request(markers=markers))
    talk.miss(1, reply(markers=markers))
    talk.miss(0, octets[: truth[0].end])
    talk.say(0, octets[truth[0].end :], size=1000)
    talk.say(1, octets, size=1000)
    talk.close()
    events = talk.fed()
    assert found(events, 0) == [fpdu.ulpdu for fpdu in truth[1:]]
    assert found(events, 1) == [fpdu.ulpdu for fpdu in truth]


@pytest.mark.parametrize("syn", [False, True])
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("late", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("by", [1, 3, 60])
def test_startup_frames_captured_behind_fpdus(
    by: int, late: tuple[int, ...], markers: int, syn: bool
) -> None:
    """They are seen, and the offsets of all FPDUs behind them are known (7.1.2, 4.3)."""
    octets, truth = build_stream(ULPDUS * 20, markers=bool(markers))
    talk = Talk(syn=syn)
    held = []
    bases = []
    for direction, frame in enumerate((request(markers=markers), reply(markers=markers))):
        talk.say(direction, frame)
        bases.append(talk.next[direction] % 2**32)
        if direction in late:
            held.append(talk.segments.pop())
    for number, at in enumerate(range(0, len(octets), 700)):
        if number == by:
            # It may come when the peer has acknowledged it long ago.
            talk.segments += held
            known_at = len(talk.segments)
        for direction in (0, 1):
            talk.say(direction, octets[at : at + 700])
    talk.close()
    events = talk.fed()
    assert errors(events) == []
    assert sorted(each.startup.kind.value for each in seen(events)) == ["reply", "request"]
    for flow, base in zip((INITIATOR_FLOW, RESPONDER_FLOW), bases, strict=True):
        mine = [each for each in fpdus(events) if each.connection.flows[each.direction] == flow]
        assert sorted((each.seq - base) % 2**32 for each in mine) == [
            fpdu.seq_offset for fpdu in truth
        ]
        for each in mine:
            if each.offset is not None or max(each.frames) > known_at:
                assert each.offset == (each.seq - base) % 2**32


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("by", [0, 1])
def test_pieces_of_a_startup_frame_and_of_an_fpdu_in_any_order(by: int, markers: int) -> None:
    """Whichever of them completes what, both are found (7.1.1, 7.1.2)."""
    octets, truth = build_stream(ULPDUS[:1], markers=bool(markers))
    frames = request(markers=markers), reply(markers=markers)
    sent = frames[by] + octets
    edges = 0, 16, 20, 21, 22, len(sent)
    for order in permutations(range(5)):
        talk = Talk()
        if by:
            talk.say(0, frames[0])
        begin = talk.next[by]
        for piece in order:
            talk.copy(by, begin + edges[piece], sent[edges[piece] : edges[piece + 1]])
        talk.next[by] += len(sent)
        if not by:
            talk.say(1, frames[1])
        events = talk.fed()
        # The Responder has spoken first, or the Initiator has not waited for the Reply.
        wrong = [each.text for each in events if isinstance(each, ErrorFound)]
        # That is told by the segment with which it begins to, behind its startup frame.
        assert len(wrong) <= 1
        assert all(text.endswith(f"(RFC 5044 7.1.2 rule {3 + by})") for text in wrong)
        assert [each.startup.kind for each in seen(events)] == [
            StartupKind.REQUEST,
            StartupKind.REPLY,
        ]
        said = [(each.offset, each.ulpdu) for each in fpdus(events, by)]
        assert said == [(truth[0].seq_offset, ULPDUS[0])]


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("first", [0, 1])
def test_delayed_startup_frames_captured_behind_fpdus(first: int, late: int) -> None:
    """Acknowledgements captured before a Reply do not show that it answers another Request."""
    octets, truth = stream()
    talk = Talk()
    for direction in (0, 1):
        talk.say(direction, b"login\r\n")
    frames = request(), reply()
    for direction in (0, 1):
        talk.say(direction, frames[direction])
    held = talk.segments.pop(-2 + late)
    # The other side has its first FPDUs before these are captured.
    missed = talk.say(first, octets[: truth[2].end], captured=False)
    talk.say(1 - first, octets[: truth[2].end])
    talk.segments.append(held)
    talk.copy(first, missed, octets[: truth[2].end])
    for direction in (0, 1):
        talk.say(direction, octets[truth[2].end :])
    talk.close()
    events = talk.fed()
    assert errors(events) == []
    assert len(seen(events)) == 2
    for direction in (0, 1):
        assert found(events, direction) == ULPDUS
        offsets = [each.offset for each in fpdus(events, direction)]
        assert offsets == [fpdu.seq_offset for fpdu in truth]


def test_a_beginning_that_was_not_captured_has_no_offsets() -> None:
    """Offset counts from the beginning of the Full Operation Phase, which nobody saw."""
    octets, _ = stream()
    talk = Talk(syn=False)
    talk.say(0, octets, size=500)
    events = talk.fed()
    assert found(events, 0) == ULPDUS
    assert {each.offset for each in fpdus(events, 0)} == {None}


def test_a_startup_frame_inside_an_fpdu_is_payload() -> None:
    """In Full Operation the octets are FPDUs, whatever they look like (7.1)."""
    octets, truth = build_stream([messages.send(1, request() + reply() * 3)[0]] * 3)
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    talk.say(0, octets, size=50)
    talk.say(1, octets, size=50)
    talk.close()
    events = talk.fed()
    assert len(seen(events)) == 2
    assert found(events, 0) == found(events, 1) == [fpdu.ulpdu for fpdu in truth]
    assert errors(events) == []


def test_a_startup_frame_inside_private_data_is_private_data() -> None:
    """PD_Length says where the frame ends, whatever lies in it (7.1.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(private_data=request() * 4), size=30)
    talk.say(1, reply(private_data=reply(rejected=1)), size=30)
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    assert len(seen(events)) == 2


@pytest.mark.parametrize("markers", [0, 1])
def test_an_fpdu_inside_private_data_is_private_data(markers: int) -> None:
    """It is none, also where nothing follows the startup frame that could be one."""
    inside = mpastream.build_stream([messages.send(1, b"x" * 60)[0]] * 2)[0]
    for repeated in range(4):
        talk = Talk()
        data = bytes(repeated) + inside
        talk.say(0, request(private_data=data, markers=markers))
        talk.say(1, reply(private_data=data, markers=markers))
        talk.close()
        events = talk.fed()
        assert not fpdus(events)
        assert not errors(events)


def test_enhanced_startup() -> None:
    """Revision 2 with S: the first four octets of the Private Data are enhanced data (RFC 6581)."""
    octets, _ = stream()
    data = mpastream.enhanced_data(16, 8, a=1, d=1)
    talk = Talk()
    talk.say(0, request(revision=2, enhanced=1, private_data=data + b"ulp"))
    talk.say(1, reply(revision=2, enhanced=1, private_data=data))
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    check_works(events)
    first = seen(events)[0].startup
    assert (first.ird, first.ord, first.control_flags) == (16, 8, "AD")
    assert first.private_data == b"ulp"
    assert ended(events).revision == 2
