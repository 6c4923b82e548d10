# SPDX-License-Identifier: GPL-2.0-or-later
"""Constructed captures of one connection each: a seed gives the octets and their content.

``case(seed)`` chooses a place in the product of all ``dimensions`` and makes its capture.
``case(seed, crc=False)`` fixes some of them.  The same call gives the same capture.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from . import impair, messages, mpastream, pcapfile
from .dimensions import Dimensions, choose
from .findable import Wanted, findable
from .headers import header_length
from .impair import INITIATOR, RESPONDER, Half, Segment, Sending

HOSTS = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
PORTS = (40000, 4000)
TIMESTAMPS = bytes.fromhex("0101080a0000000100000002")

LARGEST_SEGMENT = 65_000
"""Fits a datagram of every network used here."""

SEGMENT_SIZES = (536, 1448, 1460, 3000, 8948)

SMALL = {"octets": 3_000, "tiny": 12_000}
BUDGETS = {**SMALL, "super-segments": 150_000}
OCTETS_OF_A_HALF = 40_000
"""A direction gets no more FPDUs after so many octets.  ``BUDGETS`` has other ways of cutting."""

FILLERS = {
    "zeros": b"\0",
    "text": b"The quick brown fox jumps over MPA ID Req Frame. ",
    # ULPDU_Length, and the control octets of a Send and of a Write.
    "header words": b"\x00\x20\x41\x43\x00\x40\xc1\x40",
}

CARRIES_PAYLOAD = messages.WRITE, messages.READ_RESPONSE, *messages.SENDS


@dataclass(frozen=True)
class Case:
    """One capture and its truth."""

    seed: int
    dimensions: Dimensions
    halves: tuple[Half, Half]
    segments: list[Segment]
    """As captured, but not cut to the snap length."""
    ports: tuple[int, int] = PORTS
    """Ports of Initiator and Responder."""

    def __str__(self) -> str:
        return f"case({self.seed}): {self.dimensions}"

    @property
    def hosts(self) -> tuple[str, str]:
        """Addresses of Initiator and Responder."""
        return HOSTS[6 if "IPv6" in self.dimensions.network else 4]

    @property
    def endpoints(self) -> tuple[str, str]:
        """Addresses and ports of Initiator and Responder, as records have them."""
        host = "[{}]:{}" if "IPv6" in self.dimensions.network else "{}:{}"
        initiator, responder = map(host.format, self.hosts, self.ports)
        return initiator, responder

    def frames(self) -> list[bytes]:
        """The frames, not cut to the snap length."""
        network = self.dimensions.network
        return pcapfile.frames(
            self.segments,
            hosts=self.hosts,
            ports=self.ports,
            vlan=7 if "VLAN" in network else None,
            tcp_options=TIMESTAMPS if network == "TCP options" else b"",
        )

    def pcap(self) -> bytes:
        """The capture."""
        return pcapfile.pcap(self.frames(), snaplen=self.dimensions.snap or 262144)

    @cached_property
    def wanted(self) -> dict[tuple[int, int], Wanted]:
        """The FPDUs to be found, by direction and sequence number."""
        return findable(self.halves, self.captured, self.dimensions)

    @property
    def captured(self) -> list[tuple[Segment, int]]:
        """Each segment, and how many octets of its payload the snap length left."""
        snap = self.dimensions.snap
        if not snap:
            return [(segment, len(segment.payload)) for segment in self.segments]
        headers = 14 + 20 + (40 if "IPv6" in self.dimensions.network else 20)
        headers += 4 * ("VLAN" in self.dimensions.network)
        headers += len(TIMESTAMPS) * (self.dimensions.network == "TCP options")
        return [(each, min(len(each.payload), snap - headers)) for each in self.segments]


def _random_of(seed: int, fixed: Mapping[str, Any]) -> random.Random:
    return random.Random(f"{seed} {sorted(fixed.items())}")


def dimensions_of(seed: int, **fixed: Any) -> Dimensions:
    """The dimensions of a seed's case, without making it."""
    return choose(_random_of(seed, fixed), **fixed)


def case(seed: int, **fixed: Any) -> Case:
    """The case of a seed, with some dimensions fixed."""
    rng = _random_of(seed, fixed)
    dimensions = choose(rng, **fixed)
    halves = _half(rng, dimensions, INITIATOR), _half(rng, dimensions, RESPONDER)
    sendings = _sendings(rng, dimensions, halves[0], 0), _sendings(rng, dimensions, halves[1], 1)
    segments = impair.conversation(
        halves,
        sendings,
        rng,
        ack_rate=rng.choice((0.1, 0.5, 1.0)),
        ack_missed=rng.choice((0.0, 0.0, 0.5, 1.0)),
        startup_cut=_startup_cut(rng, dimensions),
        close=None if dimensions.close == "none" else dimensions.close,
    )
    return Case(seed, dimensions, halves, _begun(rng, dimensions, halves, segments))


def _half(rng: random.Random, dimensions: Dimensions, direction: int) -> Half:
    has_markers = dimensions.markers in ("both", ("Initiator", "Responder")[direction])
    ulpdus = _ulpdus(rng, dimensions, direction, has_markers)
    octets, truth = mpastream.build_stream(
        ulpdus,
        markers=has_markers,
        crc=dimensions.crc,
        idle_crc_field=rng.choice((bytes(4), b"\xde\xad\xbe\xef")),
        pad_octet=rng.choice((0, 0, 0xEE)),
        damage=_damage(rng, dimensions, ulpdus, has_markers),
    )
    half = Half(_startup(rng, dimensions, direction), octets, truth, rng.getrandbits(32))
    if dimensions.wraps in ("both", ("Initiator", "Responder")[direction]):
        half = impair.isn_wrapping_at(half, rng.randint(-len(half.startup), len(octets)))
    return half


def _startup_cut(rng: random.Random, dimensions: Dimensions) -> int | None:
    if dimensions.snap or dimensions.startup_pieces == "whole":
        return None
    return rng.choice((None, None, 1, 7, 19))


def _startup(rng: random.Random, dimensions: Dimensions, direction: int) -> bytes:
    """A startup frame.  Its M asks the peer to send Markers (RFC 5044 7.1.1)."""
    private_data = rng.randbytes(rng.choice((0, 4, 16) if dimensions.snap else (0, 16, 60)))
    if dimensions.revision == 2:
        private_data = mpastream.enhanced_data(rng.randrange(64), rng.randrange(64)) + private_data
    peer = ("Responder", "Initiator")[direction]
    # CRCs are on if either side wants them.
    wants_crc = dimensions.crc and (direction == INITIATOR or rng.random() < 0.8)
    return mpastream.startup_frame(
        (mpastream.REQUEST_KEY, mpastream.REPLY_KEY)[direction],
        markers=int(dimensions.markers in ("both", peer)),
        crc=int(wants_crc),
        enhanced=int(dimensions.revision == 2),
        revision=dimensions.revision,
        private_data=private_data,
    )


def _ulpdus(
    rng: random.Random, dimensions: Dimensions, direction: int, has_markers: bool
) -> list[bytes]:
    payload = dimensions.payload
    if payload == "header words" and not (dimensions.crc and not dimensions.snap):
        begins = dimensions.startup == "both" and dimensions.begin != "any point"
        markers_help = begins and has_markers and dimensions.damage == "none"
        if dimensions.snap or not markers_help:
            # Nothing distinguishes headers in a payload from those of FPDUs.
            payload = "text"
    way = dimensions.cuts[direction]
    budget = BUDGETS.get(way, OCTETS_OF_A_HALF)
    # No ULPDU should be half of a short stream.
    mulpdu = min(dimensions.mulpdu, budget // 6) if way in SMALL else dimensions.mulpdu
    if dimensions.mix == "small":
        made = messages.random_ulpdus(rng, 120, min(mulpdu, 200), 100)
    elif dimensions.mix == "bulk":
        octets = bytes(max(budget, 4 * mulpdu))
        made = messages.write(rng.getrandbits(32), rng.getrandbits(40), octets, mulpdu)
    else:
        made = messages.random_ulpdus(rng, 60, mulpdu, max(2 * mulpdu, 3000))
    ulpdus = []
    for ulpdu in made:
        budget -= len(ulpdu) + 6
        if budget < 0 and len(ulpdus) >= 4:
            break
        ulpdus.append(_filled(rng, ulpdu, payload))
    if dimensions.mix == "terminated":
        ulpdus += messages.terminate(0, 1, 1, ulpdus[-1])
    return ulpdus


def _filled(rng: random.Random, ulpdu: bytes, payload: str) -> bytes:
    """The ULPDU with ULP payload of a kind, if it carries any."""
    if ulpdu[1] & 15 not in CARRIES_PAYLOAD:
        return ulpdu
    header = header_length(ulpdu)
    size = len(ulpdu) - header
    if payload == "random":
        return ulpdu[:header] + rng.randbytes(size)
    filler = FILLERS[payload]
    return ulpdu[:header] + (filler * (size // len(filler) + 1))[:size]


def _damage(
    rng: random.Random, dimensions: Dimensions, ulpdus: Sequence[bytes], has_markers: bool
) -> dict[int, mpastream.Damage]:
    """Damage to one to three FPDUs of a direction, mostly far from each other."""
    kind = dimensions.damage
    if kind == "none" or (kind == "FPDUPTR" and not has_markers):
        return {}
    which = rng.sample(range(len(ulpdus)), min(len(ulpdus), rng.randint(1, 3)))
    harm = {}
    for index in which:
        size = len(ulpdus[index])
        if kind == "CRC":
            harm[index] = mpastream.Damage(crc_xor=rng.getrandbits(32) | 1)
        elif kind == "flip":
            harm[index] = mpastream.Damage(flip=(rng.randrange(size), rng.randrange(1, 256)))
        elif kind == "length":
            wrong = rng.choice((0, size // 2, size + 4, size + 700, rng.randrange(65536), 65535))
            if (wrong + 5) // 4 != (size + 5) // 4:
                sender = rng.random() < 0.5
                harm[index] = mpastream.Damage(ulpdu_length=wrong, sender=sender)
        elif mpastream.build_stream([*ulpdus[: index + 1]], markers=True)[1][-1].markers:
            fpduptr = rng.choice((4, 8, 500, 0xFFFC, rng.getrandbits(14) << 2))
            harm[index] = mpastream.Damage(fpduptr={0: fpduptr}, sender=rng.random() < 0.7)
    return harm


def _sendings(
    rng: random.Random, dimensions: Dimensions, half: Half, direction: int
) -> list[Sending]:
    octets = half.octets
    sendings = _cut(rng, dimensions.cuts[direction], half)
    few = len(sendings) < 30
    if dimensions.loss != "none":
        rate = rng.choice((0.1, 0.3) if few else (0.02, 0.1, 0.3))
        seen = dimensions.loss == "after"
        sendings = impair.lose_and_retransmit(sendings, rng, rate, rng.choice((3, 8, 40)), seen)
    if dimensions.order != "kept":
        distance = 3 if dimensions.order == "near" else 30
        sendings = impair.reorder(sendings, rng, rng.choice((0.05, 0.3)), distance)
    if dimensions.missing:
        sendings = impair.miss(sendings, rng, max(dimensions.missing, 0.1 * few))
    if dimensions.copies == "equal":
        sendings = impair.duplicate(sendings, rng, 0.15)
    elif dimensions.copies in ("overlapping", "differing"):
        differing = dimensions.copies == "differing"
        sendings = impair.overlap(sendings, octets, rng, 0.15, differing=differing)
    elif dimensions.copies == "keepalive":
        # A probe with a wrong octet would fill a hole of the capture.
        garbage = not dimensions.missing and dimensions.loss == "none"
        sendings = impair.keepalive(sendings, rng, 0.15, garbage=garbage)
    return sendings


def _cut(rng: random.Random, way: str, half: Half) -> list[Sending]:
    octets, truth = half.octets, half.truth
    if way == "octets":
        return impair.cut_mss(octets, 1)
    if way == "tiny":
        return impair.cut_random(octets, rng, 1, 40)
    if way == "any size":
        return impair.cut_random(octets, rng, 1, LARGEST_SEGMENT)
    if way == "super-segments":
        return impair.cut_random(octets, rng, 11_000, LARGEST_SEGMENT)
    if way == "several FPDUs":
        return impair.cut_packed(octets, truth, rng.choice((1460, 8960, LARGEST_SEGMENT)))
    if way == "whole FPDUs":
        aligned = impair.cut_aligned(octets, truth)
        if all(len(each.payload) <= LARGEST_SEGMENT for each in aligned):
            return aligned
    return impair.cut_mss(octets, rng.choice(SEGMENT_SIZES))


def _begun(
    rng: random.Random, dimensions: Dimensions, halves: tuple[Half, Half], segments: list[Segment]
) -> list[Segment]:
    """The captured segments: all from where the capture begins, but for missing startup frames."""
    if dimensions.begin == "any point":
        return segments[rng.randint(4, max(4, len(segments) * 2 // 3)) :]
    if dimensions.begin == "no SYN":
        segments = [each for each in segments if not each.flags & impair.SYN]
    senders = {"both": (), "Request": (RESPONDER,), "Reply": (INITIATOR,)}
    missing = senders.get(dimensions.startup, (INITIATOR, RESPONDER))

    def is_startup(each: Segment) -> bool:
        half = halves[each.direction]
        return bool(each.payload) and (half.base - each.seq - 1) % 2**32 < len(half.startup)

    return [each for each in segments if not (each.direction in missing and is_startup(each))]
