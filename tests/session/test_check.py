# SPDX-License-Identifier: GPL-2.0-or-later
"""What DDP and RDMAP must not accept, for ``MPASession(check=True)`` and ``rdmpa(check=True)``."""

from __future__ import annotations

import pathlib

import pytest
from scapy.sendrecv import sniff

from scapy_mpa.craft.mutations import find
from scapy_mpa.records import record_of
from scapy_mpa.session import MPASession, rdmpa
from scapy_mpa.session.source import dissect
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event

BROKEN = {
    "rfc5041/4.3/qn-unknown": "(RFC 5041 4.3)",
    "rfc5040/4.1/opcode-untagged-in-tagged": "0/2/0x06",
    "rfc6581/9.1/ird-exceeded": "(RFC 6581 9.1)",
    "rfc5044/4.4/crc-wrong": "CRC",
}
"""A mutation of each standard, and what an error says of it."""


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_receiver_must_not_accept(name: str, tmp_path: pathlib.Path) -> None:
    """Both report it, of MPA always, of what is above if asked; the packets are the same."""
    path = tmp_path / "broken.pcapng"
    conversation = find(name).case(1).conversation
    conversation.write(path)
    checked, plain = rdmpa(str(path), check=True), rdmpa(str(path))
    (error,) = checked.errors()
    assert BROKEN[name] in str(error["text"])
    assert plain.errors() == ([error] if error["code"] == 2 else [])
    assert [bytes(each) for each in checked] == [bytes(each) for each in plain]
    assert [end["errors"] for end in checked.connections()] == [1]
    events: list[Event] = []
    session = MPASession(others=False, on_event=events.append, check=True)
    packets = sniff(offline=str(path), session=session, quiet=True)
    assert [bytes(each) for each in packets] == [bytes(each) for each in checked]
    clock = Clock(conversation.frames()[0].time_ns)
    found = [record_of(event, clock) for event in events if isinstance(event, ErrorFound)]
    assert found == [error]
    assert [event.errors for event in events if isinstance(event, ConnectionEnded)] == [1]


def test_it_is_only_done_if_asked() -> None:
    """What is above MPA is not checked unless somebody asks."""
    conversation = find("rfc5041/4.3/qn-unknown").case(1).conversation
    frames = [dissect(frame) for frame in conversation.frames()]
    told: list[list[str]] = []
    for asked in ({}, {"check": False}, {"check": True}):
        events: list[Event] = []
        session = MPASession(on_event=events.append, **asked)
        sniff(offline=frames, session=session, quiet=True)
        told.append([event.text for event in events if isinstance(event, ErrorFound)])
    assert told[:2] == [[], []]
    assert "(RFC 5041 4.3)" in told[2][0]
