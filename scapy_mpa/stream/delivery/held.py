# SPDX-License-Identifier: GPL-2.0-or-later
"""What is held of DDP segments until there is something to report, and what it counts for.

Memory alone bounds it, so each thing counts for about what it takes, the largest of its kind.
"""

from __future__ import annotations

from typing import Final

__all__ = ["HELD_BY_EACH", "HELD_BY_PIECE", "HELD_IN_TOTAL"]

HELD_IN_TOTAL: Final = 64 << 20
"""Octets of memory, roughly, that may be held: by messages that are not reported, by their payload,
and by checks.  Who began to hold some first holds less then."""

HELD_BY_EACH: Final = 1000
"""Octets of memory that a segment, a message, a Request or an error takes that waits."""

HELD_BY_PIECE: Final = 250
"""Octets of memory that a stretch or a part of a message takes, a stretch of skipped MSNs, or the
place of a payload in a table."""
