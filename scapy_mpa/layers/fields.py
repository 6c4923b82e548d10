# SPDX-License-Identifier: GPL-2.0-or-later
"""Field types that Scapy does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scapy import fields as scapys
from scapy.fields import ConditionalField, Field, RawVal, ShortField, StrFixedLenField

from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.shown import quoted


class BitField(scapys.BitField):
    """A number of some bits.  Scapy sends the low bits of one that does not fit; this refuses it.

    :raises LocalProtocolError: when built: the number does not fit.
    """

    def addfield(self, pkt: Any, s: Any, val: Any) -> Any:
        number = self.i2m(pkt, val)
        if not 0 <= number < 1 << self.size:
            raise LocalProtocolError(
                f"{self.name} {quoted(number)} does not fit its {self.size} bits"
            )
        return super().addfield(pkt, s, val)


class XBitField(BitField, scapys.XBitField):
    """A :class:`BitField` that is shown in hexadecimal."""


class BitEnumField(BitField, scapys.BitEnumField):
    """A :class:`BitField` whose numbers have names."""


class WhenSet(ConditionalField):
    """Holds a field that is present, and shown, only if it has a value."""

    def __init__(self, fld: Any) -> None:
        super().__init__(fld, lambda pkt: pkt.getfieldval(fld.name) is not None)


class _NoOctets:
    """A field without octets at its place in the list of fields."""

    __slots__ = ()

    def getfield(self, pkt: Any, s: Any) -> Any:
        return s, None

    def addfield(self, pkt: Any, s: Any, val: Any) -> Any:
        return s


class OffWire(_NoOctets, WhenSet):
    """Holds a field that describes the packet, but is not in its octets."""


@dataclass(slots=True, eq=False)
class _Note:
    """Hides a value from Scapy, which would copy it, iterate over it or call it."""

    value: object


class NoteField(Field):
    """Any object, not changed by Scapy: a note about the octets from the code that read them.

    A layer derived from :class:`~scapy_mpa.layers.base._Layer` leaves it out of comparison,
    ``command()`` and ``json()``.
    """

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x if x is None or isinstance(x, _Note) else _Note(x)

    def i2h(self, pkt: Any, x: Any) -> Any:
        return x.value if isinstance(x, _Note) else x

    def i2repr(self, pkt: Any, x: Any) -> str:
        value = self.i2h(pkt, x)
        return value if isinstance(value, str) else repr(value)

    def do_copy(self, x: Any) -> Any:
        return x


class CutShortField(ShortField):
    """A 16-bit number, or its remaining octets if a capture cut it."""

    def addfield(self, pkt: Any, s: Any, val: Any) -> Any:
        return s + val if isinstance(val, bytes) else super().addfield(pkt, s, val)

    def getfield(self, pkt: Any, s: Any) -> Any:
        return (b"", s) if len(s) < self.sz else super().getfield(pkt, s)


class DialectField(Field):
    """The name of a dialect, or None."""

    def any2i(self, pkt: Any, x: Any) -> Any:
        dialect = dialect_named(x)
        return None if dialect is None else dialect.value


class _OctetsField(Field):
    """Octets, shown in hexadecimal."""

    def i2repr(self, pkt: Any, x: Any) -> Any:
        return x.hex(" ") if x and isinstance(x, bytes) else super().i2repr(pkt, x)


class PadField(_NoOctets, _OctetsField):
    """Octets between the ULPDU and the CRC.  The layer reads and writes them."""


class CRC32cField(_NoOctets, Field):
    """A CRC32c.  The number is the usual value; on the wire its least significant octet is first.

    The layer reads and writes it.

    Both forms are shown, ``0x83992352 (52 23 99 83)``.  Four octets given are read as on the wire;
    fewer or more are kept as octets.
    """

    def __init__(self, name: str, default: Any) -> None:
        super().__init__(name, default, "<I")

    def any2i(self, pkt: Any, x: Any) -> Any:
        return int.from_bytes(x, "little") if isinstance(x, bytes) and len(x) == self.sz else x

    def octets(self, pkt: Any, x: Any) -> bytes:
        """Return the octets on the wire for the value ``x``."""
        if isinstance(x, (bytes, RawVal)):
            return bytes(x)
        octets: bytes = Field.addfield(self, pkt, b"", x)
        return octets

    def i2repr(self, pkt: Any, x: Any) -> str:
        if not isinstance(x, int):
            return repr(x)
        return f"{x:#010x} ({x.to_bytes(max(4, (x.bit_length() + 7) // 8), 'little').hex(' ')})"


class MarkersField(Field):
    """A list of Marker packets, or None."""

    islist = 1
    holds_packets = 1

    def any2i(self, pkt: Any, x: Any) -> Any:
        return x if x is None or isinstance(x, list) else [x]


class CopiedHeaderField(_OctetsField):
    """A header that a Terminate copies: a packet, or octets."""

    holds_packets = 1

    def addfield(self, pkt: Any, s: Any, val: Any) -> Any:
        return s + bytes(val)


class KeyField(StrFixedLenField):
    """The Key of a startup frame.  ``fuzz()`` does not change it: it makes the startup frame."""

    def randval(self) -> None:
        return None
