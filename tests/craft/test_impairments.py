# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments: how TCP carries a conversation, and what impairments do to them.

The truth and the dissector follow.
"""

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Endpoint, Interleaved, Segment
from scapy_mpa.craft.impairments import (
    CaptureLoss,
    Duplication,
    Impairment,
    LateStart,
    Loss,
    Overlap,
    Reordering,
    Resegmentation,
    SnapLength,
    StartupCut,
    impair,
)
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.fpdu import fpdu_length, mulpdu
from scapy_mpa.wire.tcp import ACK, FIN, PSH, SYN
from tests.craft.oracle import whole_fpdus
from tests.craft.reading import known, plain, printed
from tests.craft.strategies import conversations
from tests.recovery.reading import statement_of
from tests.stream.crafted import of

RATES = st.sampled_from((0.05, 0.3, 1.0))
WORD = 0xFFFFFFFF


@st.composite
def mixes(draw: st.DrawFn, conversation: Conversation, *, missing: bool = True) -> list[Impairment]:
    """Some impairments in the order in which they happen in the world.

    :param missing: whether octets may be missing in the end.
    """
    mix: list[Impairment] = []

    def maybe(*choices: st.SearchStrategy[Any]) -> None:
        if draw(st.integers(0, 3)) == 0:
            mix.append(draw(st.one_of(*choices)))

    big = sum(len(each.octets) for each in conversation.segments()) > 20_000
    sizes = [st.integers(200 if big else 1, 3000), st.just("super")]
    maybe(st.builds(Resegmentation, st.one_of(*sizes, *([] if big else [st.just("tiny")]))))
    lost = st.builds(Loss, RATES, captured=st.booleans())
    overtaken = st.builds(Reordering, RATES, by_capture=st.just(False))
    captured_late = st.builds(Reordering, RATES, by_capture=st.just(True))
    maybe(lost)
    maybe(overtaken, captured_late)
    maybe(st.builds(Duplication, RATES))
    maybe(st.builds(Overlap, RATES, reach=st.sampled_from((1, 40, 3000))))
    is_overlapping = bool(mix) and isinstance(mix[-1], Overlap)
    if missing and draw(st.booleans()):
        maybe(st.builds(CaptureLoss, st.sampled_from((0.02, 0.2))))
        late = st.builds(LateStart, st.integers(0, 12))
        maybe(st.just(StartupCut(conversation)), late)
    else:
        # Differing octets follow only if nothing is missing. Octets are compared with a bounded
        # number of others, but several overlaps together may reach back without bound.
        if missing or not is_overlapping:
            maybe(st.builds(Overlap, RATES, differing=st.just(True)))
        is_overlapping |= bool(mix) and isinstance(mix[-1], Overlap)
    headers = conversation.header_length
    if missing and not is_overlapping:
        # A late copy does not bring back octets that were cut off.
        lengths = st.integers(headers + 1, headers + 1000)
        maybe(st.builds(SnapLength, lengths, st.just(headers)))
    return mix


@given(st.data(), conversations())
def test_any_mix(data: st.DataObject, conversation: Conversation) -> None:
    """The truth has exactly the FPDUs that were captured whole. Time never goes back."""
    mix = data.draw(mixes(conversation))
    segments = impair(conversation.segments(), *mix, seed=data.draw(st.integers(0, 99)))
    assert all(one.time_ns <= other.time_ns for one, other in pairwise(segments))
    truth = conversation.truth(segments, payload=True)
    ends = [str(each.endpoint) for each in (conversation.initiator, conversation.responder)]
    reported = [
        (ends.index(each["src"]), statement_of(each)) for each in truth if each["type"] == "fpdu"
    ]
    assert Counter(reported) == Counter(whole_fpdus(conversation, segments))


def bulk(**options: Any) -> Conversation:
    """One long turn of the Initiator, of 20 segments."""
    conversation = Conversation(**{"packing": "stream", "ack_every": 4, **options})
    conversation.initiator.write(bytes(range(250)) * 100)
    return conversation


def payloads_of(segments: list[Segment]) -> list[tuple[int, int]]:
    """Sender and sequence number of each segment that carries octets."""
    return [(each.side, each.seq) for each in segments if each.octets]


ALL = (
    (Loss(0.3), Loss(0)),
    (Loss(0.3, captured=True), Loss(0, captured=True)),
    (Reordering(0.3), Reordering(0)),
    (Reordering(0.3, by_capture=True), LateStart(0)),
    (Duplication(0.3), Duplication(0)),
    (Overlap(0.5), Overlap(0)),
    (Overlap(0.5, differing=True), SnapLength(5000)),
    (Resegmentation("tiny"), Resegmentation(1460)),
    (CaptureLoss(0.3), CaptureLoss(0)),
)


@pytest.mark.parametrize(("impairment", "without_effect"), ALL, ids=repr)
def test_seeds(impairment: Impairment, without_effect: Impairment) -> None:
    """The same seed gives the same segments, another one gives others. The input is unchanged.

    At a rate of 0 nothing happens. Streams that are cut as before stay as they are.
    """
    segments = bulk().segments()
    before = segments[:]
    one, again, other = (impair(segments, impairment, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    assert segments == before == impair(segments, without_effect)


@pytest.mark.parametrize("captured", [False, True])
def test_lost_segments_are_sent_again(captured: bool) -> None:
    """Lost octets are sent again later. Meanwhile the receiver acknowledges only what it has.

    Both copies are captured if the loss was after the capture.
    """
    segments = bulk().segments()
    impaired = impair(segments, Loss(0.2, captured=captured), seed=3)
    once, now = payloads_of(segments), payloads_of(impaired)
    assert set(once) == set(now)
    assert len(once) == len(set(once))
    again = {key for key in now if now.count(key) == 2}
    assert bool(again) == captured
    assert list(dict.fromkeys(now)) == once if captured else now != once
    have = {0: 1001, 1: 5001}
    missing: set[tuple[int, int]] = set()
    arrived: set[tuple[int, int]] = set()
    for at, each in enumerate(impaired):
        key = each.side, each.seq
        is_lost = captured and key in again and key not in missing
        missing |= {key} if is_lost else set()
        if each.octets and not is_lost:
            arrived.add(key)
        ends = {segment.seq: segment.seq + len(segment.octets) for segment in segments}
        for side in (0, 1):
            while (side, have[side]) in arrived:
                have[side] = ends[have[side]]
        if each.flags & ACK and at > 2:
            assert each.ack <= have[1 - each.side]


def test_timeout() -> None:
    """A loss that no other segment shows is repaired after a timeout, before the answer."""
    conversation = parse_scenario("ack-every 0\ninitiator send 8\nresponder send 6")
    segments = conversation.segments()
    asked = next(at for at, each in enumerate(segments) if each.seq == 1021)

    def lose_one(segments: list[Segment], rng: random.Random) -> list[Segment]:
        head, rest = segments[:asked], segments[asked:]
        return head + Loss(1.0, timeout=0.5)(rest, rng)

    impaired = impair(segments, lose_one)
    assert payloads_of(impaired) == payloads_of(segments)
    waits = [one.time_ns - other.time_ns for one, other in zip(impaired, segments, strict=True)]
    assert waits[:asked] == [0] * asked
    assert 500_000_000 <= waits[asked] < 500_100_000
    # The answer is lost as well.
    assert 999_900_000 <= waits[asked + 1] < 1_000_100_000


def test_reordering_in_the_network_stays_within_a_turn() -> None:
    """In the network an answer never overtakes what it answers. In a capture it may."""
    conversation = bulk()
    conversation.responder.write(bytes(20_000))
    segments = conversation.segments()
    once = payloads_of(segments)

    def turns(segments: list[Segment]) -> list[int]:
        return [side for side, _ in payloads_of(segments)]

    impaired = impair(segments, Reordering(0.5))
    assert sorted(payloads_of(impaired)) == sorted(once) != payloads_of(impaired)
    assert turns(impaired) == turns(segments)
    assert turns(impair(segments, Reordering(0.5, by_capture=True), seed=2)) != turns(segments)


@pytest.mark.parametrize("differing", [False, True])
def test_overlap(differing: bool) -> None:
    """A segment begins with octets of the one before it: all the same, or all different."""
    segments = bulk().segments()
    impaired = impair(segments, Overlap(1.0, differing=differing, reach=100))
    longer = 0
    for one, other in zip(segments, impaired, strict=True):
        back = one.seq - other.seq & WORD
        assert other.octets[back:] == one.octets
        if back:
            longer += 1
            assert back <= 100
            first = next(each for each in segments if each.seq + len(each.octets) == one.seq)
            pairs = zip(first.octets[-back:], other.octets[:back], strict=True)
            assert {mine == yours for mine, yours in pairs} == {not differing}
    # The Request and the Reply have no octets before them to repeat.
    assert longer == len(payloads_of(segments)) - 2


@pytest.mark.parametrize(("size", "least", "most"), [("tiny", 1, 8), (100, 100, 100)])
def test_resegmentation(size: Any, least: int, most: int) -> None:
    """The stream is the same, in segments of that size. The last one of a turn has PSH."""
    segments = bulk().segments()
    impaired = impair(segments, Resegmentation(size))
    for side in (0, 1):
        assert stream(impaired, side) == stream(segments, side)
    turn = [each for each in impaired if each.side == 0 and each.octets and each.seq >= 1021]
    assert {len(each.octets) for each in turn[:-1]} <= set(range(least, most + 1))
    assert [bool(each.flags & PSH) for each in turn] == [False] * (len(turn) - 1) + [True]


def test_super_segments() -> None:
    """Segments are merged up to the size of a datagram, across acknowledgements."""
    conversation = parse_scenario("initiator write 200000")
    impaired = impair(conversation.segments(), Resegmentation("super"))
    sizes = [len(each.octets) for each in impaired if each.side == 0 and each.octets]
    assert sizes[:4] == [20, 65160, 65160, 65160]
    assert len(sizes) == 5
    assert len(conversation.frames(impaired)) == len(impaired)


def stream(segments: list[Segment], side: int) -> bytes:
    """The octets that a side sends, from segments in order."""
    return b"".join(each.octets for each in segments if each.side == side)


def test_late_start() -> None:
    """The first segments are not captured, or all up to the last with octets of a startup frame."""
    steps = 'initiator octets "hello"\nstartup private-data 300\ninitiator send "one"'
    conversation = parse_scenario(steps)
    segments = conversation.segments()
    assert impair(segments, LateStart(4)) == segments[4:]
    cut = impair(segments, Resegmentation(50), Duplication(1.0), StartupCut(conversation))
    assert stream(cut, 1) == b""
    assert cut[0].seq >= 1001 + 5 + 320
    assert conversation.captured(cut)[-1].is_whole
    wrapping = conversation.wrapping()
    assert len(impair(wrapping.segments(), StartupCut(wrapping))) == len(
        impair(segments, StartupCut(conversation))
    )


def test_start_after_the_adaption_indications() -> None:
    """No octet of them is captured."""
    conversation = parse_scenario("dialect draft-williams-iwarp-ift-01\ninitiator send 9")
    segments = conversation.segments()
    assert impair(segments, StartupCut(conversation)) == segments[-2:]


def test_sequence_numbers_wrap() -> None:
    """Each side's sequence numbers pass 0 within its octets."""
    conversation = bulk()
    conversation.responder.write(bytes(5000))
    wrapping = conversation.wrapping()
    for side in (0, 1):
        mine = [each.seq for each in wrapping.segments() if each.side == side and each.octets]
        assert mine[0] > mine[-1]
    assert stream(wrapping.segments(), 0) == stream(conversation.segments(), 0)
    assert conversation.isns == (1000, 5000)


def test_segments_without_octets_are_kept() -> None:
    """The network loses or reorders only segments that carry octets."""
    impaired = impair(bulk().segments(), Loss(1.0), Reordering(1.0))
    assert [bool(each.flags & SYN) for each in impaired[:3]] == [True, True, False]


@given(st.lists(conversations(), min_size=2, max_size=4), st.data())
def test_interleaved(given_: list[Conversation], data: st.DataObject) -> None:
    """Every record of several connections in one capture is the truth, numbers included."""
    parts, number_of = [], itemgetter("connection")
    for number, conversation in enumerate(given_):
        initiator = replace(conversation.initiator.endpoint, port=1024 + number)
        start = 1_700_000_000 + data.draw(st.integers(0, 300)) * 1e-6
        moved = conversation.moved(initiator, start_time=start)
        parts.append((moved, moved.segments()))
    merged = Interleaved(parts)
    frames = list(merged.frames())
    assert [frame.number for frame in frames] == list(range(1, len(merged) + 1))
    assert all(one.time_ns <= other.time_ns for one, other in pairwise(frames))
    truth = merged.truth(messages=True, payload=True)
    found = plain(frames)
    assert sorted(known(found), key=number_of) == sorted(truth, key=number_of)
    wanted = [each for each in truth if each["type"] not in ("connection", "message")]
    in_order = [each for each in known(found) if each["type"] not in ("connection", "message")]
    assert in_order == sorted(wanted, key=lambda each: each["frame"])
    truth = merged.truth()
    assert sorted(known(printed(frames)), key=number_of) == sorted(truth, key=number_of)


def test_numbers_of_connections() -> None:
    """Connections are numbered by what first shows them: a SYN or octets."""
    parts = []
    for number, pause in enumerate((0.5, 0)):
        conversation = Conversation(Endpoint("10.0.0.1", 1024 + number), start_time=5 + number / 10)
        conversation.pause(pause)
        conversation.initiator.send(b"x")
        parts.append((conversation, conversation.segments()[2:]))
    merged = Interleaved(parts)
    true = {each["connection"]: each["src"] for each in merged.truth() if "opcode" in each}
    assert true == {0: "10.0.0.1:1025", 1: "10.0.0.1:1024"}
    found = {each["connection"]: each["src"] for each in plain(merged.frames()) if "opcode" in each}
    assert found == true


LEFT_OUT = {"frame", "time", "timestamp", "located_by", "out_of_order", "offset"}


def keep(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Only the times change."""
    return [replace(segment, time_ns=segment.time_ns + 1000) for segment in segments]


def lose(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some segments were not captured."""
    return [each for each in segments if each.flags & (SYN | FIN) or rng.random() < 0.8]


reorder = Reordering(0.3, distance=2, by_capture=True)

IMPAIRMENTS: tuple[Impairment, ...] = (
    keep,
    lose,
    reorder,
    Duplication(0.3),
    Resegmentation(60),
    Overlap(0.5, differing=True),
)


def test_keys_left_out() -> None:
    """The truth leaves out the keys that depend on the order of segments, and no others."""
    conversation = parse_scenario('initiator send "one"\ninitiator send "two"')
    segments = conversation.segments()
    whole = of(conversation.truth(), "fpdu")
    for impaired in ([*segments, segments[-2]], segments[5:]):
        found = of(conversation.truth(impaired), "fpdu")
        assert [set(one) - set(other) for one, other in zip(whole, found, strict=True)] == [
            LEFT_OUT
        ] * 2


def test_times_are_no_impairment() -> None:
    """If all segments come later by the same time, only the timestamps of the truth differ."""
    conversation = parse_scenario('initiator send "one"')
    segments = [replace(each, time_ns=each.time_ns + 7) for each in conversation.segments()]
    before, after = conversation.truth(), conversation.truth(segments)
    assert [{**each, "timestamp": 0} for each in after] == [
        {**each, "timestamp": 0} for each in before
    ]


# How TCP carries a conversation: segments, acknowledgements, start and end (RFC 9293)


@pytest.mark.parametrize("every", [0, 1, 2, 3])
def test_acknowledgements(every: int) -> None:
    """An acknowledgement follows every ``every`` data segments, and the last one; 0 means none."""
    conversation = Conversation(ack_every=every)
    conversation.initiator.write(bytes(1440 * 8 + 1))
    reply = conversation.isns[0] + 1 + 20
    pure = [e for e in conversation.segments() if e.side == 1 and e.ack > reply]
    assert len(pure) == (0 if not every else -(-9 // every))
    assert all(not each.octets for each in pure)
    if pure:
        last = conversation.layout()[-1]
        assert pure[-1].ack == conversation.isns[0] + 1 + last.end


PACKED = [
    # One FPDU in each segment, even if more would fit.
    ({}, [100, 200, 1000], [124, 224, 1024]),
    # As many whole FPDUs as fit (RFC 5044 5.1).
    ({"packing": "packed"}, [100, 200, 1000, 300, 50], [124 + 224 + 1024, 324 + 76]),
    # Full segments, except for the last of a turn.  None continues across a flush.
    ({"packing": "stream"}, [1000, 1000], [1460, 588]),
    ({"packing": "stream"}, [3, None, 3], [28, 28]),
    # TCP splits an FPDU that is larger than a segment.
    ({"mulpdu": 2000, "mss": 1000}, [1982], [1000, 1000, 8]),
]


@pytest.mark.parametrize(("options", "sizes", "segments"), PACKED)
def test_packing(options: dict[str, Any], sizes: list[int | None], segments: list[int]) -> None:
    """How segments carry Sends of these sizes. None: a flush."""
    conversation = Conversation(**options)
    for size in sizes:
        if size is None:
            conversation.initiator.flush()
        else:
            conversation.initiator.send(bytes(size))
    _, *carried = (
        len(each.octets) for each in conversation.segments() if each.octets and not each.side
    )
    # The first is the Request.
    assert carried == segments


def test_times_and_comments(tmp_path: Path) -> None:
    """Time begins at the given time. Half a round trip passes when the speaker changes.

    A file of several connections has the comment of a frame, and its own.
    """
    conversation = Conversation(start_time=7, rtt=0.5)
    conversation.startup()
    conversation.pause(10)
    conversation.initiator.send()
    times = [each.time_ns / 10**9 for each in conversation.segments()]
    assert times[:3] == [7, 7.25, 7.5]
    assert times[4] == pytest.approx(7.75, abs=1e-4)
    assert times[6] - times[5] == pytest.approx(10, abs=1e-4)
    merged = Interleaved([(conversation, conversation.segments())])
    merged.write(tmp_path / "x.pcapng", comments={1: "first"}, comment="both")
    octets = (tmp_path / "x.pcapng").read_bytes()
    assert b"first" in octets and b"both" in octets
    for packets in (conversation.packets(), merged.packets()):
        assert [(each.time, each.wirelen) for each in packets] == [
            (time, len(bytes(each))) for time, each in zip(times, packets, strict=True)
        ]


@given(conversations())
def test_both_streams_are_whole(conversation: Conversation) -> None:
    """Segments carry both streams completely, at most MSS octets each, with growing times.

    No side acknowledges what was not sent.
    """
    placed = conversation.layout()
    streams = [b"", b""]
    for each in placed:
        item: Any = each.item
        if each.octets:
            streams[item.side] += each.octets
    segments = conversation.segments()
    carried = [b"", b""]
    seen = [0, 0]
    times = [each.time_ns for each in segments]
    assert times == sorted(times)
    for each in segments:
        isn, peers = conversation.isns[each.side], conversation.isns[1 - each.side]
        assert len(each.octets) <= conversation.options.mss
        if each.octets:
            assert (each.seq - isn - 1) % (1 << 32) == len(carried[each.side])
            carried[each.side] += each.octets
        if each.flags & ACK:
            acked = (each.ack - peers - 1) % (1 << 32)
            fin = seen[1 - each.side]
            assert acked <= len(carried[1 - each.side]) + fin
        seen[each.side] += bool(each.flags & FIN)
    assert carried == streams


MULPDUS = [
    (1460, False, 1454),
    (1460, True, 1442),
    (513, True, 498),
    (100, False, 128),
    (65535, False, 64768),
    (536, True, 522),
]


@pytest.mark.parametrize(("emss", "markers", "wanted"), MULPDUS)
def test_mulpdu(emss: int, markers: bool, wanted: int) -> None:
    """MULPDU follows from EMSS, in 128 to 64768 octets (RFC 5044 3, 4.5).

    draft-ietf-rddp-mpa-01 3.1.1 takes EMSS as 1460 and 536 where TCP does not report it.
    """
    assert mulpdu(emss, markers=markers) == wanted


@given(st.integers(140, 65000), st.integers(0, 127))
def test_mulpdu_fits(emss: int, word: int) -> None:
    """An FPDU around the largest ULPDU fits a segment, wherever it begins (RFC 5044 4.5)."""
    assert fpdu_length(mulpdu(emss, markers=False)) <= emss
    assert fpdu_length(mulpdu(emss, markers=True), 4 * word) <= emss


def test_ethernet_address() -> None:
    """It may have dashes."""
    macs = "02-00-00-00-00-99", "02:00:00:00:00:99"
    one, two = (Conversation(Endpoint("10.0.0.1", 1, mac=mac)) for mac in macs)
    assert one.frames() == two.frames()
