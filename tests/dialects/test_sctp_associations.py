# SPDX-License-Identifier: GPL-2.0-or-later
"""Which packets are one association, how it begins and ends, and what it may take (RFC 4960)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.stream.events import (
    ChunksMissing,
    ConnectionEnded,
    DDPSegmentRecovered,
    ErrorFound,
    Event,
    SessionControlSeen,
)
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.lingering import LINGERING_CONNECTIONS
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.dialect import Dialect
from tests.dialects.sctp_feed import (
    MILLISECOND,
    OPENING,
    Talk,
    closing,
    ends,
    events_of,
    frames_of,
    init_frame,
    new_associations,
    of,
    opening,
    packet_of,
    whole,
)
from tests.recovery.work import peak_of, read_plainly
from tests.stream.work import calls
from tests.truth import sctpstream as sctp
from tests.truth.sctpstream import Unit


def conversation(stream: int = 0) -> Talk:
    """A session in which both sides send."""
    talk = Talk(stream=stream)
    talk.begin_session()
    talk.send(0, b"one")
    talk.send(1, b"two")
    talk.end_session()
    return talk


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("vlan", [None, 5])
def test_link_and_network_layers(ipv6: bool, vlan: int | None) -> None:
    """IPv4 and IPv6, with a VLAN tag and without."""
    units = conversation().units
    frames = [sctp.frame(unit.side, unit.octets, vlan=vlan, ipv6=ipv6) for unit in units]
    (end,) = ends(events_of(frames))
    assert end.initiator == ("[fd00::1]:40000" if ipv6 else "10.0.0.1:40000")
    assert [half.fpdus for half in end.halves] == [1, 1]


def test_frame_says_what_is_wrong_with_its_header() -> None:
    """A header that is cut is counted; without anyone who takes SCTP it is not TCP."""
    octets = sctp.frame(0, sctp.packet(0, sctp.init(0, 1), tag=0))
    cut = Decoder(lambda packet: None)
    assert cut.segment(Frame(1, 0, 1, octets[:40], len(octets), None)) is None
    assert cut.not_followed == {"SCTP header cut": 1}
    other = Decoder()
    assert other.segment(Frame(1, 0, 1, octets, len(octets), None)) is None
    assert other.not_followed == {"not TCP": 1}


def test_rfc4960_6_8_checksum() -> None:
    """Good, bad, and unknown where it was not computed yet or octets are missing."""
    chunk = sctp.data(1, 16, b"hello")
    good, bad = (sctp.frame(0, sctp.packet(0, chunk, bad=each)) for each in (False, True))
    assert packet_of(good).crc == "good"
    assert packet_of(good, captured=len(good) - 1).crc == "unknown"
    assert packet_of(bad).crc == "bad"
    assert packet_of(good[:42] + bytes(4) + good[46:]).crc == "unknown"


def test_mid_association_segments() -> None:
    """So does a DDP header, but not which side is which; what follows is not out of order."""
    talk = Talk(ssns=(500, 600))
    talk.send(1, b"first")
    talk.send(1, b"second")
    talk.send(0, b"third")
    events = events_of(frames_of(talk.units))
    found = of(DDPSegmentRecovered, events)
    assert [each.ddp_ssn for each in found] == [600, 601, 500]
    assert not any(each.out_of_order or each.begun for each in found)
    (end,) = ends(events)
    assert (end.initiator, end.dialect, end.ending) == (None, "rfc5043", "capture ended")
    assert end.errors == 0


@pytest.mark.parametrize(
    ("ppid", "octets"),
    [(46, b"diameter"), (16, b"\0\1nothing like a header"), (17, b"\0\1\x30\x39")],
)
def test_other_traffic_is_not_taken_for_ddp(ppid: int, octets: bytes) -> None:
    """An assigned PPID alone proves nothing (nobody keeps others from using it)."""
    talk = Talk()
    for _ in range(5):
        talk.say(0, ppid, octets)
    associations = new_associations()
    assert events_of(frames_of(talk.units), associations=associations) == []
    assert associations.without_ddp == 5


def test_init_without_indication_is_no_ddp() -> None:
    """No record is made of an association that never says DDP."""
    talk = Talk()
    talk.say(0, 46, b"diameter")
    assert events_of(whole(talk, opening(adaptations=(None, None)))) == []


def _between(address: bytes, frame: bytes, at: int) -> bytes:
    """The frame with another address of one side."""
    return frame[:at] + address + frame[at + 4 :]


def without(frames: list[bytes], *lost: int) -> list[bytes]:
    """The frames without some of them."""
    return [each for at, each in enumerate(frames) if at not in lost]


def abort(flags: int, tag: int) -> bytes:
    """An ABORT of side 1."""
    return sctp.frame(1, sctp.packet(1, sctp.chunk(sctp.ABORT, flags, b""), tag=tag))


def from_elsewhere(octets: bytes) -> bytes:
    """The frame from another address."""
    return _between(bytes((10, 0, 9, 9)), octets, 26)


NEXT_TAGS = (sctp.TAGS[0], 0x99999999)
"""As ``TAGS``, of another association between the same endpoints."""
SAID = frames_of(conversation().units)
"""Initiate, Accept, a segment of each side, and the Terminate of each."""
SHUT = closing(conversation())
ALL = whole(conversation())
FORGED = sctp.packet(0, sctp.data(102, 17, sctp.control(2, sctp.TERMINATE)), tag=sctp.TAGS[0] + 1)
STRAY = sctp.frame(0, sctp.packet(0, b"", tag=0x77777777), ipv6=True)
OTHER = sctp.frame(0, sctp.packet(0, sctp.init(0, 1), tag=0), ipv6=True)
"""The INIT of an association between other endpoints."""


@pytest.mark.parametrize(
    ("frames", "endings", "unknown"),
    [
        pytest.param(ALL, ["closed"], 0, id="all"),
        pytest.param(SAID[1:], ["closed"], 0, id="from the Accept on"),
        *(
            pytest.param(without(ALL, *lost), ["closed"], unknown, id=f"without packets {lost}")
            # Without INIT and INIT ACK, the cookies are of nobody yet.
            for lost, unknown in [
                ((0,), 0),
                ((1,), 0),
                ((0, 1), 2),
                ((1, 2), 0),
                ((0, 1, 2, 3), 0),
                ((4,), 0),
                ((1, 2, 4), 0),
            ]
        ),
        pytest.param([ALL[0], *ALL[:4], ALL[1], *ALL[4:]], ["closed"], 0, id="INIT sent again"),
        pytest.param(
            [SAID[0], *OPENING, *SAID[1:], *SHUT], ["closed"], 0, id="setup after the first DATA"
        ),
        pytest.param(
            [*ALL[:7], sctp.frame(0, FORGED), *ALL[7:]], ["closed"], 1, id="other tag (8.5)"
        ),
        pytest.param(
            [ALL[0], *SAID[:2], init_frame(1, says=0x77777777), *SAID[2:], STRAY, *SHUT],
            ["closed"],
            1,
            id="INIT ACK that contradicts",
        ),
        pytest.param(
            [*ALL[:6], from_elsewhere(ALL[6]), ALL[7], from_elsewhere(ALL[8]), *ALL[9:]],
            ["closed"],
            0,
            id="several addresses (6.4)",
        ),
        pytest.param(ALL[:9], ["half closed"], 0, id="one Terminate"),
        pytest.param([*ALL[:8], abort(0, sctp.TAGS[1])], ["reset"], 0, id="ABORT (RFC 5043 11.3)"),
        pytest.param(
            [*ALL[:8], abort(1, sctp.TAGS[0])], ["reset"], 0, id="ABORT with T set (8.5.1)"
        ),
        pytest.param(
            [
                *ALL,
                init_frame(0, says=NEXT_TAGS[1]),
                init_frame(1, tag=NEXT_TAGS[1]),
                *frames_of(conversation().units, NEXT_TAGS),
            ],
            ["closed", "closed"],
            0,
            id="another association",
        ),
    ],
)
def test_what_is_one_association(frames: list[bytes], endings: list[str], unknown: int) -> None:
    """By addresses, ports and tags; whatever of its setup was captured (RFC 4960)."""
    associations = new_associations()
    found = ends(events_of(frames, associations=associations))
    assert [(each.connection.number, each.ending) for each in found] == list(enumerate(endings))
    assert [[half.fpdus for half in each.halves] for each in found] == [[1, 1]] * len(endings)
    assert {each.initiator for each in found} == {"10.0.0.1:40000"}
    assert (sum(each.errors for each in found), associations.unknown) == (0, unknown)


def test_late_copies_of_an_association_that_is_over() -> None:
    """They are counted where they belong, for half a minute."""
    (end,) = ends(events_of([*ALL, SAID[2]]))
    assert [half.retransmitted for half in end.halves] == [1, 0]


def test_bad_checksums_before_any_session() -> None:
    """They are counted, and nothing is believed of what they say."""
    associations = new_associations()
    bad = sctp.frame(0, sctp.packet(0, sctp.data(100, 17, sctp.control(0, 1)), bad=True))
    assert ends(events_of([*OPENING, bad], associations=associations))[0].connection.stream is None
    assert associations.damaged == 1
    first = sctp.frame(0, sctp.packet(0, sctp.init(0, 1), tag=0, bad=True))
    alone = new_associations()
    assert events_of([first], associations=alone) == []
    assert (alone.damaged, alone.unknown) == (1, 0)


def test_dropped_fragments_are_no_fault_of_the_sender() -> None:
    """What was given up because of a limit is a gap, and not a DDP-SSN that was never used."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, bytes(3000), 1000)
    talk.send(0, b"behind")
    talk.end_session()
    late = talk.units.pop(4)
    frames = [*OPENING, *frames_of(talk.units), *frames_of([late]), *closing(talk)]
    found = events_of(frames, limits=Limits(octets_per_half=1500))
    assert [each.length for each in found if isinstance(each, ChunksMissing)] == [1]
    assert not of(ErrorFound, found)


def test_lingering_ends() -> None:
    """Half a minute after its end a session is told to be over."""
    events = events_of([*ALL, OTHER], step_ns=40_000_000_000)
    # The other association has said DDP, too, and is told of at the end.
    first, second = of(ConnectionEnded, events)
    assert (first.connection.number, second.connection.number) == (0, 1)
    assert first.frame == len(ALL) - len(SHUT)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_chunk_under_way_when_another_clock_speaks(is_known: bool) -> None:
    """It finds its session, be another interface an hour ahead, and heard of or not."""
    order = [*without(ALL, 7), OTHER, ALL[7]]
    if is_known:
        order.insert(0, OTHER)
    associations = new_associations()
    events: list[Event] = []
    for number, octets in enumerate(order, 1):
        time_ns = number * MILLISECOND + 3600 * SECOND * (octets is OTHER)
        events += associations.receive(packet_of(octets, number, time_ns))
    for told in associations.ends():
        events += told
    segments = of(DDPSegmentRecovered, events)
    assert [each.ulpdu for each in segments] == [sctp.send(1, b"one"), sctp.send(1, b"two")]
    (number,) = {each.connection.number for each in segments}
    assert not [each for each in events if isinstance(each, ErrorFound | ChunksMissing)]
    assert [each.ending for each in ends(events) if each.connection.number == number] == ["closed"]


@pytest.mark.parametrize("ahead", [0, 1])
def test_so_many_linger_and_no_more(ahead: int) -> None:
    """However far ahead another clock is: one that was never set stands at 1970."""
    associations = new_associations()
    packets = [packet_of(OTHER, 1, 1_700_000_000 * SECOND)] * ahead
    number = 1
    for each in range(LINGERING_CONNECTIONS + 20):
        # One a microsecond, so that all are there at a time.
        host = bytes([11, 0, *each.to_bytes(2, "big")])
        for octets in ALL:
            number += 1
            moved = octets.replace(bytes([10, 0, 0, 1]), host)
            packets.append(packet_of(moved, number, number * 1000))
    events = [event for packet in packets for event in associations.receive(packet)]
    assert [each.ending for each in ends(events)] == ["closed"] * 20
    assert len(associations._live) == LINGERING_CONNECTIONS + ahead


def test_snap_length() -> None:
    """What was captured of a chunk is told, and how long it was."""
    talk = Talk()
    talk.begin_session()
    talk.send(0, bytes(range(200)))
    frames = [*OPENING, *frames_of(talk.units)]
    associations = new_associations()
    events: list[Event] = []
    for number, octets in enumerate(frames, 1):
        events += associations.receive(packet_of(octets, number, number, captured=120))
    (segment,) = of(DDPSegmentRecovered, events)
    assert (segment.ulpdu_length, segment.crc) == (218, "unknown")
    assert segment.ulpdu == sctp.send(1, bytes(range(200)))[: len(segment.ulpdu)]
    assert len(segment.octets) == 120 - 14 - 20 - 12 - 16


# -- memory --------------------------------------------------------------------------------------


def test_waiting_chunks_are_bounded() -> None:
    """Behind a hole no more wait than may: it becomes a gap, and what waits goes on."""
    talk = Talk()
    talk.begin_session()
    talk.send(0)
    lost = talk.units[-1]
    for _ in range(5000):
        talk.send(0, b"")
    units = [unit for unit in talk.units if unit is not lost]
    events = events_of([*OPENING, *frames_of(units)])
    gaps = of(ChunksMissing, events)
    assert [(each.seq, each.length, each.reason) for each in gaps] == [(1, 1, "limit")]
    assert gaps[0].frame < len(units)


def test_fragments_are_bounded() -> None:
    """Of messages that never end, the oldest are forgotten."""
    talk = Talk()
    talk.begin_session()
    associations = new_associations(Limits(octets_per_half=100_000))
    frames = list(OPENING) + frames_of(talk.units)
    for number in range(300):
        made = sctp.data(200 + 2 * number, 16, bytes(1000), flags=sctp.U | sctp.B)
        frames.append(sctp.frame(0, sctp.packet(0, made)))
    for number, octets in enumerate(frames, 1):
        associations.receive(packet_of(octets, number, number))
        assert all(each.held <= 100_000 for each in associations._live)


def test_associations_are_bounded() -> None:
    """Those without a packet for longest are ended, as ``limit``, and those idle, as ``idle``."""
    frames = []
    for number in range(10):
        made = sctp.packet(0, sctp.init(0, 1), tag=0)
        octets = sctp.frame(0, made)
        frames.append(octets[:26] + bytes((10, 0, 1, number)) + octets[30:])
    found = ends(events_of(frames, limits=Limits(connections=4)))
    assert [each.ending for each in found] == ["limit"] * 6 + ["capture ended"] * 4
    found = ends(events_of(frames, limits=Limits(idle_seconds=3.5), step_ns=10**9))
    assert [each.ending for each in found] == ["idle"] * 6 + ["capture ended"] * 4


def test_associations_that_are_over_are_bounded() -> None:
    """What they hold is let go of with them, though they would still take late copies."""

    def made_of(number: int) -> list[bytes]:
        frames = []
        for each in range(number):
            made = [
                sctp.packet(0, sctp.init(0, 1), tag=0),
                sctp.packet(1, sctp.data(1, 16, bytes(10_000), flags=sctp.U | sctp.B)),
                sctp.packet(1, sctp.chunk(sctp.ABORT, 0, b"")),
            ]
            address = bytes((10, 0, 1, each))
            frames.append(_between(address, sctp.frame(0, made[0]), 26))
            frames += [_between(address, sctp.frame(1, octets), 30) for octets in made[1:]]
        return frames

    read = partial(read_plainly, limits=Limits(connections=4))
    peak_of(read, made_of(4))
    assert peak_of(read, made_of(200)) < 1.5 * peak_of(read, made_of(20)) + 100_000


def test_to_wait_for_nothing_costs_the_same_however_many_sessions_there_are() -> None:
    """Those in which nothing waits are not gone over."""

    def cost(number: int) -> float:
        units = []
        for stream in range(number):
            # The one before it is not there.
            ulpdu = sctp.segment(5, sctp.send(1, b""))
            units.append(Unit(0, 100 + stream, sctp.SEGMENT, ulpdu, stream=stream))
        frames = [*opening(streams=[(2000, 2000)] * 2), *frames_of(units)]
        associations = new_associations(Limits(octets_per_half=1))
        packets = [packet_of(octets, at, at) for at, octets in enumerate(frames, 1)]

        def receive() -> None:
            for packet in packets:
                associations.receive(packet)

        return calls(receive) / number

    assert cost(800) < 1.2 * cost(200)


def test_sessions_are_bounded() -> None:
    """One association cannot have more sessions than there may be connections."""
    talk = Talk()
    for stream in range(10):
        talk.stream = stream
        talk.begin_session()
    frames = [*opening(streams=[(20, 20)] * 2), *frames_of(talk.units)]
    events = events_of(frames, limits=Limits(connections=4))
    assert {each.ending for each in ends(events)} >= {"limit"}
    controls = of(SessionControlSeen, events)
    assert len(controls) == 20
    assert not of(ErrorFound, events)


def _many_streams(number: int) -> list[bytes]:
    """A session on each of so many streams of one association, 60 of them in a packet."""
    units = [sctp.data(100 + at, 17, sctp.control(0, 1), stream=at) for at in range(number)]
    packets = [sctp.packet(0, *units[at : at + 60]) for at in range(0, number, 60)]
    opening = sctp.packet(0, sctp.init(0, 100, streams=(65535, 65535)), tag=0)
    return [sctp.frame(0, octets) for octets in [opening, *packets]]


def _many_associations(number: int) -> list[bytes]:
    """So many associations with a session each."""
    frames = []
    for at in range(number):
        octets = sctp.packet(0, sctp.data(100, 17, sctp.control(0, 1)), tag=1 + at)
        address = bytes((10, 1, at >> 8, at & 255))
        frames.append(_between(address, sctp.frame(0, octets), 26))
    return frames


@pytest.mark.parametrize("many", [_many_streams, _many_associations])
def test_memory_of_sessions_is_bounded(many: Callable[[int], list[bytes]]) -> None:
    """They count toward the octets in total; those that go are reported, as ``limit``."""
    limits = Limits(octets_in_total=1 << 20)
    assert peak_of(partial(read_plainly, limits=limits), many(1500)) < 3 << 20
    events = events_of(many(1200), limits=limits)
    assert len(of(SessionControlSeen, events)) == 1200
    endings = [each.ending for each in ends(events)]
    assert len(endings) == 1200
    assert endings == sorted(endings, key=lambda each: each != "limit")
    assert 200 < endings.count("limit") < 1200
    assert not [each for each in events if isinstance(each, (ErrorFound, ChunksMissing))]


def test_the_limit_of_octets_ends_no_session_that_is_alone() -> None:
    """However low it is: what its session is made of takes more than that."""
    frames = [*OPENING, *frames_of(conversation().units)]
    (end,) = ends(events_of(frames, limits=Limits(octets_in_total=1)))
    assert end.ending == "closed"
    assert [half.fpdus for half in end.halves] == [1, 1]


@pytest.mark.parametrize("dialect", [None, *Dialect])
def test_ppids_without_evidence(dialect: Dialect | None) -> None:
    """Captured midway, they are believed alone where DDP over SCTP is forced (RFC 5043 5.1)."""
    talk = Talk(ssns=(7, 7))
    for number in range(3):
        # DDP version 3 and an opcode that there is not: nothing that DDP has.
        talk.say(0, sctp.SEGMENT, sctp.segment(7 + number, b"\x43\x4f" + bytes(20)))
    talk.say(1, 46, b"another protocol")
    associations = new_associations(dialect=dialect)
    found = events_of(frames_of(talk.units), associations=associations)
    segments = of(DDPSegmentRecovered, found)
    if dialect is Dialect.RFC5043:
        assert [each.ddp_ssn for each in segments] == [7, 8, 9]
        assert associations.without_ddp == 0
    else:
        assert not found
        assert associations.without_ddp == len(talk.units)
