# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of frames that were not followed."""

from __future__ import annotations

from collections import Counter

__all__ = ["not_followed"]


def not_followed(counts: Counter[str]) -> str | None:
    """Say how many frames were not followed, and why; None if there is nothing to say.

    :param counts: by reason, as :func:`~scapy_mpa.capture.unfollowed.unfollowed` has them.
    """
    total = counts.total()
    if not total:
        return None
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common())
    return f"{total} {'frame' if total == 1 else 'frames'} not followed: {reasons}"
