# SPDX-License-Identifier: GPL-2.0-or-later
"""The segments of a connection, and how it ends (RFC 9293 3.4, 3.5, 3.6; RFC 5044 7.2, 8).

The words are those of :mod:`tests.stream.scene`, after a startup.  ``1`` and ``2`` are the first
octets of the FPDUs of a side, and the rest; ``t`` are other FPDUs of the same length; ``p`` is one
octet.
"""

import random
import re

import pytest

from scapy_mpa.stream.events import ErrorFound, Event, GapFound
from scapy_mpa.stream.flows import LINGER_NS, Flows
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from tests.stream.feed import feed, fpdus, gaps
from tests.stream.scene import HEADER, Octets, Scene, both
from tests.stream.talk import STREAM, TRUTH, ULPDUS, Talk, check_whole, ends, found, received, whole
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, RST, SYN, Segment

FIRST = 600
OTHER = [messages.send(msn, random.Random(99 + msn).randbytes(200))[0] for msn in range(1, 9)]
LETTERS: dict[str, Octets] = {
    "S": STREAM,
    "1": STREAM[:FIRST],
    "2": STREAM[FIRST:],
    "t": mpastream.build_stream(OTHER)[0],
    "w": b"go away",
    "p": b"p",
}


def read(words: str, missed: int = 0) -> list[Event]:
    """The events of a connection, whose first segments are not captured."""
    scene = Scene(f">Q <A {words}", LETTERS, isn=(1_000_000_000, 2_000_000_000), size=500)
    return feed(scene.captured()[missed:])


WINDOW = SEQUENCE_WINDOW
NEXT = ">S <S >F <F"

SITUATIONS: dict[str, str] = {
    # -- FINs: of both sides, repeated, with octets, captured before octets, of one side
    ">S <S >F <F": "closed",
    ">S <S >F <F > >F= <F=": "closed",
    ">SF <SF >": "closed",
    ">S+2 >F <S+2 <F": "closed",
    ">S >F <S": "half closed",
    ">S <S": "capture ended",
    ">S <S >F <F >S=@-1 <S=@-1": "closed",
    # -- a RST that may lie in the window ends the connection; the size of the window is unknown
    **{
        f">S <S {by}X@{away}": "reset"
        for by in "><"
        for away in (0, 1, 65_535, WINDOW - 1, -1, -1000)
    },
    # No window exceeds 1 GiB (RFC 7323 2.3), so the RST is dropped (RFC 9293 3.10.7.4).
    **{
        f">1 <1 {by}{what}X@{away} {pause}>2 <2 > {NEXT[6:]}": "closed"
        for by in "><"
        for what in ("", "w")
        for away in (WINDOW, -WINDOW, 1 << 31)
        for pause in ("", "~70 ")
    },
    # The RST does not have the next number.  It is challenged or dropped (RFC 5961 3.2).
    **{
        f">1 <1 {by}X@{away} {pause}>2 <2 >{close}": end
        for by in "><"
        for away in (1, 900_000, WINDOW - 1, -1, -500)
        for pause in ("", "~70 " * (away != 1))
        for close, end in ((" >F <F", "closed"), ("", "capture ended"))
    },
    # The RST has the next number.  The peer may have sent octets before the RST arrived.
    **{
        f">S <1 > {by}X@{away} {then}": "reset"
        for by in "><"
        for away in (0, 100)
        for then in (">F", "<F")
    },
    ">S <1 > <X@100 <2": "reset",
    ">1 <1 >2 >X <2": "reset",
    # After both FINs, a RST only ends the wait for copies, if all octets have arrived.
    **{f">S <S {fins} {by}X": "closed" for fins in (">F <F >", ">F <F", "<F >F") for by in "><"},
    ">S >F <SF >X": "reset",
    # The octets before the RST were captured after it, and then acknowledged.
    ">1 <1 >2+2 >X < <": "reset",
    "<1 >1 <2+2 <X > >": "reset",
    # -- ports used again: a SYN or SYN,ACK with another number is another connection
    **{f"{NEXT} new@{away} {NEXT}": "closed closed" for away in (70_000, 500_000_000)},
    f">S <S new@900000000 {NEXT}": "reused closed",
    f">S <S new@-900000000 {NEXT}": "reused closed",
    # After both FINs, or a RST, no SYN is necessary.
    **{
        f">S <S{end} new@{away}/3 {NEXT}": f"{how} closed"
        for end, how in ((" >F <F", "closed"), (" >X", "reset"))
        for away in (78_000_000, 900_000_000, -78_000_000, -900_000_000)
    },
    # -- copies: of the SYN, of FINs of the old connection, and of all its segments
    ">N >S <N <S >N ~100000 >F <F": "closed",
    f"{NEXT} new@0 {NEXT}": "closed",
    f"{NEXT} ~100000 new@0 {NEXT}": "closed closed",
    ">S <S >X new@0 >S <S >X": "reset",
    f"{NEXT} new@70000 >F=@-70000 {NEXT}": "closed closed",
    # A FIN at another place belongs to a new connection, a keep-alive probe to the old one.
    ">S <S >X new@0 >F <F": "reset closed",
    f"{NEXT} new@0 >p@-1 {NEXT}": "closed",
    # -- stray octets: they acknowledge octets of the peer, so they belong to the same connection
    **{f">1 >w@{away} >2 <S >F <F": "closed" for away in (-300_000_000, -70_000, -1000)},
}


@pytest.mark.parametrize("words", SITUATIONS)
def test_situations(words: str) -> None:
    """Each connection has its FPDUs once, without errors, and the right ending."""
    events = read(words)
    endings = re.findall("half closed|capture ended|[a-z]+", SITUATIONS[words])
    assert [each.ending for each in ends(events)] == endings
    for number in range(len(endings)):
        for direction in (0, 1):
            ulpdus = found(events, number, direction)
            assert sorted(ulpdus) == sorted(ULPDUS[: len(ulpdus)])
            assert len(ulpdus) == len(ULPDUS) or "reset" in endings
    assert not [each for each in events if isinstance(each, GapFound)]
    assert not [each for each in events if isinstance(each, ErrorFound) and "reset" not in endings]


@pytest.mark.parametrize(("end", "how"), [(">F <F", "closed"), (">X", "reset")])
@pytest.mark.parametrize("only", ["both", ">", "<"])
@pytest.mark.parametrize("missed", [0, 3, 5])
def test_the_same_numbers_and_other_octets(missed: int, only: str, end: str, how: str) -> None:
    """Some senders begin with the same number each time.  Other octets show a new connection."""
    sides = [f"{side}{'t' if only in ('both', side) else 'S'}" for side in "><"]
    events = read(f">S <S {end} new@0 {' '.join(sides)} >F <F", missed)
    if not missed:
        check_whole(events, 0)
    for direction in (0, 1):
        assert found(events, 1, direction) == (OTHER if "t" in sides[direction] else ULPDUS)
    assert [each.ending for each in ends(events)] == [how, "closed"]
    assert not any(half.retransmitted for each in ends(events) for half in each.halves)


@pytest.mark.parametrize("by", "><")
@pytest.mark.parametrize("before", [True, False])
def test_a_reset_in_a_hole_of_the_capture(before: bool, by: str) -> None:
    """The RST stands where the captured octets end, but its receiver acknowledges more.

    :param before: whether an acknowledgement before the RST shows that, too.
    """
    other = "<" if by == ">" else ">"
    acknowledged = f"{other} " * before
    words = f"{by}1 {other}S {by}2- {acknowledged}{by}X@{FIRST - len(STREAM)} {other} >F <F"
    assert [each.ending for each in ends(read(words))] == ["closed"]


def test_syns_that_are_reset() -> None:
    """A RST must acknowledge the SYN (RFC 9293 3.10.7.3).  Its number is 0, since none is due yet
    (3.5.2).  A SYN with another number is another connection."""
    talk = Talk(syn=False)
    talk.copy(0, talk.isn[0], b"", SYN)
    talk.segments.append(Segment(1, 0, talk.isn[0] + 500, RST | ACK, b""))
    talk.segments += whole().segments[1:]
    events = talk.fed()
    check_whole(events)
    assert [each.ending for each in ends(events)] == ["closed"]
    for isn in (7, 0x80000000, 0xC0000000):
        talk = Talk((isn, 0), syn=False)
        talk.copy(0, isn, b"", SYN)
        talk.copy(1, 0, b"", RST | ACK)
        talk.segments += whole(((isn + 0x40000000) % 2**32, 40)).segments
        events = talk.fed()
        check_whole(events, 1)
        assert [each.ending for each in ends(events)] == ["reset", "closed"]


@pytest.mark.parametrize(("end", "how"), [(">X <", "reset"), (">F <F", "closed"), ("", "")])
@pytest.mark.parametrize("second", [">2", ">2 >-3", ">2/2", ">2/14", ">2/30"])
def test_an_end_within_an_fpdu(second: str, end: str, how: str) -> None:
    """The FPDU is cut short, unless the peer acknowledges octets that were not captured (RFC 5044
    8).

    If the capture ends, nothing is known about the rest.  If the snap length has cut the FPDU off,
    its ULPDU_Length is enough.
    """
    begin, lost = TRUTH[-1].start, 100 * ("-" in second)
    letters = {"1": STREAM[:begin], "2": STREAM[begin:-100], "3": STREAM[-100:]}
    text = f"the connection was {how} {len(letters['2'])} octets into an FPDU (RFC 5044 8)"
    for crc in (True, False):
        scene = Scene(f">Q <A >1 {second} < {end}", {**both(crc=crc), **letters})
        events = scene.fed()
        assert [each for each in found(events, 0, 0) if each in ULPDUS] == ULPDUS[:-1]
        errors = [(each.seq, each.text) for each in events if isinstance(each, ErrorFound)]
        assert errors == [(scene.at[3][1], text)] * (not lost and bool(how))
        lengths = [each.length for each in events if isinstance(each, GapFound)]
        assert lengths == [lost] * bool(lost)


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_alone(side: int) -> None:
    """Its acknowledgements show how many octets of the other side are missing, and the FIN."""
    isn = 3_000_000_000, 77
    talk = whole(isn)
    talk.segments = [each for each in talk.segments if each.direction == side]
    events = talk.fed()
    assert [(each.ulpdu, each.offset) for each in fpdus(events)] == [
        (each.ulpdu, each.seq_offset) for each in TRUTH
    ]
    assert fpdus(events)[0].located_by == "start"
    assert [each.ending for each in ends(events)] == ["half closed"]
    wrong = [each for each in events if isinstance(each, ErrorFound | GapFound)]
    assert [type(each) for each in wrong] == [GapFound]
    # The first acknowledgement is that of the SYN.
    assert gaps(events, isn[1 - side] + 1, 1) == [(0, HEADER + len(STREAM) + 1)]


@pytest.mark.parametrize("by", [0, 1])
@pytest.mark.parametrize("first", [0, 1])
def test_one_side_after_the_other(first: int, by: int) -> None:
    """A RST ends the connection before anything of the other side was captured."""
    talk = whole(close=False)
    talk.say(by, flags=RST | ACK)
    talk.segments.sort(key=lambda each: each.direction != first)
    check_whole(talk.fed())


@pytest.mark.parametrize("lost", [5, 6, 9, 12])
def test_a_second_copy_fills_a_hole(lost: int) -> None:
    """All frames come again after the connection is over, with a segment that was missing."""
    talk = whole()
    talk.segments = [*talk.segments[:lost], *talk.segments[lost + 1 :], *talk.segments]
    events = talk.fed()
    check_whole(events)
    assert len(ends(events)) == 1


def test_a_closed_connection_ends_while_the_capture_continues() -> None:
    """Its end is reported, and its memory freed, when no late copy can come any more.

    After the end of a capture nothing is left.
    """
    flows = Flows(first_number=7)
    segments, other = whole().segments, whole((5, 6)).segments[:1]
    assert not ends(received(flows, segments))
    # Frame 900 comes just half a minute after the second FIN, and then a nanosecond later.
    later = LINGER_NS + (len(segments) - 1 - 900) * 1_000_000
    assert not ends(received(flows, other, 900, connection=5, later=later))
    events = received(flows, other, 900, connection=5, later=later + 1)
    assert [(each.ending, each.connection.number) for each in ends(events)] == [("closed", 7)]
    assert [each.connection.number for each in ends(flows.finish())] == [8]
    assert flows.finish() == []


def test_an_endpoint_to_itself() -> None:
    """Both directions have one flow.  They cannot be distinguished, but nothing fails."""
    same = bytes.fromhex("7f000001 7f000001 0fa0 0fa0")
    assert len(ends(feed(each._replace(flow=same) for each in whole().captured()))) >= 1
