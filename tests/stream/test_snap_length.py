# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold the beginning of each frame only: said as far as it goes, and no further."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.segment import Segment
from tests.stream.feed import as_segment, feed, fpdus
from tests.stream.test_connections import Talk
from tests.truth import messages, mpastream
from tests.truth.mpastream import TrueFPDU

BASE = 1021
"""Sequence number of offset 0 of direction 0 below."""


def stream(sizes: list[int], *, markers: bool, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """FPDUs with these many octets of payload."""
    made = [
        messages.send(msn, random.Random(msn).randbytes(size), 4000)[0]
        for msn, size in enumerate(sizes, 1)
    ]
    return mpastream.build_stream(made, markers=markers, crc=crc)


def started(*, markers: bool, crc: bool = True) -> list[Segment]:
    """The segments of a connection whose Full Operation Phase has begun."""
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers), crc=int(crc)))
    return [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]


def captured(
    octets: bytes, cuts: list[int], snap: int | None, *, markers: bool, crc: bool = True
) -> list[Event]:
    """The events of a capture that holds ``snap`` octets of each segment."""
    segments = started(markers=markers, crc=crc)
    template = segments[3]
    for begin, end in zip([0, *cuts], [*cuts, len(octets)], strict=True):
        piece = octets[begin:end]
        segments.append(
            template._replace(
                seq=BASE + begin, payload=piece[:snap], length=len(piece), frame=len(segments) + 1
            )
        )
    return feed(segments)


def wrong(events: list[Event]) -> list[Event]:
    """Errors and gaps."""
    return [each for each in events if isinstance(each, ErrorFound | GapFound)]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("snap", [40, 60, 500, 1000])
def test_one_fpdu_a_segment(markers: bool, crc: bool, snap: int) -> None:
    """Each FPDU is reported with its header; its CRC is unknown, its payload cut."""
    octets, truth = stream([1400] * 10, markers=markers, crc=crc)
    cuts = [fpdu.end for fpdu in truth[:-1]]
    events = captured(octets, cuts, snap, markers=markers, crc=crc)
    found = fpdus(events, 0)
    assert [each.offset for each in found] == [fpdu.seq_offset for fpdu in truth]
    for each, fpdu in zip(found, truth, strict=True):
        assert each.ulpdu_length == fpdu.ulpdu_length
        assert each.crc == ("unknown" if crc else "off")
        assert each.octets == octets[fpdu.start : fpdu.start + snap]
        assert fpdu.ulpdu.startswith(each.ulpdu) and len(each.ulpdu) >= snap - 16
    assert wrong(events) == []


@pytest.mark.parametrize("markers", [False, True])
def test_cut_and_whole_segments(markers: bool) -> None:
    """Framing goes on behind a cut segment; what is whole has its CRC checked."""
    octets, truth = stream([1400, 20, 1400, 30, 1400, 10], markers=markers)
    cuts = [fpdu.end for fpdu in truth[:-1]]
    events = captured(octets, cuts, 200, markers=markers)
    found = fpdus(events, 0)
    assert [each.offset for each in found] == [fpdu.seq_offset for fpdu in truth]
    assert [each.crc for each in found] == ["unknown", "good"] * 3
    assert [each.ulpdu for each in found[1::2]] == [fpdu.ulpdu for fpdu in truth[1::2]]
    assert wrong(events) == []


@pytest.mark.parametrize("markers", [False, True])
def test_an_fpdu_in_two_segments_of_which_the_first_is_cut(markers: bool) -> None:
    """Its header was captured, its midst was not; the next one begins where it says."""
    octets, truth = stream([2000, 100, 2000], markers=markers)
    cuts = [1200, truth[0].end, truth[1].end, truth[1].end + 1200]
    events = captured(octets, cuts, 900, markers=markers)
    found = fpdus(events, 0)
    assert [each.offset for each in found] == [fpdu.seq_offset for fpdu in truth]
    assert [each.crc for each in found] == ["unknown", "good", "unknown"]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("second", [0, 2, 6, 14, 38, 62, 102])
def test_fpdus_whose_header_was_cut_off_are_not_made_up(
    markers: bool, crc: bool, second: int
) -> None:
    """Two FPDUs in a segment, and only the first one's header was captured.

    The second one is unknown; whatever it was, octets that nobody captured are no FPDUs, and the
    next segment's are found.
    """
    octets, truth = stream([400, second, 400, second, 400, second, 400], markers=markers, crc=crc)
    cuts = [fpdu.end for fpdu in truth[1:-1:2]]
    events = captured(octets, cuts, 120, markers=markers, crc=crc)
    found = [each.offset for each in fpdus(events, 0)]
    could = [fpdu.seq_offset for fpdu in truth[::2]]
    if crc:
        assert found == could
    else:
        # One header that makes sense is little to go by.
        assert found[:1] == could[:1] and set(found) <= set(could)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("snap", [3, 10, 15, 19])
def test_headers_that_were_cut_off_themselves(markers: bool, snap: int) -> None:
    """Not enough for a DDP header: no exception, and nothing good is claimed."""
    octets, truth = stream([1400] * 10, markers=markers)
    cuts = [fpdu.end for fpdu in truth[:-1]]
    events = captured(octets, cuts, snap, markers=markers)
    known = {fpdu.seq_offset for fpdu in truth}
    assert {each.offset for each in fpdus(events, 0)} <= known
    assert all(each.crc == "unknown" for each in fpdus(events, 0))


def test_no_octet_of_a_segment_was_captured() -> None:
    """The headers of a frame only: its octets are missing, the next segment's are not."""
    octets, truth = stream([400, 400, 400, 400], markers=True)
    segments = started(markers=True)
    template = segments[3]
    for index, fpdu in enumerate(truth):
        piece = octets[fpdu.start : fpdu.end]
        segments.append(
            template._replace(
                seq=BASE + fpdu.start,
                payload=b"" if index == 1 else piece,
                length=len(piece),
                frame=10 + index,
            )
        )
    found = fpdus(feed(segments), 0)
    good = [each.offset for each in found if each.crc == "good"]
    assert good == [truth[index].seq_offset for index in (0, 2, 3)]


def test_octets_captured_before_a_cut_copy_stay_captured() -> None:
    """A retransmission whose end was cut off takes nothing away (RFC 5044 A.3)."""
    octets, truth = stream([600, 600], markers=False)
    segments = started(markers=False)
    template = segments[3]
    middle = truth[0].end
    for begin, end, snap in ((300, middle, None), (0, middle, 310), (middle, len(octets), None)):
        piece = octets[begin:end]
        segments.append(
            template._replace(
                seq=BASE + begin, payload=piece[:snap], length=len(piece), frame=len(segments)
            )
        )
    events = feed(segments)
    assert [each.crc for each in fpdus(events, 0)] == ["good", "good"]
    assert [each.ulpdu for each in fpdus(events, 0)] == [fpdu.ulpdu for fpdu in truth]


def test_octets_that_were_not_captured_are_not_counted() -> None:
    """Octets of a direction are those that the capture holds."""
    octets, truth = stream([1000, 1000], markers=False)
    events = captured(octets, [truth[0].end], 100, markers=False)
    (end,) = [each for each in events if isinstance(each, ConnectionEnded)]
    assert end.halves[0].octets == 20 + 200


def test_a_startup_frame_that_was_cut_off() -> None:
    """Private Data beyond the snap length: the frame is seen or not, but nothing breaks."""
    request = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, private_data=b"p" * 200)
    octets, truth = stream([300] * 6, markers=False)
    talk = Talk()
    talk.say(0, request)
    talk.say(1, mpastream.startup_frame(mpastream.REPLY_KEY, crc=1))
    talk.say(0, octets, size=truth[0].end)
    segments = [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]
    segments[3] = segments[3]._replace(payload=request[:60])
    found = fpdus(feed(segments), 0)
    assert [each.ulpdu for each in found] == [fpdu.ulpdu for fpdu in truth]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    snap=st.integers(1, 1500),
    size=st.sampled_from((100, 700, 1460)),
    markers=st.booleans(),
    crc=st.booleans(),
)
def test_nothing_is_made_up(seed: int, snap: int, size: int, markers: bool, crc: bool) -> None:
    """Any cut: each FPDU reported is one that was sent, as far as it was captured."""
    rng = random.Random(seed)
    octets, truth = stream([rng.randrange(2000) for _ in range(12)], markers=markers, crc=crc)
    cuts = list(range(size, len(octets), size))
    events = captured(octets, cuts, snap, markers=markers, crc=crc)
    whole = {fpdu.seq_offset: fpdu for fpdu in truth}
    found = fpdus(events, 0)
    assert len({each.offset for each in found}) == len(found)
    for each in found:
        fpdu = whole[each.offset or 0]
        assert each.ulpdu_length == fpdu.ulpdu_length
        assert octets[fpdu.start : fpdu.end].startswith(each.octets)
        assert each.crc != "bad"


def test_a_length_beyond_reason() -> None:
    """A segment that claims more than any TCP segment has: bounded, no exception."""
    flows = Flows()
    segments = started(markers=False)
    for each in segments:
        flows.receive(each)
    for number in range(50):
        flows.receive(
            segments[3]._replace(seq=BASE + 65_535 * number, payload=b"\0\x20AC", length=65_535)
        )
    flows.finish()


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
def test_octets_that_a_copy_brings_are_no_longer_missing(markers: bool, crc: bool) -> None:
    """What was cut off of one segment was captured in the next, before the FPDU was complete."""
    octets, truth = stream([600, 600, 600], markers=markers, crc=crc)
    segments = started(markers=markers, crc=crc)
    template = segments[3]
    begin, end = truth[1].start, truth[1].end
    pieces = [
        (0, begin, None),
        (begin, end - 100, 200),
        (begin + 150, end - 50, None),
        (end - 50, len(octets), None),
    ]
    for at, upto, snap in pieces:
        piece = octets[at:upto]
        segments.append(
            template._replace(
                seq=BASE + at, payload=piece[:snap], length=len(piece), frame=len(segments) + 1
            )
        )
    events = feed(segments)
    found = fpdus(events, 0)
    assert [each.crc for each in found] == ["good" if crc else "off"] * 3
    assert [each.ulpdu for each in found] == [fpdu.ulpdu for fpdu in truth]
    first = len(segments) - 2
    assert found[1].frames == (first, first + 1, first + 2)
    (ended,) = [each for each in events if isinstance(each, ConnectionEnded)]
    assert ended.halves[0].octets == 20 + len(octets)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("left", range(0, 24, 2))
def test_good_fpdus_right_before_a_place_that_was_cut_off(markers: bool, left: int) -> None:
    """They stay good, however little is left of the one behind them."""
    octets, truth = stream([40, 200, *[40] * 40], markers=markers)
    # The header of the second FPDU was not captured, its end was; three that are whole follow it
    # in that segment, and further segments follow that one.
    begin = truth[1].end - 60
    cuts = [begin, begin + 500]
    there = [truth[1].start, truth[5].start + left - begin, None]
    segments = started(markers=markers)
    template = segments[3]
    for at, upto, snap in zip([0, *cuts], [*cuts, len(octets)], there, strict=True):
        piece = octets[at:upto]
        segments.append(
            template._replace(
                seq=BASE + at, payload=piece[:snap], length=len(piece), frame=len(segments) + 1
            )
        )
    good = [each.offset for each in fpdus(feed(segments), 0) if each.crc == "good"]
    behind = [fpdu.seq_offset for fpdu in truth if fpdu.start >= begin + 500]
    assert good == [fpdu.seq_offset for fpdu in [truth[0], *truth[2:5]]] + behind


@pytest.mark.parametrize("crc", [False, True])
def test_one_header_in_a_payload_is_no_fpdu(crc: bool) -> None:
    """Of a segment in the midst of an FPDU, payload that looks like the header of a Write."""
    fake = b"\x01\x00\xc1\x40" + bytes(40)
    payload = random.Random(5).randbytes(1000) + fake + random.Random(6).randbytes(1000)
    made = [messages.send(1, payload, 4000)[0], messages.send(2, b"p" * 300, 4000)[0]]
    octets, truth = mpastream.build_stream(made, markers=False, crc=crc)
    at = octets.index(fake)
    assert at % 4 == 0
    segments = started(markers=False, crc=crc)
    template = segments[3]
    for begin, end in ((at - 40, 1900), (1900, truth[1].start), (truth[1].start, len(octets))):
        piece = octets[begin:end]
        segments.append(
            template._replace(
                seq=BASE + begin, payload=piece[:120], length=len(piece), frame=len(segments) + 1
            )
        )
    assert [each.offset for each in fpdus(feed(segments), 0)] == [truth[1].seq_offset]
