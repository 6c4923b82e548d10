# SPDX-License-Identifier: GPL-2.0-or-later
"""Who ended a connection, and why; the message in error, open messages, unanswered Requests.

Also the times that the end reports: of the beginning, and of stalls.  The words are those of
:mod:`tests.stream.scene`.
"""

import re
from dataclasses import replace

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.craft import Conversation
from scapy_mpa.stream.segment import Segment
from tests.captures import PCAPS
from tests.stream.exchange import messages_of, talk_of
from tests.stream.feed import decoded, feed
from tests.stream.scene import Octets, Scene
from tests.stream.startup import both_ways
from tests.stream.talk import started
from tests.truth import messages
from tests.truth.mpastream import Damage, build_stream

OPEN = messages.untagged_header(messages.SEND, 0, 1, 0, last=False)
LETTERS: dict[str, Octets] = {
    "1": build_stream(messages.terminate(1, 2, 1)),
    "2": build_stream(messages.terminate(2, 0, 2)),
    "f": build_stream(messages.send(1, b"")),
    # An FPDU without the Last flag, and the same with a bad CRC.
    "g": build_stream([OPEN]),
    "d": build_stream([OPEN], damage={0: Damage(crc_xor=1)}),
}
BEGUN = ">Q <A >f <f "
"""Frames 4 to 7."""
OF_1 = "terminated by the Responder: DDP / Untagged Buffer Error / Invalid QN"
OF_2 = (
    "terminated by the Initiator: LLP / MPA / "
    "Received MPA CRC does not match the calculated value for the FPDU"
)
OF_INITIATOR = ", within a message of the Initiator"

SITUATIONS = {
    # The frame is that of the first FIN, of the RST, of the Terminate, or the last one.
    f"{BEGUN} >F <F >": ("initiator", "closed", 8, "closed by the Initiator"),
    f"{BEGUN} <F >F": ("responder", "closed", 8, "closed by the Responder"),
    f"{BEGUN} <F >": ("responder", "closed", 8, "half closed by the Responder"),
    f"{BEGUN} >X": ("initiator", "reset", 8, "reset by the Initiator"),
    f"{BEGUN} <X": ("responder", "reset", 8, "reset by the Responder"),
    BEGUN: ("capture", "open", 7, "capture ended"),
    f"{BEGUN} <1 >F <F": ("responder", "terminate", 8, OF_1),
    f"{BEGUN} >2 <X": ("initiator", "terminate", 8, OF_2),
    # A Terminate after a hole is found later.
    f"{BEGUN} <-f <1 >F <F": ("responder", "terminate", 8, OF_1),
    # The Responder ends the connection with its Reply, whoever closes it afterwards.
    ">Q <R >F <F": ("responder", "rejected", 5, "rejected by the Responder, closed"),
    # A message is open if the last FPDU has no Last flag, and nothing is missing after it.
    f"{BEGUN} >f": ("capture", "open", 8, "capture ended"),
    f"{BEGUN} >g": ("capture", "open", 8, f"capture ended{OF_INITIATOR}"),
    f"{BEGUN} >g <g": ("capture", "open", 9, f"capture ended{OF_INITIATOR} and of the Responder"),
    f"{BEGUN} >g >F <F >": ("initiator", "closed", 9, f"closed by the Initiator{OF_INITIATOR}"),
    f"{BEGUN} >-f >g >f=@-24": ("capture", "open", 9, f"capture ended{OF_INITIATOR}"),
    f"{BEGUN} >g >-f <": ("capture", "open", 9, "capture ended"),
    f"{BEGUN} >d <": ("capture", "open", 9, "capture ended"),
    # If the Initiator is unknown, the endpoint is named.
    "... >f >f <f <f <F >F": ("10.0.0.2:4000", "closed", 5, "closed by 10.0.0.2:4000"),
}


@pytest.mark.parametrize("words", SITUATIONS)
def test_ends(words: str) -> None:
    """Both reading paths report side, cause, frame and text."""
    found = both_ways(Scene(words, LETTERS).captured()).end
    assert (found.by, found.cause, found.frame, found.text) == SITUATIONS[words]
    within = found.text.partition(", within a message of ")[2]
    assert list(found.within_message) == re.findall("initiator|responder", within.lower())


def test_a_whole_message_after_two_holes() -> None:
    """The message between the holes is found later, and continues after the second hole."""
    (whole,) = messages.send(1, b"")
    octets, truth = build_stream([*[whole] * 2, OPEN, *[whole] * 2])
    half, talk = truth[0].end // 2, started()
    for begin, end in ((0, 2), (3, 6), (8, 10), (2, 3), (6, 8)):
        talk.copy(0, talk.next[0] + begin * half, octets[begin * half : end * half])
    end = both_ways(talk.captured()).end
    assert end.within_message == ()


IN_TERMINATES = {
    # The messages in siw's Terminates, as Wireshark shows them: frame of the Terminate, message,
    # sequence number of its FPDU, and frame of that FPDU.
    # CRCs are off, so the last FPDU is still held.
    "mix_mpa2_crcoff.pcap": (
        305,
        "Send with Invalidate qn 0 msn 13 mo 0, seq 3754470980 in frame 303",
    ),
    # siw's MSN is the size of the Read; the Request in frame 10 has MSN 1.
    "term_readoob.pcap": (
        12,
        "RDMA Read Request qn 1 msn 100 mo 0 (not as sent), seq 930823687 in frame 10, "
        "1 Request of the Initiator unanswered",
    ),
}


@pytest.mark.parametrize("name", IN_TERMINATES)
def test_message_of_a_terminate(name: str) -> None:
    """The copied DDP header shows the message, and leads to its FPDU."""
    frame, message = IN_TERMINATES[name]
    with open_capture(PCAPS / name) as capture:
        found = both_ways([*decoded(capture)]).end
    assert found.frame == frame
    assert found.text.endswith(f", of the {message}")


@pytest.mark.parametrize("received", [1, 2, 3])
def test_terminate_of_one_of_equal_messages(received: int) -> None:
    """The Terminate is about the last of them that its sender had received."""
    conversation = Conversation(ack_every=0)
    for _ in range(3):
        conversation.initiator.write(b"again", stag=7)
    conversation.responder.terminate(1, 1, 0, in_error=conversation.script[-1])
    *before, terminate = conversation.segments()
    writes = before[-3:]
    if received < 3:
        terminate = replace(terminate, ack=writes[received].seq)
    frames = conversation.frames([*before, terminate])
    place = f", seq {writes[received - 1].seq} in frame {len(before) - 3 + received}"
    assert both_ways([*decoded(frames)]).end.text.endswith(place)


UNANSWERED = {
    "nothing is asked for": (">S <S", (0, 0)),
    "all is answered": (">R1 >R2 <R <R >A3=1 <A1=1", (0, 0)),
    "a Read is unanswered": (">R1 >R2 <R", (1, 0)),
    "an Atomic and a Read are unanswered": (">R1 >A2=9", (2, 0)),
    "the end of a Response is missing": (">R1:3000 <R:3000/1014-2 <S", (None, 0)),
    "a Response may answer a missing Request": (">R1- <R >R2", (None, None)),
    "a bad CRC may hide the end of a Response": (">R1 <R!", (None, 0)),
    # Messages that are no whole Request get no Response.
    "a Request is malformed": (">R1|20", (0, 0)),
    # Without a beginning, it may answer an earlier Request, or lie in unexplained octets.
    "the beginning is missing": ("... >S <S <R >R3 <R >R4", (None, None)),
    "the beginning is missing, and a CRC is bad": ("... >S >S >R1 <R!", (None, None)),
    "a hole among Requests": (">R1 >S- >S", (1, None)),
}
"""Messages, and the number of Requests of each side whose Response has not ended, None if it is
unknown."""
TEXTS = {1: "1 Request of the Initiator unanswered", 2: "2 Requests of the Initiator unanswered"}


@pytest.mark.parametrize("name", UNANSWERED)
def test_unanswered(name: str) -> None:
    """The end counts unanswered Requests."""
    words, counts = UNANSWERED[name]
    end = both_ways(talk_of(words).captured()).end
    assert (end.unanswered, end.text.partition(", ")[2]) == (counts, TEXTS.get(counts[0], ""))


@pytest.mark.parametrize("lost", [(0, 3), (0, 1, 2, 3), (1, 4)])
def test_unanswered_if_octets_are_not_understood(lost: tuple[int, ...]) -> None:
    """A direction without its startup frame may have the Responses, or more Requests."""
    conversation = Conversation(crc=False)
    conversation.initiator.send(b"first")
    conversation.responder.read(bytes(100), sink_stag=7)
    conversation.initiator.read(bytes(100), sink_stag=8)
    conversation.close()
    segments = [each for at, each in enumerate(conversation.segments()) if at not in lost]
    captured = [*decoded(conversation.frames(segments))]
    assert both_ways(captured).end.unanswered == (None, None)
    assert not [each for each in messages_of(feed(captured)) if each.missing]


def test_nothing_is_unanswered_without_fpdus() -> None:
    """After a rejection, only startup frames were captured."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.close()
    assert both_ways([*decoded(conversation.frames())]).end.unanswered == (0, 0)


# -- times of the beginning, and stalls ------------------------------------------------------------

# Each word has the time of its capture in milliseconds.  ``f`` is an FPDU of 24 octets.


MS = 1_000_000


def segments_of(words: str) -> list[Segment]:
    """The segments of a connection in words."""
    return Scene(f"... {words}", LETTERS).captured()


SLOW = "5>N 6<N 8> 20>Q 21< 70<A 71> "
"""A handshake that takes 3 milliseconds, and a startup that takes 50, in seven frames."""
NO_STALL = (0, 0, None, "")

STALLS = {
    "all in time": ("80>f 90< 100<f 110>", NO_STALL),
    "nothing is outstanding": ("80>f 90< 900<f 901> 2000>f 2001<", NO_STALL),
    "just in time": ("80>f 279<", NO_STALL),
    "an acknowledgement is late": ("80>f 280<", (1, 200, 9, ">")),
    "a FIN is late": ("80>f 400>F 401<F 402>", (1, 320, 9, ">")),
    "the last acknowledgement is late": ("80>F 81<F 500>", (1, 419, 10, "<")),
    "copies are no progress": ("80>f 180>f= 279>f= 301<", (1, 221, 11, ">")),
    "repeated acknowledgements are no progress": ("80>f 90<! 180<! 290<", (1, 210, 11, ">")),
    "new octets are progress": ("80>f 179>f 278>f 377<", NO_STALL),
    "octets that fill a hole are progress": ("80>-f 90>f 390>f=@-24 391<", (1, 300, 9, ">")),
    "the longest of three counts": ("80>f 300< 301>f 701< 702<f 1000>", (3, 400, 11, ">")),
    "octets of the Responder wait": ("80>f 81<f 300>", (1, 219, 10, "<")),
    "a stall lasts to the end": ("80>f 280>f= 680>f=", (1, 600, None, ">")),
    "a RST is no progress": ("80>f 480<X", (1, 400, None, ">")),
    "a late copy is no part of a stall": ("80>f 90< 500>f= 501<", NO_STALL),
}


def sides(senders: str) -> int:
    """The bit mask of senders: 1 is the Initiator, 2 the Responder."""
    return sum(1 << "><".index(sender) for sender in senders)


@pytest.mark.parametrize("name", STALLS)
def test_stalls(name: str) -> None:
    """Stalls are counted.  The longest has its time, its last frame, and whose octets waited."""
    words, (count, longest, frame, senders) = STALLS[name]
    segments = segments_of(SLOW + words)
    found = both_ways(segments)
    assert found.timing == (1, 5 * MS, 3 * MS, 50 * MS, count, longest * MS, frame, sides(senders))
    assert found.time_ns == segments[-1].time_ns


BEGINNINGS = {
    "the Request ends the handshake": ("5>N 6<N 20>Q 30<A", (15, 10)),
    "the SYN is lost once": ("5>N 1005>N 1006<N 1008> 1010>Q 1020<A", (1003, 10)),
    "the SYN,ACK is not captured": ("5>N 8> 20>Q 30<A", (3, 10)),
    "the SYN is not captured": ("20>Q 30<A 31> 40>f 41<", (None, 10)),
    "the Request is not captured": ("30<A 31> 40>f 41<", (None, None)),
    "nobody answers": ("5>N 6<N 8> 20>Q 21<", (3, None)),
    "the Request comes twice": ("5>N 6<N 8> 20>Q 300>Q= 310<A", (3, 290)),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginnings(name: str) -> None:
    """The times of handshake and startup, None if these were not captured, also before 1970."""
    words, took = BEGINNINGS[name]
    expected = tuple(None if each is None else each * MS for each in took)
    for begin_ns in (0, -(10**18)):
        segments = [each._replace(time_ns=each.time_ns + begin_ns) for each in segments_of(words)]
        timing = both_ways(segments).timing
        assert (timing.handshake_ns, timing.startup_ns) == expected


def test_acknowledgements_not_captured() -> None:
    """With one direction alone it is unknown which octets are outstanding."""
    segments = [each for each in segments_of("20>Q 30<A 40>f 500>f 900>f") if each.frame != 2]
    assert both_ways(segments).timing.stalls == 0
