# SPDX-License-Identifier: GPL-2.0-or-later
"""Enhanced data, in startup frames and over SCTP.

The control flags of RFC 6581 9 and of draft-ietf-storm-mpa-peer-connect-01 8 are equal on the wire,
but have different meanings.
"""

from __future__ import annotations

from typing import Any, Final

from scapy.fields import ConditionalField

from scapy_mpa.layers.base import _Layer
from scapy_mpa.layers.fields import BitField, OffWire
from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.shown import counted
from scapy_mpa.wire.startup import ENHANCED_LENGTH

__all__ = ["ENHANCED_FIELDS", "EnhancedField", "_ConnectionSetup"]


class FlagField(BitField):
    """A control flag, shown with its meaning in the dialect of its packet."""

    def i2repr(self, pkt: Any, x: Any) -> Any:
        if not x or pkt is None:
            return super().i2repr(pkt, x)
        letter = self.name.upper()
        meaning = meaning_of(dialect_named(pkt.dialect))
        kind = meaning.rtr.get(letter)
        if kind is None:
            return meaning.words(letter)[0]
        return f"RTR by zero-length {kind.value.capitalize()}"


class _ConnectionSetup(_Layer):
    """The base class of messages that set up a connection, perhaps with enhanced data (RFC 6581 9).

    Each has a method ``announces_enhanced``: whether its other fields say that there are some.
    """

    def room(self, octets: bytes) -> int:
        """Return how many of these octets may be enhanced and Private Data."""
        return len(octets)

    def has_enhanced(self) -> bool:
        """Return whether there are enhanced data; a field of them shows it, too."""
        if self.enhanced is not None:
            return bool(self.enhanced)
        return self.announces_enhanced() or any(
            self.fields.get(each.name) is not None for each in ENHANCED_FIELDS
        )

    def describe(self) -> str:
        text = self.identity + (" ird=%ird% ord=%ord%" if self.has_enhanced() else "")
        data = counted(len(bytes(self.private_data)), "octet")
        return f"{self.name} {self.sprintf(text)}, {data} of Private Data"


class EnhancedField(OffWire):
    """Whether there are enhanced data; detects a layer that announces some, but lacks room."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bool | None]:
        return s, False if pkt.has_enhanced() and pkt.room(s) < ENHANCED_LENGTH else None


ENHANCED_FIELDS: Final = [
    ConditionalField(field, _ConnectionSetup.has_enhanced)
    for field in (
        FlagField("a", 0, 1),
        FlagField("b", 0, 1),
        BitField("ird", 0, 14),
        FlagField("c", 0, 1),
        FlagField("d", 0, 1),
        BitField("ord", 0, 14),
    )
]
"""The fields of the four octets (RFC 6581 9)."""
