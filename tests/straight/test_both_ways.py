# SPDX-License-Identifier: GPL-2.0-or-later
"""The straight path reports exactly what recovery alone reports, whatever a capture holds."""

from __future__ import annotations

import io
import json
import pathlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import Decoder, open_capture, source
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.jsonline import json_of
from scapy_mpa.records.record import record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.octets import overlap
from scapy_mpa.stream.recovery import Recovery
from scapy_mpa.wire.errors import CaptureError
from tests.captures import OVER_TCP, PCAPS, capture_name
from tests.straight.ways import recovery, same, same_in_pcapng, straight, texts
from tests.stream.feed import halves
from tests.stream.scene import Octets, Scene
from tests.stream.startup import reply, request
from tests.truth import impair, messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, Segment, Sending

IP_AT, TCP_AT, DATA_AT = 14, 34, 54


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


WAYS = ["segment size", "any size", "one FPDU a segment", "several FPDUs a segment", "tiny"]


def cut(way: str, half: impair.Half, rng: random.Random) -> list[Sending]:
    """Segments of a direction, cut in one of ``WAYS``."""
    if way == "segment size":
        return impair.cut_mss(half.octets, rng.choice((536, 1448, 1460, 3000)))
    if way == "any size":
        return impair.cut_random(half.octets, rng, 1, rng.choice((40, 700, 65495)))
    if way == "one FPDU a segment":
        return impair.cut_aligned(half.octets, half.truth)
    if way == "several FPDUs a segment":
        return impair.cut_packed(half.octets, half.truth, rng.choice((1460, 8960)))
    return impair.cut_random(half.octets[:4000], rng, 1, 60)


def flipped(sendings: list[Sending], at: int) -> list[Sending]:
    """The sendings, with the octet at an offset of the stream changed."""
    return [
        Sending(
            each.offset,
            bytes(
                octet ^ 0x55 * (place == at)
                for place, octet in enumerate(each.payload, each.offset)
            ),
        )
        for each in sendings
    ]


def shifted(sendings: list[Sending], rng: random.Random) -> list[Sending]:
    """The sendings, with copies of some at wrong offsets a little farther on."""
    result = list(sendings)
    for each in rng.sample(sendings, min(2, len(sendings))):
        by = rng.choice((1, 99, 3 * len(each.payload)))
        result.insert(rng.randrange(len(result)), Sending(each.offset + by, each.payload))
    return result


Harm = Callable[[list[Sending], impair.Half, random.Random], list[Sending]]
HARM: dict[str, Harm] = {
    "none": lambda sent, half, rng: sent,
    "loss": lambda sent, half, rng: impair.lose_and_retransmit(
        sent, rng, 0.05, 40, seen=rng.random() < 0.5
    ),
    "order": lambda sent, half, rng: impair.reorder(sent, rng, rng.choice((0.1, 0.6)), 6),
    "copies": lambda sent, half, rng: impair.duplicate(sent, rng, 0.1, 30),
    "probes": lambda sent, half, rng: impair.keepalive(sent, rng, 0.1, garbage=True),
    "missed": lambda sent, half, rng: impair.miss(sent, rng, 0.05),
    "elsewhere": lambda sent, half, rng: impair.overlap(sent, half.octets, rng, 0.1),
    "differing": lambda sent, half, rng: impair.overlap(
        sent, half.octets, rng, 0.1, differing=True
    ),
    "shifted": lambda sent, half, rng: shifted(sent, rng),
    "damage": lambda sent, half, rng: flipped(sent, rng.randrange(len(half.octets) or 1)),
    "header": lambda sent, half, rng: flipped(
        sent, rng.choice(half.truth).seq_offset + rng.randrange(20) if half.truth else 0
    ),
}
HIDES_NONE = {"none", "loss", "order", "copies", "probes", "elsewhere"}
"""Kinds of harm after which every FPDU is still found."""


def out_of_place(segment: Segment, rng: random.Random) -> Segment:
    """The segment with another sequence or acknowledgement number."""
    field, by = rng.choice(("seq", "ack")), rng.choice((-5000, -1, 1, 100, 70_000, 1 << 31))
    return segment._replace(**{field: (getattr(segment, field) + by) % (1 << 32)})


@given(
    seed=st.integers(0, 2**32),
    markers=st.tuples(st.booleans(), st.booleans()),
    crc=st.booleans(),
    mulpdu=st.sampled_from((64, 500, 1442, 8940, 60000)),
    way=st.sampled_from(WAYS),
    harm=st.lists(st.sampled_from(sorted(HARM)), min_size=1, max_size=3),
    snap=st.sampled_from((None, None, None, 60, 100, 400)),
    odd=st.integers(0, 3),
    window=st.sampled_from((200, 5000, 7 << 14)),
)
# Without CRCs, starts of segments are evidence: recovery gets octets back as they were captured.
@example(4, (False, False), False, 64, "any size", ["damage"], None, 0, 7 << 14)
def test_conversations(
    seed: int,
    markers: tuple[bool, bool],
    crc: bool,
    mulpdu: int,
    way: str,
    harm: list[str],
    snap: int | None,
    odd: int,
    window: int,
) -> None:
    """Conversations with any harm, captured from any point, and read in windows of any size.

    :param odd: how many segments have a wrong sequence or acknowledgement number.
    """
    rng = random.Random(seed)
    pair = halves(rng, markers=markers, crc=crc, count=rng.randint(1, 25), mulpdu=mulpdu)
    if seed % 4 == 0:
        pair = (impair.isn_wrapping_at(pair[0], len(pair[0].octets) // 2), pair[1])
    both = []
    for half in pair:
        sendings = cut(way, half, rng)
        for each in harm:
            sendings = HARM[each](sendings, half, rng)
        both.append(sendings)
    segments = impair.conversation(
        pair, (both[0], both[1]), rng, ack_missed=0.3, close=rng.choice(("fin", "rst", None))
    )
    is_whole = seed % 3 != 0
    if not is_whole:
        segments = segments[rng.randrange(len(segments)) :]
    for _ in range(odd):
        at = rng.randrange(len(segments))
        segments[at] = out_of_place(segments[at], rng)
    octets = pcapfile.pcap(pcapfile.frames(segments), snaplen=snap or 1 << 18)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", window)
        lines = same(octets)
    if is_whole and HIDES_NONE.issuperset(harm) and way != "tiny" and not snap and not odd:
        found = sum(line.startswith('{"type":"fpdu"') for line in lines)
        assert found == sum(len(half.truth) for half in pair)
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
    segments = alike(random.Random(0), "write", 100, 1000, every=4)
    segments[20] = segments[20]._replace(payload=b"\x04" * 80)
    fpdus = [
        each
        for each in map(json.loads, same(pcapfile.pcap(pcapfile.frames(segments))))
        if each["type"] == "fpdu" and each["out_of_order"]
    ]
    assert [fpdu["frame"] for fpdu in fpdus[:3]] == [22, 23, 24]


# -- frames ----------------------------------------------------------------------------------------


def changed(at: int, octets: bytes) -> Callable[[bytearray, random.Random], list[bytes]]:
    """A function that gives a frame with other octets at a place."""
    return lambda frame, rng: [bytes(frame[:at] + octets + frame[at + len(octets) :])]


def hit(begin: int, end: int | None) -> Callable[[bytearray, random.Random], list[bytes]]:
    """A function that gives a frame with a wrong bit somewhere."""

    def made(frame: bytearray, rng: random.Random) -> list[bytes]:
        frame[rng.randrange(begin, end or len(frame))] ^= 1 << rng.randrange(8)
        return [bytes(frame)]

    return made


def with_total_length(frame: bytearray, rng: random.Random) -> list[bytes]:
    """A frame with another total length: 0 if captured before the network card cuts the segment."""
    total = rng.choice((0, 0, 1, 20, 39, 40, 41))
    return changed(IP_AT + 2, total.to_bytes(2, "big"))(frame, rng)


def with_options(frame: bytearray, rng: random.Random) -> list[bytes]:
    """A frame with options of TCP."""
    frame[TCP_AT + 12] = 0x80
    total = int.from_bytes(frame[IP_AT + 2 : IP_AT + 4], "big") + 12
    frame[IP_AT + 2 : IP_AT + 4] = total.to_bytes(2, "big")
    return [bytes(frame[:DATA_AT]) + b"\1" * 12 + bytes(frame[DATA_AT:])]


UNUSUAL: dict[str, Callable[[bytearray, random.Random], list[bytes]]] = {
    "nothing": lambda frame, rng: [bytes(frame)],
    "damage": hit(DATA_AT, None),
    "header": hit(0, DATA_AT),
    "flags": hit(TCP_AT + 13, TCP_AT + 14),
    "acknowledged": hit(TCP_AT + 8, TCP_AT + 12),
    "elsewhere": hit(TCP_AT + 4, TCP_AT + 8),
    "fragment": changed(IP_AT + 6, b"\x20"),
    "time to live": changed(IP_AT + 8, b"\x3f"),
    "service": changed(IP_AT + 1, b"\2"),
    "protocol": changed(IP_AT + 9, b"\x11"),
    "hardware address": changed(3, b"\1"),
    "total length": with_total_length,
    "options": with_options,
    "trailer": lambda frame, rng: [bytes(frame) + bytes(4)],
    "cut": lambda frame, rng: [bytes(frame[:-8])],
    "twice": lambda frame, rng: [bytes(frame)] * 2,
    "missing": lambda frame, rng: [],
    "another": lambda frame, rng: [*changed(29, b"\3")(frame, rng), bytes(frame)],
    "no TCP": lambda frame, rng: [bytes(60), bytes(frame)],
}


def alike(rng: random.Random, kind: str, size: int, isn: int, every: int) -> list[Segment]:
    """Sixty FPDUs of one length, a segment each, acknowledged now and then."""
    ulpdus = messages.write(7, 1 << 33, rng.randbytes(size * 60), mulpdu=size + 14)
    if kind == "send":
        ulpdus = [messages.send(msn, rng.randbytes(size), size + 18)[0] for msn in range(1, 61)]
    octets, truth = mpastream.build_stream(ulpdus)
    segments = []
    for at, fpdu in enumerate(truth, 1):
        flags = ACK | PSH if rng.random() < 0.2 else ACK
        begin, end = ((isn + each) % 2**32 for each in (fpdu.start, fpdu.end))
        segments.append(Segment(0, begin, 1, flags, octets[fpdu.start : fpdu.end]))
        if not at % every:
            segments.append(Segment(1, 1, end, ACK, b""))
    return segments


ALIKE = {
    "seed": st.integers(0, 2**32),
    "kind": st.sampled_from(("write", "send")),
    "size": st.sampled_from((10, 64, 500, 1442)),
    "every": st.integers(1, 5),
}


@pytest.mark.examples
@pytest.mark.parametrize("what", UNUSUAL)
@given(
    **ALIKE,
    isn=st.sampled_from((1000, (1 << 32) - 9000)),
    order=st.sampled_from("<>"),
    nanoseconds=st.booleans(),
)
def test_anything_between(
    what: str,
    seed: int,
    kind: str,
    size: int,
    isn: int,
    every: int,
    order: str,
    nanoseconds: bool,
) -> None:
    """If something is unusual in one or two frames, both ways give the same."""
    rng = random.Random(seed)
    segments = alike(rng, kind, size, isn, every)
    unusual = {rng.randrange(15, 40), rng.randrange(40, len(segments))}
    frames = []
    for at, segment in enumerate(segments):
        frame = bytearray(pcapfile.frame(segment))
        frames += UNUSUAL[what if at in unusual and segment.payload else "nothing"](frame, rng)
    step = rng.choice((1, 77, 10**8))
    lines = same(pcapfile.pcap(frames, order=order, nanoseconds=nanoseconds, step=step))
    if what == "nothing":
        fpdus = [json.loads(line) for line in lines if line.startswith('{"type":"fpdu"')]
        assert [fpdu["crc"] for fpdu in fpdus] == ["good"] * 60


class Fails(io.BytesIO):
    """A file that gives some octets, and then an error."""

    def __init__(self, octets: bytes, good: int) -> None:
        super().__init__(octets)
        self._good = good

    def read1(self, size: int | None = -1, /) -> bytes:
        """Read what there is up to the error."""
        left = self._good - self.tell()
        if not left:
            raise OSError(5, "Input/output error")
        return super().read1(left if size is None or size < 0 else min(size, left))


@given(**ALIKE, chunk=st.integers(60, 9000), good=st.floats(0, 1))
# Only the trailer of an acknowledgement lies in the next window.
@example(seed=0, kind="write", size=10, every=1, chunk=74, good=0.0)
def test_a_file_that_fails(
    seed: int, kind: str, size: int, every: int, chunk: int, good: float
) -> None:
    """All that was read before the error is reported, wherever windows end."""
    octets = pcapfile.pcap(pcapfile.frames(alike(random.Random(seed), kind, size, 1000, every)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", chunk)
        same(octets)
        read = max(int(good * len(octets)), 24)
        by_recovery, by_both = texts(octets, lambda: Fails(octets, read))
        assert by_both == by_recovery


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
        {
            frame: each(revision=2, enhanced=1, private_data=mpastream.enhanced_data(4, 4, **flags))
            for flags in ({"a": 1, "b": 1},)
            for frame, each in (("Q", request), ("A", reply))
        },
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


@pytest.mark.parametrize("startup", [">-Q <A", ">Q <-A", ">Q+9 <A", ">Q <A+9"])
def test_recovery_is_not_needed_for_long(monkeypatch: pytest.MonkeyPatch, startup: str) -> None:
    """Recovery gives back a connection whose startup frame is missing.

    A longer connection costs it no more segments.
    """
    taken, take = Counter[int](), Recovery.take
    for rounds in (20, 60):

        def counted(self: Recovery, segment: Any, rounds: int = rounds) -> None:
            taken[rounds] += 1
            take(self, segment)

        talk = Scene(f"{startup} >f < " + ">f < <f > " * rounds + ">F <F")
        octets = pcapfile.pcap(pcapfile.frames(talk.segments))
        lines = recovery(octets)
        with monkeypatch.context() as patched:
            patched.setattr(Recovery, "take", counted)
            assert straight(octets) == lines
    assert taken[20] == taken[60] < 80
