# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: Private Data as three ULPs write them."""

from __future__ import annotations

from random import Random
from typing import Any

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.wire.private_data import (
    nvme_accept,
    nvme_request,
    rpc_private_data,
    smb_private_data,
)

__all__ = ["nvme_over_rdma", "rpc_over_rdma", "smb_direct", "smb_direct_little_endian"]


def _talk(
    conversation: Conversation, rng: Random, request: bytes, reply: bytes, **startup: Any
) -> Conversation:
    conversation.startup(request, reply, **startup)
    conversation.initiator.send(rng.randbytes(64))
    conversation.responder.send(rng.randbytes(64))
    conversation.close()
    return conversation


@preset("rpc-over-rdma", "Private Data of RPC-over-RDMA after enhanced data (RFC 8797)")
def rpc_over_rdma(rng: Random, **options: Any) -> Conversation:
    """4096 octets inline either way."""
    reply = rpc_private_data(remote_invalidation=False)
    return _talk(Conversation(**{"revision": 2, **options}), rng, rpc_private_data(), reply)


@preset("smb-direct", "Private Data of SMB Direct with revision 1: IRD and ORD")
def smb_direct(rng: Random, **options: Any) -> Conversation:
    """The most significant octet first."""
    data = smb_private_data(8, 1), smb_private_data(1, 8)
    return _talk(Conversation(**options), rng, *data)


@preset("smb-direct-little-endian", "the same as an old Linux client writes it")
def smb_direct_little_endian(rng: Random, **options: Any) -> Conversation:
    """The least significant octet first, in the Request alone."""
    data = smb_private_data(8, 1, little_endian=True), smb_private_data(1, 8)
    return _talk(Conversation(**options), rng, *data)


@preset("nvme-over-rdma", "Private Data of NVMe over RDMA: an I/O queue of 128")
def nvme_over_rdma(rng: Random, **options: Any) -> Conversation:
    """Queue 1."""
    conversation = Conversation(**{"revision": 2, **options})
    return _talk(conversation, rng, nvme_request(1, 128, 127), nvme_accept(128))
