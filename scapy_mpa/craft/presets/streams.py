# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: how FPDUs lie in TCP segments, and segments in frames (RFC 5044 5.1)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.presets.preset import preset

__all__ = [
    "ipv6",
    "jumbo",
    "packed",
    "sequence_wrap",
    "small_segments",
    "stream_segmentation",
    "vlan",
]

_STAG: Final = 0x10010001


def _talk(conversation: Conversation, rng: Random) -> Conversation:
    """Let both sides send small and large messages, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(20))
    for number in range(10):
        right.send(rng.randbytes(40 + 7 * number))
    left.write(rng.randbytes(30_000), _STAG, 0)
    for number in range(10):
        left.send(rng.randbytes(99 - 9 * number))
    right.read(rng.randbytes(10_000), _STAG, 0, 2, 0)
    conversation.close()
    return conversation


@preset("packed", "as many whole FPDUs in a segment as fit")
def packed(rng: Random, **options: Any) -> Conversation:
    """RFC 5044 5.1."""
    return _talk(Conversation(**{"packing": "packed", **options}), rng)


@preset("stream-segmentation", "FPDUs lie across segments, with Markers")
def stream_segmentation(rng: Random, **options: Any) -> Conversation:
    """As over a TCP that knows nothing of FPDUs; each is larger than a segment."""
    own = {"packing": "stream", "markers": True, "mulpdu": 4000}
    return _talk(Conversation(**{**own, **options}), rng)


@preset("small-segments", "a Maximum Segment Size of 128 octets")
def small_segments(rng: Random, **options: Any) -> Conversation:
    """The least EMSS for which RFC 5044 has a MULPDU (4.5)."""
    return _talk(Conversation(**{"mss": 128, **options}), rng)


@preset("jumbo", "jumbo frames: a Maximum Segment Size of 8948 octets")
def jumbo(rng: Random, **options: Any) -> Conversation:
    """FPDUs of nearly 9000 octets, with Markers in them."""
    return _talk(Conversation(**{"mss": 8948, "markers": True, **options}), rng)


@preset("ipv6", "IPv6")
def ipv6(rng: Random, **options: Any) -> Conversation:
    """Between two unique local addresses."""
    ends = {"initiator": Endpoint("fd00::1", 40000), "responder": Endpoint("fd00::2", 4000)}
    return _talk(Conversation(**{**ends, "mss": 1440, **options}), rng)


@preset("vlan", "an IEEE 802.1Q tag: VLAN 100, priority 3")
def vlan(rng: Random, **options: Any) -> Conversation:
    """The priority that RoCE and iWARP are often given."""
    return _talk(Conversation(**{"vlan": 3 << 13 | 100, **options}), rng)


@preset("sequence-wrap", "sequence numbers that pass 2^32 in the middle of both streams")
def sequence_wrap(rng: Random, **options: Any) -> Conversation:
    """RFC 9293 3.4."""
    return _talk(Conversation(**options), rng).wrapping()
