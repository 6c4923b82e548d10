# SPDX-License-Identifier: GPL-2.0-or-later
"""Fields of enhanced data, in startup frames and over SCTP.

The control flags of RFC 6581 9 and of draft-ietf-storm-mpa-peer-connect-01 8 are equal on the wire,
but have different meanings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scapy.fields import BitField, ConditionalField

from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.forced import dialect_named


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


def enhanced_fields(has_them: Callable[[Any], bool]) -> list[ConditionalField]:
    """Return the fields of the four octets (RFC 6581 9).

    :param has_them: returns whether a packet has them.
    """
    return [
        ConditionalField(field, has_them)
        for field in (
            FlagField("a", 0, 1),
            FlagField("b", 0, 1),
            BitField("ird", 0, 14),
            FlagField("c", 0, 1),
            FlagField("d", 0, 1),
            BitField("ord", 0, 14),
        )
    ]
