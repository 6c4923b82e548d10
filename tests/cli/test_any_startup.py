# SPDX-License-Identifier: GPL-2.0-or-later
"""Startups of any shape: every command gives a result, and no connection spoils another."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from scapy.sendrecv import sniff

from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession, rdmpa
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from tests.cli.command import Record, parsed, run
from tests.stream.talk import STREAM, TRUTH, ULPDUS, Talk, started
from tests.stream.test_whatever_comes import PIECES
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, SYN, Segment

REGULAR = "10.0.0.1:40001"
"""The Initiator of the connection without errors."""


PIECES_AND_TERMINATES = [
    *PIECES,
    *(
        mpastream.build_stream(messages.terminate(0, 2, 1, ULPDUS[0]), markers=each)[0]
        for each in (False, True)
    ),
]
_FPDUS = re.compile(r"(\d+) FPDUs?, \d+ Markers? removed|(\d+) FPDUs? found too late, copied")


def script(rng: random.Random) -> Talk:
    """Segments between two ports: one connection after another, with any end.

    Either side sends anything in any order. There are holes, and octets captured late.
    """
    begin = rng.randrange(3)
    talk = started((1000, 5000)) if begin == 2 else Talk((1000, 5000), syn=begin == 1)
    holes: list[tuple[int, int, int, int]] = []
    for _ in range(rng.randrange(4, 20)):
        direction, size = rng.randrange(2), rng.randrange(1, 300)
        flags = rng.choice((PSH | ACK, PSH | ACK, PSH | ACK, SYN, rng.randrange(64)))
        piece = rng.choice(PIECES_AND_TERMINATES)
        octets = rng.choice((b"", b"!", piece, piece[size:][:size]))
        where = rng.choice(("next", "hole", "hole", "late", "late", "late", "anew", "anew", "any"))
        if where == "hole":
            talk.say(direction, octets[:40], flags=PSH | ACK)
            holes.append((direction, talk.next[direction], talk.next[1 - direction], size))
            talk.next[direction] += size
        elif where == "anew":
            talk.next = [rng.getrandbits(32), rng.getrandbits(32)]
            talk.say(direction, flags=SYN)
            talk.say(1 - direction, flags=SYN | ACK)
        if where == "late" and holes:
            direction, seq, ack, size = rng.choice(holes)
            late = Segment(direction, seq % 2**32, ack % 2**32, flags, octets[:size])
            talk.segments.append(late)
        elif where == "any":
            talk.copy(direction, rng.getrandbits(32), octets, flags)
        else:
            talk.say(direction, octets, flags=flags)
    return talk


def regular() -> Talk:
    """A connection without errors, with two FPDUs each way."""
    talk = started()
    for fpdu in TRUTH[:2]:
        talk.say(0, STREAM[fpdu.start : fpdu.end])
        talk.say(1, STREAM[fpdu.start : fpdu.end])
    talk.close()
    return talk


def capture_of(talks: list[Talk], path: Path, *, step: int = 1_000_000) -> Path:
    """A capture of connections whose segments alternate."""
    frames = [
        [pcapfile.frame(each, ports=(40000 + port, 4000)) for each in talk.segments]
        for port, talk in enumerate(talks)
    ]
    turns = range(max(map(len, frames)))
    octets = [each[at] for at in turns for each in frames if at < len(each)]
    path.write_bytes(pcapfile.pcap(octets, step=step))
    return path


def fpdus_of_regular(records: list[Record]) -> int:
    """The number of FPDUs found in the regular connection, which has one record."""
    (number,) = (
        each["connection"]
        for each in records
        if each["type"] == "connection" and REGULAR in (each["src"], each["dst"])
    )
    return sum(each["type"] == "fpdu" and each["connection"] == number for each in records)


def check_all_commands(path: Path) -> None:
    """Read a capture that holds the regular connection with all commands, and from Python."""
    fault = "a fault of scapy-mpa"
    found = run("dissect", "--json", "--check", path)
    assert found.exit_code in (0, 1)
    assert fault not in found.output
    records = parsed(found.stdout)
    assert fpdus_of_regular(records) == 4
    octets = path.read_bytes()
    assert parsed(run("dissect", "--json", "--check", "-", stdin=octets).stdout) == records

    whole = run("dissect", "--type", "message,error,connection", "--payload", path)
    assert whole.exit_code in (0, 1)
    assert fault not in whole.output
    table = run("summary", "--json", path)
    ends = [each for each in records if each["type"] == "connection"]
    assert len(parsed(table.stdout)) == len(ends)

    cleaned = path.with_name("clean.pcap")
    result = run("clean", path, "-o", cleaned)
    assert result.exit_code == 0
    count = sum(each["type"] == "fpdu" for each in records)
    gone = sum(int(number) for each in _FPDUS.findall(result.stderr) for number in each if number)
    assert gone == count
    assert fpdus_of_regular(parsed(run("dissect", "--json", cleaned).stdout)) == 4

    recovered = rdmpa(str(path), check=True)
    assert len(recovered.connections()) == len(ends)
    assert not [each for each in recovered.errors() if fault in each["text"]]
    packets = sniff(offline=str(path), session=MPASession, quiet=True)
    assert sum(FPDU in each for each in packets) == sum(FPDU in each for each in recovered) == count


@pytest.mark.parametrize("seed", range(140))
def test_any_segments(seed: int, tmp_path: Path) -> None:
    """Startup frames, FPDUs, Terminates and other octets in any order, from either side, with any
    flags.

    There is a result, and the other connection is reported whole.
    """
    rng = random.Random(seed)
    step = rng.choice((1, 1_000_000, 10**9, 5 * 60 * 10**9))
    check_all_commands(capture_of([script(rng), regular()], tmp_path / "any.pcap", step=step))


@pytest.mark.parametrize(
    ("where", "name"), [(OrdinaryConnection, "take_octets"), (intake, "receive")]
)
def test_fault_fails_only_its_connection(
    where: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the toolkit fails only the connection that shows it, which is reported once.

    The rest of that connection is ignored. The other connection is reported whole.
    """
    taken = getattr(where, name)

    def take(taker: Any, what: Any, *rest: Any) -> object:
        # A segment, or the octets of a direction.
        flow = what.flow if where is intake else taker.identity.flow
        if (rest or what.payload) and (40000).to_bytes(2, "big") in flow:
            raise IndexError("made for this test")
        return taken(taker, what, *rest)

    monkeypatch.setattr(where, name, take)
    odd = regular()
    if where is intake:
        # The SYN comes twice, so recovery takes the connection.
        odd.segments.insert(0, odd.segments[0])
    path = capture_of([odd, regular()], tmp_path / "fault.pcap")
    for source in (path, "-"):
        found = run("dissect", "--json", source, stdin=path.read_bytes())
        assert found.exit_code == 1
        records = parsed(found.stdout)
        assert fpdus_of_regular(records) == 4
        (error,) = (each for each in records if each["type"] == "error")
        assert "IndexError('made for this test')" in error["text"]
        ends = {each["connection"]: each for each in records if each["type"] == "connection"}
        assert len(ends) == 2
        assert ends[error["connection"]]["ended"] == "failed"
