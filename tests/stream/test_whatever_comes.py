# SPDX-License-Identifier: GPL-2.0-or-later
"""Any segments at all: there are events and no exception, and what they say can be so."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import (
    ErrorFound,
    Event,
    FPDURecovered,
    GapFound,
    StartupSeen,
)
from scapy_mpa.stream.segment import Segment as Captured
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import as_segment, feed
from tests.stream.talk import (
    REPLY,
    REQUEST,
    STREAM,
    TRUTH,
    ULPDUS,
    Talk,
    ends,
    started,
)
from tests.truth import mpastream
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

PIECES = [
    REQUEST,
    REPLY,
    mpastream.startup_frame(mpastream.REQUEST_KEY, markers=1, crc=1, private_data=b"x" * 9),
    mpastream.startup_frame(mpastream.REPLY_KEY, markers=1, rejected=1),
    mpastream.startup_frame(mpastream.REPLY_KEY, revision=2, enhanced=1),
    mpastream.startup_frame(mpastream.REQUEST_KEY, revision=0, pd_length=65535),
    STREAM,
    STREAM[: TRUTH[1].end],
    STREAM[TRUTH[0].end : TRUTH[3].end - 7],
    mpastream.build_stream(ULPDUS, markers=True)[0],
    mpastream.build_stream(ULPDUS, markers=True, crc=False)[0][:1500],
    mpastream.build_stream(ULPDUS, damage={1: mpastream.Damage(ulpdu_length=90)})[0],
    mpastream.build_stream([b"", b"", ULPDUS[0]])[0],
    b"\x00\x12\x41\x43" * 40,
    b"\xff\xff\x41\x43" * 20,
    bytes(700),
    b"",
]

PAYLOADS = st.one_of(
    st.sampled_from(PIECES),
    st.tuples(st.sampled_from(PIECES), st.integers(0, 600), st.integers(0, 900)).map(
        lambda cut: cut[0][cut[1] : cut[1] + cut[2]]
    ),
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=4).map(b"".join),
    st.binary(max_size=80),
)

ANY = st.tuples(
    st.integers(0, 1),
    st.one_of(st.integers(0, 3000), st.integers(0, 2**32 - 1), st.none()),
    st.one_of(st.none(), st.integers(0, 5000), st.integers(0, 2**32 - 1)),
    st.one_of(st.just(PSH | ACK), st.sampled_from([SYN, SYN | ACK, FIN | ACK, RST, 0])),
    PAYLOADS,
    st.one_of(st.just(0), st.just(0), st.just(0), st.integers(1, 3000)),
)


def check_sane(events: list[Event]) -> None:
    """What holds for the events of any segments at all."""
    count = Counter(each.connection.number for each in ends(events))
    assert set(count.values()) <= {1}
    assert {each.connection.number for each in events} == set(count)
    for each in events:
        assert each.direction in (0, 1)
        if isinstance(each, FPDURecovered):
            assert 0 <= each.seq < 2**32 and each.frames and each.ulpdu is not None
            assert each.frame >= max(each.frames)
        elif isinstance(each, GapFound):
            assert each.length > 0
        elif isinstance(each, StartupSeen):
            assert each.octets.startswith(b"MPA ID Re")


@given(script=st.lists(ANY, max_size=25), syn=st.booleans(), begun=st.booleans())
def test_whatever_comes_there_are_events_and_no_exception(
    script: list[tuple[int, int | None, int | None, int, bytes, int]], syn: bool, begun: bool
) -> None:
    """Any sequence number, acknowledgement, flags and octets, and octets that were cut off."""
    talk = Talk((1000, 1000), syn=syn)
    if begun:
        talk.say(0, REQUEST)
        talk.say(1, REPLY)
    captured = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    for direction, seq, ack, flags, octets, cut in script:
        if seq is None:
            seq = talk.next[direction]
        if ack is None:
            ack = talk.next[1 - direction]
        talk.next[direction] = (seq + len(octets) + cut) % 2**32
        segment = Segment(direction, seq % 2**32, ack % 2**32, flags, octets)
        each: Captured = as_segment(len(captured) + 1, segment)
        captured.append(each._replace(length=len(octets) + cut))
    check_sane(feed(captured))


@given(
    said=st.lists(st.tuples(st.integers(0, 1), PAYLOADS), max_size=8),
    size=st.sampled_from((1, 3, 64, 500)),
)
def test_octet_by_octet_or_in_one_piece(said: list[tuple[int, bytes]], size: int) -> None:
    """The same octets give the same startup frames and FPDUs, however they are cut.

    As long as all is in order, that is: after a lie, where segments begin is evidence itself.  So
    it is of a startup frame after a damaged FPDU, which is looked for as octets come.
    """
    results = []
    for step in (None, size):
        talk = started()
        for direction, octets in said:
            if octets:
                talk.say(direction, octets, size=step)
        talk.close()
        events = talk.fed()
        wrong = {each.code for each in events if isinstance(each, ErrorFound)}
        kinds: tuple[type, ...] = (StartupSeen,)
        if not wrong:
            kinds += (FPDURecovered,)
        elif wrong & {ErrorCode.CRC_MISMATCH, ErrorCode.MARKER_MISMATCH}:
            kinds = ()
        results.append(
            Counter(
                (type(each), each.direction, each.seq, each.octets)
                for each in events
                if isinstance(each, kinds)
            )
        )
    assert results[0] == results[1]
