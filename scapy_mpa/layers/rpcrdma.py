# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of RPC-over-RDMA, which NFS uses (RFC 8797 4).

>>> from scapy_mpa.layers import MPARequest, RPCRDMAPrivateData
>>> request = MPARequest(revision=2, s=1, private_data=RPCRDMAPrivateData(send_size=8192))
>>> MPARequest(bytes(request)).private_data.send_size
8192
"""

from __future__ import annotations

from typing import Any

from scapy.fields import ByteField, Field, StrField, XIntField
from scapy.volatile import RandChoice

from scapy_mpa.layers.fields import BitField
from scapy_mpa.layers.private_data import PrivateData
from scapy_mpa.wire.errors import LocalProtocolError

_MAGIC = 0xF6AB0E18
_VERSION = 1
_LENGTH = 8
_SIZE_UNIT = 1024
"""Unit of the two sizes, in octets; a field of 0 means one unit."""


class _SizeField(Field):
    """A size in octets, on the wire one octet: the number of units of 1024, less 1."""

    def __init__(self, name: str, default: int) -> None:
        super().__init__(name, default, "B")

    def i2m(self, pkt: Any, x: Any) -> int:
        units, rest = divmod(self.i2h(pkt, x), _SIZE_UNIT)
        if rest or not 1 <= units <= 256:
            raise LocalProtocolError(
                f"{self.name} {x} is no multiple of 1024 up to 262144 (RFC 8797 4)"
            )
        return units - 1

    def m2i(self, pkt: Any, x: Any) -> int:
        return (int(x) + 1) * _SIZE_UNIT

    def randval(self) -> Any:
        return RandChoice(*range(_SIZE_UNIT, 257 * _SIZE_UNIT, _SIZE_UNIT))


class RPCRDMAPrivateData(PrivateData):
    """Private Data of RPC-over-RDMA (RFC 8797 4), recognised by its magic number.

    ===================  ====================================================
    magic                0xF6AB0E18
    version              8 bits, 1
    reserved             7 bits
    remote_invalidation  1 bit: the peer may invalidate STags
    send_size            octets of the largest message sent inline, 1024 to
                         262144, a multiple of 1024
    receive_size         octets of the largest message received, likewise
    rest                 octets that follow and are not of RFC 8797
    ===================  ====================================================

    :raises RemoteProtocolError: read from fewer than 8 octets.
    :raises LocalProtocolError: when built: a size cannot be expressed.
    """

    name = "RPC-over-RDMA Private Data"
    shortest = _LENGTH
    has_magic = True
    fields_desc = [
        XIntField("magic", _MAGIC),
        ByteField("version", _VERSION),
        BitField("reserved", 0, 7),
        BitField("remote_invalidation", 1, 1),
        _SizeField("send_size", 4096),
        _SizeField("receive_size", 4096),
        StrField("rest", b""),
    ]

    @classmethod
    def fits(cls, octets: bytes) -> bool:
        begin = _MAGIC.to_bytes(4, "big") + bytes([_VERSION])
        return len(octets) >= _LENGTH and octets.startswith(begin)
