# SPDX-License-Identifier: GPL-2.0-or-later
"""What the octets of a half connection are, as far as is known."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """What the octets of a half connection are, as far as is known."""

    STREAMING = enum.auto()
    """A startup frame is looked for."""
    HELD = enum.auto()
    """Its startup frame was seen; what follows is held until the peer's is there."""
    FULL = enum.auto()
    """FPDUs: the Full Operation Phase (RFC 5044 7.1.2)."""
    OTHER = enum.auto()
    """What another framing than MPA's has (:mod:`~scapy_mpa.stream.halves.other`)."""
