# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of startup frames, as octets or as the layer that they are.

Read from octets the field holds a layer if there can be no doubt: RPC-over-RDMA begins with a magic
number.  What other ULPs write tells nothing of itself; whoever knows makes the layer:

>>> from scapy_mpa.layers import MPARequest, SMBDirectPrivateData
>>> octets = bytes(MPARequest(private_data=SMBDirectPrivateData(ird=8, ord=1)))
>>> MPARequest(octets).private_data
b'\\x00\\x00\\x00\\x08\\x00\\x00\\x00\\x01'
>>> SMBDirectPrivateData(MPARequest(octets).private_data).ird
8
"""

from __future__ import annotations

from typing import Any

from scapy.fields import StrLenField
from scapy.packet import Packet

from scapy_mpa.layers.rpcrdma import RPCRDMAPrivateData
from scapy_mpa.wire.private_data import is_rpc

__all__ = ["PrivateDataField"]


class PrivateDataField(StrLenField):
    """Octets, or a layer."""

    # Not holds_packets, with which Scapy takes it that there is never anything else.
    ismutable = True

    def m2i(self, pkt: Any, x: Any) -> Any:
        return RPCRDMAPrivateData(x) if is_rpc(x) else x

    def i2m(self, pkt: Any, x: Any) -> bytes:
        return bytes(x) if isinstance(x, Packet) else super().i2m(pkt, x)

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x if isinstance(x, Packet) else super().any2i(pkt, x)

    def i2len(self, pkt: Any, x: Any) -> int:
        return len(bytes(x)) if isinstance(x, Packet) else super().i2len(pkt, x)

    def i2repr(self, pkt: Any, x: Any) -> str:
        return repr(x) if isinstance(x, Packet) else super().i2repr(pkt, x)
