# SPDX-License-Identifier: GPL-2.0-or-later
"""Types shared by all events that bring a DDP segment."""

from __future__ import annotations

from typing import Literal, TypeAlias

CrcVerdict: TypeAlias = Literal["good", "bad", "off", "unknown"]
LocatedBy: TypeAlias = Literal["start", "length", "marker", "search"]
Place: TypeAlias = tuple[int, int | None, int, int]
"""Where a carrier of a DDP segment is in its direction, all in octets: a 32-bit sequence number;
the same as an offset from the beginning, None if that is unknown; how far before it the carrier
begins; and the length of the carrier."""
