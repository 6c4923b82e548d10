# SPDX-License-Identifier: GPL-2.0-or-later
"""What the truth says of impaired segments, records of all types, is what is found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import (
    CaptureLoss,
    Conversation,
    LateStart,
    Reordering,
    Resegmentation,
    Segment,
    impair,
)
from scapy_mpa.craft.mutations import mutations
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.stream.octets.overlap import RECENT_CHUNKS
from scapy_mpa.stream.segment import FIN, SYN
from scapy_mpa.wire.ddp import ddp_header_of
from tests.craft.reading import Record, plain, printed
from tests.craft.small import one_send
from tests.craft.strategies import conversations
from tests.craft.test_impairments import mixes

IDENTITY = {
    "startup": ("kind", "rejected", "pd_length"),
    "fpdu": ("seq",),
    "error": ("seq",),
    "overlap": ("frame", "seq"),
    "gap": ("seq",),
    "message": ("opcode", "qn", "msn", "stag", "to", "answers", "size", "complete"),
    "connection": (),
}
"""By type, what tells records of a direction apart, whenever they are found."""


def by_kind(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records by type and sender; in an order that does not depend on when they are found."""
    kinds: dict[tuple[str, str], list[Record]] = {}
    for each in records:
        kinds.setdefault((each["type"], each["src"]), []).append(each)
    return {
        (kind, src): sorted(
            # As JSON, since Python 3.10 has other words for members of enumerations.
            ones,
            key=lambda one: [json.dumps(one[name]) for name in IDENTITY[one["type"]]],
        )
        for (kind, src), ones in kinds.items()
    }


def agrees(found: list[Record], told: list[Record]) -> None:
    """Hold records against the truth: as many of each type, and what is told is so."""
    mine, theirs = by_kind(told), by_kind(found)
    assert {kind: len(each) for kind, each in mine.items()} == {
        kind: len(each) for kind, each in theirs.items()
    }
    for kind, each in mine.items():
        for wanted, record in zip(each, theirs[kind], strict=True):
            assert {name: record[name] for name in wanted} == wanted


@settings(max_examples=100, deadline=None)
@given(st.data(), conversations())
def test_nothing_is_missing(data: st.DataObject, conversation: Conversation) -> None:
    """Where every octet was captured, every record is told, and found, of whatever type."""
    mix = data.draw(mixes(conversation, missing=False))
    segments = impair(conversation.segments(), *mix, seed=data.draw(st.integers(0, 99)))
    frames = conversation.frames(segments)
    told = conversation.truth(segments, messages=True, payload=True)
    # What came first is not remembered for ever.
    assume(len(segments) < RECENT_CHUNKS or not any(each["type"] == "overlap" for each in told))
    # Another startup after a rejected one is followed in order only.
    is_disordered = any(isinstance(each, Reordering) and each.by_capture for each in mix)
    assume(not (is_disordered and any(each.get("rejected") for each in of(told, "startup"))))
    # Without the SYN, flags and revision of zeros may be a Marker that follows a Key in a payload.
    has_syns = sum(bool(each.flags & SYN) for each in segments) >= 2
    assume(has_syns or conversation.options.revision)
    agrees(plain(frames), told)
    agrees(printed(frames), conversation.truth(segments))


@settings(max_examples=100, deadline=None)
@given(st.data(), conversations(crc=True, beginnings=("SYN", "nothing", "octets")))
def test_something_is_missing(data: st.DataObject, conversation: Conversation) -> None:
    """Where segments were not captured, gaps and Untagged messages in part are as they are told,
    and so is the connection, as far as it is told.
    """
    loss = CaptureLoss(data.draw(st.sampled_from((0.02, 0.1, 0.5))))
    late = LateStart(data.draw(st.integers(0, 12)))
    mix = data.draw(st.sampled_from(((loss,), (late,), (late, loss))))
    segments = impair(conversation.segments(), *mix, seed=data.draw(st.integers(0, 99)))
    told = conversation.truth(segments, messages=True)
    found = plain(conversation.frames(segments))
    assume(not in_full(told))
    agrees(of(found, "gap"), of(told, "gap"))
    for wanted in of(told, "connection"):
        (record,) = of(found, "connection")
        assert {name: record[name] for name in wanted} == wanted
        agrees(*(list(filter(is_untagged, records)) for records in (found, told)))


def in_full(told: list[Record]) -> bool:
    """Whether everything is told because nothing but acknowledgements is missing."""
    return any("fpdus" in each for each in of(told, "connection"))


def of(records: list[Record], kind: str) -> list[Record]:
    """Records of a type."""
    return [each for each in records if each["type"] == kind]


def is_untagged(record: Record) -> bool:
    """Whether a record is of an Untagged message that is there in part, and is no Response."""
    return record["type"] == "message" and record["qn"] in (0, 1, 2) and record["fpdus"] > 0


HEAD = {"connection": 0, "src": "10.0.0.1:40000", "dst": "10.0.0.2:4000"}


def five_sends() -> Conversation:
    """Sends of 1 octet, and a second one of 8000 in 6 segments, from sequence number 1021 on."""
    conversation = Conversation(ack_every=0)
    for size in (1, 8000, 1, 1, 1):
        conversation.initiator.send(bytes(size))
    conversation.close()
    return conversation


def test_gap_before_a_startup_frame() -> None:
    """What is missing before a Reply is a gap, also once that Reply has accepted."""
    conversation = Conversation()
    conversation.initiator.octets(b"?")
    conversation.responder.octets(b"no Key")
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = [each for each in conversation.segments() if each.octets != b"no Key"]
    found = of(plain(conversation.frames(segments)), "gap")
    assert [(each["seq"], each["length"]) for each in found] == [(5001, 6)]
    agrees(found, of(conversation.truth(segments), "gap"))


def test_two_gaps() -> None:
    """What is missing of the stream and of a message is told; of a message of which nothing is
    there, nothing."""
    conversation = five_sends()
    segments = conversation.segments()
    first = next(at for at, each in enumerate(segments) if each.seq == 1021)
    lost = segments[first + 2 : first + 4], segments[first + 7 : first + 8]
    rest = [each for each in segments if not any(each in some for some in lost)]
    told = conversation.truth(rest, messages=True)
    assert of(told, "gap") == [
        {"type": "gap", **HEAD, "seq": pieces[0].seq, "length": sum(len(x.octets) for x in pieces)}
        for pieces in lost
    ]
    messages = [(each["msn"], each["complete"], each["missing"]) for each in of(told, "message")]
    # 1460 octets less 2 of length, 18 of header, 4 of CRC and padding are 1436.
    one = [1436, 2 * 1436]
    assert messages == [(1, True, []), (2, False, [one]), (4, True, []), (5, True, [])]
    (end,) = of(told, "connection")
    assert end["gaps"] == {"src": 2, "dst": 0}
    assert not {"fpdus", "errors", "crc_bad", "out_of_order", "frame"} & set(end)


@pytest.mark.parametrize("fin", [True, False])
def test_the_end_is_missing(fin: bool) -> None:
    """Without the FIN nobody knows whether an acknowledgement counts it."""
    conversation = five_sends()
    segments = conversation.segments()
    *_, last, mine, theirs, ack = segments
    rest = segments[:-4] + ([mine] if fin else []) + [theirs, ack]
    length = {"length": len(last.octets)} if fin else {}
    wanted = {"type": "gap", **HEAD, "seq": last.seq, **length}
    assert of(conversation.truth(rest), "gap") == [wanted]
    assert conversation.truth(rest)[-1]["ended"] == ("closed" if fin else "half closed")


def test_differing_octets() -> None:
    """Of what comes again and differs, from the first to the last octet that does is told."""
    conversation = five_sends()
    segments = conversation.segments()
    at = next(at for at, each in enumerate(segments) if each.seq == 1049)
    octets = bytearray(segments[at].octets)
    octets[100] ^= 1
    octets[109] ^= 1
    again = replace(segments[at], octets=bytes(octets))
    told = conversation.truth([*segments[: at + 1], again, *segments[at + 1 :]])
    (overlap,) = of(told, "overlap")
    assert (overlap["frame"], overlap["seq"], overlap["length"]) == (at + 2, 1149, 10)
    (end,) = of(told, "connection")
    assert end["retransmitted"] == {"src": 1, "dst": 0}
    assert end["fpdus"] == {"src": 10, "dst": 0}


@pytest.mark.parametrize("crc", [False, True])
def test_octets_are_remembered_once(crc: bool) -> None:
    """However often a connection is lent and comes back, the octets of a few hundred segments are
    compared with copies that come later.
    """
    conversation = Conversation(crc=crc, packing="stream")
    conversation.initiator.write(bytes(7000))
    first, *segments = impair(conversation.segments(), Resegmentation(30))[3:]
    overlapping: list[Segment] = []
    for number, each in enumerate(segments):
        if number % 4 == 3:
            # No longer what a borrower takes.
            each = replace(
                each, seq=each.seq - 1, octets=segments[number - 1].octets[-1:] + each.octets
            )
        overlapping.append(each)
    late = replace(first, octets=b"?" + first.octets[1:])
    captured = [first, *overlapping, late]
    assert 200 < len(captured) < RECENT_CHUNKS
    frames = conversation.frames(captured)
    wanted = [(len(captured), first.seq, 1)]
    for way in (plain, printed):
        overlaps = of(way(frames), "overlap")
        assert [(each["frame"], each["seq"], each["length"]) for each in overlaps] == wanted


def test_a_fin_captured_first() -> None:
    """What comes before the first SYN or octets may be of another connection, a FIN for one."""
    conversation = five_sends()
    segments = conversation.segments()
    at = next(at for at, each in enumerate(segments) if each.flags & FIN)
    segments = [segments.pop(at), *segments]
    told = conversation.truth(segments, messages=True, payload=True)
    assert told[-1]["ended"] == "half closed"
    agrees(plain(conversation.frames(segments)), told)


def test_no_segments() -> None:
    """Of a capture without segments there is nothing to tell."""
    assert Conversation(handshake=False).truth() == []
    assert one_send().truth([]) == []


@pytest.mark.parametrize("name", ["rfc5041/4.4/header-cut", "rfc5041/4.4/no-header"])
def test_messages_of_an_fpdu_without_a_whole_ddp_header(name: str) -> None:
    """It carries no segment of its message, and is shown by its octets."""
    (mutation,) = mutations(name)
    conversation = mutation.case(1).conversation
    told = conversation.truth(messages=True)
    assert of(told, "fpdu") and not of(told, "message")
    (short,) = (
        each
        for each in conversation.script
        if isinstance(each, FPDUItem) and ddp_header_of(each.ulpdu) is None
    )
    assert f"ULPDU of {len(short.ulpdu)} octets" in repr(short)
