# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP segments of an MPA connection, and their impairments before and at the capture point.

Three steps, each seeded by a random.Random of the caller's:

1. A ``Half`` for each direction: startup frame, octets and records of ``mpastream``, initial
   sequence number.
2. Its octets are cut (``cut_*``) into a list of ``Sending``: pieces in the order in which they
   pass the capture point. Impairments take such a list and return another one.  They can be
   chained in any order.
3. ``conversation`` merges the two lists after the handshake and the startup frames, fills in
   the acknowledgement numbers, and returns the captured segments.

From the segments alone, ``capturable`` gives the FPDUs that a perfect dissector finds.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from .mpastream import TrueFPDU

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10

INITIATOR, RESPONDER = 0, 1

LARGEST_PAYLOAD = 65495
"""Octets that fit a TCP segment in one IPv4 datagram without options."""


class Segment(NamedTuple):
    """One captured TCP segment; direction is that of its sender."""

    direction: int
    seq: int
    ack: int
    flags: int
    payload: bytes


@dataclass(frozen=True)
class Half:
    """One direction of a connection."""

    startup: bytes
    octets: bytes
    truth: list[TrueFPDU]
    isn: int
    streaming: int = 0
    """How many streaming mode octets ``startup`` has before the startup frame."""

    @property
    def base(self) -> int:
        """The TCP sequence number of offset 0 of the Full Operation Phase."""
        return (self.isn + 1 + len(self.startup)) % 2**32


@dataclass(frozen=True)
class Sending:
    """Octets on their way: their place, and whether the receiver and the capture get them.

    received: they reach the receiver. captured: they are in the capture. If lost before the capture
    point, they are neither. If lost after it, captured only. If the capture misses them, received
    only.
    """

    offset: int
    payload: bytes
    received: bool = True
    captured: bool = True


def isn_wrapping_at(half: Half, offset: int) -> Half:
    """The half with an initial sequence number such that this offset has sequence number 0."""
    return replace(half, isn=(-offset - 1 - len(half.startup)) % 2**32)


def _pieces(octets: bytes, cuts: Sequence[int]) -> list[Sending]:
    ends = [*cuts, len(octets)]
    starts = [0, *cuts]
    places = zip(starts, ends, strict=True)
    return [Sending(start, octets[start:end]) for start, end in places if end > start]


def cut_mss(octets: bytes, mss: int) -> list[Sending]:
    """Segments of mss octets, with FPDUs anywhere in them."""
    return _pieces(octets, range(mss, len(octets), mss))


def cut_random(
    octets: bytes, rng: random.Random, smallest: int = 1, largest: int = LARGEST_PAYLOAD
) -> list[Sending]:
    """Segments of smallest to largest octets, sizes mixed over their magnitudes."""
    cuts: list[int] = []
    at = 0
    while True:
        magnitude = rng.uniform(smallest.bit_length() - 1, largest.bit_length())
        at += max(smallest, min(largest, int(2**magnitude)))
        if at >= len(octets):
            return _pieces(octets, cuts)
        cuts.append(at)


def cut_aligned(octets: bytes, truth: Sequence[TrueFPDU]) -> list[Sending]:
    """One FPDU a segment (RFC 5044 A.1), its leading marker included."""
    return _pieces(octets, [fpdu.start for fpdu in truth[1:]])


def cut_packed(octets: bytes, truth: Sequence[TrueFPDU], mss: int) -> list[Sending]:
    """As many whole FPDUs per segment as fit.  A larger FPDU begins a segment and is cut."""
    cuts: list[int] = []
    begin = 0
    for fpdu in truth:
        if fpdu.end - begin > mss and fpdu.start > begin:
            begin = fpdu.start
            cuts.append(begin)
        while fpdu.end - begin > mss:
            begin += mss
            cuts.append(begin)
    return _pieces(octets, cuts)


def _in_order(timed: list[tuple[float, Sending]]) -> list[Sending]:
    return [sending for _, sending in sorted(timed, key=lambda pair: pair[0])]


def lose_and_retransmit(
    sendings: Sequence[Sending],
    rng: random.Random,
    rate: float,
    distance: int = 8,
    seen: bool = False,
) -> list[Sending]:
    """Lose sendings on their way and send them again after up to distance others.

    seen: the loss happens after the capture point, so that both copies are captured.
    """
    timed: list[tuple[float, Sending]] = []
    for time, sending in enumerate(sendings):
        if sending.received and rng.random() < rate:
            lost = replace(sending, received=False, captured=seen and sending.captured)
            timed.append((time, lost))
            timed.append((time + rng.randint(0, distance) + 0.5, sending))
        else:
            timed.append((time, sending))
    return _in_order(timed)


def miss(sendings: Sequence[Sending], rng: random.Random, rate: float) -> list[Sending]:
    """The capture misses sendings that the receiver gets."""
    return [
        replace(sending, captured=sending.captured and rng.random() >= rate) for sending in sendings
    ]


def reorder(
    sendings: Sequence[Sending], rng: random.Random, rate: float, distance: int = 4
) -> list[Sending]:
    """Delay sendings by 1 to distance others."""
    timed: list[tuple[float, Sending]] = []
    for time, sending in enumerate(sendings):
        delay = rng.randint(1, distance) + 0.5 if rng.random() < rate else 0
        timed.append((time + delay, sending))
    return _in_order(timed)


def duplicate(sendings: Sequence[Sending], rng: random.Random, rate: float) -> list[Sending]:
    """Repeat sendings after up to four others."""
    timed: list[tuple[float, Sending]] = [*enumerate(sendings)]
    for time, sending in enumerate(sendings):
        if rng.random() < rate:
            timed.append((time + rng.randint(0, 4) + 0.5, sending))
    return _in_order(timed)


def overlap(
    sendings: Sequence[Sending],
    octets: bytes,
    rng: random.Random,
    rate: float,
    differing: bool = False,
) -> list[Sending]:
    """Retransmissions with other boundaries.

    Each begins and ends anywhere from 1460 octets before the last sending to the end of that
    sending.  differing: some octets that were captured before have other values in the copy.
    Reorder before this, not after it, or a differing copy may come first.
    """
    result = []
    captured = bytearray(len(octets))
    for sending in sendings:
        result.append(sending)
        end = sending.offset + len(sending.payload)
        if sending.captured:
            captured[sending.offset : end] = b"\1" * len(sending.payload)
        if rng.random() < rate:
            first = rng.randrange(max(0, sending.offset - 1460), end)
            last = rng.randint(first + 1, min(end, first + LARGEST_PAYLOAD))
            copy = bytearray(octets[first:last])
            if differing:
                for index in range(len(copy)):
                    if captured[first + index] and rng.random() < 0.5:
                        copy[index] ^= rng.randrange(1, 256)
            result.append(Sending(first, bytes(copy)))
            captured[first:last] = b"\1" * len(copy)
    return result


def keepalive(
    sendings: Sequence[Sending], rng: random.Random, rate: float, garbage: bool = False
) -> list[Sending]:
    """Keepalive probes: the newest octet again (RFC 9293 3.8.4); garbage: another value."""
    result = []
    newest, octet = 0, 0
    for sending in sendings:
        result.append(sending)
        end = sending.offset + len(sending.payload)
        if end > newest:
            newest, octet = end, sending.payload[-1]
        if rng.random() < rate:
            result.append(Sending(newest - 1, bytes([octet ^ (0xFF if garbage else 0)])))
    return result


class _Endpoint:
    """How far a direction was sent, and how far it was received, as stream positions.

    Position 0 is the SYN, 1 the first octet after it.
    """

    def __init__(self, half: Half) -> None:
        self.half = half
        self.sent = 0
        self.received = 0
        self._waiting: list[tuple[int, int]] = []

    def seq(self, position: int) -> int:
        return (self.half.isn + position) % 2**32

    def send(self, position: int, length: int, received: bool = True) -> None:
        self.sent = max(self.sent, position + length)
        if not received or not length:
            return
        self._waiting.append((position, position + length))
        self._waiting.sort()
        while self._waiting and self._waiting[0][0] <= self.received:
            self.received = max(self.received, self._waiting.pop(0)[1])


def conversation(
    halves: tuple[Half, Half],
    sendings: tuple[Sequence[Sending], Sequence[Sending]],
    rng: random.Random,
    *,
    ack_rate: float = 0.5,
    ack_missed: float = 0.0,
    startup_cut: int | None = None,
    close: str | None = "fin",
) -> list[Segment]:
    """The captured segments of a whole connection.

    Handshake, Request and Reply are always captured, in order. startup_cut: most octets
    of a startup frame in a segment. The Responder's FPDUs wait until it has the first FPDU of the
    Initiator (RFC 5044 7.1.2), if there is one. ack_rate: how often a bare ACK answers a data
    segment at once. ack_missed: the share of these that the capture misses. close: "fin" from both
    sides, "rst" from the Initiator, None.

    An ACK covers the octets that the receiver has without a hole.  So it passes a hole in the
    capture only if the receiver has the octets.
    """
    ends = _Endpoint(halves[0]), _Endpoint(halves[1])
    segments: list[Segment] = []

    def emit(
        direction: int,
        position: int,
        flags: int,
        payload: bytes = b"",
        received: bool = True,
        captured: bool = True,
    ) -> None:
        ack = ends[1 - direction].seq(ends[1 - direction].received) if flags & ACK else 0
        if captured:
            segments.append(Segment(direction, ends[direction].seq(position), ack, flags, payload))
        length = len(payload) + bool(flags & (SYN | FIN))
        ends[direction].send(position, length, received)

    def bare(direction: int, flags: int = ACK, captured: bool = True) -> None:
        emit(direction, ends[direction].sent, flags, captured=captured)

    emit(INITIATOR, 0, SYN)
    emit(RESPONDER, 0, SYN | ACK)
    bare(INITIATOR)
    for direction in (INITIATOR, RESPONDER):
        startup = halves[direction].startup
        step = startup_cut or max(1, len(startup))
        for at in range(0, len(startup), step):
            emit(direction, 1 + at, PSH | ACK, startup[at : at + step])
            bare(1 - direction)

    waiting = list(sendings[INITIATOR]), list(sendings[RESPONDER])
    truth = halves[INITIATOR].truth
    gate = 1 + len(halves[INITIATOR].startup) + (truth[0].end if truth else 0)
    while waiting[INITIATOR] or waiting[RESPONDER]:
        if not waiting[INITIATOR]:
            direction = RESPONDER
        elif not waiting[RESPONDER] or ends[INITIATOR].received < gate:
            direction = INITIATOR
        else:
            direction = rng.randrange(2)
        sending = waiting[direction].pop(0)
        position = 1 + len(halves[direction].startup) + sending.offset
        fate = sending.received, sending.captured
        emit(direction, position, PSH | ACK, sending.payload, *fate)
        if rng.random() < ack_rate:
            bare(1 - direction, captured=rng.random() >= ack_missed)

    if close == "fin":
        bare(INITIATOR, FIN | ACK)
        bare(RESPONDER)
        bare(RESPONDER, FIN | ACK)
        bare(INITIATOR)
    elif close == "rst":
        bare(INITIATOR, RST | ACK)
    return segments


def first_captured(segments: Sequence[Segment], half: Half, direction: int) -> list[int | None]:
    """For each offset of the stream, the octet captured first, or None if it was never captured."""
    found: list[int | None] = [None] * len(half.octets)
    for segment in segments:
        if segment.direction != direction:
            continue
        # Streams made here are far below 2 GiB: the signed distance is the offset.
        offset = (segment.seq - half.base + 2**31) % 2**32 - 2**31
        for index, octet in enumerate(segment.payload, offset):
            if 0 <= index < len(found) and found[index] is None:
                found[index] = octet
    return found


def capturable(segments: Sequence[Segment], half: Half, direction: int) -> list[TrueFPDU]:
    """The FPDUs of a direction whose octets were all captured, with right first copies.

    The first copy counts (RFC 5044 A.3). The segments may be any selection of a conversation's,
    such as all after the startup frames.
    """
    found = first_captured(segments, half, direction)
    return [
        fpdu
        for fpdu in half.truth
        if found[fpdu.start : fpdu.end] == list(half.octets[fpdu.start : fpdu.end])
    ]
