# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever flags segments have: a complete capture is written, and every FPDU found is in it."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.segment import Segment as Received
from tests.clean.cleaning import clean, events, fpdus, frames_of, segments
from tests.cli.command import run
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, Talk, started, whole
from tests.stream.test_whatever_comes import PIECES
from tests.truth import pcapfile
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

SECOND, MINUTE = 10**9, 60 * 10**9

_FPDUS = re.compile(r"(\d+) FPDUs?, \d+ Markers? removed|(\d+) FPDUs? found too late, copied")


def capture(parts: Sequence[Sequence[Segment]], *, step: int = 1_000_000) -> bytes:
    """A capture of segments of all connections between two ports, one after the other."""
    return pcapfile.pcap(pcapfile.frames([each for part in parts for each in part]), step=step)


def script(rng: random.Random) -> list[Segment]:
    """Segments between two ports: connections one after the other, holes, octets captured late."""
    begin = rng.randrange(3)
    talk = started((1000, 5000)) if begin == 2 else Talk((1000, 5000), syn=begin == 1)
    holes: list[tuple[int, int, int, int]] = []
    for _ in range(rng.randrange(4, 20)):
        direction, size = rng.randrange(2), rng.randrange(1, 300)
        flags = rng.choice((PSH | ACK, PSH | ACK, PSH | ACK, SYN, rng.randrange(64)))
        octets = rng.choice((b"", b"!", rng.choice(PIECES), rng.choice(PIECES)[size:][:size]))
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
    return talk.segments


@pytest.mark.parametrize("seed", range(80))
def test_any_flags(tmp_path: Path, seed: int) -> None:
    """Status 0, a capture that can be read to its end, and in it all FPDUs that were found."""
    rng = random.Random(f"any flags {seed}")
    source, target = tmp_path / "any.pcap", tmp_path / "clean.pcapng"
    step = rng.choice((1, 1_000_000, SECOND, 5 * MINUTE))
    source.write_bytes(capture([script(rng)], step=step))
    result = run("clean", source, "-o", target)
    assert result.exit_code == 0
    frames_of(target)
    said = sum(int(number) for each in _FPDUS.findall(result.stderr) for number in each if number)
    assert said == sum(fpdus(frames_of(source)).values())


def holed(hole: bytes, *, begin: bytes = b"", end: bytes = b"") -> tuple[Talk, Segment]:
    """A connection of which a segment was not captured, and that segment.

    :param begin: what its sender says before; startup frames precede it.
    :param end: and after.
    """
    talk = started((1000, 5000)) if begin else Talk((1000, 5000))
    talk.say(0, begin or b"streaming")
    seq = talk.miss(0, hole)
    talk.say(0, end or b"mode")
    talk.say(1, flags=ACK)
    return talk, Segment(0, seq, talk.next[1], PSH | ACK, hole)


AFTER = {
    "nothing": [],
    "a connection without MPA": Talk((70_000, 90_000)).segments,
    "a connection with MPA": started((70_000, 90_000)).segments,
}
"""What has the same ports when a segment of an earlier connection comes late."""


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("close", [False, True])
def test_octets_of_a_connection_that_is_over(after: str, close: bool) -> None:
    """What is no MPA is copied as it was, whoever has the ports by then."""
    talk, late = holed(b"!")
    if close:
        talk.close()
    frames = frames_of(capture([talk.segments, AFTER[after], [late]]))
    cleaned = clean(frames)
    assert cleaned.report.fpdus == 0
    kept = [each.octets for each in cleaned.frames]
    if after != "a connection with MPA":
        assert kept == [each.octets for each in frames]
    assert frames[-1].octets in kept


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("close", [False, True])
def test_an_fpdu_of_a_connection_that_is_over(after: str, close: bool) -> None:
    """It is written once, after what had been written by then, as long as the connection lingers;
    then it is a late copy, and left out."""
    first, second, third = (each.end for each in TRUTH[:3])
    talk, late = holed(STREAM[first:second], begin=STREAM[:first], end=STREAM[second:third])
    if close:
        talk.close()
    cleaned = clean(frames_of(capture([talk.segments, AFTER[after], [late]])))
    written = [each.payload for each in segments(cleaned.frames) if each.payload in STREAM]
    expected = [STREAM[:first], STREAM[second:third]]
    if after == "nothing":
        expected.append(STREAM[first:second])
    assert sorted(filter(None, written)) == sorted(expected)


@pytest.mark.parametrize("flags", [SYN | FIN | RST | ACK, SYN | RST, FIN | RST, SYN | FIN | ACK, 0])
@pytest.mark.parametrize("octets", [b"", b"M", STREAM[: TRUTH[0].end]])
def test_a_connection_of_one_segment(flags: int, octets: bytes) -> None:
    """On ports of their own, and on those of a connection that is not over."""
    one = Segment(0, 1_700_000, 0, flags, octets)
    for before in ([], started((1000, 5000)).segments):
        frames = frames_of(capture([before, [one], before[3:]]))
        cleaned = clean(frames)
        assert fpdus(cleaned.frames) == fpdus(frames)
        assert cleaned.report.copied + cleaned.report.replaced == len(frames)


@pytest.mark.parametrize("said", [REQUEST, REQUEST[:7], b"hello"])
def test_a_syn_with_octets(said: bytes) -> None:
    """What it brings of MPA is written once; a SYN without MPA is copied as it was (RFC 7413)."""
    talk = Talk((1000, 5000), syn=False)
    talk.next = [1000, 5000]
    talk.say(0, said, flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.say(0, REQUEST[len(said) :] if REQUEST.startswith(said) else REQUEST)
    talk.say(1, REPLY)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    frames = frames_of(capture([talk.segments]))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    sent = [each for each in segments(cleaned.frames) if each.flow == segments(frames)[0].flow]
    numbers = [(each.seq + bool(each.flags & SYN), len(each.payload)) for each in sent]
    assert all(a + length == b for (a, length), (b, _) in itertools.pairwise(numbers))
    octets = b"".join(each.payload for each in sent)
    assert octets == (b"" if REQUEST.startswith(said) else said) + REQUEST + STREAM
    assert not [each for each in events(cleaned.frames) if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("at", range(12))
def test_a_fault_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Whenever it comes, the capture is complete, with status 2 and a line that says so."""
    received, count = intake.receive, itertools.count()

    def receive(half: HalfConnection, segment: Received) -> None:
        if next(count) == at:
            raise IndexError("made for this test")
        received(half, segment)

    source, target = tmp_path / "fault.pcap", tmp_path / "clean.pcapng"
    source.write_bytes(capture([whole().segments[:at], whole((1 << 20, 1 << 21)).segments]))
    with monkeypatch.context() as patched:
        patched.setattr(intake, "receive", receive)
        result = run("clean", "-q", source, "-o", target)
    assert result.exit_code == 2
    said = "1 connection not cleaned to the end: a fault of scapy-mpa"
    assert result.stderr == f"scapy-mpa: {source}: {said}\n"
    assert frames_of(target)
