# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of connections whose startup frames were not captured."""

from __future__ import annotations

import random

import pytest

from tests.stream.feed import fpdus
from tests.stream.startup import reply, request
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("octets", [1_300, 17_600, 44_000, 65_000])
@pytest.mark.parametrize("size", [100, 1_448, 65_000])
def test_fpdus_in_the_payload_of_the_first_one(octets: int, markers: bool, size: int) -> None:
    """Many good ones in a row are captured before the FPDU around them is whole."""
    rng = random.Random(octets)
    inner = [messages.send(msn, rng.randbytes(20))[0] for msn in range(1, octets // 44)]
    payloads = [mpastream.build_stream(inner)[0], b"y" * 300, b"z" * 20]
    ulpdus = [messages.send(msn, each, 65_535)[0] for msn, each in enumerate(payloads, 1)]
    talk = Talk(syn=False)
    talk.say(0, mpastream.build_stream(ulpdus, markers=markers)[0], size=size)
    assert [each.ulpdu for each in fpdus(talk.fed())] == ulpdus


@pytest.mark.parametrize("missing", ["Request", "Reply", "both", "all before"])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("others", [1, 3])
def test_an_fpdu_of_zero_length_comes_first(missing: str, markers: bool, others: int) -> None:
    """It may be the RTR indication (RFC 6581 9.2), and has no header by which it is found."""
    # So long that they hold Markers, which show where all Markers are.
    size = 1400 if markers else 30
    ulpdus = [b"", *(messages.send(msn, bytes(size))[0] for msn in range(1, 1 + others))]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = Talk(syn=missing != "all before")
    talk.say(0, request(markers=markers), captured=missing == "Reply")
    talk.say(1, reply(markers=markers), captured=missing == "Request")
    for each in truth:
        talk.say(0, octets[each.start : each.end])
    talk.close()
    found = fpdus(talk.fed(), 0)
    assert [(each.seq, each.markers, each.crc) for each in found] == [
        ((talk.isn[0] + 21 + each.seq_offset) % 2**32, each.markers, "good") for each in truth
    ]
    assert [each.ulpdu for each in found] == ulpdus


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("zeros", [1, 2, 5])
@pytest.mark.parametrize("size", range(300, 800, 20))
def test_fpdus_of_zero_length_before_one_that_a_marker_leads_to(
    zeros: int, size: int, swapped: bool
) -> None:
    """After an open hole they are found when it is closed.  If they are captured late, they join
    the island from the left."""
    sent = [messages.send(msn, bytes(size))[0] for msn in range(1, 6)]
    ulpdus = [sent[0], *[b""] * zeros, *sent[1:]]
    octets, truth = mpastream.build_stream(ulpdus, markers=True)
    talk = started(markers=True)
    talk.miss(0, octets[: truth[1].start])
    begin = truth[1 + zeros].start
    talk.say(0, octets[truth[1].start : begin])
    talk.say(0, octets[begin:])
    if swapped:
        talk.segments[-2:] = talk.segments[:-3:-1]
    talk.close()
    events = sorted(fpdus(talk.fed(), 0), key=lambda each: each.offset or 0)
    assert [each.ulpdu for each in events] == ulpdus[1:]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("step", [1, 4])
@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize("seed", range(6))
def test_payloads_of_small_numbers(markers: bool, step: int, count: int, seed: int) -> None:
    """Each may be a Marker, and many the first word of an FPDU, except for its ULPDU_Length."""
    rng = random.Random(seed)
    ulpdus = []
    for number in range(count + 2):
        payload = b"".join((step * rng.randrange(512)).to_bytes(4, "big") for _ in range(2000))
        if seed % 2:
            ulpdus += messages.write(0x1234, number * len(payload), payload, 65_535)
        else:
            ulpdus += messages.send(number + 1, payload, 65_535)
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = Talk(syn=False)
    begin, end = truth[0].start + rng.randint(1, 200), truth[-1].end - rng.randint(1, 50)
    talk.miss(0, octets[:begin])
    talk.say(0, octets[begin:end], size=1448)
    assert [each.ulpdu for each in fpdus(talk.fed())] == ulpdus[1:-1]


@pytest.mark.parametrize("back", [8, 12, 16, 20, 24])
@pytest.mark.parametrize("msn", [8, 12, 16, 20])
@pytest.mark.parametrize("others", [1, 3, 7])
@pytest.mark.parametrize("begin", [100, 300])
def test_an_msn_that_reads_as_the_only_marker(back: int, msn: int, others: int, begin: int) -> None:
    """The MSNs around it show that it is an MSN, and where the Marker is."""
    # The FPDU with the Marker in its header begins so far before offset 512.
    sizes = [236, 512 - back - 264 - 24, *[30] * (1 + others)]
    ulpdus = [messages.send(number, bytes(size))[0] for number, size in enumerate(sizes, msn - 2)]
    octets, truth = mpastream.build_stream(ulpdus, markers=True)
    assert truth[2].start == 512 - back
    talk = Talk(syn=False)
    talk.miss(0, octets[:begin])
    talk.say(0, octets[begin:])
    found = [(each.ulpdu, each.markers) for each in fpdus(talk.closed())]
    assert found == [(each.ulpdu, each.markers) for each in truth if each.start >= begin]


@pytest.mark.parametrize("syn", [True, False])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("more", [0, 20])
def test_an_fpdu_of_zero_length_and_nothing_else(syn: bool, markers: bool, more: int) -> None:
    """Only the RTR indication of a connection was captured (RFC 6581 9.2)."""
    ulpdus = [b"", messages.send(1, random.Random(more).randbytes(300))[0]]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = Talk(syn=syn)
    for direction in (0, 1):
        talk.miss(direction, bytes(20))
    talk.say(0, octets[: truth[0].end + more])
    talk.miss(0, octets[truth[0].end + more :])
    talk.close()
    found = [(each.ulpdu, each.markers, each.crc) for each in fpdus(talk.fed())]
    assert found == [(b"", truth[0].markers, "good")]
