# SPDX-License-Identifier: GPL-2.0-or-later
"""The straight path reports exactly what recovery alone reports, whatever a capture holds."""

import io
import json
import pathlib
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from operator import xor
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, open_capture, source
from scapy_mpa.capture.walk import walk
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.record import json_of, record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.octets import overlap
from scapy_mpa.stream.recovery import Recovery
from scapy_mpa.wire.errors import CaptureError
from scapy_mpa.wire.tcp import NOT_PSH
from tests.captures import OVER_TCP, PCAPS, capture_name
from tests.recovery.damaged import heavily_damaged
from tests.straight.ways import recovery, same, same_in_pcapng, straight
from tests.stream.scene import Octets, Scene
from tests.stream.startup import reply, request
from tests.stream.test_negotiation import PEERS
from tests.truth import messages, mpastream, pcapfile
from tests.truth.cases import case
from tests.truth.impair import ACK, PSH, Segment


@pytest.fixture(autouse=True, scope="module")
def _nothing_forgotten() -> Iterator[None]:
    """Remember all octets, since both ways forget them at slightly different times.

    Recovery remembers octets when their FPDU is whole, the straight path as they come.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(overlap, "RECENT_CHUNKS", 1 << 40)
        patch.setattr(overlap, "RECENT_OCTETS", 1 << 40)
        yield


@pytest.mark.examples
@pytest.mark.parametrize("path", OVER_TCP, ids=capture_name)
def test_captures(path: pathlib.Path) -> None:
    """Each capture gives the same lines in the same order, and the same counts without lines."""
    octets = path.read_bytes()
    same_in_pcapng(octets, same(octets))


# -- segments --------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32), damaged=st.booleans(), window=st.sampled_from((200, 5000, 7 << 14))
)
# More closed holes are kept than late copies fill when a direction is in order again.
@example(seed=5220, damaged=False, window=7 << 14)
def test_conversations(seed: int, damaged: bool, window: int) -> None:
    """Conversations of all dimensions, even heavily damaged, read in windows of any size.

    All octets are remembered: of many copies, the two ways would remember different ones.
    """
    octets = heavily_damaged(seed) if damaged else case(seed).pcap()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", window)
        patch.setattr(overlap, "RECENT_CHUNKS", 1 << 20)
        patch.setattr(overlap, "RECENT_OCTETS", 1 << 30)
        lines = same(octets)
        if seed % 2:
            same_in_pcapng(octets, lines)


# An STag is always printed with eight digits.  QN and MO are mostly 0.
NUMBERS = st.sampled_from((0, 1, 0x0FFFFFFF, 0x10000000, 1 << 31, 0xFFFFFFFF))
OFFSETS = st.sampled_from((0, 1, 0xFFFFFFFF, 1 << 32, (1 << 64) - 1))
LAST = st.booleans()
HEADERS = st.one_of(
    st.builds(messages.tagged_header, st.just(messages.WRITE), NUMBERS, OFFSETS, LAST),
    st.builds(messages.untagged_header, st.just(messages.SEND), NUMBERS, NUMBERS, NUMBERS, LAST),
)

BACKWARDS = [messages.tagged_header(messages.WRITE, 0, to, to == 0) for to in (1 << 32, 0)]


@given(
    seed=st.integers(0, 2**32),
    headers=st.lists(HEADERS, max_size=24),
    lengths=st.lists(st.integers(0, 90) | st.integers(0, 3000), max_size=60),
    markers=st.booleans(),
    size=st.sampled_from((100, 1460, 9000)),
    damaged=st.booleans(),
)
# The first segment has only one octet of the ULPDU_Length.
@example(seed=0, headers=[], lengths=[], markers=False, size=1, damaged=False)
# A whole FPDU has fewer octets than a DDP header.
@example(seed=0, headers=[], lengths=[5] * 12, markers=False, size=16, damaged=False)
# The Last segment of a Write has a lower Tagged Offset than the first.
@example(seed=0, headers=BACKWARDS, lengths=[], markers=False, size=100, damaged=False)
def test_fpdus_of_any_length(
    seed: int, headers: list[bytes], lengths: list[int], markers: bool, size: int, damaged: bool
) -> None:
    """ULPDUs of any header, length and content, even empty ones, in any segments."""
    rng = random.Random(seed)
    ulpdus = [messages.send(msn, rng.randbytes(40), mulpdu=100)[0] for msn in range(1, 9)]
    ulpdus += [header + rng.randbytes(rng.randrange(40)) for header in headers]
    ulpdus += [rng.randbytes(length) for length in lengths]
    stream = bytearray(mpastream.build_stream(ulpdus, markers=markers)[0])
    if damaged:
        stream[rng.randrange(len(stream) // 2, len(stream))] ^= 0x55
    segments = []
    at = 0
    while at < len(stream):
        octets = bytes(stream[at : at + rng.randint(1, size)])
        segments.append(Segment(0, 1000 + at, 1, PSH | ACK, octets))
        at += len(octets)
        segments.append(Segment(1, 1, 1000 + at, ACK, b""))
    same(pcapfile.pcap(pcapfile.frames(segments)))


def test_a_senseless_header_before_a_hole() -> None:
    """Its length is not believed: FPDUs that fill segments after the hole are reported at once."""
    octets, truth = mpastream.build_stream(
        messages.write(7, 0, random.Random(0).randbytes(6000), mulpdu=114)
    )
    segments = []
    for at, fpdu in enumerate(truth, 1):
        segments.append(Segment(0, 1000 + fpdu.start, 1, ACK, octets[fpdu.start : fpdu.end]))
        if not at % 4:
            segments.append(Segment(1, 1, 1000 + fpdu.end, ACK, b""))
    segments[20] = segments[20]._replace(payload=b"\x04" * 80)
    fpdus = [
        each
        for each in map(json.loads, same(pcapfile.pcap(pcapfile.frames(segments))))
        if each["type"] == "fpdu" and each["out_of_order"]
    ]
    assert [fpdu["frame"] for fpdu in fpdus[:3]] == [22, 23, 24]


# -- frames ----------------------------------------------------------------------------------------


FLIPS = [bytes(at) + bytes([1 << bit]) for at in range(54) for bit in range(8)]
"""Masks with one bit of an Ethernet, IPv4 and TCP header."""


@pytest.mark.parametrize(
    ("order", "unit", "options", "trailer", "lacks"),
    [
        ("<", 1000, b"", 0, 0),
        (">", 1, b"", 3, 0),
        ("<", 1000, b"", 0, 8),
        (">", 1, bytes(12), 0, 0),
    ],
)
def test_any_bit_of_a_header(
    order: str, unit: int, options: bytes, trailer: int, lacks: int
) -> None:
    """Frames of a window give the segments that they give one by one.

    A direction takes only segments without other flags than ACK and PSH.
    """
    # A packet of 64 octets: one bit makes its length 0, as in frames captured before they are cut.
    segment = Segment(0, 1 << 31, 7, ACK | PSH, bytes(range(24 - len(options))))
    frame = pcapfile.frame(segment, tcp_options=options) + bytes(trailer)
    times = range(10**18, 2 * 10**18, 10**9 + 7000)
    octets = pcapfile.stamped(
        [
            (time, bytes(map(xor, frame, mask.ljust(len(frame), b"\0"))), lacks)
            for time, mask in zip(times, FLIPS, strict=False)
        ],
        order=order,
        unit=unit,
    )
    taken: list[Any] = []

    def receive(flow: bytes, seq: int, ack: int, payload: bytes, *place: int) -> bool:
        taken.append((flow, seq, ack, ACK, payload, len(payload), *place))
        return True

    def find(flow: bytes) -> Any:
        return SimpleNamespace(receive=partial(receive, flow))

    def take(segment: Any) -> None:
        taken.append(segment._replace(flags=segment.flags & NOT_PSH))

    flows = SimpleNamespace(directions=SimpleNamespace(get=find), take=take)
    followed: Any = SimpleNamespace(flows=flows, decoder=Decoder())
    assert [*walk(open_capture(io.BytesIO(octets)), followed, Clock())] == [None]
    decoder = Decoder()
    segments = filter(None, map(decoder.segment, open_capture(io.BytesIO(octets))))
    assert taken == [each._replace(flags=each.flags & NOT_PSH) for each in segments]
    assert followed.decoder.not_followed == decoder.not_followed


def outcome(octets: bytes, *, walks: bool) -> tuple[list[str], str]:
    """The records and the problem of a file that is read as a capture, or frame by frame."""
    try:
        capture = open_capture(io.BytesIO(octets))
    except CaptureError as error:
        return [], str(error)
    if walks:
        reading = Reading(capture)
        clock = reading.clock
        events = [event for batch in reading.batches() for event in batch]
    else:
        flows, decoder = Flows(), Decoder()
        events, clock = [], Clock()
        for frame in capture:
            if frame.number == 1:
                clock.begin_ns = frame.time_ns
            clock.note(frame.number, frame.time_ns)
            segment = decoder.segment(frame)
            if segment is not None:
                events += flows.receive(segment)
        events += flows.finish()
    return [json_of(record_of(event, clock)) for event in events], str(capture.problem)


@given(
    changes=st.lists(st.tuples(st.integers(0, 6169), st.integers(1, 255)), max_size=12),
    cut=st.one_of(st.none(), st.integers(0, 6169)),
    other=st.one_of(st.none(), st.none(), st.binary(max_size=60)),
)
@example(changes=[(536, 208)], cut=None, other=None)  # The Reply seems to begin 12 octets earlier.
def test_any_octets_as_a_capture_or_frame_by_frame(
    changes: list[tuple[int, int]], cut: int | None, other: bytes | None
) -> None:
    """A damaged capture, or any other file, gives the same records and the same problem."""
    octets = bytearray((PCAPS / "rping_mpa2_crcon.pcap").read_bytes())
    for at, mask in changes:
        octets[at] ^= mask
    whole = bytes(octets[:cut]) if other is None else other
    assert outcome(whole, walks=True) == outcome(whole, walks=False)


# -- what is ordinary ------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [">F < <F >", "<F > >F <", ">X", "<F >", ""])
@pytest.mark.parametrize(
    "letters",
    [
        {},
        {"Q": request(private_data=bytes(300)), "A": reply(private_data=bytes(300))},
        {"Q": request(revision=0), "A": reply(revision=0)},
        PEERS,
    ],
    ids=["RFC 5044", "Private Data", "revision 0", "peers"],
)
def test_recovery_is_not_needed(
    monkeypatch: pytest.MonkeyPatch, letters: dict[str, Octets], end: str
) -> None:
    """Recovery takes no segment of an ordinary connection, and the records are the same."""
    letters = {**letters, "0": mpastream.build_stream(messages.send(1, b""))}
    talk = Scene(">Q < <A > >0 <" + " >f < <f >" * 10 + f" {end}", letters)
    octets = pcapfile.pcap(pcapfile.frames(talk.segments))
    lines = recovery(octets)
    for taken in ("take", "to_recovery"):
        monkeypatch.setattr(Recovery, taken, lambda *_: pytest.fail("recovery was needed"))
    assert straight(octets) == lines


@pytest.mark.parametrize(
    ("startup", "turn", "letters", "most"),
    [
        *((words, ">f < <f > ", {}, 80) for words in (">-Q <A", ">Q <-A", ">Q+9 <A", ">Q <A+9")),
        *((words, ">f < <f > ", PEERS, 80) for words in (">Q <A >0+9", ">Q <A <f >0")),
        (">Q <A >-0", "<f > ", PEERS, 140),
    ],
)
def test_recovery_is_not_needed_for_long(
    monkeypatch: pytest.MonkeyPatch, startup: str, turn: str, letters: dict[str, Octets], most: int
) -> None:
    """Recovery gives back a connection whose startup frame, or RTR indication, is missing.

    A longer connection costs it no more segments.
    """
    taken, take = Counter[int](), Recovery.take
    for rounds in (80, 120):

        def counted(self: Recovery, segment: Any, rounds: int = rounds) -> None:
            taken[rounds] += 1
            take(self, segment)

        talk = Scene(f"{startup} {turn * rounds} >F <F", letters)
        octets = pcapfile.pcap(pcapfile.frames(talk.segments))
        lines = recovery(octets)
        with monkeypatch.context() as patched:
            patched.setattr(Recovery, "take", counted)
            assert straight(octets) == lines
    assert taken[80] == taken[120] < most
