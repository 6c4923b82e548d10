# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that break a rule of startup are told which one (RFC 5044 7.1.2)."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import ErrorFound, Event
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.interoperability import RNIC
from tests.stream.feed import fpdus
from tests.stream.startup import ULPDUS, ended, errors, reply, request, seen, stream
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.impair import ACK, FIN, RST, Segment
from tests.truth.mpastream import build_stream, crc_field, enhanced_data

INVALID = ErrorCode.INVALID_STARTUP_FRAME


def texts(events: list[Event]) -> list[str]:
    """What the errors say."""
    return [each.text for each in events if isinstance(each, ErrorFound)]


def test_responder_responder() -> None:
    """Rule 8: a Reply from both sides, and a Request from none; of the first, rule 2."""
    talk = Talk()
    first = talk.say(0, reply())
    second = talk.say(1, reply())
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, INVALID, first), (1, INVALID, second)]
    assert "rule 2" in texts(events)[0]
    assert "both sides sent a Reply" in texts(events)[1]
    assert "rule 8" in texts(events)[1]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("is_crossed", [False, True])
@pytest.mark.parametrize("then", ["closed", "capture ended", "FPDUs"])
def test_initiator_initiator(first: int, is_crossed: bool, then: str) -> None:
    """Rule 8: a Request from both sides is told of the second, whether that side had the first."""
    octets, _ = stream()
    talk = Talk()
    begin = talk.say(first, request())
    at = talk.say(1 - first, request())
    if is_crossed:
        talk.segments[-1] = talk.segments[-1]._replace(ack=begin)
    if then == "FPDUs":
        talk.say(0, octets)
        talk.say(1, octets)
    if then != "capture ended":
        talk.close()
    events = talk.fed()
    assert errors(events) == [(1 - first, INVALID, at)]
    assert texts(events) == ["both sides sent a Request (RFC 5044 7.1.2 rule 8)"]
    assert [each.startup.kind.value for each in seen(events)] == ["request", "request"]
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS * (then == "FPDUs")


@pytest.mark.parametrize("before", [b"HELLO\r\n", b"x", bytes(300)])
def test_octets_where_the_request_must_be(before: bytes) -> None:
    """Rule 2: a Reply to what is no Request."""
    talk = Talk()
    talk.say(0, before)
    at = talk.say(1, reply())
    talk.close()
    events = talk.fed()
    assert errors(events) == [(1, INVALID, at)]
    assert "a Reply that answers what is no Request (RFC 5044 7.1.2 rule 2)" in texts(events)[0]


@pytest.mark.parametrize(
    "captured", ["all", "no SYN", "no SYN ACK", "one direction", "a segment less", "a Reply"]
)
def test_fpdus_come_first(captured: str) -> None:
    """Rule 1: neither side sends a startup frame; that is said only if it cannot be otherwise."""
    octets, _ = stream()
    talk = Talk()
    if captured == "a Reply":
        # Then it is that which is out of place.
        talk.say(1, reply())
    at = talk.say(0, octets)
    if captured == "a segment less":
        talk.miss(1, b"0123")
    talk.say(1, octets)
    talk.close()
    if captured in ("no SYN", "no SYN ACK"):
        del talk.segments[captured == "no SYN ACK"]
    elif captured == "one direction":
        talk.segments = [each for each in talk.segments if each.direction == 0]
    events = talk.fed()
    if captured == "all":
        assert errors(events) == [(0, INVALID, at)]
        text = "FPDUs come first, and nobody has sent a Request (RFC 5044 7.1.2 rule 1)"
        assert texts(events) == [text]
    else:
        assert not any("rule 1)" in each for each in texts(events))
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS


@pytest.mark.parametrize("answer", [b"", b"200 OK\r\n", bytes(20)])
@pytest.mark.parametrize("is_whole", [True, False])
def test_no_reply_and_fpdus(answer: bytes, is_whole: bool) -> None:
    """Rules 3 and 5: what follows the Request is no Reply, and then there are FPDUs."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    if answer:
        talk.say(1, answer)
    talk.say(0, octets)
    if not is_whole:
        talk.miss(1, reply())
    at = talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert errors(events) == ([(1, INVALID, at)] if is_whole else [])
    if is_whole:
        text = "FPDUs follow a Request, and no Reply has answered it (RFC 5044 7.1.2 rules 3, 5)"
        assert texts(events) == [text]
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


def test_a_reply_before_fpdus_is_told_once() -> None:
    """Rule 2: a Reply to what is no Request is one, also when FPDUs show where they begin."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, b"GET / HTTP/1.1\r\n")
    at = talk.say(1, reply())
    events = talk.speak(octets)
    assert errors(events) == [(1, INVALID, at)]
    assert len(seen(events)) == 1
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


@pytest.mark.parametrize(
    ("asked", "answered", "is_wrong"),
    [
        (0, 0, False),
        (0, 1, True),
        (0, 2, True),
        (1, 0, False),
        (1, 1, False),
        (1, 2, True),
        (2, 1, False),
        (2, 2, False),
    ],
)
def test_revision_of_the_reply(asked: int, answered: int, is_wrong: bool) -> None:
    """7.1.1, Rev: who asks with a revision cannot interoperate with a later one (C.2.1)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request(revision=asked))
    at = talk.say(1, reply(revision=answered))
    # Else revisions 0 and 1 are those of osc.
    events = talk.speak(octets, dialect=Dialect.RFC5044)
    assert errors(events) == [(1, INVALID, at)] * is_wrong
    for text in texts(events):
        assert f"revision {answered} of the Reply exceeds the Request's {asked}" in text
        assert "(RFC 5044 7.1.1)" in text
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS


@pytest.mark.parametrize("acknowledged", [0, 1, 320, 328])
@pytest.mark.parametrize("markers", [0, 1])
def test_the_responder_speaks_first(acknowledged: int, markers: int) -> None:
    """Rule 4: what the Responder had when it spoke is what it acknowledges there."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    talk = Talk()
    talk.say(0, request(markers=markers))
    talk.say(1, reply(markers=markers))
    if acknowledged:
        talk.say(0, octets[:acknowledged])
    at = talk.say(1, octets)
    talk.say(0, octets[acknowledged:])
    talk.close()
    events = talk.fed()
    # With its Marker, the first FPDU has 328 octets.
    assert errors(events) == [(1, None, at)] * (acknowledged < 328)
    assert all("rule 4" in text for text in texts(events))
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


@pytest.mark.parametrize("captured", [True, False])
def test_the_responder_closes_and_says_nothing(captured: bool) -> None:
    """Rule 4: its FIN counts as an octet, and is none, whether it was captured or not."""
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    had = talk.next[0]
    talk.say(1, flags=FIN | ACK, captured=captured)
    octets, _ = stream()
    talk.say(0, octets)
    late = Segment(1, talk.next[1] % 2**32, had % 2**32, ACK, b"")
    talk.segments.append(late)
    events = talk.fed()
    assert not errors(events)
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS


@pytest.mark.parametrize("acknowledged", [0, 1, 19, 20])
@pytest.mark.parametrize("captured", ["in order", "Reply late", "FPDU early"])
@pytest.mark.parametrize("markers", [0, 1])
def test_the_initiator_does_not_wait(acknowledged: int, captured: str, markers: int) -> None:
    """Rule 3: what the Initiator had when it went on is what it acknowledges there."""
    octets, _ = build_stream(ULPDUS, markers=bool(markers))
    talk = Talk()
    talk.say(0, request(markers=markers))
    reply_octets = reply(markers=markers)
    if acknowledged:
        talk.say(1, reply_octets[:acknowledged])
    at = talk.say(0, octets[:500])
    if acknowledged < 20:
        talk.say(1, reply_octets[acknowledged:])
    talk.say(0, octets[500:])
    talk.say(1, octets)
    talk.close()
    # The Request is the fourth segment.
    is_told = acknowledged < 20
    if captured == "Reply late" and acknowledged:
        talk.segments[4:6] = talk.segments[5:3:-1]
    elif captured == "FPDU early" and not acknowledged:
        # What the Initiator had sent then is known of segments behind the Request only.
        talk.segments[3:5] = talk.segments[4:2:-1]
        is_told = False
    events = talk.fed()
    assert errors(events) == [(0, None, at)] * is_told
    assert all("rule 3" in text for text in texts(events))
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


@pytest.mark.parametrize("captured", ["all", "no SYN ACK", "Reply late", "a segment less"])
@pytest.mark.parametrize("several", [False, True])
def test_a_request_that_comes_twice(captured: str, several: bool) -> None:
    """Rule 3: between two Requests there is a Reply that rejects, or one that was not captured."""
    octets, _ = stream()
    talk = Talk(syn=captured != "no SYN ACK")
    talk.say(0, request())
    if captured == "a segment less":
        talk.miss(1, reply(rejected=1))
    at = talk.say(0, request(private_data=b"again"))
    if several:
        talk.say(0, request(private_data=b"once more"))
    talk.say(1, reply())
    if captured == "Reply late":
        talk.say(0, octets[:700])
        talk.segments.append(talk.segments.pop(-2))
        talk.say(0, octets[700:])
    else:
        talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    events = talk.fed()
    wrong = [(0, INVALID, at), (0, INVALID, at + 25)][: 1 + several]
    assert errors(events) == wrong * (captured in ("all", "Reply late"))
    text = "a Request after one that no Reply has answered (RFC 5044 7.1.2 rule 3)"
    assert set(texts(events)) <= {text}
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


def test_octets_behind_a_request_that_is_rejected() -> None:
    """Rule 3: a Reply with R ends MPA, and what was sent before it was not for MPA."""
    talk = Talk()
    talk.say(0, request())
    talk.say(0, b"HELLO?\r\n")
    talk.say(1, reply(rejected=1))
    talk.close()
    assert errors(talk.fed()) == []


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("size", [1, 3, 5, 7, 1460])
@pytest.mark.parametrize("revision", [1, 2])
@pytest.mark.parametrize("code", [None, 5, 6, 7])
def test_a_terminate_may_come_first(
    markers: int, size: int, revision: int, code: int | None
) -> None:
    """Rule 4, but for RFC 6581 9.3: who meets an error sends a Terminate before it resets."""
    first = messages.send(1, b"x") if code is None else messages.terminate(2, 0, code)
    octets, _ = build_stream(first, markers=bool(markers))
    enhanced: dict[str, object] = {"markers": markers, "revision": revision}
    if revision == 2:
        enhanced |= {"enhanced": 1, "private_data": enhanced_data(4, 4, a=1, b=1)}
    talk = Talk()
    talk.say(0, request(**enhanced))
    talk.say(1, reply(**enhanced))
    at = talk.say(1, octets, size=size)
    talk.say(1, flags=RST | ACK)
    events = talk.fed()
    assert len(fpdus(events, 1)) == 1
    is_due = revision == 2 and code is not None
    assert errors(events) == ([] if is_due else [(1, None, at)])
    if revision == 2:
        negotiated = ended(events).negotiated
        assert negotiated is not None and negotiated.kept is (None if is_due else False)


def test_who_speaks_first_is_not_a_matter_of_what_is_captured_first() -> None:
    """Rule 4: an FPDU of the Responder's that is captured before the one it had is no breach."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    talk.say(1, reply())
    talk.say(0, octets)
    talk.say(1, octets)
    talk.close()
    one, other = talk.segments[-5:-3]
    talk.segments[-5:-3] = [other, one]
    assert errors(talk.fed()) == []


@pytest.mark.parametrize("octet", [b"", b"\0"])
def test_a_probe_is_not_speaking(octet: bytes) -> None:
    """Rule 4: a keep-alive repeats the last octet of the Reply, or none (RFC 9293 3.8.4)."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, request())
    at = talk.say(1, reply())
    talk.copy(1, at + 19, octet, ACK)
    talk.copy(1, at, reply())
    talk.say(0, octets)
    talk.close()
    assert errors(talk.fed()) == []


@pytest.mark.parametrize("revision", [3, 77, 128, 130, 255])
def test_unknown_revision(revision: int) -> None:
    """7.1.1, Rev: named with its clause."""
    talk = Talk()
    at = talk.say(0, request(revision=revision))
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, INVALID, at)]
    assert f"revision {revision}" in texts(events)[0]
    assert "(RFC 5044 7.1.1)" in texts(events)[0]


@pytest.mark.parametrize("octets", [513, 20000, 65535])
def test_private_data_of_revision_0(octets: int) -> None:
    """draft-ietf-rddp-mpa-01 6.1.1: as long as PD_Length can say, and FPDUs begin behind them."""
    data = bytes(range(251)) * 262
    following, _ = build_stream(ULPDUS, markers=True)
    talk = Talk()
    talk.say(0, request(revision=0, markers=1, private_data=data[:octets]), size=1460)
    talk.say(1, reply(revision=0, markers=1, private_data=data[:octets]), size=1460)
    events = talk.speak(following)
    assert errors(events) == []
    assert [len(each.startup.private_data) for each in seen(events)] == [octets, octets]
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS
        assert fpdus(events, direction)[0].offset == 4


@pytest.mark.parametrize("ulpdu_length", [600, 1200, 5000])
def test_fpduptr_that_counts_a_leading_marker(ulpdu_length: int) -> None:
    """draft-ietf-rddp-mpa-01 4.1: the FPDU may be thought to begin with the Marker before it.

    RFC 5044 4.3 says that it does not: code 3, and the FPDUs are found.
    """
    ulpdus = messages.send(1, bytes(ulpdu_length - 18), mulpdu=ulpdu_length)
    octets, truth = build_stream(ulpdus, markers=True)
    changed = bytearray(octets)
    for at in range(512, len(octets), 512):
        changed[at + 2 : at + 4] = at.to_bytes(2, "big")
    changed[-4:] = crc_field(bytes(changed[:-4]))
    talk = Talk()
    talk.say(0, request(revision=0, markers=1))
    talk.say(1, reply(revision=0, markers=1))
    at = talk.say(0, bytes(changed), size=1460)
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, ErrorCode.MARKER_MISMATCH, at + 4)]
    (found,) = fpdus(events, 0)
    assert (found.ulpdu, found.crc, found.offset) == (ulpdus[0], "good", truth[0].seq_offset)


def test_rejected_for_want_of_ird() -> None:
    """RFC 6581 9.1: ORD of the Reply says what is needed; a Terminate after R is out of place."""
    terminate, _ = build_stream(messages.terminate(2, 0, 6))
    enhanced: dict[str, object] = {"revision": 2, "enhanced": 1}
    talk = Talk()
    talk.say(0, request(**enhanced, private_data=enhanced_data(1, 1)))
    talk.say(1, reply(**enhanced, private_data=enhanced_data(1, 8), rejected=1))
    at = talk.say(1, terminate)
    talk.close()
    events = talk.fed()
    assert errors(events) == [(1, None, at)]
    assert [(each.startup.ird, each.startup.ord) for each in seen(events)] == [(1, 1), (1, 8)]
    assert len(fpdus(events, 1)) == 1
    end = ended(events)
    assert end.rejected and end.negotiated is None


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("there", [20, 21, 119])
def test_closed_in_the_midst_of_a_startup_frame(how: str, there: int) -> None:
    """Rule 10, and code 1 of section 8: the connection ended before the frame was whole."""
    talk = Talk()
    at = talk.say(0, request(private_data=bytes(100))[:there])
    if how == "closed":
        talk.close()
    else:
        talk.say(0, flags=RST | ACK)
    events = talk.fed()
    assert errors(events) == [(0, ErrorCode.CONNECTION_LOST, at)]
    text = f"the connection was {how} {there} octets into a startup frame (RFC 5044 7.1.2 rule 10)"
    assert texts(events) == [text]


def test_private_data_that_claim_fpdus() -> None:
    """Rule 9: PD_Length of the Reply goes on into FPDUs, and beyond the end of all octets."""
    asked, _ = build_stream(ULPDUS, markers=False)
    answered, _ = build_stream(messages.send(1, b"x" * 100), markers=False)
    talk = Talk()
    talk.say(0, request())
    at = talk.say(1, reply(private_data=b"data", pd_length=512))
    talk.say(0, asked)
    talk.say(1, answered)
    talk.close()
    events = talk.fed()
    assert (1, INVALID, at) in errors(events)
    text = "PD_Length 512 of the Reply claims FPDUs, and octets that never came"
    assert f"{text} (RFC 5044 7.1.2 rule 9)" in texts(events)
    assert len(fpdus(events, 1)) == 1


@pytest.mark.parametrize("how", ["closed", "reset"])
def test_a_request_that_nobody_answers(how: str) -> None:
    """Rule 3, and code 1 of section 8: the Initiator gets the end of the connection for a Reply."""
    talk = Talk()
    at = talk.say(0, request())
    if how == "closed":
        talk.close()
    else:
        talk.say(1, flags=RST | ACK)
    events = talk.fed()
    assert errors(events) == [(0, ErrorCode.CONNECTION_LOST, at + 20)]
    text = f"the connection was {how} before its Request was answered (RFC 5044 7.1.2 rule 3)"
    assert texts(events) == [text]


@pytest.mark.parametrize("captured", ["no end", "no reply", "no beginning", "one direction"])
def test_a_request_that_may_have_been_answered(captured: str) -> None:
    """Where the capture does not show the whole connection, nothing is said of it."""
    talk = Talk(syn=captured != "no beginning")
    talk.say(0, request())
    if captured != "no end":
        if captured == "no reply":
            talk.miss(1, reply())
        talk.close()
    if captured == "one direction":
        talk.segments = [each for each in talk.segments if each.direction == 0]
    assert errors(talk.fed()) == []


@pytest.mark.parametrize("before", [b"x", b"200 OK\r\n", bytes(600)])
@pytest.mark.parametrize("rejected", [0, 1])
def test_octets_where_the_reply_must_be(before: bytes, rejected: int) -> None:
    """Rules 3 and 5: what the Initiator gets behind its Request is the Reply, or an error."""
    octets, _ = stream()
    talk = Talk()
    talk.say(1, b"220 ready\r\n")
    talk.say(0, request())
    at = talk.say(1, before)
    reply_at = talk.say(1, reply(rejected=rejected))
    if not rejected:
        talk.say(0, octets)
        talk.say(1, octets)
    talk.close()
    events = talk.fed()
    assert errors(events) == [(1, INVALID, reply_at)]
    assert reply_at - at == len(before)
    text = f"{len(before)} octets before the Reply stand where it must begin"
    assert texts(events) == [f"{text} (RFC 5044 7.1.2 rules 3, 5)"]
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS * (not rejected)


@pytest.mark.parametrize("how", ["greeting", "delayed", "not captured", "captured late", "no SYN"])
def test_octets_before_the_reply_that_are_in_order(how: str) -> None:
    """Rules 3 and 5: what the Initiator had when it asked is no answer; ULPs that talked before it
    may agree on any place (7.1), and of what was not captured nothing is said."""
    octets, _ = stream()
    talk = Talk(syn=how != "no SYN")
    if how == "delayed":
        talk.say(0, b"HELLO\r\n" + request())
        talk.say(1, b"HELLO\r\n" + reply())
    elif how == "not captured":
        talk.say(0, request())
        talk.miss(1, reply(rejected=1))
        talk.miss(0, request())
        talk.say(1, reply())
    else:
        talk.say(1, b"220 ready\r\n")
        talk.say(0, request())
        if how == "captured late":
            talk.segments[-2:] = talk.segments[:-3:-1]
        talk.say(1, reply())
    events = talk.speak(octets)
    assert errors(events) == []
    for direction in (0, 1):
        assert [each.ulpdu for each in fpdus(events, direction)] == ULPDUS


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"])
@pytest.mark.parametrize("how", ["closed", "capture ended"])
@pytest.mark.parametrize("goes_on", [False, True])
def test_octets_that_answer_a_request(greeting: bytes, how: str, goes_on: bool) -> None:
    """Rules 3 and 5: what answers the Request is no Reply, and nothing else comes from there."""
    octets, _ = stream()
    talk = Talk()
    if greeting:
        talk.say(1, greeting)
    talk.say(0, request())
    at = talk.say(1, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    if goes_on:
        talk.say(0, octets)
    if how == "closed":
        talk.close()
    events = talk.fed()
    assert errors(events) == [(1, INVALID, at)]
    text = "28 octets answer a Request, and are no Reply (RFC 5044 7.1.2 rules 3, 5)"
    assert texts(events) == [text]
    assert [each.ulpdu for each in fpdus(events, 0)] == (ULPDUS if goes_on else [])


@pytest.mark.parametrize("greeting", [b"", b"220 ready\r\n"])
@pytest.mark.parametrize("how", ["closed", "reset", "capture ended"])
@pytest.mark.parametrize("size", [7, 400])
@pytest.mark.parametrize("there", [20, 30, 119])
def test_part_of_a_reply_that_answers_a_request(
    there: int, size: int, how: str, greeting: bytes
) -> None:
    """Rules 3 and 5: octets that are the first ones of a Reply are no other answer."""
    talk = Talk()
    if greeting:
        talk.say(1, greeting)
    talk.say(0, request())
    at = talk.say(1, reply(private_data=bytes(100))[:there], size=size)
    if how == "closed":
        talk.close()
    elif how == "reset":
        talk.say(0, flags=RST | ACK)
    events = talk.fed()
    assert [each.startup.pd_length for each in seen(events)] == [0, 100]
    is_over = how != "capture ended"
    assert errors(events) == [(1, ErrorCode.CONNECTION_LOST, at)] * is_over
    text = f"the connection was {how} {there} octets into a startup frame"
    assert texts(events) == [f"{text} (RFC 5044 7.1.2 rule 10)"] * is_over


def test_a_greeting_is_no_answer() -> None:
    """Rule 3, and code 1 of section 8: what the Responder said before the Request is no Reply."""
    talk = Talk()
    talk.say(1, b"220 ready\r\n")
    at = talk.say(0, request())
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, ErrorCode.CONNECTION_LOST, at + 20)]
    assert "was closed before its Request was answered" in texts(events)[0]


@pytest.mark.parametrize("there", [12, 16, 19])
@pytest.mark.parametrize("is_reply", [False, True])
@pytest.mark.parametrize("size", [1, 20])
def test_closed_in_the_midst_of_a_header(there: int, is_reply: bool, size: int) -> None:
    """Rule 10, and code 1 of section 8: what there is of the header shows what it was to be."""
    talk = Talk()
    if is_reply:
        talk.say(0, request())
    at = talk.say(int(is_reply), (reply() if is_reply else request())[:there], size=size)
    talk.close()
    events = talk.fed()
    assert errors(events) == [(int(is_reply), ErrorCode.CONNECTION_LOST, at)]
    text = f"the connection was closed {there} octets into a startup frame"
    assert texts(events) == [f"{text} (RFC 5044 7.1.2 rule 10)"]


@pytest.mark.parametrize("octets", [b"MPA ID Req ", b"MPA ID Req Form!", b"MPA" * 6, b""])
def test_what_is_no_part_of_a_header(octets: bytes) -> None:
    """Rule 10: a few octets, or other ones, show nothing; a Key with 12 right is told by rule 5."""
    talk = Talk()
    if octets:
        talk.say(0, octets)
    talk.close()
    events = talk.fed()
    assert [each for each in texts(events) if "rule 10" in each] == []
    assert len(errors(events)) == (octets == b"MPA ID Req Form!")


@pytest.mark.parametrize("key", [b"MPA ID Req Framf", b"mPA ID Rep Frame"])
def test_texts_name_their_rules(key: bytes) -> None:
    """Rules 5 and 9 are named, beside the clause that says what the field must be (7.1.1)."""
    for frame, what in (
        (key + request()[16:], "(RFC 5044 7.1.1, 7.1.2 rule 5)"),
        (request(private_data=bytes(513)), "(RFC 5044 7.1.1, 7.1.2 rule 9)"),
    ):
        talk = Talk()
        talk.say(0, frame)
        talk.close()
        events = talk.fed()
        assert len(texts(events)) == 1 and what in texts(events)[0]


@pytest.mark.parametrize("more", [1, 12, 400])
def test_octets_behind_a_request_that_nobody_answers(more: int) -> None:
    """Rules 3 and 9: PD_Length does not match, or the Initiator has not waited for the Reply."""
    talk = Talk()
    at = talk.say(0, request(private_data=b"abc") + bytes(more))
    talk.close()
    events = talk.fed()
    assert errors(events) == [(0, INVALID, at + 23)]
    text = f"{more} octets behind a Request that was not answered (RFC 5044 7.1.2 rules 3, 9)"
    assert texts(events) == [text]


def test_private_data_that_were_not_captured() -> None:
    """Where the capture ends before a startup frame does, nothing is wrong with it."""
    talk = Talk()
    talk.say(0, request(private_data=bytes(100))[:60])
    events = talk.fed()
    assert errors(events) == []
    assert [each.startup.pd_length for each in seen(events)] == [100]
    assert [len(each.startup.private_data) for each in seen(events)] == [40]


@pytest.mark.parametrize(
    ("frames", "rnics"),
    [
        (((0, 1, 1), (0, 1, 1)), ((RNIC.RDMAC,), (RNIC.RDMAC, RNIC.PERMISSIVE))),
        (((1, 0, 1), (0, 1, 1)), ((RNIC.NON_PERMISSIVE, RNIC.PERMISSIVE), (RNIC.RDMAC,))),
        (((0, 0, 0), (0, 0, 0)), None),
        (((2, 0, 1), (2, 0, 1)), None),
    ],
)
def test_what_kinds_of_rnic_they_are(
    frames: tuple[tuple[int, int, int], tuple[int, int, int]],
    rnics: tuple[tuple[RNIC, ...], tuple[RNIC, ...]] | None,
) -> None:
    """RFC 5044 C: told at the end of the connection."""
    one, other = (dict(zip(("revision", "markers", "crc"), each, strict=True)) for each in frames)
    talk = Talk()
    talk.say(0, request(**one))
    talk.say(1, reply(**other))
    talk.close()
    assert ended(talk.fed()).rnics == rnics
    del talk.segments[4]
    assert ended(talk.fed()).rnics is None
