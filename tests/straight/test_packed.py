# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs alone and many in a segment, whatever their headers say, wherever sequence numbers wrap."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.straight.ways import same, texts
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, Segment

START = 1_700_000_000_000_000_000
WRAP = 1 << 32
# So many that the loop for segments that are alike finds it worth going on.
BEFORE = 24

# An STag is listed with eight digits, however many it needs; QN and MO are mostly 0.
STAGS = st.sampled_from((0, 1, 0x0FFFFFFF, 0x10000000, 0x80000000, 0xFFFFFFFF))
OFFSETS = st.sampled_from((0, 1, 0xFFFFFFFF, 1 << 32, (1 << 64) - 1))
NUMBERS = st.sampled_from((0, 1, (1 << 30) - 1, 1 << 30, 1 << 31, 0xFFFFFFFF))


class Header(NamedTuple):
    """A DDP header with its RDMAP control octet, and how it is listed."""

    octets: bytes
    listed: str


def _tagged(stag: int, to: int, *, last: bool) -> Header:
    octets = messages.tagged_header(messages.WRITE, stag, to, last)
    return Header(octets, f"RDMA Write stag 0x{stag:08x} to 0x{to:x}")


def _untagged(qn: int, msn: int, mo: int, *, last: bool) -> Header:
    octets = messages.untagged_header(messages.SEND, qn, msn, mo, last)
    return Header(octets, f"Send qn {qn} msn {msn} mo {mo}")


HEADERS = st.one_of(
    st.builds(_tagged, STAGS, OFFSETS, last=st.booleans()),
    st.builds(_untagged, NUMBERS, NUMBERS, NUMBERS, last=st.booleans()),
)


@pytest.mark.parametrize("cut", ["packed", "alone", "alike"])
@given(
    headers=st.lists(HEADERS, min_size=8, max_size=24),
    markers=st.booleans(),
    wraps_at=st.one_of(st.none(), st.integers(0, 400)),
    seed=st.integers(0, 2**32),
)
def test_lines_say_what_headers_say(
    cut: str, headers: list[Header], markers: bool, wraps_at: int | None, seed: int
) -> None:
    """Each line shows its own header, length and sequence number, as recovery alone does: two
    segments full of FPDUs, one FPDU a segment, and the same with all of one length.
    """
    rng = random.Random(seed)
    payloads = [rng.randbytes(rng.randrange(40)) for _ in headers]
    if cut == "alike":
        payloads = [rng.randbytes(50 - len(header.octets)) for header in headers]
    # What comes first shows that these are FPDUs, and with CRCs.
    before = [messages.tagged_header(messages.WRITE, 1, 0, True) + bytes(1000)] * BEFORE
    octets, truth = mpastream.build_stream(
        before
        + [header.octets + payload for header, payload in zip(headers, payloads, strict=True)],
        markers=markers,
    )
    ends = [fpdu.end for fpdu in truth[:BEFORE]]
    isn = 1000 if wraps_at is None else WRAP - ends[-1] - wraps_at
    cuts = [0, *ends, (ends[-1] + len(octets)) // 2, len(octets)]
    if cut != "packed":
        cuts = [0, *[fpdu.end for fpdu in truth]]
    segments = [
        Segment(0, (isn + begin) % WRAP, 1, ACK, octets[begin:end]) for begin, end in pairwise(cuts)
    ]
    # Nothing goes straight before both directions have acknowledged something.
    segments.insert(1, Segment(1, 1, (isn + ends[0]) % WRAP, ACK, b""))
    capture = pcapfile.pcap([pcapfile.frame(segment) for segment in segments], start=START)
    same(capture)
    listed = [line for line in texts(capture)[1].decode().splitlines() if " seq " in line]
    assert len(listed) == len(truth)
    told = zip(listed[BEFORE:], headers, payloads, truth[BEFORE:], strict=True)
    for line, header, payload, fpdu in told:
        last = " L" if header.octets[0] & 0x40 else ""
        seq = (isn + fpdu.seq_offset) % WRAP
        assert line.endswith(f"  {header.listed} {len(payload)} octets{last}, seq {seq}")
