# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that hold the beginning of each frame only: said as far as it goes, and no further."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, GapFound, OverlapDiffers
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.fpdus.search import header_words
from scapy_mpa.stream.inference import candidates
from scapy_mpa.stream.segment import Segment
from tests.stream.cut import fed_with_cuts, stream, wrong
from tests.stream.feed import as_segment, feed, fpdus
from tests.stream.startup import errors, reply, request
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, RST

BASE = 1021
"""Sequence number of offset 0 of direction 0 below."""


def started(*, markers: bool, crc: bool = True) -> list[Segment]:
    """The segments of a connection whose Full Operation Phase has begun."""
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers), crc=int(crc)))
    return [as_segment(number, each) for number, each in enumerate(talk.segments, 1)]


def template_of(segments: list[Segment]) -> Segment:
    """A segment of the Initiator's that acknowledges the Reply, as all behind it do."""
    request, reply = segments[3:5]
    return request._replace(ack=(reply.seq + reply.length) % 2**32)


@pytest.mark.parametrize("there", [0, 40])
def test_octets_that_are_only_claimed_are_not_searched(
    there: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame may say that it is a megabyte long, and hold next to nothing of that."""
    searched = 0

    def counting(octets: bytes) -> list[int]:
        nonlocal searched
        searched += len(octets)
        return header_words(octets)

    monkeypatch.setattr(candidates, "header_words", counting)
    flows = Flows()
    payload = random.Random(there).randbytes(there)
    for number in range(1, 9):
        claimed = Segment(bytes(12), 1 + (number << 20), 1, ACK, payload, 1 << 20, number, number)
        flows.receive(claimed)
    assert flows.finish()
    assert searched <= 8 * 8 * 4 * there


def captured(
    octets: bytes, cuts: list[int], snap: int | None, *, markers: bool, crc: bool = True
) -> list[Event]:
    """The events of a capture that holds ``snap`` octets of each segment."""
    segments = started(markers=markers, crc=crc)
    template = template_of(segments)
    for begin, end in zip([0, *cuts], [*cuts, len(octets)], strict=True):
        piece = octets[begin:end]
        segments.append(
            template._replace(
                seq=BASE + begin, payload=piece[:snap], length=len(piece), frame=len(segments) + 1
            )
        )
    return feed(segments)


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
@pytest.mark.parametrize("snap", [1, 2, 3, 10, 15, 19])
def test_headers_that_were_cut_off_themselves(markers: bool, snap: int) -> None:
    """Not enough for a DDP header: no FPDU is claimed, and all their octets are one gap."""
    octets, truth = stream([1400] * 10, markers=markers)
    cuts = [fpdu.end for fpdu in truth[:-1]]
    events = captured(octets, cuts, snap, markers=markers)
    assert fpdus(events, 0) == []
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound)
    assert (gap.seq, gap.length, gap.reason) == (BASE, len(octets), "snap length")
    (end,) = [each for each in events if isinstance(each, ConnectionEnded)]
    assert end.halves[0].octets == len(request()) + snap * len(truth)


def test_headers_that_were_just_captured() -> None:
    """One octet more, and each is an FPDU: length and untagged header take 20 (RFC 5041 4.3)."""
    octets, truth = stream([1400] * 10, markers=False)
    cuts = [fpdu.end for fpdu in truth[:-1]]
    events = captured(octets, cuts, 20, markers=False)
    assert [each.offset for each in fpdus(events, 0)] == [fpdu.seq_offset for fpdu in truth]
    assert wrong(events) == []


def cut_and_closed(
    octets: bytes, cuts: list[int], there: int | None, how: str, *, markers: bool, crc: bool
) -> list[Event]:
    """The events of a connection that ends behind octets, of the last segment with ``there``."""
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers), crc=int(crc)))
    for begin, end in zip([0, *cuts], [*cuts, len(octets)], strict=True):
        talk.say(0, octets[begin:end])
    last = len(talk.segments) - 1
    if how == "closed":
        talk.close()
    elif how == "reset":
        talk.say(0, flags=RST | ACK)
    return fed_with_cuts(talk, {last: there})


@pytest.mark.parametrize("how", ["closed", "reset", "capture ended"])
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("there", [0, 1, 2, 5, 14, 19])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_header_of_the_last_fpdu_was_cut_off(
    before: int, there: int, markers: bool, how: str
) -> None:
    """The connection did not end in its midst: it is a gap, and nothing is wrong."""
    octets, truth = stream([40] * (before + 1), markers=markers)
    *others, last = truth
    cuts = [each.end for each in others]
    events = cut_and_closed(octets, cuts, there, how, markers=markers, crc=True)
    assert [each.offset for each in fpdus(events, 0)] == [each.seq_offset for each in others]
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound)
    begin, length = (BASE + last.start) % 2**32, last.end - last.start
    assert (gap.seq, gap.length, gap.reason) == (begin, length, "snap length")


@pytest.mark.parametrize("there", [2, 8, 19])
def test_the_same_where_markers_may_be_elsewhere(there: int) -> None:
    """How long an FPDU is with its Markers is not known: nothing says that it was cut short."""
    octets, truth = stream([0, 1000, 4, 300, 4, 0], markers=True)
    talk = Talk()
    talk.say(0, request(markers=1))
    talk.say(1, reply())
    for fpdu in truth:
        talk.say(1, octets[fpdu.start : fpdu.end])
    last = len(talk.segments) - 1
    talk.close()
    events = fed_with_cuts(talk, {4: 12, 5: 0, 6: 20, last: there})
    assert [each.ulpdu for each in fpdus(events, 1)] == [each.ulpdu for each in truth[2:5]]
    assert errors(events) == []


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("there", [2, 14, 30])
def test_an_fpdu_that_the_connection_cut_short_and_the_snap_length_too(
    there: int, crc: bool, how: str
) -> None:
    """Its ULPDU_Length was captured, and claims more than was sent: that is certain."""
    octets, truth = stream([40, 400], markers=False, crc=crc)
    cuts = [truth[0].end]
    events = cut_and_closed(octets[:-100], cuts, there, how, markers=False, crc=crc)
    (error,) = wrong(events)
    assert isinstance(error, ErrorFound)
    length = truth[1].end - truth[1].start - 100
    text = f"the connection was {how} {length} octets into an FPDU (RFC 5044 8)"
    assert (error.seq, error.text) == (BASE + truth[1].start, text)


def test_no_octet_of_a_segment_was_captured() -> None:
    """The headers of a frame only: its octets are missing, the next segment's are not."""
    octets, truth = stream([400, 400, 400, 400], markers=True)
    segments = started(markers=True)
    template = template_of(segments)
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
    template = template_of(segments)
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
            template_of(segments)._replace(
                seq=BASE + 65_535 * number, payload=b"\0\x20AC", length=65_535
            )
        )
    flows.finish()


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
    template = template_of(segments)
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
    template = template_of(segments)
    for begin, end in ((at - 40, 1900), (1900, truth[1].start), (truth[1].start, len(octets))):
        piece = octets[begin:end]
        segments.append(
            template._replace(
                seq=BASE + begin, payload=piece[:120], length=len(piece), frame=len(segments) + 1
            )
        )
    assert [each.offset for each in fpdus(feed(segments), 0)] == [truth[1].seq_offset]


def cut_segments(
    octets: bytes, pieces: list[tuple[int, int, int | None]], *, markers: bool = False
) -> list[Segment]:
    """A connection, then segments from where to where in a direction, each with its snap length."""
    segments = started(markers=markers)
    template = template_of(segments)
    for begin, end, snap in pieces:
        number = len(segments) + 1
        segments.append(
            template._replace(
                seq=(BASE + begin) % 2**32,
                payload=octets[begin:end][:snap],
                length=end - begin,
                frame=number,
                time_ns=number * 1_000_000,
            )
        )
    return segments


def acknowledging(segments: list[Segment], upto: int, count: int) -> list[Segment]:
    """These segments and so many of the peer that have no payload."""
    answer = segments[2]._replace(
        flow=segments[4].flow, seq=segments[4].seq + 20, ack=BASE + upto, payload=b"", length=0
    )
    first = len(segments) + 1
    return [
        *segments,
        *(
            answer._replace(frame=number, time_ns=number * 1_000_000)
            for number in range(first, first + count)
        ),
    ]


@pytest.mark.parametrize("markers", [False, True])
def test_a_copy_brings_nothing_back(markers: bool) -> None:
    """What was cut off stays so, and is reported at once; a whole copy differs in nothing."""
    octets, truth = stream([600] * 6, markers=markers)
    second = truth[1]
    pieces: list[tuple[int, int, int | None]] = [
        (fpdu.start, fpdu.end, 100 if fpdu is second else None) for fpdu in truth
    ]
    pieces += [(second.start + 50, second.end, None)]
    events = feed(cut_segments(octets, pieces, markers=markers))
    found = fpdus(events, 0)
    assert [(each.offset, each.crc) for each in found] == [
        (fpdu.seq_offset, "unknown" if fpdu is second else "good") for fpdu in truth
    ]
    assert all(each.frames == (each.frame,) for each in found)
    assert not any(each.out_of_order for each in found)
    assert wrong(events) == [] and not any(isinstance(each, OverlapDiffers) for each in events)


def test_octets_that_were_cut_off_are_no_lie() -> None:
    """A ULPDU_Length that nobody captured is not said to be 0, though FPDUs are known behind it."""
    octets, truth = stream([700, 700, 700, 700], markers=True)
    second = truth[1]
    pieces: list[tuple[int, int, int | None]] = [
        (0, second.start, None),
        (truth[2].start, len(octets), None),
        (second.start, truth[2].start, 0),
    ]
    events = feed(cut_segments(octets, pieces, markers=True))
    assert sorted(each.offset or 0 for each in fpdus(events, 0)) == [
        fpdu.seq_offset for fpdu in truth if fpdu is not second
    ]
    assert {each.crc for each in fpdus(events, 0)} == {"good"}
    (gap,) = wrong(events)
    assert isinstance(gap, GapFound)
    assert (gap.seq, gap.length, gap.reason) == (
        (BASE + second.start) % 2**32,
        second.end - second.start,
        "snap length",
    )


@pytest.mark.parametrize("whole", [0, 14])
@pytest.mark.parametrize("crc", [False, True])
def test_whether_crcs_are_on_is_not_concluded_from_what_was_cut_off(crc: bool, whole: int) -> None:
    """Without startup frames: FPDUs that are whole tell; if there are none, it stays unknown."""
    octets, truth = stream([600] * 8 + [20] * whole, markers=False, crc=crc)
    segments = cut_segments(octets, [(each.start, each.end, 200) for each in truth])[6:]
    events = feed(segments)
    verdicts = {each.crc for each in fpdus(events, 0) if each.ulpdu_length > 200}
    (ended,) = [each for each in events if isinstance(each, ConnectionEnded)]
    if whole and crc:
        assert verdicts == {"unknown"}
        assert ended.crc is True
    elif whole:
        assert verdicts == {"off"}
        assert ended.crc is False
    else:
        assert verdicts == {"unknown"}
        assert ended.crc is None


@pytest.mark.parametrize(
    ("count", "whole"),
    [
        (20, [7]),
        (20, [3, 12]),
        (20, [3, 9, 15]),
        (20, [0]),
        (20, [19]),
        (3000, [1500]),
        (3000, [1500, 1700]),
    ],
)
def test_a_few_are_whole_and_no_startup_frame_was_captured(count: int, whole: list[int]) -> None:
    """Nearly each segment is cut before the end of its FPDU: nothing but what the snap length has
    left of FPDUs stands around those that are whole, from which lengths lead to the next."""
    octets, truth = stream([40] * count, markers=False)
    talk = Talk(syn=False)
    there: dict[int, int | None] = {}
    for number, each in enumerate(truth):
        if number not in whole:
            there[len(talk.segments)] = each.end - each.start - 10
        talk.say(0, octets[each.start : each.end])
    good = [each for each in fpdus(fed_with_cuts(talk, there), 0) if each.crc == "good"]
    assert [each.ulpdu for each in good] == [truth[number].ulpdu for number in whole]


@pytest.mark.parametrize("seed", range(12))
def test_markers_that_were_cut_off_say_nothing(seed: int) -> None:
    """Without startup frames and CRCs, those that were captured tell where Markers are."""
    rng = random.Random(seed)
    sizes = [rng.choice((0, 8, 20, 40, 300, 450)) for _ in range(60)]
    octets, truth = stream(sizes, markers=True, crc=False)
    talk = Talk(syn=False)
    for fpdu in truth:
        talk.say(0, octets[fpdu.start : fpdu.end])
    segments = (as_segment(number, each) for number, each in enumerate(talk.segments, 1))
    events = feed(each._replace(payload=each.payload[:74]) for each in segments)
    found = [((each.seq - 1001) % 2**32, each.ulpdu_length, each.markers) for each in fpdus(events)]
    wanted = [(each.seq_offset, each.ulpdu_length, each.markers) for each in truth]
    assert found == wanted[-len(found) :]
    assert len(found) > 50
    assert wrong(events) == []


@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    crc=st.booleans(),
)
def test_what_was_captured_is_compared_and_nothing_else(
    seed: int, markers: bool, crc: bool
) -> None:
    """Of a copy a difference is told where the octet was captured; what was cut off differs not."""
    rng = random.Random(seed)
    octets, _ = stream([rng.randrange(300) for _ in range(20)], markers=markers, crc=crc)
    segments = started(markers=markers, crc=crc)
    template = template_of(segments)
    known: set[int] = set()
    differing = []
    at = 0
    while at < len(octets):
        begin, end = at, min(len(octets), at + rng.randint(1, 200))
        if at and rng.random() < 0.4:
            begin = rng.randrange(max(0, at - 600), at)
            # One octet more is no keep-alive probe.
            end = rng.randint(begin + 2, begin + 300)
        piece = bytearray(octets[begin:end])
        there = piece[: rng.choice((len(piece), rng.randint(1, 100)))]
        place = begin + rng.randrange(len(there))
        if place in known and len(piece) > 1 and rng.random() < 0.5:
            there[place - begin] ^= 0x55
            differing.append((BASE + place, 1))
        if begin == at:
            # What only a late copy brings need not be kept.
            known.update(range(begin, begin + len(there)))
        at = max(at, end)
        segments.append(
            template._replace(
                seq=BASE + begin,
                payload=bytes(there),
                length=len(piece),
                frame=len(segments) + 1,
            )
        )
        segments = acknowledging(segments, at, rng.randrange(3))
    events = feed(segments)
    told = [(each.seq, each.length) for each in events if isinstance(each, OverlapDiffers)]
    assert told == differing
