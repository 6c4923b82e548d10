# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys in octets of which earlier ones are missing: startup frames, or payload (RFC 5044 7.1.1)."""

from __future__ import annotations

import pytest

from tests.stream.feed import fpdus
from tests.stream.startup import (
    PROSE,
    ULPDUS,
    check_all,
    ended,
    errors,
    found,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import REQUEST_KEY, build_stream

# With a Marker right behind it, whose reserved bits are flags 0 and Rev 0, it reads as a Request.
KEYS = b"The quick brown fox jumps over MPA ID Req Frame. "


def key_before_a_marker(*, crc: bool = True) -> tuple[bytes, list[bytes]]:
    """FPDUs with Markers, before one of which a Key happens to end."""
    ulpdus = [messages.send(1, bytes(600))[0]]
    for shift in range(49):
        text = (KEYS * 80)[shift : shift + 3000]
        octets, truth = build_stream(
            [*ulpdus, messages.send(2, text, 4000)[0]] * 4, markers=True, crc=crc
        )
        at = octets.find(REQUEST_KEY + bytes(2))
        if at > 0 and (at + len(REQUEST_KEY)) % 512 == 0:
            return octets, [each.ulpdu for each in truth]
    raise AssertionError("no Key ends before a Marker")


@pytest.mark.parametrize("size", [1, 33, 700, 1460])
@pytest.mark.parametrize("syn", [False, True])
@pytest.mark.parametrize(
    ("begin", "lost", "replied"),
    [
        (0, 0, False),
        (100, 1, False),
        # The second one begins before the capture does.
        (700, 2, False),
        # What the Responder said is no answer to what the Initiator sent later.
        (100, 1, True),
    ],
)
def test_a_key_before_a_marker_is_payload(
    begin: int, lost: int, replied: bool, syn: bool, size: int
) -> None:
    """Where the beginning is missing, a Key in an FPDU's payload is no startup frame."""
    octets, ulpdus = key_before_a_marker()
    talk = Talk(syn=syn)
    talk.miss(0, request())
    talk.say(1, reply(markers=1), captured=replied)
    talk.miss(0, octets[:begin])
    talk.say(0, octets[begin:], size=size)
    events = talk.closed()
    assert len(seen(events)) == replied
    # Direction 0 is the one that was captured first.
    assert found(events, int(replied and not syn)) == ulpdus[lost:]
    assert {each.crc for each in fpdus(events)} == {"good"}
    assert (ended(events).initiator is None) == (not replied)


@pytest.mark.parametrize("size", [33, 1460])
@pytest.mark.parametrize("behind", [4, 40])
@pytest.mark.parametrize("crc", [False, True])
def test_a_marker_by_what_follows_the_next_one(size: int, behind: int, crc: bool) -> None:
    """What it says of its FPDU leads to the next Marker, too, before which an FPDU ends."""
    text = (bytes(508 - 16 - 16) + REQUEST_KEY + KEYS * 12)[: 1012 - 16]
    (write,) = messages.write(1, 0, text, mulpdu=1010)
    few = [messages.send(msn, bytes([msn]) * 250)[0] for msn in range(1, 20)]
    octets, truth = build_stream([write, *few], markers=True, crc=crc)
    at = octets.index(REQUEST_KEY)
    assert octets[at + 16 : at + 20].hex() == "000001fc"
    assert truth[1].start == at + 16 + 512
    talk = Talk(syn=False)
    talk.miss(0, octets[: at - behind])
    talk.say(0, octets[at - behind :], size=size)
    events = talk.closed()
    assert seen(events) == []
    assert found(events, 0) == [each.ulpdu for each in truth[1:]]


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("size", [25, 1460])
def test_a_request_of_rev_0_with_which_a_capture_begins(answered: bool, size: int) -> None:
    """It fills its segment, and nothing that follows speaks against it."""
    octets, truth = stream(crc=False)
    talk = Talk(syn=False)
    at = talk.say(0, request(crc=0, revision=0, private_data=b"hello"), size=size)
    talk.say(1, reply(crc=0, revision=0), size=size, captured=answered)
    events = talk.speak(octets, size=size)
    assert [each.seq for each in seen(events)][:1] == [at]
    assert len(seen(events)) == 1 + answered
    assert seen(events)[0].frame == 1
    check_all(events, truth)


def key_at_the_end(begin: int) -> tuple[bytes, bytes, bytes]:
    """FPDUs without CRCs: some, the first octets of one, and what is captured behind a hole in it.

    Its payload ends with a Key, and a CRC field that is not used makes that a Request of Rev 0.

    begin: how many octets the first octets are.
    """
    few = [messages.send(msn, bytes([msn]) * 150)[0] for msn in range(1, 9)]
    (text,) = messages.send(9, KEYS * 12 + b"." * 4 + REQUEST_KEY)
    many = [messages.send(msn, bytes([msn]) * 250)[0] for msn in range(10, 20)]
    octets, truth = build_stream([*few, text, *many], crc=False, idle_crc_field=bytes(4))
    start = truth[8].start
    assert octets[: truth[8].end].endswith(REQUEST_KEY + bytes(4))
    return octets[:start], octets[start : start + begin], octets[start + begin + 200 :]


@pytest.mark.parametrize("size", [1, 33, 1460])
@pytest.mark.parametrize(
    ("captured", "begin", "syn"),
    [
        # The header of its FPDU says that it ends there, though a hole lies between.
        *(("the header", begin, syn) for begin in (30, 100) for syn in (False, True)),
        # FPDUs before a hole that hides the header show that there is no Request behind it.
        ("FPDUs", 8, False),
        # The Reply acknowledges the Request that it accepts; there is none behind that.
        ("the Reply", 8, True),
    ],
)
def test_a_key_at_the_end_of_a_payload(captured: str, begin: int, syn: bool, size: int) -> None:
    """It is no startup frame, as what was captured before it tells."""
    octets, head, rest = key_at_the_end(begin)
    talk = Talk(syn=syn)
    talk.miss(0, request(crc=0))
    talk.say(1, reply(crc=0), captured=captured == "the Reply")
    talk.say(0, octets, size=size, captured=captured == "FPDUs")
    talk.say(0, head, size=size, captured=captured == "the header")
    talk.miss(0, bytes(200))
    talk.say(0, rest, size=size)
    events = talk.closed()
    assert [each.octets for each in seen(events)] == [reply(crc=0)] * (captured == "the Reply")
    assert [each.crc for each in fpdus(events)] == ["off"] * (18 if captured == "FPDUs" else 10)


@pytest.mark.parametrize("size", [33, 1460])
@pytest.mark.parametrize("there", [4, 20, 300])
def test_a_key_in_a_payload_behind_fpdus_of_the_peer(size: int, there: int) -> None:
    """Who had received FPDUs sends no Request any more."""
    octets, _, rest = key_at_the_end(8)
    rest = rest[rest.index(REQUEST_KEY + bytes(4)) - there :]
    talk = Talk(syn=False)
    talk.miss(0, request(crc=0))
    talk.miss(1, reply(crc=0))
    talk.say(0, octets, size=size)
    talk.say(1, rest, size=size)
    events = talk.closed()
    assert seen(events) == []
    assert (len(fpdus(events, 0)), len(fpdus(events, 1))) == (8, 10)


@pytest.mark.parametrize("lost", [0, 1, None])
@pytest.mark.parametrize("text", [b"login\r\n", PROSE])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize(
    ("syn", "size"), [(False, 40), (False, 1460), (True, 1), (True, 40), (True, 1460)]
)
def test_delayed_startup_of_which_something_is_missing(
    lost: int | None, text: bytes, markers: bool, syn: bool, size: int
) -> None:
    """A Reply that answers it shows that a Request is one (7.1.2, 7.1.3); so do FPDUs right behind
    it, and that a Reply is one."""
    octets, truth = stream(markers=markers)
    frames = request(markers=int(markers), private_data=b"hello"), reply(markers=int(markers))
    talk = Talk(syn=syn)
    for direction in (0, 1):
        talk.say(direction, text, size=size)
    for direction in (0, 1):
        talk.say(direction, frames[direction], size=size, captured=direction != lost)
    events = talk.speak(octets, size=size)
    # In segments of one octet, only the FPDUs that follow show it: then the Reply may come first.
    captured = [each for direction, each in enumerate(frames) if direction != lost]
    assert sorted(each.octets for each in seen(events)) == sorted(captured)
    assert found(events, 0) == found(events, 1) == [each.ulpdu for each in truth]
    for direction in (0, 1):
        assert lost == direction or None not in {each.offset for each in fpdus(events, direction)}
    assert errors(events) == []


@pytest.mark.parametrize("alone", [False, True])
def test_a_request_that_nobody_answers(alone: bool) -> None:
    """In a segment of its own it is one; amid text of which more is missing nobody knows."""
    talk = Talk(syn=False)
    talk.say(0, b"login\r\n")
    frame = request(private_data=bytes(60))
    talk.say(0, frame if alone else b"<p>" + frame + b"</p>")
    events = talk.closed()
    assert len(seen(events)) == alone
    assert (ended(events).initiator is not None) == alone


def records_of(frames: list[bytes]) -> bytes:
    """Octets as a capture file holds them: in front of each a record header that is none of MPA."""
    return b"".join(b"\x80\x21\x5a\x6b" * 4 + b"\x45\x00" * 27 + each for each in frames)


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_startup_frames_and_fpdus_in_a_file(size: int) -> None:
    """What directly follows a Request is no FPDU: it is streaming mode octets (7.1.2 rule 3)."""
    _, truth = stream()
    octets = [build_stream([each.ulpdu])[0] for each in truth]
    talk = Talk()
    talk.say(0, b"RETR iwarp.pcap\r\n")
    talk.say(1, records_of([request(), reply(), *octets]), size=size)
    events = talk.closed()
    assert fpdus(events) == []
    assert ended(events).initiator is None
    assert errors(events) == []


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_delayed_startup_behind_such_a_file(size: int) -> None:
    """The true Request is found all the same."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, records_of([request(), reply(), octets[:200], b""]), size=size)
    at = talk.say(0, request()), talk.say(1, reply())
    events = talk.speak(octets, size=size)
    assert [each.seq for each in seen(events)][-2:] == [*at]
    assert found(events, 0) == found(events, 1) == ULPDUS
    assert {each.located_by for each in fpdus(events)} == {"start", "length"}


def test_streaming_mode_octets_behind_a_delayed_rejection() -> None:
    """A connection that was rejected goes back to streaming mode (7.1.2 rule 3)."""
    talk = Talk()
    for direction in (0, 1):
        talk.say(direction, PROSE)
    talk.say(0, request())
    talk.say(1, reply(rejected=1) + PROSE)
    talk.say(0, PROSE)
    events = talk.closed()
    assert len(seen(events)) == 2
    assert ended(events).rejected


@pytest.mark.parametrize("lead", [b"", b"login\r\n"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_key_behind_a_hole_and_no_fpdu_for_long(lead: bytes, swapped: bool) -> None:
    """What followed it is no longer looked at when the connection ends, and was never FPDUs."""
    talk = Talk()
    said, other = (1, 0) if swapped else (0, 1)
    talk.miss(said, b"octets that nobody captured")
    talk.say(said, lead + (reply() if swapped else request()))
    talk.say(other, PROSE)
    talk.say(said, PROSE * 600, size=1400)
    talk.say(other, PROSE)
    events = talk.closed()
    assert fpdus(events) == []
    assert errors(events) == []
