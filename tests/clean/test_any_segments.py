# SPDX-License-Identifier: GPL-2.0-or-later
"""A complete capture with every FPDU is written, whatever flags segments have."""

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, FPDURecovered
from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.segment import Segment as Received
from tests.clean.cleaning import clean, events, fpdus, frames_of, renumbered, startups
from tests.clean.test_startup import sent
from tests.cli.command import run
from tests.stream.talk import REPLY, REQUEST, STREAM, TRUTH, Talk, started, whole
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, RST, SYN, Segment


def capture(parts: Sequence[Sequence[Segment]], *, step: int = 1_000_000) -> bytes:
    """A capture of several connections between the same ports, one after the other."""
    return pcapfile.pcap(pcapfile.frames([each for part in parts for each in part]), step=step)


def check_complete(parts: Sequence[Sequence[Segment]]) -> None:
    """Each frame is copied or replaced, and the FPDUs are the same."""
    frames = frames_of(capture(parts))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    assert cleaned.report.copied + cleaned.report.replaced == len(frames)


@pytest.mark.parametrize("flags", [SYN | FIN | RST | ACK, SYN | RST, FIN | RST, SYN | FIN | ACK, 0])
@pytest.mark.parametrize("octets", [b"", b"M", STREAM[: TRUTH[0].end]])
def test_a_connection_of_one_segment(flags: int, octets: bytes) -> None:
    """On unused ports, and on those of a connection that is still open."""
    one = Segment(0, 1_700_000, 0, flags, octets)
    for before in ([], started((1000, 5000)).segments):
        check_complete([before, [one], before[3:]])


@pytest.mark.parametrize("octets", [b"", b"x"])
def test_a_syn_with_another_number_at_the_end(octets: bytes) -> None:
    """Nothing else was captured of the connection that it opened."""
    before = whole().segments
    other = before[0]._replace(seq=before[0].seq + 5000, flags=SYN | ACK, payload=octets)
    check_complete([before, [before[0], other]])


@pytest.mark.parametrize("payload", [REQUEST, REQUEST[:7], b"hello"])
def test_a_syn_with_octets(payload: bytes) -> None:
    """Its octets of MPA are written once; a SYN without MPA is copied unchanged (RFC 7413)."""
    talk = Talk((1000, 5000), syn=False)
    talk.next = [1000, 5000]
    talk.say(0, payload, flags=SYN)
    talk.say(1, flags=SYN | ACK)
    talk.say(0, REQUEST[len(payload) :] if REQUEST.startswith(payload) else REQUEST)
    talk.say(1, REPLY)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    frames = frames_of(capture([talk.segments]))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    octets = b"".join(octets for side, octets in sent(cleaned.frames) if side == 0)
    assert octets == (b"" if REQUEST.startswith(payload) else payload) + REQUEST + STREAM
    assert not [each for each in events(cleaned.frames) if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("at", [0, 1, 5, 11])
def test_a_fault_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """The capture is complete, the exit status is 2, and a line names the fault."""
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
    fault = "1 connection not cleaned to the end: a fault of scapy-mpa"
    assert result.stderr == f"scapy-mpa: {source}: {fault}\n"
    assert fpdus(frames_of(target)) == fpdus(frames_of(source.read_bytes()))


def other_octets() -> list[Segment]:
    """A connection with the numbers and lengths of :func:`whole`, and other octets."""
    ulpdus = [messages.send(msn, bytes(200))[0] for msn in range(1, 9)]
    talk = started((1000, 5000))
    talk.say_both(mpastream.build_stream(ulpdus)[0], size=500)
    return talk.segments


ONE, OTHER = whole((1000, 5000)).segments, other_octets()
BLOCKS = [ONE[at : at + 5] * 2 for at in range(0, len(ONE), 5)]


@pytest.mark.parametrize(
    ("parts", "connections"),
    [([ONE, OTHER, ONE], 3), ([ONE, ONE], 1), (BLOCKS, 1)],
    ids=["other octets", "appended to itself", "in blocks"],
)
def test_connections_and_fpdus_before_and_after(
    parts: Sequence[Sequence[Segment]], connections: int
) -> None:
    """A cleaned capture has the same numbers of both."""
    frames = frames_of(capture(parts))
    for each in (frames, clean(frames).frames):
        types = Counter(map(type, events(each)))
        assert (types[ConnectionEnded], types[FPDURecovered]) == (connections, 16 * connections)


@pytest.mark.parametrize("markers", ["neither", "both"])
@pytest.mark.parametrize("ahead", [-3000, -500, 0, 1, 300])
def test_segments_that_may_be_copies(markers: str, ahead: int) -> None:
    """The first segments of a connection, up to the first that shows that they are no copies.

    The connection before, of the same ports, has nearly the same sequence numbers.  If all are
    equal, the segments are copies, and are left out.
    """
    frames: list[Frame] = []
    for number, isn in enumerate([1 << 20, (1 << 20) + ahead]):
        sends = "initiator send 300\nresponder send 3000\ninitiator send 300\nclose"
        options = f"isns {isn} {isn}\nmarkers {markers}\nstart-time {1_700_000_000 + number}\n"
        frames += parse_scenario(f"{options}startup\n{sends}").frames()[0 if number else 7 :]
    frames = renumbered(frames)
    found = clean(frames)
    assert fpdus(found.frames) == fpdus(frames)
    assert len(startups(found)) == (4 if ahead else 2)
    first = clean(frames, selects=lambda identity: identity.number == 0)
    other = clean(frames, selects=lambda identity: identity.number == 1)
    assert fpdus(first.frames) + fpdus(other.frames) == fpdus(frames)
    assert [len(startups(each)) for each in (first, other)] == [2, 2 if ahead else 0]
