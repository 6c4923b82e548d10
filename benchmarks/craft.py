# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares crafting FPDUs with building them from Scapy's packets.

::

    python -m benchmarks.craft --fpdus 20000 --runs 5

Both make octets from numbers: the FPDUs of an RDMA Write, one in each segment; the Ethernet frames
that carry them; the same FPDUs with Markers; and short Sends.  Each Send is a message of its own,
which costs a conversation most for an FPDU.  Scapy uses the layers of this project, field by field.
It makes fewer FPDUs, in about a second at most.  The octets of both are compared first.
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

from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.layers import FPDU, DDPTagged, DDPUntagged, RDMAPSend, RDMAPWrite

__all__ = [
    "craft_fpdus",
    "craft_frames",
    "craft_marked",
    "craft_sends",
    "payload_of",
    "scapy_fpdus",
    "scapy_frames",
    "scapy_marked",
    "scapy_sends",
]

_STAG: Final = 0x1234
_BY_SCAPY: Final = 1000
"""FPDUs that Scapy is asked for."""
_PAYLOAD: Final = 1440
"""Octets of payload with which FPDU and segment are of one size, 1460 octets."""
_SEGMENT: Final = 1460
_SEND: Final = 64
"""Octets of a short Send."""
_MULPDU: Final = 1454
"""Octets of the ULPDU that is an RDMA Write's header and that payload, with Markers as without."""

# The numbers of a conversation, which the packets of Scapy must have, too.
_ADDRESSES: Final = "10.0.0.1", "10.0.0.2"
_PORTS: Final = 40000, 4000
_FIRST: Final = 1000 + 1 + 20, 5000 + 1 + 20
"""Sequence numbers after the startup frames, which have 20 octets each."""


def payload_of(fpdus: int, each: int = _PAYLOAD) -> bytes:
    """Return what so many FPDUs carry.

    :param each: octets in each of them.
    """
    octets = fpdus * each
    return (bytes(range(256)) * (octets // 256 + 1))[:octets]


def craft_fpdus(payload: bytes) -> list[bytes]:
    """Return the octets of FPDUs, by way of a conversation."""
    conversation = Conversation()
    conversation.initiator.write(payload, _STAG)
    return _fpdus_of(conversation)


def craft_marked(payload: bytes) -> list[bytes]:
    """Return the octets of FPDUs with Markers, by way of a conversation."""
    conversation = Conversation(markers=True, mulpdu=_MULPDU)
    conversation.initiator.write(payload, _STAG)
    return _fpdus_of(conversation)


def craft_sends(payload: bytes) -> list[bytes]:
    """Return the octets of short Sends, by way of a conversation."""
    conversation = Conversation()
    for at in range(0, len(payload), _SEND):
        conversation.initiator.send(payload[at : at + _SEND])
    return _fpdus_of(conversation)


def _fpdus_of(conversation: Conversation) -> list[bytes]:
    return [placed.octets for placed in conversation.layout() if type(placed.item) is FPDUItem]


def craft_frames(payload: bytes) -> list[bytes]:
    """Return the Ethernet frames that carry FPDUs, by way of a conversation."""
    conversation = Conversation(ack_every=0)
    conversation.initiator.write(payload, _STAG)
    segments = conversation.segments()[-(len(payload) // _PAYLOAD) :]
    return [frame.octets for frame in conversation.frames(segments)]


def scapy_fpdus(payload: bytes) -> list[bytes]:
    """Return the same octets, from Scapy's packets."""
    return [bytes(packet) for packet in _packets(payload)]


def scapy_marked(payload: bytes) -> list[bytes]:
    """Return the same octets with Markers, from Scapy's packets."""
    offset = 0
    fpdus = []
    for packet in _packets(payload):
        packet.phase = offset % 512
        fpdus.append(bytes(packet))
        offset += len(fpdus[-1])
    return fpdus


def scapy_sends(payload: bytes) -> list[bytes]:
    """Return the same Sends, from Scapy's packets."""
    return [
        bytes(FPDU() / DDPUntagged(msn=msn) / RDMAPSend() / payload[at : at + _SEND])
        for msn, at in enumerate(range(0, len(payload), _SEND), 1)
    ]


def scapy_frames(payload: bytes) -> list[bytes]:
    """Return the same frames, from Scapy's packets."""
    packets = _packets(payload)
    last = len(packets) - 1
    return [
        bytes(
            Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
            / IP(src=_ADDRESSES[0], dst=_ADDRESSES[1], id=index + 1, flags="DF")
            / TCP(
                sport=_PORTS[0],
                dport=_PORTS[1],
                seq=_FIRST[0] + index * _SEGMENT,
                ack=_FIRST[1],
                flags="PA" if index == last else "A",
                window=0xFFFF,
            )
            / packet
        )
        for index, packet in enumerate(packets)
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


def _microseconds(make: Callable[[bytes], list[bytes]], fpdus: int, each: int) -> float:
    """Return microseconds of processor time for each FPDU."""
    payload = payload_of(fpdus, each)
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
    pairs = {
        "FPDUs": (craft_fpdus, scapy_fpdus, _PAYLOAD),
        "frames": (craft_frames, scapy_frames, _PAYLOAD),
        "FPDUs with Markers": (craft_marked, scapy_marked, _PAYLOAD),
        "short Sends": (craft_sends, scapy_sends, _SEND),
    }
    print("| octets of | crafted, us each | by Scapy, us each | Scapy / it |")
    print("| --- | ---: | ---: | ---: |")
    for name, (ours, theirs, each) in pairs.items():
        few = min(options.fpdus, _BY_SCAPY)
        payload = payload_of(few, each)
        if ours(payload) != theirs(payload):
            raise SystemExit(f"the {name} that are made are not the same")
        runs = [
            (_microseconds(ours, options.fpdus, each), _microseconds(theirs, few, each))
            for _ in range(options.runs)
        ]
        own, scapys = (median(times) for times in zip(*runs, strict=True))
        print(f"| {name} | {own:.2f} | {scapys:.0f} | {scapys / own:.0f} |")


if __name__ == "__main__":
    main()
