# SPDX-License-Identifier: GPL-2.0-or-later
"""Control flags of enhanced data, in startup frames and over SCTP, by the dialect they are of.

RFC 6581 9 and draft-ietf-storm-mpa-peer-connect-01 8 are the same on the wire, and mean something
else by them.
"""

from __future__ import annotations

from typing import Any

from scapy.fields import BitField

from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named

__all__ = ["FlagField", "fields_of_dialect"]


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


def fields_of_dialect(dialect: Dialect | None) -> dict[str, str]:
    """Return what a layer is given along with its octets: a dialect that these do not show."""
    return {"dialect": dialect.value} if dialect is Dialect.DRAFT_PEER_CONNECT_01 else {}
