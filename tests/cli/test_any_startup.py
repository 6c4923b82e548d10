# SPDX-License-Identifier: GPL-2.0-or-later
"""Startups of any shape: every way into the toolkit gives a result, and no connection costs another
one its records."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from scapy.sendrecv import sniff

from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession, rdmpa
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from scapy_mpa.stream.segment import Segment as Received
from tests.cli.command import Record, parsed, run
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, ULPDUS, Talk
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, RST, SYN

FAULT = "a fault of scapy-mpa"
BESIDE = "10.0.0.1:40001"
"""The Initiator of the connection in which all is as it should be."""

KEYS = mpastream.REQUEST_KEY, mpastream.REPLY_KEY, mpastream.RTR_KEY
FRAMES = [
    mpastream.startup_frame(key, crc=crc, revision=revision, enhanced=revision // 2, **more)
    for key in KEYS
    for revision in (0, 1, 2)
    for crc in (0, 1)
    for more in ({}, {"rejected": 1}, {"markers": 1}, {"private_data": b"p" * 37})
]
TERMINATE = messages.terminate(0, 2, 1, ULPDUS[0])
FPDUS = [
    STREAM[: TRUTH[0].end],
    STREAM,
    STREAM[: TRUTH[2].end - 9],
    mpastream.build_stream(ULPDUS[:3], markers=True)[0],
    mpastream.build_stream(ULPDUS[:3], crc=False)[0],
    mpastream.build_stream(ULPDUS[:3], damage={0: mpastream.Damage(crc_xor=1)})[0],
    mpastream.build_stream(ULPDUS[:3], damage={1: mpastream.Damage(ulpdu_length=3000)})[0],
    mpastream.build_stream(TERMINATE)[0],
    mpastream.build_stream(TERMINATE, markers=True)[0],
    mpastream.build_stream([b""])[0],
]
WORDS = [b"HTTP/1.1 200 OK\r\n\r\n", b"M", b"MPA ID Re", bytes(12), bytes(300), b"x" * 40_000]
LIKELY = [REQUEST, REPLY, *FPDUS[:2]]


def any_startup(rng: random.Random) -> Talk:
    """A connection whose sides say anything, in any order, and which ends in any way."""
    talk = Talk(syn=rng.random() < 0.7)
    for _ in range(rng.randint(1, 9)):
        octets = rng.choice(rng.choice([LIKELY, LIKELY, FRAMES, FPDUS, WORDS]))
        if rng.random() < 0.2:
            octets = octets[: rng.randint(1, len(octets))]
        size = rng.choice([None, None, 500, 7, 1]) if len(octets) < 2000 else 1448
        talk.say(rng.randrange(2), octets, size=size, captured=rng.random() < 0.93)
        if talk.segments and rng.random() < 0.2:
            talk.segments.append(rng.choice(talk.segments))
    for _ in range(rng.randrange(4)):
        talk.say(rng.randrange(2), flags=rng.choice([FIN | ACK, FIN | ACK, RST, RST | ACK, SYN]))
    return talk


def regular() -> Talk:
    """A connection in which all is as it should be, with two FPDUs each way."""
    talk = Talk()
    talk.say(0, REQUEST)
    talk.say(1, REPLY)
    for fpdu in TRUTH[:2]:
        talk.say(0, STREAM[fpdu.start : fpdu.end])
        talk.say(1, STREAM[fpdu.start : fpdu.end])
    talk.close()
    return talk


def capture_of(talks: list[Talk], path: Path) -> Path:
    """A capture of connections whose segments come by turns."""
    frames = [
        [pcapfile.frame(each, ports=(40000 + port, 4000)) for each in talk.segments]
        for port, talk in enumerate(talks)
    ]
    turns = range(max(map(len, frames)))
    path.write_bytes(pcapfile.pcap([each[at] for at in turns for each in frames if at < len(each)]))
    return path


def fpdus_beside(records: list[Record]) -> int:
    """How many FPDUs were found of the regular connection, of which there is one record."""
    (number,) = (
        each["connection"]
        for each in records
        if each["type"] == "connection" and BESIDE in (each["src"], each["dst"])
    )
    return sum(each["type"] == "fpdu" and each["connection"] == number for each in records)


def check_every_way_in(path: Path) -> None:
    """Read a capture that holds the regular connection by all commands, and from Python."""
    found = run("dissect", "--json", "--check", path)
    assert found.exit_code in (0, 1)
    assert FAULT not in found.output
    records = parsed(found.stdout)
    assert fpdus_beside(records) == 4
    octets = path.read_bytes()
    assert parsed(run("dissect", "--json", "--check", "-", stdin=octets).stdout) == records

    whole = run("dissect", "--type", "message,error,connection", "--payload", path)
    assert whole.exit_code in (0, 1)
    assert FAULT not in whole.output
    table = run("summary", "--json", path)
    ends = [each for each in records if each["type"] == "connection"]
    assert len(parsed(table.stdout)) == len(ends)

    cleaned = path.with_name("clean.pcap")
    assert run("clean", path, "-o", cleaned).exit_code == 0
    again = parsed(run("dissect", "--json", cleaned).stdout)
    assert fpdus_beside(again) == 4

    recovered = rdmpa(str(path), check=True)
    assert len(recovered.connections()) == len(ends)
    assert not [each for each in recovered.errors() if FAULT in each["text"]]
    packets = sniff(offline=str(path), session=MPASession, quiet=True)
    mpa = sum(FPDU in each for each in packets)
    assert (
        mpa
        == sum(each["type"] == "fpdu" for each in records)
        == sum(FPDU in each for each in recovered)
    )


@pytest.mark.parametrize("seed", range(60))
def test_random_startups(seed: int, tmp_path: Path) -> None:
    """Frames, FPDUs, Terminates and words in any order, from either side, with the SYN and without,
    closed in any way: a result, and the connection beside is reported whole."""
    talks = [any_startup(random.Random(seed)), regular()]
    check_every_way_in(capture_of(talks, tmp_path / "any.pcap"))


ANSWERS = {
    "an FPDU": [FPDUS[0]],
    "a Terminate": [FPDUS[7]],
    "FPDUs, then the Reply": [FPDUS[1], REPLY],
    "words that are many": [b"x" * 262_144],
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_something_else_in_place_of_the_reply(answer: str, tmp_path: Path) -> None:
    """It breaks rule 3 or 5 of RFC 5044 7.1.2; both connections are reported."""
    talk = Talk()
    talk.say(0, REQUEST)
    for octets in ANSWERS[answer]:
        talk.say(1, octets, size=1448)
    talk.close()
    path = capture_of([talk, regular()], tmp_path / "answer.pcap")
    check_every_way_in(path)
    found = run("dissect", "--json", path)
    assert found.exit_code == 1
    texts = [each["text"] for each in parsed(found.stdout) if each["type"] == "error"]
    assert any("RFC 5044 7.1.2" in each for each in texts)


@pytest.mark.parametrize("where", [OrdinaryConnection, intake])
def test_a_fault_costs_its_connection_only(
    where: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the toolkit has a fault, the connection that shows it is reported as failed, once; what
    follows of it is left alone, and the connection beside is reported whole."""
    received = where.receive

    def receive(self: object, segment: Received) -> object:
        if segment.payload and (40000).to_bytes(2, "big") in segment.flow:
            raise IndexError("made for this test")
        return received(self, segment)

    monkeypatch.setattr(where, "receive", receive)
    odd = regular()
    if where is intake:
        # The SYN comes twice, so that recovery is asked.
        odd.segments.insert(0, odd.segments[0])
    path = capture_of([odd, regular()], tmp_path / "fault.pcap")
    for source in (path, "-"):
        found = run("dissect", "--json", source, stdin=path.read_bytes())
        assert found.exit_code == 1
        records = parsed(found.stdout)
        assert fpdus_beside(records) == 4
        (error,) = (each for each in records if each["type"] == "error")
        assert "IndexError('made for this test')" in error["text"]
        ends = {each["connection"]: each for each in records if each["type"] == "connection"}
        assert len(ends) == 2
        assert ends[error["connection"]]["ended"] == "failed"
