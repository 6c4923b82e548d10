# SPDX-License-Identifier: GPL-2.0-or-later
"""Acknowledgements in a cleaned capture mean the same octets as before, with the new numbers."""

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
    """A function from captured to written acknowledgement numbers of a direction.

    Numbers up to the end of the startup frame do not change.  Later ones acknowledge so many whole
    FPDUs, and perhaps the FIN.
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
def test_an_acknowledgement_is_of_whole_fpdus(seed: int) -> None:
    """Its number counts whole FPDUs, without their Markers.

    Only a frame with unchanged numbers may repeat an acknowledgement of its sender.
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
        # Segments end at the end of an FPDU, an octet before or after it, and anywhere.
        cuts = {each.end + by for each in truth for by in rng.sample((-1, 0, 1), 2)}
        cuts |= {rng.randrange(1, len(octets)) for _ in range(6)}
        ends = [0, *sorted(cut for cut in cuts if cut < len(octets)), len(octets)]
        pieces.append([octets[begin:end] for begin, end in pairwise(ends)])
        maps.append(mapping(isn, truth))
    # Receivers acknowledge late: up to the end of any segment after their last acknowledgement.
    sent = [[number] for number in talk.next]
    for both in zip_longest(*pieces):
        for direction, piece in enumerate(both):
            for sender, octets in ((direction, piece or b""), (1 - direction, b"")):
                unacknowledged = sent[1 - sender]
                del unacknowledged[: rng.randrange(min(len(unacknowledged), 4))]
                if octets or rng.random() < 0.5:
                    talk.say(sender, octets, flags=PSH | ACK if octets else ACK)
                    talk.segments[-1] = talk.segments[-1]._replace(ack=unacknowledged[0] % 2**32)
                    sent[sender].append(talk.next[sender])
    talk.close()
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    flows = [each.flow for each in segments(frames)[:2]]
    last_ack = [0, 0]
    captured: dict[int, list[int]] = {}
    new_acks: set[tuple[int, int]] = set()
    for number, each in enumerate(talk.segments, 1):
        if each.flags & ACK:
            ack = maps[1 - each.direction](each.ack)
            if each.flags == ACK and ack != last_ack[each.direction]:
                new_acks.add((each.direction, ack))
            last_ack[each.direction] = ack
        captured[number] = list(last_ack)
    cleaned = clean(frames)
    last = [0, 0]
    for each, segment in zip(cleaned.written, segments(cleaned.frames), strict=True):
        direction = flows.index(segment.flow)
        if segment.flags & ACK:
            assert segment.ack == captured[each.frame.number][direction], each.frame.number
        if segment.flags == ACK and segment.ack == last[direction]:
            assert each.frame.octets == frames[each.frame.number - 1].octets
        last[direction] = segment.ack
    assert len(new_acks) > 2
    assert new_acks <= {(flows.index(each.flow), each.ack) for each in segments(cleaned.frames)}


def check_order(talk: Talk, startups: list[bytes]) -> None:
    """No frame of the cleaned capture acknowledges, or follows, octets that are written later."""
    cleaned = segments(clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))).frames)
    payloads = [each.payload for each in cleaned if each.payload]
    assert payloads[: len(startups)] == startups
    first = cleaned[0].flow
    upto = [isn + 1 for isn in ISN]
    for each in cleaned:
        direction = int(each.flow != first)
        if not each.flags & SYN:
            assert each.seq == upto[direction] % 2**32
            assert each.ack <= upto[1 - direction]
            upto[direction] += each.length


@pytest.mark.parametrize(("sender", "octets"), [(1, 25), (0, 0)], ids=["acknowledges", "follows"])
def test_no_frame_before_a_startup_frame_presumes_it(sender: int, octets: int) -> None:
    """None acknowledges or follows it: other tools would take the startup frame for a copy."""
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


def test_a_supplied_request_acknowledges_no_reply() -> None:
    """Not even if a segment that follows and acknowledges the Reply was captured before it."""
    talk = started(ISN)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    syn, _, _, _, answer, *stream = talk.segments
    talk.segments[:] = [syn, stream[0], answer, stream[1]]
    check_order(talk, [REQUEST, REPLY])
