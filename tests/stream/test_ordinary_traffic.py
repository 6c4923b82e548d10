# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that do not carry iWARP: nothing is said of them but that they were there."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.stream.events import (
    ConnectionEnded,
)
from tests.stream.talk import (
    Talk,
    ends,
)


def ordinary(kind: str, rng: random.Random, size: int) -> bytes:
    """Octets that are not iWARP."""
    if kind == "http":
        line = b"GET /index.html HTTP/1.1\r\nHost: example.net\r\nAccept: */*\r\n\r\n"
        return line * (size // len(line))
    if kind == "tls":
        records = b""
        while len(records) < size:
            length = rng.randint(100, 1400)
            records += b"\x17\x03\x03" + length.to_bytes(2, "big") + rng.randbytes(length)
        return records
    if kind == "random":
        return rng.randbytes(size)
    if kind == "As":
        return b"A" * size
    if kind == "header words":
        return b"\x00\x40\x41\x43" * (size // 4)
    return bytes(size)


ORDINARY = ["http", "tls", "random", "As", "header words", "zeros"]


@pytest.mark.parametrize("kind", ORDINARY)
@pytest.mark.parametrize("syn", [False, True])
def test_ordinary_traffic_is_not_taken_for_iwarp(kind: str, syn: bool) -> None:
    """No startup frame, no FPDU, no error, whatever the octets."""
    rng = random.Random(kind)
    talk = Talk(syn=syn)
    for _ in range(8):
        talk.say(0, ordinary(kind, rng, 1000), size=1460)
        talk.say(1, ordinary(kind, rng, 20_000), size=1460)
    talk.close()
    events = talk.fed()
    assert {type(each) for each in events} == {ConnectionEnded}
    assert ends(events)[0].initiator is None
    assert ends(events)[0].halves[1].markers is None
