# SPDX-License-Identifier: GPL-2.0-or-later
"""What the octets of a half connection are, as far as is known."""

from __future__ import annotations

import enum


class Phase(enum.Enum):
    """What the octets of a half connection are, as far as is known."""

    STREAMING = enum.auto()
    """A startup frame is looked for."""
    HELD = enum.auto()
    """Its startup frame was captured.  The octets after it are held until the peer's comes."""
    FULL = enum.auto()
    """FPDUs: the Full Operation Phase (RFC 5044 7.1.2)."""
    OTHER = enum.auto()
    """Frames of another framing (:mod:`~scapy_mpa.stream.halves.other`)."""
