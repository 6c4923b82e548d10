# SPDX-License-Identifier: GPL-2.0-or-later
"""The number of Requests without the end of their Response when a connection ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.flows import Flows
from tests.captures import REAL, capture_name
from tests.cli.command import records
from tests.stream.exchange import talk_of
from tests.stream.startup import ended
from tests.stream.talk import received
from tests.truth.messages import ATOMIC_REQUEST, ATOMIC_RESPONSE, READ_REQUEST, READ_RESPONSE

SITUATIONS = {
    "nothing is asked for": (">S <S", (0, 0), ""),
    "all is answered": (">R1 >R2 <R <R >A3=1 <A1=1", (0, 0), ""),
    "one Read is not": (">R1 >R2 <R", (1, 0), ", 1 Request of the Initiator unanswered"),
    "an Atomic and a Read are not": (
        ">R1 >A2=9",
        (2, 0),
        ", 2 Requests of the Initiator unanswered",
    ),
    "a Response lacks its end": (
        ">R1:3000 <R:3000/1014-2 <S",
        (None, 0),
        "",
    ),
    "a Response may be to a Request that is missing": (">R1- <R >R2", (None, None), ""),
    "a bad CRC may hide the end": (">R1 <R!", (None, 0), ""),
    "another hole does not": (">R1 >S- >S", (1, None), ", 1 Request of the Initiator unanswered"),
}


def end_of(words: str, *, straight: bool) -> ConnectionEnded:
    """The end of a connection with these messages."""
    flows = Flows(straight=straight)
    return ended(received(flows, talk_of(words).segments) + flows.finish())


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("name", SITUATIONS)
def test_unanswered(name: str, straight: bool) -> None:
    """The count by direction, None if it is unknown, and the text."""
    words, counts, text = SITUATIONS[name]
    end = end_of(words, straight=straight).end
    assert end is not None
    assert (end.unanswered, end.text) == (counts, f"closed by the Initiator{text}")


@pytest.mark.parametrize("words", ["... >S <S <R >R3 <R >R4", "... >S >S >R1 <R!"])
def test_the_beginning_is_missing(words: str) -> None:
    """A Response may answer a Request before the capture, or stand in unexplained octets."""
    end = end_of(words, straight=True).end
    assert end is not None
    assert end.unanswered[0] is None
    assert "unanswered" not in end.text


@pytest.mark.parametrize("path", REAL, ids=capture_name)
def test_captures(path: Path) -> None:
    """The counts agree with the messages, and are known if nothing is missing or bad."""
    asked: Counter[tuple[int, str]] = Counter()
    answered: set[tuple[int, str]] = set()
    for each in records("--type", "message", path):
        if each["complete"] and each["opcode"] in (READ_REQUEST, ATOMIC_REQUEST):
            asked[each["connection"], each["src"]] += 1
        elif each["complete"] and each["opcode"] in (READ_RESPONSE, ATOMIC_RESPONSE):
            asked[each["connection"], each["dst"]] -= 1
            answered.add((each["connection"], each["dst"]))
    for each in records("--type", "connection", path):
        known = (each["end"] or {}).get("unanswered") or {}
        damaged = {end: each["gaps"][end] or each["crc_bad"][end] for end in ("src", "dst")}
        for side, other in (("src", "dst"), ("dst", "src")):
            count, asks = known.get(side), (each["connection"], each[side])
            if count is None:
                assert not known or damaged[other] or (damaged[side] and asks in answered)
            else:
                assert count == max(0, asked[asks])
