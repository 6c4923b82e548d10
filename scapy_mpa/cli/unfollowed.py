# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of frames that were not followed."""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["MOST_NAMED", "not_followed"]

MOST_NAMED: Final = 8
"""Reasons that are named in one line, the most frequent ones: a file may make up link types."""


def not_followed(counts: Counter[str]) -> str | None:
    """Say how many frames were not followed, and why; None if there is nothing to say.

    :param counts: by reason, as :func:`~scapy_mpa.capture.unfollowed.unfollowed` has them.
    """
    total = counts.total()
    if not total:
        return None
    named = counts.most_common(MOST_NAMED)
    reasons = ", ".join(f"{count} {reason}" for reason, count in named)
    if len(counts) > len(named):
        others = total - sum(count for _, count in named)
        reasons += f", {others} for {len(counts) - len(named)} other reasons"
    return f"{total} {'frame' if total == 1 else 'frames'} not followed: {reasons}"
