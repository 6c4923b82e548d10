# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits for the memory of DDP segments and messages that wait to be reported.

There is no other limit.  So each item counts with the octets that the largest of its kind takes.
"""

from __future__ import annotations

from typing import Final

HELD_IN_TOTAL: Final = 64 << 20
"""Octets of memory, roughly, for unreported messages, for their payload, and for checks: each may
hold that many.  Beyond it, the connection that has held memory for longest gives some up."""

HELD_BY_EACH: Final = 1000
"""Octets of memory that a waiting segment, message, Request or error takes."""

HELD_BY_PIECE: Final = 250
"""Octets of memory that a small item takes: a stretch or a part of a message, a stretch of skipped
MSNs, or the entry of a payload."""
