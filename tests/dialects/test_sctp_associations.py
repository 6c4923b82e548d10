# SPDX-License-Identifier: GPL-2.0-or-later
"""Which packets are one association, what is recovered of it, and what it may cost (RFC 4960)."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import pytest

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.dialects.sctp.association import Association
from scapy_mpa.stream.events import ChunksMissing, DDPSegmentRecovered, ErrorFound, Event
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
    new_associations,
    opening,
    packet_of,
    talk_of,
    whole,
)
from tests.recovery.work import peak_of, read_plainly
from tests.stream.feed import of
from tests.truth import sctpstream as sctp

PLENTY, LITTLE = Limits(), Limits(octets_per_half=1500)
RFC5043 = Dialect.RFC5043


SESSION = ">I <A >S <S >T <T"
BEGUN = ">I <A >S"
FRAGMENTED = ">S:1100/400"


def begun(words: str = "") -> list[bytes]:
    """The frames of an open session in which only side 0 has sent."""
    return whole(talk_of(f"{BEGUN} {words}"), end=())


def without(frames: list[bytes], *lost: int) -> list[bytes]:
    """The frames without some of them."""
    return [each for at, each in enumerate(frames) if at not in lost]


def among(frames: list[bytes], at: int, *others: bytes) -> list[bytes]:
    """The frames with others inserted."""
    return [*frames[:at], *others, *frames[at:]]


def sent(side: int, *chunks: bytes, tag: int | None = None, bad: bool = False) -> bytes:
    """A frame with a packet of these chunks."""
    return sctp.frame(side, sctp.packet(side, *chunks, tag=tag, bad=bad))


def chunk(number: int, ppid: int, user_data: bytes, *, stream: int = 0, flags: int = 7) -> bytes:
    """A frame with a DATA chunk, so many TSNs after the Initial TSN of side 0."""
    return sent(0, sctp.data(100 + number, ppid, user_data, stream=stream, flags=flags))


def words(ppid: int, *user_data: bytes) -> list[bytes]:
    """Frames of an association whose setup was not captured."""
    talk = Talk()
    for each in user_data:
        talk.say(0, ppid, each)
    return frames_of(talk.units)


def init_of_other(side: int, initiate_tag: int, tag: int) -> bytes:
    """A frame with an INIT or INIT ACK that has another Initial TSN, and this Initiate Tag."""
    made = sctp.init(side, 5000)
    return sent(side, made[:4] + initiate_tag.to_bytes(4, "big") + made[8:], tag=tag)


OTHER_TAGS = (0x77777777, 0x55555555)
"""Like ``TAGS``, but of another association between the same endpoints."""
CHUNKS = frames_of(talk_of(SESSION).units)
"""Initiate, Accept, a segment of each side, and the Terminate of each."""
ALL = whole(talk_of(SESSION))
SETUP = [init_of_other(side, OTHER_TAGS[1 - side], side * OTHER_TAGS[1]) for side in (0, 1)]
NEXT = [*SETUP, *frames_of(talk_of(SESSION, tsns=(5000, 5000)).units, OTHER_TAGS)]
"""Another association between the same endpoints."""
ABORT, SACK = sctp.chunk(sctp.ABORT, 0, b""), sctp.chunk(sctp.SACK, 0, bytes(12))
STRAY = sctp.data(77777, 16, sctp.segment(5, sctp.send(5, b"old")))
PART = sctp.U | sctp.B
NO_DDP = sctp.segment(7, b"\x43\x4f" + bytes(20))
"""An undefined DDP version (3) and opcode."""
LATER = frames_of(talk_of("<S <S >S", ssns=(500, 600)).units)
LONG = talk_of(f"{BEGUN} {FRAGMENTED} <S >T <T")
CUT_OFF = frames_of(LONG.units)
HELD_BACK = [*OPENING, *(each for at, each in enumerate(CUT_OFF) if at != 4), CUT_OFF[4]]

SITUATIONS: dict[str, Any] = {
    "all": (ALL, "closed 1/1"),
    **{
        f"without packets {lost}": (without(ALL, *lost), f"closed 1/1{unknown}")
        for lost, unknown in (
            *(((0,), ""), ((1,), ""), ((1, 2), ""), ((0, 1, 2, 3), "")),
            ((4,), ", gap 0+1 connection ended"),
            # Without INIT and INIT ACK, the cookies belong to no association yet.
            ((0, 1), ", 2 unknown"),
        )
    },
    "from the Accept on": (CHUNKS[1:], "closed 1/1"),
    "from segments on": (LATER, "capture ended 2/1"),
    "one Terminate": (ALL[:9], "half closed 1/1"),
    "INIT and INIT ACK sent again": ([ALL[0], *ALL[:4], ALL[1], *ALL[4:]], "closed 1/1"),
    "setup after the first DATA": ([CHUNKS[0], *OPENING, *CHUNKS[1:]], "closed 1/1"),
    "ABORT": ([*ALL[:8], sent(1, ABORT)], "reset 1/1"),
    "a late copy": ([*ALL, CHUNKS[2]], "closed 1/1, 1 copies"),
    "two sessions": (whole(talk_of(f"{SESSION} |1 {SESSION}")), "closed 1/1, closed 1/1"),
    # Packets of another association.
    "another association": ([*ALL, *NEXT], "closed 1/1, closed 1/1"),
    "another one, without an end": ([*ALL[:8], *NEXT], "reused 1/1, closed 1/1"),
    "and a late packet of the first": (
        [*ALL[:7], *NEXT, ALL[7]],
        "reused 1/0, closed 1/1, 1 unknown",
    ),
    "another session while a chunk waits": (
        whole(talk_of(">I <A <S- <S >T <T | >I <A >T <T")),
        "closed 0/1, closed 0/0, gap 1+1 connection ended",
    ),
    "DATA after the end": ([*ALL[:8], sent(0, ABORT), NEXT[5]], "reset 1/1, capture ended 1/0"),
    "stray DATA": (among(ALL, 8, sent(0, STRAY, tag=1)), "closed 1/1, 1 unknown"),
    "stray SACK before the INIT": ([sent(0, SACK, tag=1), *ALL], "closed 1/1, 1 unknown"),
    "stray SACK after the INIT": (among(ALL, 1, sent(0, SACK, tag=1)), "closed 1/1"),
    "stray INIT ACK": (among(ALL, 6, init_of_other(1, 1, sctp.TAGS[1])), "closed 1/1"),
    # Evidence of DDP.
    "another protocol": (words(46, b"diameter"), "1 without DDP"),
    "PPID 16 alone": (words(16, NO_DDP, NO_DDP), "2 without DDP"),
    "PPID 17 alone": (words(17, b"\0\1\x30\x39"), "1 without DDP"),
    "no indication": (
        [*opening(adaptations=(None, None)), *words(46, b"diameter")],
        "5 without DDP",
    ),
    "no session": (OPENING, "capture ended 0/0"),
    "a segment shows it": (
        [*words(16, NO_DDP), chunk(1, 16, sctp.segment(8, sctp.send(1, b"")))],
        "capture ended 1/0",
    ),
    # Packets with bad checksums (6.8) are ignored.
    "a bad INIT": ([sent(0, sctp.init(0, 1), tag=0, bad=True)], "1 damaged"),
    "bad DATA": (among(ALL, 6, sent(0, STRAY, bad=True)), "closed 1/1, 1 damaged"),
    # Messages that are never whole (6.9), some of them followed by others.
    "in fragments": (whole(LONG), "closed 2/1"),
    **{
        f"fragments {lost} missing": (without(begun(FRAGMENTED), *lost), "capture ended 1/0")
        for lost in ((7,), (8,), (9,), (8, 9))
    },
    "the last fragment missing, and others follow": (
        without([*OPENING, *CUT_OFF], 9),
        "closed 1/1, gap 2+1 capture ended",
    ),
    "a fragment of another stream": (
        [*begun(), chunk(2, 16, bytes(50), stream=1, flags=PART)],
        "capture ended 1/0",
    ),
    "a part of an Initiate": (
        [*begun(), chunk(2, 17, sctp.control(0, 1), flags=PART)],
        "capture ended 1/0",
    ),
    "a header that is cut": ([*begun(), sent(0, sctp.chunk(0, 7, bytes(9)))], "capture ended 1/0"),
    "an INIT that is cut": ([sent(0, sctp.chunk(1, 0, b""), tag=0), *ALL], "closed 1/1"),
    "a chunk without a length": ([*begun(), sent(0, bytes(4))], "capture ended 1/0"),
    "TSNs below the initial one": (
        [*begun(), chunk(-2, 16, sctp.segment(7, sctp.send(9, b"?")))],
        "capture ended 1/0, 1 copies",
    ),
    # Chunks dropped because of a limit are a gap, and ended sessions are reported.
    "as few octets as possible": (ALL, Limits(octets_in_total=1), "closed 1/1"),
    "dropped fragments": (
        [*HELD_BACK, *closing(LONG)],
        LITTLE,
        "closed 1/1, gap 2+1 limit, 1 copies",
    ),
    "chunks that wait": (
        without([*OPENING, *frames_of(talk_of(">I <A" + " >S" * 5001).units)], 6),
        "capture ended 5000/0, gap 1+1 limit",
    ),
    "sessions": (
        [*OPENING, *frames_of(talk_of(f"{SESSION} |1 {SESSION} |2 {SESSION} |3 {SESSION}").units)],
        Limits(connections=3),
        "closed 1/1, closed 1/1, closed 1/1, limit 0/0, closed 1/1",
    ),
}


def outcome(frames: list[bytes], limits: Limits = PLENTY, dialect: Dialect | None = None) -> str:
    """The ends of sessions, with the number of segments of each side; gaps; packets of no
    session."""
    associations = new_associations(limits, dialect)
    events = events_of(frames, associations=associations)
    assert not of(ErrorFound, events)
    out = [f"{each.ending} {each.halves[0].fpdus}/{each.halves[1].fpdus}" for each in ends(events)]
    out += [f"gap {each.seq}+{each.length} {each.reason}" for each in of(ChunksMissing, events)]
    copies = sum(half.retransmitted for each in ends(events) for half in each.halves)
    counted = {
        "copies": copies,
        "unknown": associations.unknown,
        "damaged": associations.damaged,
        "without DDP": associations.without_ddp,
    }
    return ", ".join(out + [f"{number} {what}" for what, number in counted.items() if number])


@pytest.mark.parametrize("situation", SITUATIONS)
def test_situations(situation: str) -> None:
    """Which packets are one association, and what is recovered of it. There are no errors."""
    frames, *limits, expected = SITUATIONS[situation]
    assert outcome(frames, *limits) == expected


@pytest.mark.parametrize("dialect", [None, *Dialect])
def test_ppids_without_evidence(dialect: Dialect | None) -> None:
    """Without a setup, PPIDs alone count only if DDP over SCTP is forced (RFC 5043 5.1)."""
    expected = "capture ended 2/0" if dialect is RFC5043 else "2 without DDP"
    assert outcome(words(16, NO_DDP, NO_DDP), dialect=dialect) == expected


def test_cut_header_is_counted() -> None:
    """A cut header is counted. Without SCTP the packet is "not TCP"."""
    cut, octets = Decoder(lambda packet: None), ALL[0]
    for decoder, upto, why in ((cut, 40, "SCTP header cut"), (Decoder(), 1000, "not TCP")):
        assert decoder.segment(Frame(1, 0, 1, octets[:upto], len(octets), None)) is None
        assert decoder.not_followed == {why: 1}


def test_rfc4960_6_8_checksum() -> None:
    """A checksum is good, bad, or unknown if it is not computed yet or octets are missing."""
    good, bad = (sent(0, STRAY, bad=each) for each in (False, True))
    assert packet_of(good).crc == "good"
    assert packet_of(good, captured=len(good) - 1).crc == "unknown"
    assert packet_of(bad).crc == "bad"
    assert packet_of(good[:42] + bytes(4) + good[46:]).crc == "unknown"


@pytest.mark.parametrize("captured", [14 + 20 + 12 + 8, 14 + 20 + 12 + 17, 120])
def test_snap_length(captured: int) -> None:
    """The captured part of a chunk is reported with its whole length, and without an error."""
    events = events_of(begun(">S:1100"), captured=captured)
    first, *cut = of(DDPSegmentRecovered, events)
    assert first.crc == "good"
    expected = sctp.send(2, bytes(1100))
    found = [(each.ulpdu_length, each.crc, each.ulpdu) for each in cut]
    there = captured - 14 - 20 - 12 - 16 - 2
    assert found == ([(len(expected), "unknown", expected[:there])] if there > 0 else [])
    assert [each.errors for each in ends(events)] == [0]


def test_a_fault_of_this_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends one association, and is counted. The others continue."""

    def fail(self: Association, *rest: object) -> None:
        raise ZeroDivisionError

    associations = new_associations()
    for number, octets in enumerate(ALL[:7], 1):
        associations.receive(packet_of(octets, number))
    with monkeypatch.context() as patched:
        patched.setattr(Association, "receive", fail)
        (end,) = ends(associations.receive(packet_of(ALL[7], 8)))
    assert end.ending == "failed" and sum(associations.dropped.values()) == 1
    assert len(ends(events_of(NEXT, associations=associations))) == 1


# -- associations that have ended ----------------------------------------------------------------

OTHER = sctp.frame(0, sctp.packet(0, sctp.init(0, 1), tag=0), ipv6=True)
"""The INIT of an association between other endpoints."""


def test_end_is_reported_after_lingering() -> None:
    """A session's end is reported half a minute after it."""
    events = events_of([*ALL, OTHER], step_ns=40_000_000_000)
    # The other association uses DDP, too. Its end is reported at the end of the capture.
    first, second = ends(events)
    assert (first.connection.number, second.connection.number) == (0, 1)
    assert first.frame == len(ALL) - 4


def test_late_chunk_after_a_packet_of_another_clock() -> None:
    """It belongs to its session although the other clock, seen before, is an hour ahead."""
    order = [OTHER, *without(ALL, 7), OTHER, ALL[7]]
    associations = new_associations()
    events: list[Event] = []
    for number, octets in enumerate(order, 1):
        time_ns = number * MILLISECOND + 3600 * SECOND * (octets is OTHER)
        events += associations.receive(packet_of(octets, number, time_ns))
    segments = of(DDPSegmentRecovered, events)
    ulpdu = sctp.send(1, bytes(1))
    assert [(each.direction, each.ulpdu) for each in segments] == [(0, ulpdu), (1, ulpdu)]
    assert len({each.connection.number for each in segments}) == 1


@pytest.mark.parametrize("ahead", [0, 1])
def test_lingering_associations_are_bounded(ahead: int) -> None:
    """Another clock may be far ahead: a clock that was never set shows 1970."""
    associations = new_associations()
    packets = [packet_of(OTHER, 1, 1_700_000_000 * SECOND)] * ahead
    number = 1
    for each in range(LINGERING_CONNECTIONS + 20):
        # They differ by microseconds, so all linger at the same time.
        host = bytes([11, 0, *each.to_bytes(2, "big")])
        for octets in ALL:
            number += 1
            moved = octets.replace(bytes([10, 0, 0, 1]), host)
            packets.append(packet_of(moved, number, number * 1000))
    events = [event for packet in packets for event in associations.receive(packet)]
    assert [each.ending for each in ends(events)] == ["closed"] * 20
    assert len(associations._live) == LINGERING_CONNECTIONS + ahead


# -- memory --------------------------------------------------------------------------------------


def of_hosts(count: int, *chunks: bytes) -> list[bytes]:
    """Packets of side 0 with one chunk each, of so many associations."""
    frames = []
    for at, each in product(range(count), chunks):
        octets = sent(0, each, tag=0 if each[0] == sctp.INIT else 1 + at)
        frames.append(octets[:26] + bytes([10, 1, at >> 8, at & 255]) + octets[30:])
    return frames


def test_waiting_chunks_are_bounded() -> None:
    """Memory is bounded for messages that never end, and after holes."""
    associations = new_associations(Limits(octets_per_half=100_000))
    waiting = [chunk(2 + at, 16, sctp.segment(5 + at, bytes(2000))) for at in range(60)]
    waiting += [chunk(100 + 2 * at, 16, bytes(1000), flags=PART) for at in range(300)]
    waiting += [chunk(1000 + 2 * at, 46, b"") for at in range(5000)]
    for number, octets in enumerate([*begun(), *waiting], 1):
        associations.receive(packet_of(octets, number, number))
        assert all(0 <= each.held <= 100_000 for each in associations._live)


def test_associations_are_bounded() -> None:
    """The association with the oldest last packet is ended as ``limit``, idle ones as ``idle``."""
    frames = of_hosts(10, sctp.init(0, 1))
    for ending, limits in (("limit", Limits(connections=4)), ("idle", Limits(idle_seconds=3.5))):
        found = ends(events_of(frames, limits=limits, step_ns=10**9))
        assert [each.ending for each in found] == [ending] * 6 + ["capture ended"] * 4


def test_octets_of_ended_associations_are_dropped() -> None:
    """Octets of ended associations are dropped, though these still take late copies."""

    def made_of(number: int) -> list[bytes]:
        return of_hosts(number, sctp.data(100, 16, bytes(10_000), flags=PART), ABORT)

    read = partial(read_plainly, limits=Limits(connections=4))
    peak_of(read, made_of(4))
    assert peak_of(read, made_of(200)) < 1.5 * peak_of(read, made_of(20)) + 100_000


def on_streams(number: int) -> list[bytes]:
    """A session on each of so many streams of one association, 60 of them in a packet."""
    units = [sctp.data(100 + at, 17, sctp.control(0, 1), stream=at) for at in range(number)]
    packets = [sent(0, *units[at : at + 60]) for at in range(0, number, 60)]
    return [sent(0, sctp.init(0, 100, streams=(65535, 65535)), tag=0), *packets]


@pytest.mark.parametrize(
    "many", [on_streams, lambda number: of_hosts(number, sctp.data(100, 17, sctp.control(0, 1)))]
)
def test_memory_of_sessions_is_bounded(many: Callable[[int], list[bytes]]) -> None:
    """Sessions count toward the octets in total. Those that are dropped are reported as
    ``limit``."""
    limits = Limits(octets_in_total=1 << 20)
    assert peak_of(partial(read_plainly, limits=limits), many(1500)) < 3 << 20
    endings = [each.ending for each in ends(events_of(many(1200), limits=limits))]
    assert len(endings) == 1200
    assert endings == sorted(endings, key=lambda each: each != "limit")
    assert 200 < endings.count("limit") < 1200
