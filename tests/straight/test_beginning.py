# SPDX-License-Identifier: GPL-2.0-or-later
"""The first FPDUs of a connection, taken out before there is any: both ways say the same."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.straight.ways import same
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, FIN, PSH, SYN, Segment

STEPS = ("whole", "part", "several", "none", "early", "again", "damaged", "lost", "fin")


def octets_of(
    step: str, stream: bytes, at: int, rng: random.Random, *, markers: bool
) -> tuple[int, bytes]:
    """From where on a step sends octets of a stream, of which ``at`` are known, and which."""
    header = at + 4 if markers and at % 512 == 0 else at
    end = header + 6 + int.from_bytes(stream[header : header + 2], "big")
    end = min(len(stream), end + -end % 4)
    if step == "part":
        return at, stream[at : rng.randint(at, end)]
    if step == "several":
        return at, stream[at : min(len(stream), end + rng.randrange(300))]
    if step == "early":
        return end, stream[end : end + 80]
    if step == "again":
        return max(0, at - 60), stream[max(0, at - 60) : at]
    if step == "damaged":
        return at, stream[at : end - 1] + bytes([stream[end - 1] ^ 1]) if at < end else b""
    return at, stream[at:end] if step in ("whole", "lost") else b""


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    revision=st.sampled_from((1, 2)),
    s_bits=st.tuples(st.booleans(), st.booleans()),
    rtr=st.tuples(*[st.integers(0, 1)] * 4),
    markers=st.booleans(),
    crc=st.booleans(),
    hasty=st.booleans(),
    steps=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from(STEPS), st.booleans()), min_size=1, max_size=14
    ),
)
def test_beginnings(
    seed: int,
    revision: int,
    s_bits: tuple[bool, bool],
    rtr: tuple[int, int, int, int],
    markers: bool,
    crc: bool,
    hasty: bool,
    steps: list[tuple[int, str, bool]],
) -> None:
    """Whoever speaks first, in FPDUs whole or in pieces, and whatever was acknowledged by then.

    ``hasty``: FPDUs of the Responder were captured before the Reply.
    """
    rng = random.Random(seed)
    a, b, c, d = rtr
    streams = []
    for key, s_bit in zip((mpastream.REQUEST_KEY, mpastream.REPLY_KEY), s_bits, strict=True):
        data = mpastream.enhanced_data(4, 4, a=a, b=b, c=c, d=d) if revision == 2 and s_bit else b""
        startup = mpastream.startup_frame(
            key, markers=markers, crc=crc, revision=revision, enhanced=s_bit, private_data=data
        )
        ulpdus = [messages.send(msn, rng.randbytes(rng.choice((0, 40, 700))))[0] for msn in (1, 2)]
        ulpdus += messages.write(rng.getrandbits(32), 0, rng.randbytes(3000), mulpdu=900)
        streams.append((startup, mpastream.build_stream(ulpdus, markers=markers, crc=crc)[0]))
    isns = rng.getrandbits(32), rng.choice((rng.getrandbits(32), 2**32 - 60))
    sent = [1 + len(startup) for startup, _ in streams]
    segments = [
        Segment(0, isns[0], 0, SYN, b""),
        Segment(1, isns[1], isns[0] + 1, SYN | ACK, b""),
        Segment(0, isns[0] + 1, isns[1] + 1, PSH | ACK, streams[0][0]),
        Segment(1, isns[1] + 1, isns[0] + sent[0], PSH | ACK, streams[1][0]),
    ]
    if hasty:
        octets = octets_of("several", streams[1][1], 0, rng, markers=markers)[1]
        segments.insert(3, segments[3]._replace(seq=isns[1] + sent[1], payload=octets))
    acknowledged = [sent[0], sent[1]]
    for direction, step, acknowledges in steps:
        startup, stream = streams[direction]
        begin = 1 + len(startup)
        at, octets = octets_of(step, stream, sent[direction] - begin, rng, markers=markers)
        if acknowledges:
            acknowledged[1 - direction] = sent[1 - direction]
        if step != "lost":
            segments.append(
                Segment(
                    direction,
                    isns[direction] + begin + at,
                    isns[1 - direction] + acknowledged[1 - direction],
                    ACK | (FIN if step == "fin" else PSH),
                    octets,
                )
            )
        if begin + at <= sent[direction]:
            sent[direction] = max(sent[direction], begin + at + len(octets))
    segments = [each._replace(seq=each.seq % 2**32, ack=each.ack % 2**32) for each in segments]
    capture = pcapfile.pcap(pcapfile.frames(segments))
    same(capture)
