# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages with which a direction begins of which no startup frame was captured before them."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.delivery import half_messages
from scapy_mpa.stream.messages import Messages
from tests.stream.spoken import messages_of
from tests.stream.startup import request
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import build_stream

WRITTEN = messages.write(7, 4096, bytes(3000))


@pytest.mark.parametrize("is_late", [False, True])
def test_nothing_tells_where_it_begins(is_late: bool) -> None:
    """Without a startup frame, or with one that comes after FPDUs, what a direction begins with may
    be the rest of a message."""
    talk = Talk(syn=False)
    octets, _ = build_stream(WRITTEN * 2, markers=False)
    talk.say(0, request())
    startup = talk.segments.pop()
    talk.say(0, octets, size=1460)
    talk.segments += [startup] * is_late
    assert [each.complete for each in messages_of(talk.closed())] == [False, True]


def test_no_more_waits_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many FPDUs are in so few frames, no more of them wait than of any direction."""
    monkeypatch.setattr(half_messages, "WAITING_SEGMENTS", 100)
    talk = Talk(syn=False)
    octets, _ = build_stream(messages.write(1, 0, b"") * 105, markers=False)
    talk.say(0, octets)
    taker = Messages()
    found = [message for event in talk.fed()[:-1] for message in taker.take(event)]
    assert [each.complete for each in found] == [False, *[True] * 104]
