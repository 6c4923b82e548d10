# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a startup, with any frames in any order (RFC 5044 7.1.2): a table.

If a connection breaks a rule of startup, the rule is reported.  The words are those of
:mod:`tests.stream.scene`.
"""

import random
import re

import pytest

from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from tests.straight.ways import recovery, straight
from tests.stream.feed import decoded, feed, fpdus, of
from tests.stream.scene import INVALID, LOST, Octets, Scene, Wrong, both
from tests.stream.startup import PROSE, ULPDUS, ended, errors, reply, request, stream
from tests.truth import messages, pcapfile
from tests.truth.mpastream import Damage, build_stream, enhanced_data

FPDU = messages.send(1, b"x" * 20)
PEER = {"revision": 2, "enhanced": 1}
HEADERS = b"\x80\x21\x5a\x6b" * 4 + b"\x45\x00" * 27
FILE = [build_stream([each])[0] for each in ULPDUS]

LETTERS: dict[str, Octets] = {
    "P": request(private_data=b"again"),
    "W": PROSE,
    "x": b"x",
    "z": bytes(300),
    "h": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "c": bytes(12),
    "K": b"MPA ID Req Framf" + request()[16:],
    "k": b"mPA ID Rep Frame" + request()[16:],
    "L": request(private_data=bytes(513)),
    "U": request(revision=77),
    "G": request(revision=2),
    "V": reply(revision=2),
    "l": reply(private_data=b"only this", pd_length=9000),
    "p": reply(private_data=b"data", pd_length=512),
    "m": b"MPA" * 6,
    "n": b"MPA ID Req Form!",
    "O": bytes(600),
    # Request and Replies with IRD, ORD and an RTR indication.  The second Reply says which IRD is
    # needed.
    "J": request(**PEER, private_data=enhanced_data(4, 4, a=1, b=1)),
    "j": reply(**PEER, private_data=enhanced_data(4, 4, a=1, b=1)),
    "i": reply(**PEER, rejected=1, private_data=enhanced_data(4, 8, a=1, b=1)),
    # A Request, a Reply, and an FPDU with a reserved bit of DDP, without CRCs.
    "I": request(crc=0),
    "B": reply(crc=0),
    "v": build_stream([bytes([FPDU[0][0] | 4]) + FPDU[0][1:]], crc=False),
    # A capture file: each startup frame and FPDU comes after the headers of its record and frame.
    "e": b"".join(HEADERS + each for each in (request(), reply(), *FILE)),
    # An FPDU of 44 octets, octets that look like it, and the same with a bad CRC.
    "g": build_stream(FPDU),
    "y": build_stream(FPDU)[0],
    "d": build_stream(FPDU, damage={0: Damage(crc_xor=1)}),
}
"""Octets of the words below."""

OF_1 = "FPDUs come first, and nobody has sent a Request (RFC 5044 7.1.2 rule 1)"
BEFORE = "FPDUs before a Request (RFC 5044 7.1.2 rule 1)"
OF_2 = "a Reply that answers no Request (RFC 5044 7.1.2 rule 2)"
NO_REPLY = "FPDUs follow a Request, and no Reply has answered it (RFC 5044 7.1.2 rules 3, 5)"
AGAIN = "a Request after one that no Reply has answered (RFC 5044 7.1.2 rule 3)"
OF_3 = "the Initiator sends before it has received the Reply (RFC 5044 7.1.2 rule 3)"
OF_4 = "the Responder sends before it has received an FPDU (RFC 5044 7.1.2 rule 4)"
BOTH_REQUEST = "both sides sent a Request (RFC 5044 7.1.2 rule 8)"
ANSWER = "octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
NOT_AT_ONCE = "octets before the Reply stand where it must begin (RFC 5044 7.1.2 rules 3, 5)"
TOO_LATE = "a Request after a Reply that accepts (RFC 5044 7.1.2 rules 2, 3)"
REJECTED = "FPDUs although the Reply rejects (RFC 5044 7.1.2 rules 2, 3)"
NO_RTR = "an Rtr Frame after no Reply that accepts (rtr-frame-proposal-2007 2)"
BAD_CRC = "CRC does not match the FPDU, ULPDU_Length 38 (RFC 5044 4.4)"
UNANSWERED = "octets after a Request that was not answered (RFC 5044 7.1.2 rules 3, 9)"
CLOSED = "the connection was closed before its Request was answered (RFC 5044 7.1.2 rule 3)"
RESET = "the connection was reset before its Request was answered (RFC 5044 7.1.2 rule 3)"

OF_9 = "PD_Length 512 of the Reply claims FPDUs, and octets that never came (RFC 5044 7.1.2 rule 9)"
CLAIMED = "exceeds 512 (RFC 5044 7.1.1, 7.1.2 rule 9)"
LATER = "revision 2 of the Reply exceeds the Request's 1 (RFC 5044 7.1.1)"
TOO_LONG = "PD_Length 513 exceeds 512 (RFC 5044 7.1.1, 7.1.2 rule 9)"


def of_key(letter: str) -> str:
    """The error for a wrong Key."""
    key = LETTERS[letter][:16]
    return f"the Key of the startup frame is {key!r} (RFC 5044 7.1.1, 7.1.2 rule 5)"


STARTUPS: list[tuple[str, list[Wrong]]] = [
    # -- as RFC 5044 requires
    (">Q <R >F <F", []),
    (">W <W >Q <RW >W >F <F", []),
    (">Q <R >Q <R >Q <A >f <f >F <F", []),
    # -- other octets in the place of the Request
    (">S <S >F <F", [Wrong(0, INVALID, OF_1)]),
    (">f >f <f >F <F", [Wrong(0, INVALID, OF_1)]),
    ("<h >f >f >F <F", [Wrong(1, INVALID, OF_1)]),
    # One alone in a segment is no FPDU.
    ("<h >y >F <F", []),
    (">f >f >Q <A >f <f >F <F", [Wrong(2, INVALID, BEFORE)]),
    (">ff >Q <R >F <F", [Wrong(1, INVALID, BEFORE)]),
    (">f >f >A >f >f >F <F", [Wrong(2, INVALID, OF_2), Wrong(2, INVALID, BEFORE)]),
    ("<A >F <F", [Wrong(0, INVALID, OF_2)]),
    (">w <A >F <F", [Wrong(1, INVALID, OF_2)]),
    (">w <A >S <S >F <F", [Wrong(1, INVALID, OF_2)]),
    (">T <A >F <F", [Wrong(0, INVALID, NO_RTR), Wrong(1, INVALID, OF_2)]),
    # -- both sides sent the same (rule 8), whether the second side had received that frame or not
    (">A <A >F <F", [Wrong(0, INVALID, OF_2), Wrong(1, INVALID, OF_2)]),
    *(
        (asked + then, [Wrong(1, INVALID, BOTH_REQUEST)])
        for asked in (">Q <Q", "<Q >Q", ">Q <!Q", "<Q >!Q")
        for then in ("", " >F <F", " >S <S >F <F")
    ),
    # -- FPDUs, and octets that answer the Request, but are no Reply (rules 3, 5)
    (">Q >S <S >F <F", [Wrong(2, INVALID, NO_REPLY)]),
    (">Q <w >S <S >F <F", [Wrong(3, INVALID, NO_REPLY)]),
    (">Q <f >f <f >F <F", [Wrong(1, INVALID, NO_REPLY)]),
    (">w <w >Q <w >f >f >F <F", [Wrong(4, INVALID, NO_REPLY)]),
    (">w <w >Q <f <f >F <F", [Wrong(3, INVALID, NO_REPLY)]),
    (">Q <g >F <F", [Wrong(1, INVALID, f"44 {ANSWER}")]),
    (">Q <t <X", [Wrong(1, INVALID, f"28 {ANSWER}")]),
    (">Q <w >F <F", [Wrong(1, INVALID, f"13 {ANSWER}")]),
    *(
        (f"{greeting}>Q <h{then}{end}", [Wrong(1 + bool(greeting), INVALID, f"28 {ANSWER}")])
        for greeting in ("", "<w ")
        for then in ("", " >S")
        for end in ("", " >F <F")
    ),
    (">Q <g <g <A >f >F <F", [Wrong(3, INVALID, f"88 {NOT_AT_ONCE}")]),
    *(
        (f"<w >Q <{letter} {then} >F <F", [Wrong(3, INVALID, f"{octets} {NOT_AT_ONCE}")])
        for letter, octets in (("x", 1), ("h", 28), ("O", 600))
        for then in ("<A >S <S", "<R")
    ),
    # -- another Request, before the Reply (which may be captured late) or after it
    (">Q >P <A >S <S >F <F", [Wrong(1, INVALID, AGAIN)]),
    (">Q >P >P <A >S <S >F <F", [Wrong(1, INVALID, AGAIN), Wrong(2, INVALID, AGAIN)]),
    (">Q >P <A+1 >S <S >F <F", [Wrong(1, INVALID, AGAIN)]),
    (">Q <A >Q >f <f >F <F", [Wrong(2, INVALID, TOO_LATE)]),
    # -- another Reply, or an Rtr Frame
    (">Q <R <A >f >F <F", [Wrong(2, INVALID, OF_2), Wrong(3, None, REJECTED)]),
    (">Q <A <A >f <f >F <F", [Wrong(2, INVALID, OF_2)]),
    (">Q <A >f <A <f >F <F", [Wrong(3, INVALID, OF_2)]),
    (">Q <A >T >f <f >F <F", [Wrong(2, INVALID, NO_RTR)]),
    (">Q <R >T >F <F", [Wrong(2, INVALID, NO_RTR)]),
    (">Q <R >T >f >F <F", [Wrong(2, INVALID, NO_RTR), Wrong(3, None, REJECTED)]),
    # -- FPDUs after a Reply that rejects (rules 2, 3)
    (">Q <R >f >f >F <F", [Wrong(2, None, REJECTED)]),
    (">Q <R <f <f >F <F", [Wrong(2, None, REJECTED)]),
    (">Q <R >f <f >F <F", [Wrong(2, None, REJECTED), Wrong(3, None, REJECTED)]),
    (">Q <R >f >f >Q <A >f <f >F <F", [Wrong(2, None, REJECTED)]),
    (">Q <R >ffQ <A >f <f >F <F", [Wrong(2, None, REJECTED)]),
    (">Q <R <f >Q <A >f <f >F <F", [Wrong(2, None, REJECTED)]),
    # -- the Initiator does not wait for the Reply (rule 3), the Responder not for an FPDU (rule 4)
    (">Q >!f <A >f <f >F <F", [Wrong(1, None, OF_3)]),
    (">Q >!f >!f <R >F <F", [Wrong(1, None, REJECTED)]),
    (">Q >!w <R >F <F", []),
    (">Q <A <f >f >F <F", [Wrong(2, None, OF_4)]),
    (">Q <A >( <f >) >F <F", [Wrong(3, None, OF_4)]),
    (">Q <A >d <f >F <F", [Wrong(2, ErrorCode.CRC_MISMATCH, BAD_CRC), Wrong(3, None, OF_4)]),
    (">Q <A >d >f <f >F <F", [Wrong(2, ErrorCode.CRC_MISMATCH, BAD_CRC)]),
    (">I <B >v <f >f >F <F", []),
    (">I <B >( <f >) >F <F", [Wrong(3, None, OF_4)]),
    # A Terminate may answer a damaged FPDU (RFC 5044 8), but not a part of one.
    (">Q <A >d <t <X", [Wrong(2, ErrorCode.CRC_MISMATCH, BAD_CRC)]),
    (">J <j >d <t <X", [Wrong(2, ErrorCode.CRC_MISMATCH, BAD_CRC)]),
    (">Q <A >( <t >) <X", [Wrong(3, None, OF_4)]),
    # Rule 4 has an exception (RFC 6581 9.3): after an error a Terminate comes before the RST.
    (">Q <A <f <X", [Wrong(2, None, OF_4)]),
    (">Q <A <t <X", [Wrong(2, None, OF_4)]),
    (">J <j <f <X", [Wrong(2, None, OF_4)]),
    (">J <j <t <X", []),
    # A Reply that rejects because of IRD (RFC 6581 9.1).  A Terminate after it is wrong.
    (">J <i <t >F <F", [Wrong(2, None, REJECTED)]),
    # Text in a RST is not for MPA.
    (">Q <A >Y", []),
    (">Q <A <Y", []),
    # A keep-alive repeats the last octet of the Reply, or has none (RFC 9293 3.8.4).
    *((f">Q <A <{probe}@-1 <A= >S >F <F", []) for probe in ("", "x")),
    # A FIN takes a sequence number, but is no octet.
    (">Q <A >F <f <F", [Wrong(3, None, OF_4)]),
    (">Q <A >F <! <f <F", [Wrong(4, None, OF_4)]),
    (">Q <A <F >S <!", []),
    (">Q <A <-F >S <!", []),
    # -- no answer to the Request: earlier octets are no answer
    (">Q >F <F", [Wrong(1, LOST, CLOSED)]),
    (">Q <F >F", [Wrong(2, LOST, CLOSED)]),
    (">Q <X", [Wrong(0, LOST, RESET, offset=20)]),
    ("<w >Q >F <F", [Wrong(2, LOST, CLOSED)]),
    # -- the connection ends within the header of a startup frame
    (">q >X", []),
    (">Q <a <X", [Wrong(0, LOST, RESET, offset=20)]),
    (">Q <a <F >F", [Wrong(0, LOST, CLOSED, offset=20)]),
    # -- PD_Length does not match, or the Initiator has not waited for the Reply
    (">Q >g >F <F", [Wrong(1, INVALID, f"44 {UNANSWERED}")]),
    (">Qx >F <F", [Wrong(0, INVALID, f"1 {UNANSWERED}", offset=20)]),
    (">Pc >F <F", [Wrong(0, INVALID, f"12 {UNANSWERED}", offset=25)]),
    (">Qz >F <F", [Wrong(0, INVALID, f"300 {UNANSWERED}", offset=20)]),
    # -- fields of the startup frame
    (">K >F <F", [Wrong(0, INVALID, of_key("K"))]),
    (">k >F <F", [Wrong(0, INVALID, of_key("k"))]),
    (">n >F <F", [Wrong(0, INVALID, of_key("n"))]),
    (">L >F <F", [Wrong(0, INVALID, TOO_LONG)]),
    (">U >F <F", [Wrong(0, INVALID, "revision 77 is not one of 0, 1, 2 (RFC 5044 7.1.1)")]),
    (">Q <l >S <S >F <F", [Wrong(1, INVALID, f"PD_Length 9000 {CLAIMED}")]),
    # The Initiator of a revision cannot interoperate with a later one (C.2.1).
    (">Q <V >S <S >F <F", [Wrong(1, INVALID, LATER)]),
    (">G <A >S <S >F <F", []),
    (">G <V >S <S >F <F", []),
    (">Q <p >S <f >F <F", [Wrong(1, INVALID, OF_9)]),
    # -- the snap length has cut off octets
    (">P/22 >F <F", []),
    *((f">Q <h/{snap} >F <F", []) for snap in (1, 4, 27)),
    # -- a Reply whose Private Data lie in a hole is not reported, but counts: an FPDU is believed
    (">Q <p <-O >( >)", []),
    # -- octets before a Reply that rejects are not for MPA
    (">Q >w <R >F <F", []),
    # -- the capture may lack the right frames
    ("... >S <S >F <F", []),
    (">S <-x <S >F <F", []),
    (">Q >S <-A <S >F <F", []),
    (">Q <w >S <-A <S >F <F", []),
    ("... >Q >P <A >S <S >F <F", []),
    ("... >Q >P >P <A >S <S >F <F", []),
    (">Q <-R >P <A >S <S >F <F", []),
    (">Q", []),
    (">Q <-A >F <F", []),
    ("... >Q >F <F", []),
    # -- octets that the Initiator had received before its Request are no answer: ULPs may agree on
    # any place for startup
    ("<w >Q <A >S <S >F <F", []),
    ("<w+1 >Q <A >S <S >F <F", []),
    ("... <w >Q <A >S <S >F <F", []),
    (">wQ <wA >S <S >F <F", []),
    (">Q <-R >-Q <A >S <S >F <F", []),
    # -- the order of capture does not show which side sent first, or what comes before a Request
    (">Q+1 >!f <A >f <f >F <F", []),
    (">Q <A >S+1 <S >F <F", []),
    # -- a few octets of a Request, or other octets, show nothing
    (">q >F <F", []),
    (">m >F <F", []),
    (">F <F", []),
]


@pytest.mark.parametrize(("words", "wrong"), STARTUPS, ids=[words for words, _ in STARTUPS])
def test_reports_of_a_startup(words: str, wrong: list[Wrong]) -> None:
    """Each broken rule is reported, with its place and its clause, and no other rule.

    All startup frames and FPDUs are also reported, and whether the connection stays rejected.
    """
    seed = random.randrange(2**32)
    scene = Scene(words, LETTERS, seed=seed)
    # A frame that claims missing octets, or FPDUs, is not reported as a startup frame.
    scene.frames = [each for each in scene.frames if each not in (LETTERS["l"], LETTERS["p"])]
    events = scene.check(*wrong)
    is_rejected = re.findall("[QRPji]", words)[-1:] in (["R"], ["i"])
    assert ended(events).rejected == is_rejected, f"seed {seed}"
    octets = pcapfile.pcap(pcapfile.frames(scene.segments))
    assert straight(octets, Limits()) == recovery(octets, Limits()), f"seed {seed}"


@pytest.mark.parametrize(
    ("words", "wrong"), [row for row in STARTUPS if not set(row[0]) & set("!+-/.lpY")]
)
def test_a_startup_in_segments_of_one_octet(words: str, wrong: list[Wrong]) -> None:
    """In segments of one octet, the same frames, FPDUs and broken clauses are reported."""
    seed = random.randrange(2**32)
    scene = Scene(words, LETTERS, seed=seed, size=1)
    events = scene.fed()
    scene.check(events=[each for each in events if not isinstance(each, ErrorFound)])
    texts = [each.text for each in events if isinstance(each, ErrorFound)]
    assert sorted(map(clause_of, texts)) == sorted(clause_of(each.text) for each in wrong), seed


def clause_of(text: str) -> str:
    """The clause at the end of an error's text."""
    return text[text.rindex("(") :]


@pytest.mark.parametrize(
    ("dialect", "document"),
    [(None, "RFC 6581"), (Dialect.DRAFT_PEER_CONNECT_01, Dialect.DRAFT_PEER_CONNECT_01.value)],
)
def test_no_room_for_enhanced_data(dialect: Dialect | None, document: str) -> None:
    """The document of the dialect is cited."""
    scene = Scene(">D >F <F", {"D": request(**PEER, private_data=b"ab")})
    text = f"S is set but PD_Length 2 leaves no room for 4 octets ({document} 6)"
    scene.check(Wrong(0, INVALID, text), events=scene.fed(dialect))


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_startup_frames_and_fpdus_in_a_file(size: int) -> None:
    """Octets directly after a Request are no FPDU, but streaming mode octets (7.1.2 rule 3)."""
    events = Scene(">w <e >F <F", LETTERS, size=size).fed()
    assert (fpdus(events), errors(events), ended(events).initiator) == ([], [], None)


@pytest.mark.parametrize("acknowledged", [0, 1, 320, 328])
@pytest.mark.parametrize("markers", [0, 1])
def test_the_responder_sends_first(acknowledged: int, markers: int) -> None:
    """Rule 4: its acknowledgement shows what the Responder had received when it sent."""
    octets, truth = stream(markers=bool(markers))
    pieces: dict[str, Octets] = {"1": octets[:acknowledged], "2": (octets[acknowledged:], truth)}
    scene = Scene(">Q <A >1 <S >2 >F <F", both(markers=markers) | pieces)
    # With its Marker, the first FPDU has 328 octets.
    scene.check(*[Wrong(3, None, OF_4)] * (acknowledged < 328))


@pytest.mark.parametrize("late", ["", "+1"])
@pytest.mark.parametrize("acknowledged", [0, 1, 19, 20])
@pytest.mark.parametrize("markers", [0, 1])
def test_the_initiator_does_not_wait(late: str, acknowledged: int, markers: int) -> None:
    """Rule 3: its acknowledgement shows what the Initiator had received when it went on."""
    frame, (octets, truth) = reply(markers=markers), stream(markers=bool(markers))
    pieces: dict[str, Octets] = {"1": frame[:acknowledged], "2": frame[acknowledged:]}
    pieces |= {"3": octets[:500], "4": (octets[500:], truth)}
    scene = Scene(f">Q <1{late} >3 <2 >4 <S >F <F", both(markers=markers) | pieces)
    scene.frames[1:] = [frame]
    scene.check(*[Wrong(2, None, OF_3)] * (acknowledged < 20))


@pytest.mark.parametrize("how", ["closed", "reset", "capture ended"])
@pytest.mark.parametrize(
    ("words", "sent"),
    [*((">P", sent) for sent in (12, 16, 20, 119)), (">Q <B", 20), ("<w >Q <B", 119)],
)
@pytest.mark.parametrize("size", [7, 400])
def test_the_end_within_a_startup_frame(words: str, size: int, sent: int, how: str) -> None:
    """Code 1 of section 8: the captured part shows that it is a startup frame."""
    end = {"closed": " >F <F", "reset": " >X", "capture ended": ""}[how]
    asked, answered = (each(private_data=bytes(100))[:sent] for each in (request, reply))
    scene = Scene(words + end, {"P": asked, "B": answered}, size=size)
    text = f"the connection was {how} {sent} octets into a startup frame"
    wrong = Wrong(len(words.split()) - 1, LOST, f"{text} (RFC 5044 8)")
    scene.check(*[wrong] * bool(end))


def test_a_responder_that_answers_good_fpdus_after_damaged_ones() -> None:
    """It keeps rule 4, though the good ones are not found yet when it sends."""
    conversation = Conversation()
    for size in (1000, 1000, 1000, 99, 99, 99, 99, 99, 99):
        conversation.initiator.send(bytes(size))
    conversation.responder.send(b"ok")
    conversation.close()
    script = [
        each.override(ulpdu_length=len(each.ulpdu) + 4)
        if isinstance(each, FPDUItem) and len(each.ulpdu) > 1000
        else each
        for each in conversation.script
    ]
    events = feed(decoded(conversation.with_script(script).frames()))
    assert OF_4 not in [each.text for each in of(ErrorFound, events)]
