# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures crafting beside building the same with Scapy's packets.

::

    python -m benchmarks.craft --fpdus 20000 --runs 5

Both make the FPDUs of an RDMA Write, each of which fills a segment, and the Ethernet frames that
carry them, from the numbers to the octets.  Scapy's side uses the layers of this project, field by
field; it makes as many as take it about a second.  What both make is compared before anything is
measured.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, Final

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from scapy_mpa.craft import INITIATOR, Conversation, FPDUItem, Segment
from scapy_mpa.layers import FPDU, DDPTagged, RDMAPWrite

__all__ = ["craft_fpdus", "craft_frames", "payload_of", "scapy_fpdus", "scapy_frames"]

_STAG: Final = 0x1234
_BY_SCAPY: Final = 1000
"""FPDUs that Scapy is asked for."""
_PAYLOAD: Final = 1440
"""Octets of payload with which FPDU and segment are of one size, 1460 octets."""


def payload_of(fpdus: int) -> bytes:
    """Return what so many FPDUs carry."""
    octets = fpdus * _PAYLOAD
    return (bytes(range(256)) * (octets // 256 + 1))[:octets]


def craft_fpdus(payload: bytes) -> list[bytes]:
    """Return the octets of FPDUs, by way of a conversation."""
    conversation = Conversation()
    conversation.initiator.write(payload, _STAG)
    return [placed.octets for placed in conversation.layout() if type(placed.item) is FPDUItem]


def craft_frames(payload: bytes) -> list[bytes]:
    """Return the Ethernet frames that carry FPDUs, by way of a conversation."""
    conversation, segments = _conversation(payload)
    return [frame.octets for frame in conversation.frames(segments)]


def _conversation(payload: bytes) -> tuple[Conversation, list[Segment]]:
    conversation = Conversation(ack_every=0)
    conversation.initiator.write(payload, _STAG)
    segments = conversation.segments()
    return conversation, segments[-(len(payload) // _PAYLOAD) :]


def scapy_fpdus(payload: bytes) -> list[bytes]:
    """Return the same octets, from Scapy's packets."""
    return [bytes(packet) for packet in _packets(payload)]


def scapy_frames(payload: bytes) -> list[bytes]:
    """Return the same frames, from Scapy's packets."""
    conversation, segments = _conversation(payload)
    sides = conversation.initiator.endpoint, conversation.responder.endpoint
    return [
        bytes(
            Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            / IP(
                src=sides[INITIATOR].address,
                dst=sides[1 - INITIATOR].address,
                id=number,
                flags="DF",
            )
            / TCP(
                sport=sides[INITIATOR].port,
                dport=sides[1 - INITIATOR].port,
                seq=segment.seq,
                ack=segment.ack,
                flags=segment.flags,
                window=0xFFFF,
            )
            / packet
        )
        for number, (segment, packet) in enumerate(zip(segments, _packets(payload), strict=True), 1)
    ]


def _packets(payload: bytes) -> list[Any]:
    fpdus = len(payload) // _PAYLOAD
    return [
        FPDU()
        / DDPTagged(last=int(index == fpdus - 1), stag=_STAG, to=index * _PAYLOAD)
        / RDMAPWrite()
        / payload[index * _PAYLOAD : (index + 1) * _PAYLOAD]
        for index in range(fpdus)
    ]


def _microseconds(make: Callable[[bytes], list[bytes]], fpdus: int) -> float:
    """Return microseconds of processor time for each FPDU."""
    payload = payload_of(fpdus)
    gc.collect()
    start = time.process_time()
    make(payload)
    return (time.process_time() - start) * 1e6 / fpdus


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.craft")
    parser.add_argument("--fpdus", type=int, default=20_000, help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=5, help="of each; default: %(default)s")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.fpdus < 1:
        parser.error("--runs and --fpdus must be at least 1")
    pairs = {"FPDUs": (craft_fpdus, scapy_fpdus), "frames": (craft_frames, scapy_frames)}
    print("| octets of | crafted, us each | by Scapy, us each | Scapy / it |")
    print("| --- | ---: | ---: | ---: |")
    for name, (ours, theirs) in pairs.items():
        few = min(options.fpdus, _BY_SCAPY)
        payload = payload_of(few)
        if ours(payload) != theirs(payload):
            raise SystemExit(f"the {name} that are made are not the same")
        runs = [
            (_microseconds(ours, options.fpdus), _microseconds(theirs, few))
            for _ in range(options.runs)
        ]
        own, scapys = (median(each) for each in zip(*runs, strict=True))
        print(f"| {name} | {own:.2f} | {scapys:.0f} | {scapys / own:.0f} |")


if __name__ == "__main__":
    main()
