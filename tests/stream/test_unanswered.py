# SPDX-License-Identifier: GPL-2.0-or-later
"""The number of Requests whose Response has not ended when the connection ends."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.flows import Flows
from tests.stream.exchange import talk_of
from tests.stream.startup import ended
from tests.stream.talk import received

SITUATIONS = {
    "nothing is asked for": (">S <S", (0, 0), ""),
    "all is answered": (">R1 >R2 <R <R >A3=1 <A1=1", (0, 0), ""),
    "a Read is unanswered": (">R1 >R2 <R", (1, 0), ", 1 Request of the Initiator unanswered"),
    "an Atomic and a Read are unanswered": (
        ">R1 >A2=9",
        (2, 0),
        ", 2 Requests of the Initiator unanswered",
    ),
    "the end of a Response is missing": (
        ">R1:3000 <R:3000/1014-2 <S",
        (None, 0),
        "",
    ),
    "a Response may answer a missing Request": (">R1- <R >R2", (None, None), ""),
    "a bad CRC may hide the end of a Response": (">R1 <R!", (None, 0), ""),
    "a hole among Requests": (">R1 >S- >S", (1, None), ", 1 Request of the Initiator unanswered"),
}


def end_of(words: str, *, straight: bool) -> ConnectionEnded:
    """The end of a connection with these messages."""
    flows = Flows(straight=straight)
    return ended(received(flows, talk_of(words).segments) + flows.finish())


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("name", SITUATIONS)
def test_unanswered(name: str, straight: bool) -> None:
    """The end has the count by direction, None if it is unknown, and a text."""
    words, counts, text = SITUATIONS[name]
    end = end_of(words, straight=straight).end
    assert end is not None
    assert (end.unanswered, end.text) == (counts, f"closed by the Initiator{text}")


@pytest.mark.parametrize("words", ["... >S <S <R >R3 <R >R4", "... >S >S >R1 <R!"])
def test_the_beginning_is_missing(words: str) -> None:
    """A Response may answer a Request from before the capture, or lie in unexplained octets."""
    end = end_of(words, straight=True).end
    assert end is not None
    assert end.unanswered[0] is None
    assert "unanswered" not in end.text
