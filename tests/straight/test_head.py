# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets before the first FPDU that was found, when a segment that belongs before them is late."""

from __future__ import annotations

import random

import pytest

from tests.straight.ways import straight
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, PSH, Segment


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("late", [3, 20])
def test_late_segment_before_what_was_taken_out(markers: bool, late: int) -> None:
    """The capture begins inside an FPDU; a segment from before that comes when all goes well."""
    rng = random.Random(late)
    ulpdus = [messages.send(msn, rng.randbytes(2500), mulpdu=4000)[0] for msn in range(1, 60)]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    cut = [octets[at : at + 700] for at in range(0, len(octets), 700)]
    order = [1, *range(2, late), 0, *range(late, len(cut))]
    segments = []
    for index in order:
        segments.append(Segment(0, 1000 + 700 * index, 1, PSH | ACK, cut[index]))
        segments.append(Segment(1, 1, 1000 + 700 * (index + 1), ACK, b""))
    lines = straight(pcapfile.pcap(pcapfile.frames(segments, hosts=("10.0.0.1", "10.0.0.2"))))
    fpdus = [line for line in lines if line.startswith('{"type":"fpdu"')]
    assert all('"crc":"good"' in line for line in fpdus)
    # The one that lies across the beginning of what was taken out may be lost, and no other.
    assert len(truth) - 1 <= len(fpdus) <= len(truth)
