# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of SMB Direct with revision 1: IRD and ORD, in place of enhanced data.

They are 8 octets without a magic number, so they must be bound with
:func:`~scapy_mpa.layers.private_data.bind_private_data`.
"""

from __future__ import annotations

import struct
from typing import Any

from scapy.fields import Field

from scapy_mpa.layers.fields import OffWire
from scapy_mpa.layers.private_data import PrivateData

_LENGTH = 8


class _OrderField(OffWire):
    """Detects the order of the octets in a number."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bool | None]:
        big, little = struct.unpack(">2I", s[:_LENGTH]), struct.unpack("<2I", s[:_LENGTH])
        return s, max(little) < max(big) or None


class _NumberField(Field):
    """A 32-bit number in the octet order of its layer."""

    def __init__(self, name: str, default: int) -> None:
        super().__init__(name, default, "I")

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        return s + int(self.i2m(pkt, val)).to_bytes(4, _order(pkt))

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, int]:
        return s[4:], int.from_bytes(s[:4], _order(pkt))


def _order(pkt: Any) -> Any:
    return "little" if pkt.little_endian else "big"


class SMBDirectPrivateData(PrivateData):
    """Private Data of SMB Direct on revision 1.

    =============  =======================================================
    little_endian  not on the wire: numbers are in the octet order of an
                   old Linux client; when read, the order that gives
                   smaller numbers
    ird            Inbound RDMA Read Queue Depth, 32 bits
    ord            Outbound RDMA Read Queue Depth, 32 bits
    =============  =======================================================

    :raises RemoteProtocolError: read from fewer than 8 octets.
    """

    name = "SMB Direct Private Data"
    shortest = _LENGTH
    fields_desc = [
        _OrderField(Field("little_endian", None)),
        _NumberField("ird", 1),
        _NumberField("ord", 1),
    ]
