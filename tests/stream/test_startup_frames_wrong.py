# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames that a receiver must not accept (RFC 5044 7.1.2 rules 5, 9; 8)."""

from __future__ import annotations

import pytest

from tests.stream.scene import INVALID, Octets, Scene, Wrong
from tests.stream.startup import errors, reply, request, seen, stream


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
@pytest.mark.parametrize("words", [">Q >F <F", ">Q <A >F <F"])
def test_a_request_that_no_receiver_may_accept(bad: bytes, size: int, words: str) -> None:
    """PD_Length above 512, an unknown Rev, S without room for its data (7.1.1, RFC 6581 6)."""
    scene = Scene(words, {"Q": bad}, size=size)
    events = scene.fed()
    assert seen(events)[0].octets == bad
    direction, at = scene.at[0]
    assert errors(events) == [(direction, INVALID, at)]


@pytest.mark.parametrize("pd_length", [9000, 65535])
@pytest.mark.parametrize("size", [50, 1460])
@pytest.mark.parametrize("markers", [0, 1])
def test_a_reply_that_claims_what_follows_it(pd_length: int, size: int, markers: int) -> None:
    """PD_Length above 512 of a Reply behind which there are FPDUs is reported, once, and they are
    found (7.1.1, 7.1.2 rule 9)."""
    bad = reply(private_data=b"only this", pd_length=pd_length, markers=markers)
    letters: dict[str, Octets] = {
        "Q": request(markers=markers),
        "A": bad,
        "S": stream(markers=bool(markers)),
    }
    text = f"PD_Length {pd_length} exceeds 512 (RFC 5044 7.1.1, 7.1.2 rule 9)"
    scene = Scene(">Q <A >S <S >F <F", letters, size=size)
    del scene.frames[1]
    scene.check(Wrong(1, INVALID, text))


@pytest.mark.parametrize("place", range(16))
@pytest.mark.parametrize("size", [1, 20])
def test_a_key_with_one_wrong_octet(place: int, size: int) -> None:
    """A Key that is none, where one must stand: code 4, in pieces or in one (7.1.2 rule 5)."""
    key = bytearray(request())
    key[place] ^= 0x80
    text = f"the Key of the startup frame is {bytes(key[:16])!r} (RFC 5044 7.1.1, 7.1.2 rule 5)"
    Scene(">Q >F <F", {"Q": bytes(key)}, size=size).check(Wrong(0, INVALID, text))
