# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: how connections start (RFC 5044 7.1, RFC 6581)."""

from __future__ import annotations

from random import Random
from typing import Any, Final, Literal

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH

__all__ = [
    "crc_off",
    "delayed_startup",
    "markers",
    "markers_one_way",
    "mpa_rev0",
    "mpa_rev2_enhanced",
    "private_data",
    "reject",
    "reject_then_accept",
    "rtr_read",
    "rtr_send",
    "rtr_write",
]

_STAG: Final = 0x10010001


def _talk(conversation: Conversation, rng: Random) -> Conversation:
    """Let both sides say a little of everything, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.send(rng.randbytes(5))
    conversation.close()
    return conversation


@preset("markers", "Markers in both directions")
def markers(rng: Random, **options: Any) -> Conversation:
    """Every 512 octets one that points to the FPDU that it is in (RFC 5044 4.3)."""
    return _talk(Conversation(**{"markers": True, **options}), rng)


@preset("markers-one-way", "Markers only in what the Initiator receives")
def markers_one_way(rng: Random, **options: Any) -> Conversation:
    """M in the Request, and not in the Reply."""
    return _talk(Conversation(**{"markers": (True, False), **options}), rng)


@preset("crc-off", "neither side wants CRCs")
def crc_off(rng: Random, **options: Any) -> Conversation:
    """The field is there, and means nothing (RFC 5044 7.1.1)."""
    return _talk(Conversation(**{"crc": False, **options}), rng)


@preset("private-data", "Private Data in both startup frames, 512 octets of the Request")
def private_data(rng: Random, **options: Any) -> Conversation:
    """As much as there may be (RFC 5044 7.1.1)."""
    conversation = Conversation(**options)
    conversation.startup(rng.randbytes(LARGEST_PD_LENGTH), b"welcome")
    return _talk(conversation, rng)


@preset("mpa-rev0", "revision 0, with Markers, as the RDMA Consortium has it")
def mpa_rev0(rng: Random, **options: Any) -> Conversation:
    """DDP and RDMAP have version 0, too (RFC 5044 C.1)."""
    return _talk(Conversation(**{"revision": 0, "markers": True, **options}), rng)


@preset("mpa-rev2-enhanced", "revision 2 with enhanced data: IRD, ORD and Private Data")
def mpa_rev2_enhanced(rng: Random, **options: Any) -> Conversation:
    """The Responder asks for less than it was offered (RFC 6581 9.1)."""
    conversation = Conversation(**{"revision": 2, **options})
    conversation.startup(b"hello", b"welcome", ird=32, ord=16, reply_ird=8, reply_ord=32)
    return _talk(conversation, rng)


def _rtr(
    kind: Literal["send", "write", "read"], rng: Random, options: dict[str, Any]
) -> Conversation:
    """Peer to peer: the Responder speaks first, once the RTR indication is there."""
    conversation = Conversation(**{"revision": 2, **options})
    conversation.startup(ird=4, ord=4, rtr=kind)
    conversation.responder.send(rng.randbytes(30))
    return _talk(conversation, rng)


@preset("rtr-send", "peer to peer, with a zero-length Send as RTR indication (RFC 6581 9.2)")
def rtr_send(rng: Random, **options: Any) -> Conversation:
    """Control flags A and B."""
    return _rtr("send", rng, options)


@preset("rtr-write", "peer to peer, with a zero-length RDMA Write as RTR indication")
def rtr_write(rng: Random, **options: Any) -> Conversation:
    """Control flags A and C."""
    return _rtr("write", rng, options)


@preset("rtr-read", "peer to peer, with a zero-length RDMA Read as RTR indication")
def rtr_read(rng: Random, **options: Any) -> Conversation:
    """Control flags A and D."""
    return _rtr("read", rng, options)


@preset("reject", "the Responder rejects, and says why in its Private Data")
def reject(rng: Random, **options: Any) -> Conversation:
    """No FPDU follows (RFC 5044 7.1.2 rule 3)."""
    conversation = Conversation(**options)
    conversation.startup(b"let me in", b"no", rejected=True)
    conversation.close(1)
    return conversation


@preset("reject-then-accept", "a rejection, some octets in streaming mode, another Request")
def reject_then_accept(rng: Random, **options: Any) -> Conversation:
    """The connection goes on in streaming mode (RFC 5044 7.1.2 rule 3)."""
    conversation = Conversation(**options)
    conversation.startup(b"let me in", b"no", rejected=True)
    conversation.initiator.octets(b"please\r\n")
    conversation.responder.octets(b"very well\r\n")
    conversation.startup()
    return _talk(conversation, rng)


@preset("delayed-startup", "a dialogue in streaming mode before the startup frames")
def delayed_startup(rng: Random, **options: Any) -> Conversation:
    """RFC 5044 7.1.3: the ULP agrees to go over to MPA."""
    conversation = Conversation(**options)
    conversation.initiator.octets(b"HELLO\r\n")
    conversation.responder.octets(b"HELLO, RDMA SPOKEN HERE\r\n")
    conversation.pause(0.05)
    conversation.initiator.octets(b"RDMA THEN\r\n")
    conversation.responder.octets(b"OK\r\n")
    conversation.startup()
    return _talk(conversation, rng)
