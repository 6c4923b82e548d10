# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory for DDP segments that wait until there is something to report.

Memory alone bounds it, so each thing counts for about what it takes, the largest of its kind.
"""

from __future__ import annotations

from typing import Final

HELD_IN_TOTAL: Final = 64 << 20
"""Octets of memory, roughly, that may be held by messages that are not reported, by their payload,
and by checks.  If there are more, the connection that has held some for longest gives some up."""

HELD_BY_EACH: Final = 1000
"""Octets of memory that a waiting segment, message, Request or error takes."""

HELD_BY_PIECE: Final = 250
"""Octets of memory that a small piece takes: a stretch or a part of a message, a stretch of skipped
MSNs, or the place of a payload in a table."""
