# SPDX-License-Identifier: GPL-2.0-or-later
"""The valid conversations that mutations start from.

Lengths, content, STags and offsets come from the seed; the messages and their order do not.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.ift_conversation import IFTConversation
from scapy_mpa.craft.side import Side
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH
from scapy_mpa.wire.negotiation import LEFT_TO_ULP
from scapy_mpa.wire.rdmap_names import AtomicOperation

IRD: Final = 2
"""IRD and ORD of :func:`reading`."""

_UP_TO_NEXT_MARKER: Final = (
    MARKER_INTERVAL - MARKER_LENGTH - HEADER_LENGTH - UNTAGGED_LENGTH - CRC_LENGTH
)
"""Octets of a Send that is the first FPDU of a direction and ends at the second Marker."""
_LARGEST_STAG: Final = 0xFFFFFFFF
_LARGEST_TO: Final = 1 << 48


def plain(rng: Random) -> Conversation:
    """Return a conversation with CRCs, no Markers and all messages of RFC 5040."""
    return _filled(Conversation(), rng)


def marked(rng: Random) -> Conversation:
    """Return the same with Markers in both directions.

    In each direction, the second FPDU has a leading Marker and other Markers.
    """
    return _filled(Conversation(markers=True), rng, first=_UP_TO_NEXT_MARKER)


def marked_without_crcs(rng: Random) -> Conversation:
    """Return the same with Markers in both directions, without CRCs."""
    return _filled(Conversation(markers=True, crc=False), rng, first=_UP_TO_NEXT_MARKER)


def without_crcs(rng: Random) -> Conversation:
    """Return the same without Markers and CRCs."""
    return _filled(Conversation(crc=False), rng)


def oldest(rng: Random) -> Conversation:
    """Return the same with revision 0, Markers, and version 0 of DDP and RDMAP (RFC 5044 C.1)."""
    return _filled(Conversation(revision=0, markers=True), rng)


def announced(rng: Random) -> Conversation:
    """Return the same with an Rtr Frame (rtr-frame-proposal-2007)."""
    return _filled(Conversation(rtr_frame=True), rng, rtr_private_data=_data(rng, 64))


def enhanced(rng: Random) -> Conversation:
    """Return the same with enhanced startup frames (RFC 6581)."""
    return _filled(Conversation(revision=2), rng, ird=rng.randrange(8, 65), ord=rng.randrange(2, 8))


def peer_to_peer(rng: Random) -> Conversation:
    """Return the same in peer-to-peer mode, with a zero-length Send as RTR indication (RFC 6581
    9.2)."""
    return _filled(Conversation(revision=2), rng, rtr="send")


def peers_of_any_kind(rng: Random) -> Conversation:
    """Return the same, with a zero-length Send, although any RTR indication is allowed."""
    return _filled(Conversation(revision=2), rng, rtr="send", control_flags="ABCD")


def left_to_ulp(rng: Random) -> Conversation:
    """Return the same with IRD and ORD left to the ULP (RFC 6581 9.1)."""
    return _filled(Conversation(revision=2), rng, ird=LEFT_TO_ULP, ord=LEFT_TO_ULP)


def peer_connect(rng: Random) -> Conversation:
    """Return the same in the draft before RFC 6581, with a zero-length RDMA Write as RTR."""
    conversation = Conversation(dialect=Dialect.DRAFT_PEER_CONNECT_01)
    return _filled(conversation, rng, rtr="write", control_flags="ABC")


def peer_connect_ulp(rng: Random) -> Conversation:
    """Return the same with a Reply that asks for a Send of the ULP."""
    conversation = Conversation(dialect=Dialect.DRAFT_PEER_CONNECT_01)
    return _filled(conversation, rng, control_flags="ABC", reply_control_flags="")


def reading(rng: Random) -> Conversation:
    """Return RDMA Reads: as many outstanding as IRD allows, then one more (RFC 6581 9.1)."""
    conversation = Conversation(revision=2)
    conversation.startup(_data(rng, 32), ird=IRD, ord=IRD)
    initiator = conversation.initiator
    initiator.send(_data(rng))
    asked = [
        initiator.read_request(rng.randrange(1, 900), _stag(rng), _to(rng), _stag(rng), _to(rng))
        for _ in range(IRD)
    ]
    for each in asked:
        assert each.read is not None
        conversation.responder.read_response(rng.randbytes(each.read.rdma_read_size))
    initiator.read(_data(rng), _stag(rng), _to(rng), _stag(rng), _to(rng))
    conversation.close()
    return conversation


def extension(rng: Random) -> Conversation:
    """Return a conversation of Alibaba's erdma, whose startup frames have an extension."""
    conversation = Conversation(dialect=Dialect.ERDMA)
    own, peers = rng.randbytes(8), rng.randbytes(8)
    return _filled(conversation, rng, extension=own, reply_extension=peers)


def drifting(rng: Random) -> Conversation:
    """Return a conversation of the Ohio Supercomputer Center's software iWARP (osc), with Markers
    and CRCs."""
    conversation = Conversation(dialect=Dialect.OSC, markers=True)
    return _filled(conversation, rng, first=_UP_TO_NEXT_MARKER)


def lacking_crcs(rng: Random) -> Conversation:
    """Return a conversation of osc without Markers, CRCs and CRC fields."""
    return _filled(Conversation(dialect=Dialect.OSC, crc=False), rng)


def padded_otherwise(rng: Random) -> Conversation:
    """Return a conversation of SoftUiWARP; some ULPDUs have 3 octets more than whole words."""
    conversation = Conversation(dialect=Dialect.SOFTUIWARP)
    _start(conversation, rng)
    initiator, responder = conversation.sides
    for over in (1, 3, 1):
        for _ in range(6):
            initiator.send(rng.randbytes(4 * rng.randrange(8, 90) + (over - UNTAGGED_LENGTH) % 4))
    responder.send(_data(rng))
    conversation.close()
    return conversation


def extended(rng: Random) -> Conversation:
    """Return a conversation with the messages of RFC 7306."""
    conversation = Conversation()
    _start(conversation, rng)
    initiator, responder = conversation.sides
    initiator.send(_data(rng))
    for operation in AtomicOperation:
        compares = operation is AtomicOperation.CMP_SWAP
        initiator.atomic(
            operation,
            _stag(rng),
            _to(rng) & ~7,
            original=rng.getrandbits(64),
            add_or_swap_data=rng.getrandbits(64),
            compare_data=rng.getrandbits(64) if compares else 0,
        )
    initiator.immediate(rng.randbytes(8))
    responder.immediate(rng.randbytes(8), solicited=True)
    conversation.close()
    return conversation


def terminated(rng: Random) -> Conversation:
    """Return a conversation that the Responder ends with a Terminate (RFC 5040 4.8): it has found a
    bounds violation in an RDMA Read Request."""
    conversation = Conversation()
    _start(conversation, rng)
    conversation.initiator.send(_data(rng))
    conversation.initiator.read_request(
        rng.randrange(1, 900), _stag(rng), _to(rng), _stag(rng), _to(rng)
    )
    asked: Any = conversation.script[-1]
    conversation.responder.terminate(0, 1, 1, in_error=asked)
    conversation.close(1)
    return conversation


def framed(rng: Random) -> Conversation:
    """Return all messages in iWARP Framing for TCP, with both CRCs."""
    return _framed(rng)


def framed_without_crcs(rng: Random) -> Conversation:
    """Return the same in frames without CRCs."""
    return _framed(rng, hc=False, pc=False)


def framed_ignoring(rng: Random) -> Conversation:
    """Return the same with CRCs, although both sides announce to ignore them (IH, IP)."""
    return _framed(rng, ih=True, ip=True)


def framed_speculative(rng: Random) -> Conversation:
    """Return the same with CRCs; speculative placement is allowed."""
    return _framed(rng, sp=True)


def _framed(rng: Random, **options: Any) -> Conversation:
    vtags = rng.sample(range(1 << 16), 2)
    conversation = IFTConversation(vtags=(vtags[0], vtags[1]), **options)
    conversation.negotiate()
    return _exchange(conversation, rng)


def _start(conversation: Conversation, rng: Random, **startup: Any) -> None:
    conversation.startup(_data(rng, 64), _data(rng, 64), **startup)


def _filled(
    conversation: Conversation, rng: Random, first: int | None = None, **startup: Any
) -> Conversation:
    """Start up, let both sides send all kinds of messages, short ones and long ones, and close.

    :param first: octets of the first Send of each side; None: a random number.
    """
    _start(conversation, rng, **startup)
    return _exchange(conversation, rng, first)


def _exchange(conversation: Conversation, rng: Random, first: int | None = None) -> Conversation:
    """Let both sides send all kinds of messages, and close."""
    initiator, responder = conversation.sides
    for side in (initiator, responder):
        side.send(_data(rng) if first is None else rng.randbytes(first))
        _send_messages(side, rng)
    initiator.read(rng.randbytes(rng.randrange(2000, 4000)), _stag(rng), _to(rng), _stag(rng))
    for side in (initiator, responder):
        side.send(_data(rng), solicited=True)
        side.send(_data(rng))
    conversation.close()
    return conversation


def _send_messages(side: Side, rng: Random) -> None:
    side.write(rng.randbytes(rng.randrange(3000, 6000)), _stag(rng), _to(rng))
    side.write(_data(rng), _stag(rng), _to(rng))
    side.send(_data(rng), invalidate_stag=_stag(rng))
    side.send(rng.randbytes(rng.randrange(3000, 6000)))


def _data(rng: Random, most: int = 400) -> bytes:
    return rng.randbytes(rng.randrange(8, most))


def _stag(rng: Random) -> int:
    return rng.randint(1, _LARGEST_STAG)


def _to(rng: Random) -> int:
    return rng.randrange(_LARGEST_TO)
