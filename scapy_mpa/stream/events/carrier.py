# SPDX-License-Identifier: GPL-2.0-or-later
"""What the events have in common that bring a DDP segment, whatever carried it."""

from __future__ import annotations

from typing import Literal, TypeAlias

CrcVerdict: TypeAlias = Literal["good", "bad", "off", "unknown"]
LocatedBy: TypeAlias = Literal["start", "length", "marker", "search"]
Place: TypeAlias = tuple[int, int | None, int, int]
"""Where a carrier of a DDP segment lies in its direction, all in octets: a 32-bit sequence number;
the same as an offset from the beginning, None if that is unknown; how far before it the carrier
begins; and how long the carrier is."""
