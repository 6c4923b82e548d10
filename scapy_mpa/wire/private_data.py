# SPDX-License-Identifier: GPL-2.0-or-later
"""What three ULPs write into Private Data, as octets.

RPC-over-RDMA (RFC 8797 4), SMB Direct where there are no enhanced data, NVMe over RDMA.
"""

from __future__ import annotations

import struct
from typing import Final

from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fields import packed

__all__ = [
    "NVME_LENGTH",
    "NVME_REJECT_LENGTH",
    "RPC_LENGTH",
    "RPC_MAGIC",
    "RPC_SIZE_UNIT",
    "SMB_LENGTH",
    "is_rpc",
    "nvme_accept",
    "nvme_request",
    "rpc_private_data",
    "smb_is_little_endian",
    "smb_private_data",
]

RPC_MAGIC: Final = 0xF6AB0E18
RPC_LENGTH: Final = 8
RPC_SIZE_UNIT: Final = 1024
"""Octets in which the two sizes are counted; an octet of 0 says one of these."""
_RPC_VERSION: Final = 1
_RPC: Final = struct.Struct(">IBBBB")

SMB_LENGTH: Final = 8

_NVME_FORMAT: Final = 0
NVME_LENGTH: Final = 32
"""Octets of what a request and an acceptance bring."""
NVME_REJECT_LENGTH: Final = 4


def is_rpc(octets: bytes) -> bool:
    """Tell whether Private Data are those of RPC-over-RDMA: by magic, version and length."""
    if len(octets) < RPC_LENGTH:
        return False
    magic, version, *_ = _RPC.unpack_from(octets)
    return (magic, version) == (RPC_MAGIC, _RPC_VERSION)


def rpc_private_data(
    send_size: int = 4096, receive_size: int = 4096, *, remote_invalidation: bool = True
) -> bytes:
    """Return the Private Data of RPC-over-RDMA (RFC 8797 4).

    :param send_size: octets of the largest message that is sent inline, 1024 to 262144.
    :param receive_size: of the largest that is received.
    :param remote_invalidation: whether STags may be invalidated by the peer.
    :raises LocalProtocolError: a size is no multiple of 1024 in that range.
    """
    sizes = []
    for size in (send_size, receive_size):
        units, rest = divmod(size, RPC_SIZE_UNIT)
        if rest or not 1 <= units <= 256:
            raise LocalProtocolError(f"size {size} is no multiple of 1024 up to 262144 (RFC 8797)")
        sizes.append(units - 1)
    return _RPC.pack(RPC_MAGIC, _RPC_VERSION, remote_invalidation, *sizes)


def smb_private_data(ird: int, ord: int, *, little_endian: bool = False) -> bytes:
    """Return the Private Data of SMB Direct with revision 1.

    :param ird: 32 bits.
    :param ord: 32 bits.
    :param little_endian: as an old Linux client writes them.
    :raises LocalProtocolError: a number does not fit.
    """
    layout = struct.Struct("<II" if little_endian else ">II")
    return packed(layout, "SMB Direct", ird=ird, ord=ord)


def smb_is_little_endian(octets: bytes) -> bool:
    """Tell in which order 8 octets make the smaller numbers."""
    big: tuple[int, int] = struct.unpack(">II", octets[:SMB_LENGTH])
    little: tuple[int, int] = struct.unpack("<II", octets[:SMB_LENGTH])
    return max(little) < max(big)


def nvme_request(qid: int, hrqsize: int, hsqsize: int, *, cntlid: int = 0) -> bytes:
    """Return the Private Data of a Request of NVMe over RDMA.

    :param qid: number of the queue, 0 for the admin queue.
    :param hrqsize: depth of the host's receive queue.
    :param hsqsize: depth of its send queue, less 1.
    :param cntlid: controller.
    :raises LocalProtocolError: a number does not fit its 16 bits.
    """
    numbers = {"qid": qid, "hrqsize": hrqsize, "hsqsize": hsqsize, "cntlid": cntlid}
    return _nvme(recfmt=_NVME_FORMAT, **numbers)


def nvme_accept(crqsize: int) -> bytes:
    """Return that of a Reply that accepts.

    :param crqsize: depth of the controller's receive queue.
    :raises LocalProtocolError: a number does not fit its 16 bits.
    """
    return _nvme(recfmt=_NVME_FORMAT, crqsize=crqsize)


def _nvme(**numbers: int) -> bytes:
    layout = struct.Struct(f"<{len(numbers)}H")
    return packed(layout, "NVMe over RDMA", **numbers).ljust(NVME_LENGTH, b"\0")
