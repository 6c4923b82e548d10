# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections that go back to recovery, or end while they wait for the straight path: both ways say
the same."""

from __future__ import annotations

import json

import pytest

from scapy_mpa.records.record import RECORD_TYPES
from tests.capture import build
from tests.straight.ways import recovery, straight, texts
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

REQUEST = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=True)
REPLY = mpastream.startup_frame(mpastream.REPLY_KEY, crc=True)
FPDU = mpastream.build_stream([messages.send(1, bytes(40))[0]])[0]
NEXT = mpastream.build_stream([messages.send(2, bytes(40))[0]])[0]

SECOND = 1_000_000_000


def opening(isn: int = 0) -> list[Segment]:
    """A connection up to the Reply."""
    return [
        Segment(0, isn, 0, SYN, b""),
        Segment(1, isn, isn + 1, SYN | ACK, b""),
        Segment(0, isn + 1, isn + 1, PSH | ACK, REQUEST),
        Segment(1, isn + 1, isn + 21, PSH | ACK, REPLY),
    ]


def same(capture: bytes) -> None:
    """Both ways say the same, as records and as text, and if only some is listed."""
    assert straight(capture) == recovery(capture)
    for types in (RECORD_TYPES, {"fpdu"}, {"gap", "error", "connection"}):
        by_recovery, by_both = texts(capture, types=types)
        assert by_both == by_recovery


ENDINGS = {
    "reset, then octets": [
        Segment(1, 21, 21 + len(FPDU), RST | ACK, b""),
        Segment(0, 21 + len(FPDU), 21, PSH | ACK, NEXT),
    ],
    "reset outside any window, then octets": [
        Segment(1, 21 + (1 << 30), 21 + len(FPDU), RST | ACK, b""),
        Segment(0, 21 + len(FPDU), 21, PSH | ACK, NEXT),
        Segment(1, 21 - (1 << 30) & 0xFFFFFFFF, 21 + len(FPDU), RST | ACK, b"remark"),
        Segment(0, 21 + len(FPDU) + len(NEXT), 21, PSH | ACK, FPDU),
    ],
    "octets with the last FIN": [
        Segment(1, 21, 21 + len(FPDU), FIN | ACK, b""),
        Segment(0, 21 + len(FPDU), 22, FIN | PSH | ACK, NEXT),
    ],
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("comes_again", [False, True], ids=["gone", "ports used again"])
def test_over_with_octets(ending: str, comes_again: bool) -> None:
    """A connection that its last octets end may be let go of, and its ports be used again."""
    first = [*opening(), Segment(0, 21, 21, PSH | ACK, FPDU), *ENDINGS[ending]]
    capture = pcapfile.pcap(pcapfile.frames(first))
    late = pcapfile.frames(opening(), ports=(40001, 4000))
    capture += pcapfile.pcap(late, start=1_700_000_040 * SECOND)[24:]
    if comes_again:
        again = pcapfile.frames([*opening(5000), Segment(0, 5021, 5021, PSH | ACK, FPDU)])
        capture += pcapfile.pcap(again, start=1_700_000_050 * SECOND)[24:]
    same(capture)


def test_heard_without_octets() -> None:
    """A segment without octets, taken straight, may acknowledge the FPDU that lets the Responder
    speak (RFC 5044 7.1.2 rule 4); that one which is not ordinary acknowledges less is no matter."""
    segments = [
        *opening(),
        Segment(0, 21, 21, PSH | ACK, FPDU),
        Segment(0, 21 + len(FPDU), 21, PSH | ACK, NEXT),
        Segment(1, 21, 21 + len(FPDU), ACK, b""),
        Segment(1, 21, 21, FIN | PSH | ACK, FPDU),
    ]
    capture = pcapfile.pcap(pcapfile.frames(segments))
    same(capture)
    assert "rule 4" not in "".join(recovery(capture))


def test_times_before_1970() -> None:
    """The time of an FPDU is as exact where a pcapng file has its times begin earlier."""
    offset = build.option(14, (-(1 << 40)).to_bytes(8, "little", signed=True))
    blocks = [build.section(), build.interface(options=offset)]
    segments = [*opening()]
    for turn in range(4):
        at = 21 + turn * len(FPDU)
        segments.append(Segment(0, at, 21, PSH | ACK, FPDU))
    for number, frame in enumerate(pcapfile.frames(segments)):
        blocks.append(build.enhanced(frame, ticks=number * 300_001))
    same(b"".join(blocks))


BEGINNINGS = {
    "captured before the Reply, and again": (
        [Segment(1, 21, 21, PSH | ACK, FPDU)],
        [Segment(1, 21, 21, PSH | ACK, FPDU)],
    ),
    "captured before the Reply, and the next one": (
        [Segment(1, 21, 21, PSH | ACK, FPDU)],
        [Segment(1, 21 + len(FPDU), 21, PSH | ACK, NEXT)],
    ),
    "captured before the Reply, and the one behind the next": (
        [Segment(1, 21, 21, PSH | ACK, FPDU)],
        [Segment(1, 21 + 2 * len(FPDU), 21, PSH | ACK, FPDU)],
    ),
    "never captured": ([], [Segment(1, 21 + len(FPDU), 21, ACK, b"")]),
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("acknowledges", [False, True], ids=["too soon", "in turn"])
def test_the_responder_speaks_first(beginning: str, acknowledges: bool) -> None:
    """Whatever shows that it did without an FPDU of the Initiator is told as an error, once."""
    early, then = BEGINNINGS[beginning]
    *syns, request, reply = opening()
    if acknowledges:
        then = [
            Segment(0, 21, 21, PSH | ACK, FPDU),
            *(each._replace(ack=each.ack + len(FPDU)) for each in then),
        ]
    segments = [*syns, request, *early, reply, Segment(0, 21, 21, ACK, b""), *then]
    capture = pcapfile.pcap(pcapfile.frames(segments))
    same(capture)
    told = [line for line in straight(capture) if "RFC 5044 7.1.2 rule 4" in line]
    assert len(told) == (not acknowledges)


@pytest.mark.parametrize("ending", ["FIN", "RST", "none"])
def test_the_same_numbers_again(ending: str) -> None:
    """A copy of the SYN comes while the connection is ordinary, and then a copy of all of it."""
    fpdus = [Segment(0, 21 + at * len(FPDU), 21, PSH | ACK, FPDU) for at in range(40)]
    answers = [Segment(1, 21, each.seq + len(FPDU), ACK, b"") for each in fpdus]
    end = answers[-1].ack
    last = {
        "FIN": [Segment(0, end, 21, FIN | ACK, b""), Segment(1, 21, end + 1, FIN | ACK, b"")],
        "RST": [Segment(0, end, 21, RST | ACK, b"")],
        "none": [],
    }[ending]
    one = [*opening(), Segment(0, 21, 21, ACK, b"")]
    one += [each for pair in zip(fpdus, answers, strict=True) for each in pair]
    capture = pcapfile.pcap(pcapfile.frames([*one, *last, *one, *last]))
    same(capture)
    told = [json.loads(line) for line in straight(capture)]
    numbers = [each["connection"] for each in told if each["type"] == "fpdu"]
    assert numbers == [0] * len(fpdus)
    assert [each["type"] for each in told].count("connection") == 1
    assert not [each for each in told if each["type"] in ("gap", "overlap", "error")]


def test_nothing_is_listed_of_the_other_connection_yet() -> None:
    """A connection with a longer name takes no room in the lines before its own first one."""
    fpdus = [Segment(0, 21 + at * len(FPDU), 21, PSH | ACK, FPDU) for at in range(3)]
    segments = [*opening(), Segment(0, 21, 21, ACK, b""), *fpdus]
    one = pcapfile.frames(segments, ports=(4, 4000))
    other = pcapfile.frames(segments, ports=(40000, 4000))
    same(pcapfile.pcap([*one[:6], *other[:5], one[6], *other[5:], one[7]]))


@pytest.mark.parametrize("held", [0, 8], ids=["whole", "and a part"])
def test_the_responder_speaks_first_after_negotiations(held: int) -> None:
    """When it is heard, what it said first may still be known, and is no Terminate."""
    request, reply = (
        mpastream.startup_frame(
            key, crc=True, revision=2, enhanced=1, private_data=mpastream.enhanced_data(4, 4)
        )
        for key in (mpastream.REQUEST_KEY, mpastream.REPLY_KEY)
    )
    begin = 1 + len(request)
    segments = [
        Segment(0, 1, 1, PSH | ACK, request),
        Segment(1, begin, begin, PSH | ACK, FPDU + NEXT[:held]),
        Segment(1, 1, begin, PSH | ACK, reply),
        Segment(0, begin, begin, PSH | ACK, FPDU),
        Segment(1, begin + 8, begin, PSH | ACK, FPDU[8:]),
    ]
    same(pcapfile.pcap(pcapfile.frames(segments)))


@pytest.mark.parametrize("ahead", [1, 100, 70_000])
@pytest.mark.parametrize("wraps_after", [0, 30, 60])
def test_acknowledged_ahead_where_numbers_wrap(ahead: int, wraps_after: int) -> None:
    """What the Initiator has acknowledged is missing, whatever it acknowledges afterwards."""
    isn = (1 << 32) - 22 - wraps_after
    acknowledged = [21 + ahead, 21, 21, 21]
    segments = [
        Segment(0, 0, 0, SYN, b""),
        Segment(1, isn, 1, SYN | ACK, b""),
        Segment(0, 1, isn + 1, PSH | ACK, REQUEST),
        Segment(1, isn + 1, 21, PSH | ACK, REPLY),
        *(
            Segment(0, 21 + at * len(FPDU), isn + ack, PSH | ACK, FPDU)
            for at, ack in enumerate(acknowledged)
        ),
    ]
    segments = [each._replace(ack=each.ack % (1 << 32)) for each in segments]
    capture = pcapfile.pcap(pcapfile.frames(segments))
    same(capture)
    gaps = [json.loads(line) for line in straight(capture) if line.startswith('{"type":"gap"')]
    # One octet more may be the FIN.
    assert [gap["length"] for gap in gaps] == ([ahead] if ahead > 1 else [])
