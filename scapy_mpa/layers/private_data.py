# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of startup frames as layers, where their format is known.

The field ``private_data`` of ``MPARequest`` and ``MPAReply`` holds octets, or a layer derived from
:class:`PrivateData`.  Octets are read as a layer if its format begins with a magic number, or if
you have bound the layer:

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
from scapy_mpa.wire.shown import quoted


class PrivateData(_Layer):
    """The Private Data of a ULP: the base class of their layers.

    A derived class has ``fields_desc``, and ``shortest``: its octets, exactly.  If they vary, it
    overrides :meth:`fits`.
    """

    has_magic: ClassVar[bool] = False
    """Whether :meth:`fits` is certain, because of a magic number."""

    @classmethod
    def fits(cls, octets: bytes) -> bool:
        """Return whether octets may be this layer, by their length and by fixed contents."""
        return len(octets) == cls.shortest

    @classmethod
    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.has_magic:
            _BOUND.append((Packet, cls, {}))


# Scapy lists every packet class without a leading underscore; this one is only a base class.
conf.layers.remove(PrivateData)
conf.layers.ldict[__name__].remove(PrivateData)

_BOUND: list[tuple[type[Packet], type[PrivateData], dict[str, Any]]] = []
"""Bound layers, the latest first; then the layers with a magic number, for any frame."""


def bind_private_data(frame: type[Packet], layer: type[PrivateData], **fields: Any) -> None:
    """Have Private Data that fit a layer read as that layer from now on.

    :param frame: ``MPARequest`` or ``MPAReply``.
    :param fields: only in frames whose fields have these values, such as ``rejected=1``.
    :raises TypeError: one of both is no class, the layer is not derived from :class:`PrivateData`,
        or the frame has no such field.
    """
    for given in (frame, layer):
        if not isinstance(given, type):
            raise TypeError(f"{quoted(given)} is no class; give one, such as MPARequest")
    if not issubclass(layer, PrivateData):
        raise TypeError(
            f"{layer.__name__} is no layer of Private Data: derive it from PrivateData, whose "
            "fits() says which octets it reads"
        )
    known = {field.name for field in frame.fields_desc}
    for name in ("private_data", *fields):
        if name not in known:
            raise TypeError(f"{frame.__name__} has no field {name}")
    _BOUND.insert(0, (frame, layer, fields))


def split_private_data(frame: type[Packet], layer: type[PrivateData], **fields: Any) -> None:
    """Undo :func:`bind_private_data`; without a binding, do nothing."""
    if (frame, layer, fields) in _BOUND:
        _BOUND.remove((frame, layer, fields))


class PrivateDataField(StrLenField):
    """Private Data as octets or as a layer."""

    # Not holds_packets, because then Scapy expects a packet always.  Startup frames list this field
    # among their packetfields, so that Scapy finds its layer.
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
