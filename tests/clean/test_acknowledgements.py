# SPDX-License-Identifier: GPL-2.0-or-later
"""Acknowledgements of a cleaned capture say what those of the capture say, in the new numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise, zip_longest

import pytest

from tests.clean.cleaning import clean, frames_of, segments
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk, started
from tests.truth import mpastream, pcapfile
from tests.truth.impair import ACK, PSH, SYN

ISN = (1000, 0xFFFFFF00)


def without_markers(ulpdu: bytes) -> int:
    """Octets of an FPDU without Markers: length, ULPDU, pad, CRC (RFC 5044 4)."""
    return (2 + len(ulpdu) + 3) // 4 * 4 + 4


def mapping(isn: int, truth: list[mpastream.TrueFPDU]) -> Callable[[int], int]:
    """How an acknowledgement number of a direction is written.

    What was sent up to the end of the startup frame is where it was.  Behind it a number speaks of
    so many whole FPDUs, and perhaps of the FIN.
    """
    base = isn + 1 + len(REQUEST)

    def written(ack: int) -> int:
        offset = (ack - base + 2**31) % 2**32 - 2**31
        if offset <= 0:
            return ack
        whole = [each for each in truth if each.end <= offset]
        fin = bool(truth) and offset > truth[-1].end
        return (base + sum(without_markers(each.ulpdu) for each in whole) + fin) % 2**32

    return written


@pytest.mark.parametrize("seed", range(12))
def test_what_they_speak_of(seed: int) -> None:
    """Whole FPDUs, without the Markers among them; never half of one.

    Only a frame whose numbers stay as they were may say again what its sender said before.
    """
    rng = random.Random(f"acknowledgements {seed}")
    talk = started(ISN, markers=True)
    pieces, maps = [], []
    for isn in ISN:
        ulpdus = [
            b"\x41\x43" + bytes(8) + number.to_bytes(4, "big") + bytes(4 + rng.randrange(900))
            for number in range(1, 9)
        ]
        octets, truth = mpastream.build_stream(ulpdus, markers=True)
        # Segments end at the end of an FPDU, an octet before or behind it, and anywhere.
        cuts = {each.end + by for each in truth for by in rng.sample((-1, 0, 1), 2)}
        cuts |= {rng.randrange(1, len(octets)) for _ in range(6)}
        ends = [0, *sorted(cut for cut in cuts if cut < len(octets)), len(octets)]
        pieces.append([octets[begin:end] for begin, end in pairwise(ends)])
        maps.append(mapping(isn, truth))
    # Receivers say late what they have: up to the end of any segment since what they said last.
    sent = [[number] for number in talk.next]
    for both in zip_longest(*pieces):
        for direction, piece in enumerate(both):
            for sender, octets in ((direction, piece or b""), (1 - direction, b"")):
                heard = sent[1 - sender]
                del heard[: rng.randrange(min(len(heard), 4))]
                if octets or rng.random() < 0.5:
                    talk.say(sender, octets, flags=PSH | ACK if octets else ACK)
                    talk.segments[-1] = talk.segments[-1]._replace(ack=heard[0] % 2**32)
                    sent[sender].append(talk.next[sender])
    talk.close()
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    flows = [each.flow for each in segments(frames)[:2]]
    said = [0, 0]
    captured: dict[int, list[int]] = {}
    news: set[tuple[int, int]] = set()
    for number, each in enumerate(talk.segments, 1):
        if each.flags & ACK:
            ack = maps[1 - each.direction](each.ack)
            if each.flags == ACK and ack != said[each.direction]:
                news.add((each.direction, ack))
            said[each.direction] = ack
        captured[number] = list(said)
    cleaned = clean(frames)
    last = [0, 0]
    for each, segment in zip(cleaned.written, segments(cleaned.frames), strict=True):
        direction = flows.index(segment.flow)
        if segment.flags & ACK:
            assert segment.ack == captured[each.frame.number][direction], each.frame.number
        if segment.flags == ACK and segment.ack == last[direction]:
            assert each.frame.octets == frames[each.frame.number - 1].octets
        last[direction] = segment.ack
    assert len(news) > 2
    assert news <= {(flows.index(each.flow), each.ack) for each in segments(cleaned.frames)}


def check_order(talk: Talk, startups: list[bytes]) -> None:
    """Nothing in the cleaned capture speaks of octets that come after it there."""
    cleaned = segments(clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))).frames)
    said = [each.payload for each in cleaned if each.payload]
    assert said[: len(startups)] == startups
    first = cleaned[0].flow
    upto = [isn + 1 for isn in ISN]
    for each in cleaned:
        direction = int(each.flow != first)
        if not each.flags & SYN:
            assert each.seq == upto[direction] % 2**32
            assert each.ack <= upto[1 - direction]
            upto[direction] += each.length


@pytest.mark.parametrize(("sender", "octets"), [(1, 25), (0, 0)], ids=["acknowledges", "follows"])
def test_nothing_speaks_of_a_startup_frame_before_it(sender: int, octets: int) -> None:
    """Not of its first segment, nor of what follows it; other tools would take it for a copy."""
    talk = Talk(ISN)
    startup = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, private_data=bytes(30))
    talk.say(0, startup[:25])
    talk.say(0, startup[25:])
    talk.say(sender, flags=ACK)
    if octets:
        talk.segments[-1] = talk.segments[-1]._replace(ack=ISN[0] + 1 + octets)
    # It was captured before the other segment of the frame.
    talk.segments[-2:] = reversed(talk.segments[-2:])
    talk.say(1, REPLY)
    check_order(talk, [startup, REPLY])


def test_a_supplied_request_speaks_of_no_reply() -> None:
    """Where what follows the Reply, and acknowledges it, was captured before it."""
    talk = started(ISN)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    syn, _, _, _, answer, *stream = talk.segments
    talk.segments[:] = [syn, stream[0], answer, stream[1]]
    check_order(talk, [REQUEST, REPLY])
