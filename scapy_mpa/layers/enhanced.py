# SPDX-License-Identifier: GPL-2.0-or-later
"""Enhanced data, in startup frames and over SCTP, and control flags by the dialect they are of.

RFC 6581 9 and draft-ietf-storm-mpa-peer-connect-01 8 are the same on the wire, and mean something
else by them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scapy.fields import BitField, ConditionalField

from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.forced import dialect_named


class FlagField(BitField):
    """A control flag, shown with what it means in the dialect of its packet."""

    def i2repr(self, pkt: Any, x: Any) -> Any:
        if not x or pkt is None:
            return super().i2repr(pkt, x)
        letter = self.name.upper()
        meaning = meaning_of(dialect_named(pkt.dialect))
        kind = meaning.rtr.get(letter)
        if kind is None:
            return meaning.words(letter)[0]
        return f"RTR by zero-length {kind.value.capitalize()}"


def enhanced_fields(are_there: Callable[[Any], bool]) -> list[ConditionalField]:
    """Return the fields of the four octets (RFC 6581 9).

    :param are_there: tells whether a packet has them.
    """
    return [
        ConditionalField(field, are_there)
        for field in (
            FlagField("a", 0, 1),
            FlagField("b", 0, 1),
            BitField("ird", 0, 14),
            FlagField("c", 0, 1),
            FlagField("d", 0, 1),
            BitField("ord", 0, 14),
        )
    ]
