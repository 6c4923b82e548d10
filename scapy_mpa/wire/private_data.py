# SPDX-License-Identifier: GPL-2.0-or-later
"""What three ULPs write into Private Data, as octets.

RPC-over-RDMA (RFC 8797 4), SMB Direct where there are no enhanced data, NVMe over RDMA.
"""

from __future__ import annotations

import struct
from typing import Final

__all__ = [
    "NVME_LENGTH",
    "NVME_REJECT_LENGTH",
    "RPC_LENGTH",
    "RPC_MAGIC",
    "RPC_SIZE_UNIT",
    "SMB_LENGTH",
    "is_rpc",
    "smb_is_little_endian",
]

RPC_MAGIC: Final = 0xF6AB0E18
RPC_LENGTH: Final = 8
RPC_SIZE_UNIT: Final = 1024
"""Octets in which the two sizes are counted; an octet of 0 says one of these."""
_RPC_VERSION: Final = 1
_RPC: Final = struct.Struct(">IBBBB")

SMB_LENGTH: Final = 8

NVME_LENGTH: Final = 32
"""Octets of what a request and an acceptance bring."""
NVME_REJECT_LENGTH: Final = 4


def is_rpc(octets: bytes) -> bool:
    """Tell whether Private Data are those of RPC-over-RDMA: by magic, version and length."""
    if len(octets) < RPC_LENGTH:
        return False
    magic, version, *_ = _RPC.unpack_from(octets)
    return (magic, version) == (RPC_MAGIC, _RPC_VERSION)


def smb_is_little_endian(octets: bytes) -> bool:
    """Tell in which order 8 octets make the smaller numbers."""
    big: tuple[int, int] = struct.unpack(">II", octets[:SMB_LENGTH])
    little: tuple[int, int] = struct.unpack("<II", octets[:SMB_LENGTH])
    return max(little) < max(big)
