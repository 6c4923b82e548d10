# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: the messages of RDMAP (RFC 5040 4, RFC 7306 5 and 6)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.rdmap_names import AtomicOperation

__all__ = ["atomics", "immediate", "large_message", "read", "send", "storage", "terminate", "write"]

_STAG: Final = 0x10010001
_OTHER_STAG: Final = 0x20020002
_MEBI: Final = 1 << 20


@preset("send", "the four Sends, empty ones, and one cut into several DDP segments")
def send(rng: Random, **options: Any) -> Conversation:
    """Both sides send; one Send has several DDP segments."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.send(rng.randbytes(100))
    right.send(rng.randbytes(33), solicited=True)
    left.send(rng.randbytes(5000), invalidate_stag=_STAG)
    right.send(rng.randbytes(7), invalidate_stag=_OTHER_STAG, solicited=True)
    left.send()
    right.send(solicited=True)
    conversation.close()
    return conversation


@preset("write", "RDMA Writes into two buffers, and a Send that tells of them")
def write(rng: Random, **options: Any) -> Conversation:
    """The Initiator writes here and there, near the end of a Tagged Offset, too."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.write(rng.randbytes(4096), _STAG, 0)
    left.write(rng.randbytes(4096), _STAG, 4096)
    left.write(rng.randbytes(100), _OTHER_STAG, (1 << 64) - 100)
    left.write(b"", _OTHER_STAG, 0)
    left.send(b"written", solicited=True)
    right.write(rng.randbytes(10), _STAG, 0x7F001000)
    conversation.close()
    return conversation


@preset("read", "RDMA Reads either way, several at a time, one never answered")
def read(rng: Random, **options: Any) -> Conversation:
    """Responses come in the order of the Requests."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.read(rng.randbytes(4096), _STAG, 0x1000, _OTHER_STAG, 0x2000)
    for number in range(4):
        right.read_request(1000, _STAG, 1000 * number, _OTHER_STAG, 5000 * number)
    for _ in range(4):
        left.read_response(rng.randbytes(1000))
    left.read(b"", _STAG, 0, _OTHER_STAG, 0)
    left.read_request(64, _STAG, 0, _OTHER_STAG, 0)
    conversation.close()
    return conversation


@preset("immediate", "Immediate Data (RFC 7306), with Solicited Event and without")
def immediate(rng: Random, **options: Any) -> Conversation:
    """Immediate Data tell of the RDMA Writes before them."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.write(rng.randbytes(2000), _STAG, 0)
    left.immediate(rng.randbytes(8))
    right.immediate(rng.randbytes(8), solicited=True)
    left.immediate(bytes(8))
    conversation.close()
    return conversation


@preset("atomics", "Atomic Operations (RFC 7306): FetchAdd, CmpSwap, several at a time")
def atomics(rng: Random, **options: Any) -> Conversation:
    """Atomic Requests share a queue, and the order of Responses, with RDMA Read Requests."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.atomic(AtomicOperation.FETCH_ADD, _STAG, 8, add_or_swap_data=1, original=41)
    swap = {"compare_data": 42, "compare_mask": (1 << 64) - 1, "add_or_swap_data": 7}
    right.atomic(AtomicOperation.CMP_SWAP, _OTHER_STAG, 16, original=42, **swap)
    requests = [
        left.atomic_request(AtomicOperation.FETCH_ADD, _STAG, 8 * number, add_or_swap_data=number)
        for number in range(3)
    ]
    left.read_request(100, _OTHER_STAG, 0, _STAG, 0)
    for request in requests:
        right.atomic_response(rng.getrandbits(64), request=request)
    right.read_response(rng.randbytes(100))
    conversation.close()
    return conversation


@preset("terminate", "a Terminate for an RDMA Write to an STag that is not valid")
def terminate(rng: Random, **options: Any) -> Conversation:
    """The Responder says what it complains of (RFC 5040 4.8, 7.2), and closes."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.send(rng.randbytes(20))
    right.send(rng.randbytes(20))
    left.write(rng.randbytes(64), 0xDEAD, 0)
    wrong = conversation.script[-1]
    assert isinstance(wrong, FPDUItem)
    # Remote Protection Error, Invalid STag (RFC 5040 figure 9).
    right.terminate(0, 1, 0x00, in_error=wrong)
    conversation.close(right.index)
    return conversation


@preset("large-message", "messages of up to 1 MiB")
def large_message(rng: Random, **options: Any) -> Conversation:
    """Cut into DDP segments that fit one TCP segment each."""
    conversation = Conversation(**options)
    left, right = conversation.sides
    left.write(rng.randbytes(_MEBI), _STAG, 0)
    right.send(rng.randbytes(_MEBI // 4))
    left.read(rng.randbytes(_MEBI // 4), _STAG, 0, _OTHER_STAG, 0)
    conversation.close()
    return conversation


@preset("storage", "reading and writing blocks as NFS/RDMA and SMB Direct do")
def storage(rng: Random, **options: Any) -> Conversation:
    """A client asks with Sends that name its buffers; the server moves the blocks and answers."""
    conversation = Conversation(**options)
    client, server = conversation.sides
    for number in range(8):
        stag = _STAG + number
        client.send(rng.randbytes(120))
        if number % 2:
            server.write(rng.randbytes(8192), stag, 0)
        else:
            server.read(rng.randbytes(8192), _OTHER_STAG, 8192 * number, stag, 0)
        server.send(rng.randbytes(52), invalidate_stag=stag, solicited=True)
    conversation.close()
    return conversation
