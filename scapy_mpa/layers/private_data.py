# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of startup frames as layers, where it is known what they are.

The field ``private_data`` of ``MPARequest`` and ``MPAReply`` holds octets, or a layer derived from
:class:`PrivateData`.  Read from octets it holds a layer if there can be no doubt, which is so where
a format begins with a magic number, or if somebody who knows has bound one:

>>> from scapy_mpa.layers import MPARequest, SMBDirectPrivateData
>>> from scapy_mpa.layers.private_data import bind_private_data, split_private_data
>>> octets = bytes(MPARequest(private_data=SMBDirectPrivateData(ird=8, ord=1)))
>>> MPARequest(octets).private_data
b'\\x00\\x00\\x00\\x08\\x00\\x00\\x00\\x01'
>>> bind_private_data(MPARequest, SMBDirectPrivateData, revision=1)
>>> MPARequest(octets).private_data.ird
8
>>> split_private_data(MPARequest, SMBDirectPrivateData, revision=1)
"""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import StrLenField
from scapy.packet import Packet

from scapy_mpa.layers.base import _Layer


class PrivateData(_Layer):
    """What a ULP writes into Private Data."""

    has_magic: ClassVar[bool] = False
    """Whether :meth:`fits` leaves no doubt."""

    @classmethod
    def fits(cls, octets: bytes) -> bool:
        """Tell whether octets may be this, by their length and by what must be in them."""
        return len(octets) == cls.shortest

    @classmethod
    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.has_magic:
            _BOUND.append((Packet, cls, {}))


# Scapy lists each packet whose name begins with no underscore; this one is what others are made of.
conf.layers.remove(PrivateData)
conf.layers.ldict[__name__].remove(PrivateData)

_BOUND: list[tuple[type[Packet], type[PrivateData], dict[str, Any]]] = []
"""What was bound, the last first; then those with a magic number, in any frame."""


def bind_private_data(frame: type[Packet], layer: type[PrivateData], **fields: Any) -> None:
    """Have Private Data read as a layer from now on, where they fit it.

    :param frame: ``MPARequest`` or ``MPAReply``.
    :param fields: only in frames in which these fields have these values, such as ``rejected=1``.
    """
    _BOUND.insert(0, (frame, layer, fields))


def split_private_data(frame: type[Packet], layer: type[PrivateData], **fields: Any) -> None:
    """Undo :func:`bind_private_data`; nothing happens if there was none."""
    if (frame, layer, fields) in _BOUND:
        _BOUND.remove((frame, layer, fields))


class PrivateDataField(StrLenField):
    """Octets, or the layer that they are."""

    # Not holds_packets, with which Scapy takes it that there is never anything else.
    ismutable = True

    def m2i(self, pkt: Any, x: Any) -> Any:
        for frame, layer, fields in _BOUND:
            if (
                isinstance(pkt, frame)
                and all(pkt.getfieldval(name) == value for name, value in fields.items())
                and layer.fits(x)
            ):
                return layer(x)
        return x

    def i2m(self, pkt: Any, x: Any) -> bytes:
        return bytes(x) if isinstance(x, Packet) else super().i2m(pkt, x)

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x if isinstance(x, Packet) else super().any2i(pkt, x)

    def i2len(self, pkt: Any, x: Any) -> int:
        return len(bytes(x)) if isinstance(x, Packet) else super().i2len(pkt, x)

    def i2repr(self, pkt: Any, x: Any) -> str:
        return repr(x) if isinstance(x, Packet) else super().i2repr(pkt, x)
