# SPDX-License-Identifier: GPL-2.0-or-later
"""An Rtr Frame of which not all was captured (rtr-frame-proposal-2007): its octets are no FPDU, and
Markers and offsets are counted from behind it, or offsets are left out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, GapFound
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.cut import fed_with_cuts
from tests.stream.feed import fpdus
from tests.stream.startup import ULPDUS, ended, errors, found, reply, request, seen
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.mpastream import RTR_KEY, TrueFPDU, build_stream, startup_frame

KEYS = [RTR_KEY, b"MPA ID RtR Frame"]
HEADER = 20
AT_PD_LENGTH = 18
HOLES = [
    *((0, end) for end in (1, 4, 12, 15, 16, 17, 18, 19, 20)),
    *((begin, 20) for begin in (1, 2, 4, 12, 16, 17, 18, 19)),
    *((1, 19), (3, 9), (4, 8), (8, 18), (10, 12), (16, 18)),
]


def rtr(key: bytes = RTR_KEY, *, crc: bool = True, private: int = 0) -> bytes:
    """An Rtr Frame with so many octets of Private Data."""
    return startup_frame(
        key, crc=int(crc), private_data=bytes(65 + at % 64 for at in range(private))
    )


def announced(*, markers: bool, crc: bool = True, private_data: bytes = b"") -> Talk:
    """A connection whose Request and Reply have S set."""
    fields = {"enhanced": 1, "markers": int(markers), "crc": int(crc)}
    talk = Talk()
    talk.say(0, request(**fields, private_data=private_data))
    talk.say(1, reply(**fields))
    return talk


def stream(
    ulpdus: list[bytes] = ULPDUS, *, markers: bool, crc: bool = True
) -> tuple[bytes, list[TrueFPDU]]:
    """FPDUs, and what they are."""
    return build_stream(ulpdus, markers=markers, crc=crc, idle_crc_field=b"\xde\xad\xbe\xef")


def with_hole(talk: Talk, octets: bytes, hole: tuple[int, int], *, size: int = 1460) -> None:
    """Have the Initiator say octets of which some are not captured."""
    begin, end = hole
    if begin:
        talk.say(0, octets[:begin])
    talk.miss(0, octets[begin:end])
    talk.say(0, octets[end:], size=size)


def check(events: list[Event], truth: list[TrueFPDU], origin: int, *, is_known: bool) -> None:
    """The Initiator's FPDUs are these, counted from ``origin`` if that is known; all is well."""
    told = sorted(fpdus(events, 0), key=lambda each: each.seq)
    assert [each.seq for each in told] == [origin + fpdu.seq_offset for fpdu in truth]
    assert [each.ulpdu for each in told] == [fpdu.ulpdu for fpdu in truth]
    assert [each.markers for each in told] == [fpdu.markers for fpdu in truth]
    verdicts = {True: "good", False: "bad", None: "off"}
    assert [each.crc for each in told] == [verdicts[fpdu.crc_ok] for fpdu in truth]
    offsets = [fpdu.seq_offset if is_known else None for fpdu in truth]
    assert [each.offset for each in told] == offsets
    assert errors(events) == []


def is_told(hole: tuple[int, int], *, markers: bool, private: int) -> bool:
    """Whether the octets that were captured tell where FPDUs begin."""
    begin, end = hole
    there = [at for at in range(HEADER) if not begin <= at < end]
    # M, C, R, S, Res and Rev, too, say what they must.
    is_proven = sum(at < AT_PD_LENGTH for at in there) >= 4
    if markers:
        return True
    if {AT_PD_LENGTH, AT_PD_LENGTH + 1} <= set(there):
        return is_proven or sum(at < AT_PD_LENGTH for at in there) >= 2
    # No FPDU fits between the header and where one begins.
    return begin > 0 and (not private or private % 4 > 0)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("private", [0, 5])
@pytest.mark.parametrize("hole", HOLES)
def test_a_hole_in_its_header(
    key: bytes, markers: bool, private: int, hole: tuple[int, int]
) -> None:
    """Whatever was captured of it, all FPDUs are found, and the hole is a gap."""
    octets, truth = stream(markers=markers)
    frame = rtr(key, private=private)
    talk = announced(markers=markers)
    at = talk.next[0]
    # A segment begins behind it.
    begin, end = hole
    for piece, captured in (
        (frame[:begin], True),
        (frame[begin:end], False),
        (frame[end:], True),
        (octets, True),
    ):
        if piece:
            talk.say(0, piece, captured=captured)
    talk.say(1, stream(markers=markers)[0])
    talk.close()
    events = talk.fed()
    is_known = is_told(hole, markers=markers, private=private)
    check(events, truth, at + len(frame), is_known=is_known)
    assert found(events, 1) == ULPDUS
    gaps = [(each.seq, each.length) for each in events if isinstance(each, GapFound)]
    assert gaps == [(at + begin, end - begin)]
    is_seen = begin > 0 or end <= 14
    if is_seen:
        assert ended(events).dialect == Dialect.RTR_PROPOSAL_2007
    assert [each.markers for each in ended(events).halves] == [markers, markers]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("private", [255, 256, 301, 512])
@pytest.mark.parametrize("hole", [(0, 4), (1, 12), (8, 16), (12, 17)])
def test_both_octets_of_pd_length_count(hole: tuple[int, int], private: int, markers: bool) -> None:
    """Private Data may be longer than one octet can say, and FPDUs begin behind all of it."""
    octets, truth = stream(markers=markers)
    frame = rtr(private=private)
    talk = announced(markers=markers)
    at = talk.next[0]
    with_hole(talk, frame + octets, hole)
    talk.say(1, octets)
    talk.close()
    check(talk.fed(), truth, at + len(frame), is_known=True)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("private", [0, 5])
@pytest.mark.parametrize("hole", HOLES)
@pytest.mark.parametrize("size", [100, 1460])
def test_fpdus_in_the_segment_of_its_end(
    markers: bool, private: int, hole: tuple[int, int], size: int
) -> None:
    """Nothing but the octets themselves says where it ends."""
    octets, truth = stream(markers=markers)
    frame = rtr(private=private)
    talk = announced(markers=markers)
    at = talk.next[0]
    with_hole(talk, frame + octets, hole, size=size)
    talk.close()
    is_known = is_told(hole, markers=markers, private=private)
    if private and not markers and hole[1] > AT_PD_LENGTH:
        # Others than the first may begin where a segment does, so that the first is damaged.
        is_known = False
    check(talk.fed(), truth, at + len(frame), is_known=is_known)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("private", [0, 5])
@pytest.mark.parametrize("hole", HOLES)
def test_a_hole_without_crcs(markers: bool, private: int, hole: tuple[int, int]) -> None:
    """Headers, lengths and Markers speak as they do behind any hole."""
    octets, truth = stream(markers=markers, crc=False)
    frame = rtr(crc=False, private=private)
    talk = announced(markers=markers, crc=False)
    at = talk.next[0]
    with_hole(talk, frame + octets, hole)
    talk.close()
    told = fpdus(events := talk.fed(), 0)
    assert [each.ulpdu for each in told] == ULPDUS
    assert [each.markers for each in told] == [fpdu.markers for fpdu in truth]
    assert {each.crc for each in told} == {"off"}
    origin = at + len(frame)
    for each in told:
        assert each.offset in (None, each.seq - origin)
    assert errors(events) == []


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("hole", [(0, 12), (4, 18), (13, 15)])
def test_few_fpdus_without_crcs(markers: bool, count: int, hole: tuple[int, int]) -> None:
    """What was captured of the header tells where they begin, so one is enough."""
    octets, truth = stream(ULPDUS[:count], markers=markers, crc=False)
    talk = announced(markers=markers, crc=False)
    at = talk.next[0]
    with_hole(talk, rtr(crc=False) + octets, hole)
    talk.close()
    check(talk.fed(), truth, at + HEADER, is_known=True)


@pytest.mark.parametrize("count", [3, 4, 8])
@pytest.mark.parametrize("hole", [(0, 20), (0, 17), (1, 20), (4, 330), (4, 360)])
def test_three_fpdus_in_a_row_without_crcs(count: int, hole: tuple[int, int]) -> None:
    """They are beyond doubt, as behind any hole, also where nothing tells where FPDUs begin."""
    octets, truth = stream(ULPDUS[:count], markers=False, crc=False)
    talk = announced(markers=False, crc=False)
    at = talk.next[0]
    with_hole(talk, rtr(crc=False) + octets, hole)
    talk.close()
    whole = [fpdu for fpdu in truth if HEADER + fpdu.start >= hole[1]]
    check(talk.fed(), whole if len(whole) >= 3 else [], at + HEADER, is_known=False)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("left", [1, 4, 8, 15, 16, 19])
@pytest.mark.parametrize("copy", ["none", "next", "last"])
@pytest.mark.parametrize("private", [0, 5])
def test_a_copy_that_the_snap_length_cut(
    markers: bool, crc: bool, left: int, copy: str, private: int
) -> None:
    """A later copy brings the rest, whenever it comes; without one FPDUs behind it tell."""
    octets, truth = stream(markers=markers, crc=crc)
    frame = rtr(crc=crc, private=private)
    talk = announced(markers=markers, crc=crc)
    at = talk.say(0, frame)
    cut = len(talk.segments) - 1
    if copy == "next":
        talk.copy(0, at, frame)
    talk.say(0, octets, size=1000)
    if copy == "last":
        talk.copy(0, at, frame)
    talk.close()
    events = fed_with_cuts(talk, {cut: left})
    is_known = copy != "none" or markers or crc or left >= 4
    check(events, truth, at + len(frame), is_known=is_known)
    if copy != "none":
        assert [each.startup.kind for each in seen(events)] == ["request", "reply", "rtr"]
        assert seen(events)[2].octets == frame


@pytest.mark.parametrize("left", [1, 8, 19])
def test_private_data_as_long_as_fpdus(left: int) -> None:
    """20 octets that were cut off may be an FPDU as well as Private Data, and Markers tell."""
    for markers in (False, True):
        octets, truth = stream(markers=markers)
        talk = announced(markers=markers)
        at = talk.say(0, rtr(private=20))
        cut = len(talk.segments) - 1
        talk.say(0, octets)
        talk.close()
        events = fed_with_cuts(talk, {cut: left})
        check(events, truth, at + HEADER + 20, is_known=markers)


@pytest.mark.parametrize("markers", [False, True])
def test_nothing_of_it_was_captured(markers: bool) -> None:
    """Markers are counted from behind it, and tell; else an FPDU of 20 octets may stand there."""
    octets, truth = stream(markers=markers)
    for first in (rtr(), stream([messages.tagged_header(0, 1, 0, True)], markers=False)[0]):
        assert len(first) == HEADER
        talk = announced(markers=markers)
        at = talk.next[0]
        with_hole(talk, first + octets, (0, HEADER))
        talk.close()
        check(talk.fed(), truth, at + HEADER, is_known=markers)


@pytest.mark.parametrize("hole", [(0, 700), (0, 1100), (4, 700), (4, 1100)])
def test_the_first_fpdus_were_not_captured_either(hole: tuple[int, int]) -> None:
    """Where Markers are tells it, but for 512 octets of Private Data, which look like none."""
    octets, truth = stream(markers=True)
    for private, is_known in ((0, False), (4, True), (512, False)):
        frame = startup_frame(RTR_KEY, crc=1, private_data=bytes(private))
        talk = announced(markers=True)
        at = talk.next[0]
        with_hole(talk, frame + octets, (hole[0], hole[1] + private))
        talk.close()
        events = talk.fed()
        whole = [each for each in truth if len(frame) + each.start >= hole[1] + private]
        check(events, whole, at + len(frame), is_known=is_known)


def test_the_first_fpdu_was_not_captured_but_others_are_near() -> None:
    """They are before where FPDUs would begin behind 512 octets of Private Data."""
    ulpdus = [messages.send(msn, bytes([msn]) * 100)[0] for msn in range(1, 20)]
    octets, truth = stream(ulpdus, markers=True)
    talk = announced(markers=True)
    at = talk.next[0]
    begin = HEADER + truth[1].start
    with_hole(talk, rtr() + octets, (4, begin), size=begin)
    talk.close()
    check(talk.fed(), truth[1:], at + HEADER, is_known=True)


@pytest.mark.parametrize("private", [492, None])
def test_markers_where_they_are_without_an_rtr_frame(private: int | None) -> None:
    """With 492 octets of Private Data Markers are where they are if FPDUs follow the Request."""
    octets, truth = stream(
        [messages.tagged_header(0, 1, 0, True) + bytes(512 * 2 - 28), *ULPDUS], markers=True
    )
    frame = b"" if private is None else startup_frame(RTR_KEY, crc=1, private_data=bytes(private))
    talk = announced(markers=True)
    at = talk.next[0]
    with_hole(talk, frame + octets, (0, len(frame) + truth[1].start))
    talk.close()
    check(talk.fed(), truth[1:], at + len(frame), is_known=False)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("there", [1, 2, 3])
def test_an_fpdu_that_begins_like_it(markers: bool, there: int) -> None:
    """ULPDU_Length may be what a Key begins with: it is none, and nothing is told of its place."""
    long = messages.send(1, random.Random(1).randbytes(0x4D50 - 18), 1 << 16)[0]
    octets, truth = stream([long, *ULPDUS], markers=markers)
    assert octets[4 * markers :].startswith(b"MP")
    talk = announced(markers=markers)
    at = talk.next[0]
    there += 4 * markers
    with_hole(talk, octets, (there, there + 1000))
    talk.close()
    events = talk.fed()
    told = fpdus(events, 0)
    assert [each.ulpdu for each in told if each.crc == "good"] == ULPDUS
    assert {each.offset for each in told} <= {None, *(fpdu.seq_offset for fpdu in truth)}
    assert [each.seq for each in told] == [at + fpdu.seq_offset for fpdu in truth[1:]]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("crc", [False, True])
@pytest.mark.parametrize("missing", [1, 4, 16])
def test_an_fpdu_whose_beginning_was_not_captured(markers: bool, crc: bool, missing: int) -> None:
    """No octet there is one of an Rtr Frame: the FPDUs behind it are found, and none begins it."""
    octets, truth = stream(markers=markers, crc=crc)
    talk = announced(markers=markers, crc=crc)
    at = talk.next[0]
    with_hole(talk, octets, (0, missing))
    talk.close()
    events = talk.fed()
    check(events, truth[1:], at, is_known=False)
    assert ended(events).dialect == Dialect.RFC5044


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("there", [4, 16, 20, 40])
def test_an_fpdu_of_which_part_was_captured(markers: bool, there: int) -> None:
    """No Rtr Frame came, and the first octets tell: FPDUs begin behind the Request."""
    octets, truth = stream(markers=markers)
    talk = announced(markers=markers)
    at = talk.next[0]
    with_hole(talk, octets, (there, truth[1].start))
    talk.close()
    events = talk.fed()
    check(events, truth[1:], at, is_known=True)
    assert ended(events).dialect == Dialect.RFC5044


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("upto", [1, 3, 4, 15, 16, 19])
@pytest.mark.parametrize("how", ["closed", "captured no longer", "cut"])
def test_nothing_follows_it(markers: bool, upto: int, how: str) -> None:
    """What there is of it is a startup frame that ends too early, from its fourth octet on."""
    talk = announced(markers=markers)
    frame = rtr()
    at = talk.say(0, frame if how == "cut" else frame[:upto])
    cut = len(talk.segments) - 1
    if how != "captured no longer":
        talk.close()
    events = fed_with_cuts(talk, {cut: upto} if how == "cut" else {})
    if how == "closed":
        assert errors(events) == [(0, ErrorCode.CONNECTION_LOST, at)]
        what = "a startup frame" if upto >= 4 else "an FPDU"
        texts = [getattr(each, "text", "") for each in events]
        assert any(f"{upto} octets into {what}" in text for text in texts)
    else:
        assert errors(events) == []
    assert fpdus(events) == []
    assert [each.markers for each in ended(events).halves] == [markers, markers]


@pytest.mark.parametrize("hole", [(4, 18), (0, 12), (0, 20)])
def test_octets_before_the_request(hole: tuple[int, int]) -> None:
    """In a delayed startup, too."""
    octets, truth = stream(markers=True)
    talk = Talk()
    talk.say(0, b"hello")
    talk.say(1, b"hello")
    talk.say(0, request(enhanced=1, markers=1))
    talk.say(1, reply(enhanced=1, markers=1))
    at = talk.next[0]
    with_hole(talk, rtr() + octets, hole)
    talk.close()
    check(talk.fed(), truth, at + HEADER, is_known=True)


@pytest.mark.parametrize("hole", [(0, 20), (1, 19), (4, 20)])
def test_fpdus_in_private_data_of_the_request(hole: tuple[int, int]) -> None:
    """Where nothing tells where FPDUs begin, they begin behind the Request."""
    inside, _ = stream(
        [messages.tagged_header(0, 1, 64 * at, True) for at in range(25)], markers=False
    )
    talk = announced(markers=False, crc=False, private_data=inside[:500])
    octets, truth = stream(ULPDUS[:4], markers=False, crc=False)
    at = talk.next[0]
    with_hole(talk, rtr(crc=False) + octets, hole)
    talk.close()
    events = talk.fed()
    assert [each.ulpdu for each in fpdus(events, 0)] == ULPDUS[:4]
    assert [each.seq for each in fpdus(events, 0)] == [at + HEADER + each.start for each in truth]


@given(
    st.booleans(),
    st.booleans(),
    st.sampled_from(KEYS),
    st.integers(0, 40),
    st.tuples(st.integers(0, 70), st.integers(1, 70)),
    st.integers(20, 700),
    st.one_of(st.none(), st.integers(0, 60)),
)
def test_whatever_is_missing(
    markers: bool,
    crc: bool,
    key: bytes,
    private: int,
    hole: tuple[int, int],
    size: int,
    left: int | None,
) -> None:
    """Nothing but true FPDUs is told, and with CRCs all that are whole."""
    octets, truth = stream(markers=markers, crc=crc)
    frame = rtr(key, crc=crc, private=private)
    talk = announced(markers=markers, crc=crc)
    at = talk.next[0]
    begin, end = hole[0], hole[0] + hole[1]
    first = len(talk.segments)
    with_hole(talk, frame + octets, (begin, end), size=size)
    talk.close()
    cuts = {} if left is None or not begin else {first: min(left, begin)}
    events = fed_with_cuts(talk, cuts)
    told = {each.seq: each for each in fpdus(events, 0)}
    true = {at + len(frame) + fpdu.seq_offset: fpdu for fpdu in truth}
    assert told.keys() <= true.keys()
    for seq, each in told.items():
        assert each.offset in (None, true[seq].seq_offset)
        assert each.markers == true[seq].markers
    lost = min([begin, *cuts.values()]), end
    whole = {
        seq
        for seq, fpdu in true.items()
        if len(frame) + fpdu.end <= lost[0] or len(frame) + fpdu.start >= lost[1]
    }
    assert not crc or whole <= told.keys()
    assert [each for each in errors(events) if each[1] == ErrorCode.MARKER_MISMATCH] == []
