# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames that a receiver must not accept (RFC 5044 7.1.2 rules 2, 5, 8 to 10; 8)."""

from __future__ import annotations

import pytest

from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import fpdus
from tests.stream.startup import (
    ULPDUS,
    check_works,
    errors,
    found,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk


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
    check_works(talk.speak(octets))


@pytest.mark.parametrize("closed", [False, True])
def test_a_request_that_never_becomes_whole(closed: bool) -> None:
    """PD_Length promises octets that do not come: the end of the connection has cut the frame short
    (7.1.2 rule 10); that of the capture says nothing."""
    talk = Talk()
    at = talk.say(0, request(private_data=b"only this", pd_length=100))
    if closed:
        talk.close()
    events = talk.fed()
    (first,) = seen(events)
    assert first.octets == request(private_data=b"only this", pd_length=100)
    assert errors(events) == [(0, ErrorCode.CONNECTION_LOST, at)] * closed


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
