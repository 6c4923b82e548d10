# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames that were not captured, or not where they belong (RFC 5044 7.1.1, 7.1.2)."""

from __future__ import annotations

from itertools import permutations

import pytest

from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.wire.startup import StartupKind
from tests.stream.feed import INITIATOR_FLOW, RESPONDER_FLOW, fpdus
from tests.stream.scene import Octets, Scene
from tests.stream.startup import (
    ULPDUS,
    check_all,
    check_works,
    errors,
    reply,
    request,
    seen,
    stream,
)
from tests.stream.talk import Talk
from tests.truth.mpastream import build_stream


@pytest.mark.parametrize("late", [False, True])
def test_startup_frame_captured_out_of_order(late: bool) -> None:
    """The pieces of a Request come in any order, its end before its Key (7.1.1)."""
    scene = Scene(">Q", {"Q": request(private_data=bytes(40))}, size=7)
    moved = scene.segments[3:] if late else scene.segments[3:5]
    scene.segments[3 : 3 + len(moved)] = reversed(moved)
    scene.say(1, reply())
    check_works(scene.speak(stream()[0]))


@pytest.mark.parametrize("syn", [True, False])
@pytest.mark.parametrize("crc", [0, 1])
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("joined", [True, False])
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_reply_in_a_segment_that_acknowledges_fpdus(
    syn: bool, crc: int, markers: int, joined: bool, order: tuple[int, int, int]
) -> None:
    """What was received together is often captured as one segment, with the last acknowledgement:
    the Responder had FPDUs then, whether these were captured before, or the Request was."""
    # Without a startup frame, no more than these would tell what they are.
    few = ULPDUS[:3]
    octets, truth = build_stream(few, markers=bool(markers), crc=bool(crc))
    second = truth[1].start
    talk = Talk(syn=syn)
    begin = len(talk.segments)
    talk.say(0, request(crc=crc, markers=markers))
    talk.say(0, octets[:second])
    own = octets[:second] if joined else b""
    talk.say(1, reply(crc=crc, markers=markers) + own)
    talk.segments[begin:] = [talk.segments[begin + each] for each in order]
    talk.say(1, octets[len(own) :])
    talk.say(0, octets[second:])
    talk.close()
    events = talk.fed()
    assert sorted(each.ulpdu for each in fpdus(events)) == sorted(2 * few)
    assert {each.crc for each in fpdus(events)} == {"good" if crc else "off"}
    assert len(seen(events)) == 2


@pytest.mark.parametrize("crc", [0, 1])
@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize(
    "words",
    [
        ">-Q <A >S <S >F <F",
        ">Q <-A >S <S >F <F",
        ">-Q <-A >S <S >F <F",
        # Nor was the first FPDU: only that is lost.
        ">Q <-A >-1 >2 <S >F <F",
        # Offset counts from the beginning of the Full Operation Phase, which nobody saw.
        "... >S",
    ],
)
def test_startup_frames_that_were_not_captured(crc: int, markers: int, words: str) -> None:
    """What the capture lacks of the Startup Phase costs no FPDU that it holds (7.1.2, 4.3)."""
    fields = {"crc": crc, "markers": markers}
    octets, truth = stream(markers=bool(markers), crc=bool(crc))
    end = truth[0].end
    letters: dict[str, Octets] = {
        "Q": request(**fields),
        "A": reply(**fields),
        "S": (octets, truth),
        "1": octets[:end],
        "2": (octets[end:], truth[1:]),
    }
    events = Scene(words, letters, size=1000).check()
    if words == "... >S":
        assert {each.offset for each in fpdus(events, 0)} == {None}


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("late", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("by", [1, 3, 20])
def test_startup_frames_captured_behind_fpdus(by: int, late: tuple[int, ...], markers: int) -> None:
    """They are seen, and the offsets of all FPDUs behind them are known (7.1.2, 4.3)."""
    octets, truth = build_stream(ULPDUS * 20, markers=bool(markers))
    talk = Talk()
    held = []
    bases = []
    for direction, frame in enumerate((request(markers=markers), reply(markers=markers))):
        talk.say(direction, frame)
        bases.append(talk.next[direction] % 2**32)
        if direction in late:
            held.append(talk.segments.pop())
    for number, at in enumerate(range(0, len(octets), 700)):
        if number == by:
            # It may come when the peer has acknowledged it long ago.
            talk.segments += held
            known_at = len(talk.segments)
        for direction in (0, 1):
            talk.say(direction, octets[at : at + 700])
    talk.close()
    events = talk.fed()
    assert errors(events) == []
    assert sorted(each.startup.kind.value for each in seen(events)) == ["reply", "request"]
    for flow, base in zip((INITIATOR_FLOW, RESPONDER_FLOW), bases, strict=True):
        mine = [each for each in fpdus(events) if each.connection.flows[each.direction] == flow]
        assert sorted((each.seq - base) % 2**32 for each in mine) == [
            fpdu.seq_offset for fpdu in truth
        ]
        for each in mine:
            if each.offset is not None or max(each.frames) > known_at:
                assert each.offset == (each.seq - base) % 2**32


@pytest.mark.parametrize("markers", [0, 1])
@pytest.mark.parametrize("by", [0, 1])
def test_pieces_of_a_startup_frame_and_of_an_fpdu_in_any_order(by: int, markers: int) -> None:
    """Whichever of them completes what, both are found (7.1.1, 7.1.2)."""
    octets, truth = build_stream(ULPDUS[:1], markers=bool(markers))
    frames = request(markers=markers), reply(markers=markers)
    sent = frames[by] + octets
    edges = 0, 16, 20, 21, 22, len(sent)
    for order in permutations(range(5)):
        talk = Talk()
        if by:
            talk.say(0, frames[0])
        begin = talk.next[by]
        for piece in order:
            talk.copy(by, begin + edges[piece], sent[edges[piece] : edges[piece + 1]])
        talk.next[by] += len(sent)
        if not by:
            talk.say(1, frames[1])
        events = talk.fed()
        # The Responder has spoken first, or the Initiator has not waited for the Reply.
        wrong = [each.text for each in events if isinstance(each, ErrorFound)]
        # That is told by the segment with which it begins to, behind its startup frame.
        assert len(wrong) <= 1
        assert all(text.endswith(f"(RFC 5044 7.1.2 rule {3 + by})") for text in wrong)
        assert [each.startup.kind for each in seen(events)] == [
            StartupKind.REQUEST,
            StartupKind.REPLY,
        ]
        said = [(each.offset, each.ulpdu) for each in fpdus(events, by)]
        assert said == [(truth[0].seq_offset, ULPDUS[0])]


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("first", [0, 1])
def test_delayed_startup_frames_captured_behind_fpdus(first: int, late: int) -> None:
    """Acknowledgements captured before a Reply do not show that it answers another Request."""
    octets, truth = stream()
    scene = Scene(">w <w >Q <A")
    held = scene.segments.pop(-2 + late)
    # The other side has its first FPDUs before these are captured.
    missed = scene.miss(first, octets[: truth[2].end])
    scene.say(1 - first, octets[: truth[2].end])
    scene.segments.append(held)
    scene.copy(first, missed, octets[: truth[2].end])
    events = scene.speak(octets[truth[2].end :])
    check_all(events, truth)
    assert len(seen(events)) == 2
    for direction in (0, 1):
        offsets = [each.offset for each in fpdus(events, direction)]
        assert offsets == [fpdu.seq_offset for fpdu in truth]


@pytest.mark.parametrize("size", [7, 1460])
def test_a_reply_captured_behind_fpdus_and_before_a_hole(size: int) -> None:
    """Without the SYN, one that comes after FPDUs is not looked for: they are those of an unknown
    beginning."""
    octets, truth = stream()
    talk = Talk(syn=False)
    talk.say(1, reply(), size=size)
    startup, talk.segments = talk.segments, []
    talk.miss(1, octets[: truth[0].end])
    talk.say(1, octets[truth[0].end : truth[6].end])
    talk.segments += startup
    talk.say(1, octets[truth[6].end :])
    events = talk.fed()
    assert seen(events) == []
    assert [(each.ulpdu, each.offset) for each in fpdus(events)] == [
        (fpdu.ulpdu, None) for fpdu in truth[1:]
    ]
    assert errors(events) == []
