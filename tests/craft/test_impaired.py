# SPDX-License-Identifier: GPL-2.0-or-later
"""What the truth says of segments that were lost, copied, reordered or cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from scapy_mpa.craft import Conversation, Segment
from scapy_mpa.stream.segment import FIN, SYN

Impairment = Callable[[list[Segment], random.Random], list[Segment]]

UNTOLD = {"frame", "time", "timestamp", "located_by", "out_of_order", "offset"}


def keep(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Nothing happens but that times are other ones."""
    return [replace(segment, time_ns=segment.time_ns + 1000) for segment in segments]


def lose(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some segments were not captured."""
    return [each for each in segments if each.flags & (SYN | FIN) or rng.random() < 0.8]


def copy(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some come twice."""
    return [each for each in segments for _ in range(rng.choice((1, 1, 2)))]


def reorder(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some come a little late."""
    late = sorted(enumerate(segments), key=lambda pair: pair[0] + rng.choice((0, 0, 2.5)))
    return [segment for _, segment in late]


def cut_up(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some come in pieces."""
    out = []
    for each in segments:
        at = rng.randrange(len(each.octets) + 1) if not each.flags & (SYN | FIN) else 0
        if 0 < at < len(each.octets):
            out.append(replace(each, octets=each.octets[:at]))
            each = replace(each, seq=each.seq + at & 0xFFFFFFFF, octets=each.octets[at:])
        out.append(each)
    return out


def overlap(segments: list[Segment], rng: random.Random) -> list[Segment]:
    """Some begin with octets of the one before, which differ."""
    out: list[Segment] = []
    for each in segments:
        if out and each.octets and out[-1].side == each.side and out[-1].octets:
            back = rng.randrange(len(out[-1].octets) + 1)
            seq = each.seq - back & 0xFFFFFFFF
            each = replace(each, seq=seq, octets=rng.randbytes(back) + each.octets)
        out.append(each)
    return out


IMPAIRMENTS = (keep, lose, copy, reorder, cut_up, overlap)


def test_keys_left_out() -> None:
    """What depends on when something is found is not told, and nothing else is missing."""
    conversation = Conversation()
    conversation.initiator.send(b"one")
    conversation.initiator.send(b"two")
    segments = conversation.segments()
    whole = conversation.truth()
    impaired = conversation.truth([*segments, segments[-2]])
    untold = UNTOLD | {"farthest_ahead", "end", "retransmitted"}
    for one, other in zip(whole, impaired, strict=True):
        assert [key for key in one if key not in untold] == list(other)
        assert all(other[key] == one[key] for key in other)
    beheaded = conversation.truth(segments[5:])
    assert [set(whole[2]) - set(each) for each in beheaded] == [UNTOLD] * 2
    assert [each["type"] for each in beheaded] == ["fpdu", "fpdu"]


def test_times_are_no_impairment() -> None:
    """Of the same segments at other times everything is told, at these times."""
    conversation = Conversation()
    conversation.initiator.send(b"one")
    segments = keep(conversation.segments(), random.Random(1))
    before, after = conversation.truth(), conversation.truth(segments)
    begin = segments[0].time_ns
    assert [each["time"] for each in after] == [
        (segments[each["frame"] - 1].time_ns - begin) / 10**9 for each in before
    ]
    assert [each["timestamp"] for each in after] == [
        f"2023-11-14T22:13:20.{segments[each['frame'] - 1].time_ns % 10**9:09}Z" for each in before
    ]


def test_fates() -> None:
    """An item is whole, altered, there in part or missing, by what was captured first."""
    conversation = Conversation(handshake=False)
    item = conversation.initiator.octets(b"0123456789")
    (whole, *_) = conversation.segments()
    head, tail = replace(whole, octets=b"0123"), replace(whole, seq=whole.seq + 4, octets=b"456789")
    other = replace(whole, octets=b"x123456789")

    def fate(*segments: Segment) -> tuple[str, tuple[int, ...]]:
        (captured,) = conversation.captured(segments)
        assert captured.placed.item is item
        return captured.fate, captured.frames

    assert fate(whole) == ("whole", (1,))
    assert fate(tail, head) == ("whole", (2, 1))
    assert fate(head) == fate(head, head) == ("part", (1,))
    assert fate(head, other) == ("whole", (1, 2))
    assert fate(tail, other) == ("altered", (2, 1))
    assert fate(other, whole) == ("altered", (1,))
    assert fate(replace(whole, captured=3)) == ("part", (1,))
    assert fate(replace(whole, captured=3), whole) == ("whole", (1, 2))
    assert fate() == ("missing", ())
