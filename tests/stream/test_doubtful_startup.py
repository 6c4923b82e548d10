# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys after missing octets: startup frames, or payload (RFC 5044 7.1.1)."""

from __future__ import annotations

import pytest

from tests.stream.feed import fpdus
from tests.stream.startup import (
    PROSE,
    ULPDUS,
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

# Directly before a Marker it reads as a Request: the reserved bits are flags 0 and Rev 0.
KEYS = b"The quick brown fox jumps over MPA ID Req Frame. "


def key_before_a_marker(*, crc: bool = True) -> tuple[bytes, list[bytes]]:
    """FPDUs with Markers.  A Key ends directly before one of them."""
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
        # The second FPDU begins before the capture does.
        (700, 2, False),
        # The Responder cannot answer what the Initiator sent later.
        (100, 1, True),
    ],
)
def test_a_key_before_a_marker_is_payload(
    begin: int, lost: int, replied: bool, syn: bool, size: int
) -> None:
    """If the beginning is missing, a Key in an FPDU's payload is no startup frame."""
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
@pytest.mark.parametrize("before", [4, 40])
@pytest.mark.parametrize("crc", [False, True])
def test_a_key_whose_length_leads_to_the_next_marker(size: int, before: int, crc: bool) -> None:
    """The length of the false frame leads to the next Marker, and an FPDU ends before that."""
    text = (bytes(508 - 16 - 16) + REQUEST_KEY + KEYS * 12)[: 1012 - 16]
    (write,) = messages.write(1, 0, text, mulpdu=1010)
    few = [messages.send(msn, bytes([msn]) * 250)[0] for msn in range(1, 20)]
    octets, truth = build_stream([write, *few], markers=True, crc=crc)
    at = octets.index(REQUEST_KEY)
    assert octets[at + 16 : at + 20].hex() == "000001fc"
    assert truth[1].start == at + 16 + 512
    talk = Talk(syn=False)
    talk.miss(0, octets[: at - before])
    talk.say(0, octets[at - before :], size=size)
    events = talk.closed()
    assert seen(events) == []
    assert found(events, 0) == [each.ulpdu for each in truth[1:]]


def key_at_the_end(begin: int) -> tuple[bytes, bytes, bytes]:
    """FPDUs without CRCs: a few, the first octets of one, and the octets after a hole in it.

    Its payload ends with a Key.  The unused CRC field after it makes that a Request of Rev 0.

    begin: the number of first octets.
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
        # The header of its FPDU shows that it ends there, over a hole.
        *(("the header", begin, syn) for begin in (30, 100) for syn in (False, True)),
        # FPDUs before a hole that hides the header show that no Request follows it.
        ("FPDUs", 8, False),
        # The Reply acknowledges the Request that it accepts.  No Request follows that.
        ("the Reply", 8, True),
    ],
)
def test_a_key_at_the_end_of_a_payload(captured: str, begin: int, syn: bool, size: int) -> None:
    """Octets captured before it show that it is no startup frame."""
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
def test_a_key_in_a_payload_after_fpdus_of_the_peer(size: int, there: int) -> None:
    """A side that has received FPDUs sends no Request any more."""
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


def records_of(frames: list[bytes]) -> bytes:
    """The octets of a capture file: before each frame stands a record header without MPA."""
    return b"".join(b"\x80\x21\x5a\x6b" * 4 + b"\x45\x00" * 27 + each for each in frames)


@pytest.mark.parametrize("size", [1, 7, 40, 1460])
def test_startup_frames_and_fpdus_in_a_file(size: int) -> None:
    """Octets directly after a Request are no FPDU, but streaming mode octets (7.1.2 rule 3)."""
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
def test_delayed_startup_after_such_a_file(size: int) -> None:
    """The true Request is still found."""
    octets, _ = stream()
    talk = Talk()
    talk.say(0, records_of([request(), reply(), octets[:200], b""]), size=size)
    at = talk.say(0, request()), talk.say(1, reply())
    events = talk.speak(octets, size=size)
    assert [each.seq for each in seen(events)][-2:] == [*at]
    assert found(events, 0) == found(events, 1) == ULPDUS
    assert {each.located_by for each in fpdus(events)} == {"start", "length"}


@pytest.mark.parametrize("lead", [b"", b"login\r\n"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_key_after_a_hole_and_no_fpdu(lead: bytes, swapped: bool) -> None:
    """What follows the Key was never FPDUs, and is not looked at when the connection ends."""
    talk = Talk()
    sender, other = (1, 0) if swapped else (0, 1)
    talk.miss(sender, b"octets that nobody captured")
    talk.say(sender, lead + (reply() if swapped else request()))
    talk.say(other, PROSE)
    talk.say(sender, PROSE * 600, size=1400)
    talk.say(other, PROSE)
    events = talk.closed()
    assert fpdus(events) == []
    assert errors(events) == []
