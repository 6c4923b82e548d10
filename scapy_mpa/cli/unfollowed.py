# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of frames that were not followed."""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["not_followed", "nothing_followed"]

_MOST_NAMED: Final = 8
"""Reasons that are named in one line, the most frequent ones: a file may make up link types."""

_LINK_TYPE: Final = "link type "
"""How the decoder's reasons begin where it does not know the link layer."""


def not_followed(counts: Counter[str]) -> str | None:
    """Say how many frames were not followed, and why; None if there is nothing to say.

    :param counts: by reason, as :func:`~scapy_mpa.capture.unfollowed.unfollowed` has them.
    """
    total = counts.total()
    if not total:
        return None
    return f"{total} {'frame' if total == 1 else 'frames'} not followed: {_reasons(counts)}"


def nothing_followed(counts: Counter[str]) -> str:
    """Say why no frame of a capture could be followed, and what to do about it."""
    total = counts.total()
    advice = "capture where TCP can be seen, with whole headers"
    if all(reason.startswith(_LINK_TYPE) for reason in counts):
        advice = "if you know what it is, name it with --link-type N=LINK; or capture on Ethernet"
    return (
        f"nothing can be followed in {total} {'frame' if total == 1 else 'frames'}: "
        f"{_reasons(counts)}; {advice}"
    )


def _reasons(counts: Counter[str]) -> str:
    named = counts.most_common(_MOST_NAMED)
    reasons = ", ".join(f"{count} {reason}" for reason, count in named)
    if len(counts) > len(named):
        others = counts.total() - sum(count for _, count in named)
        reasons += f", {others} for {len(counts) - len(named)} other reasons"
    return reasons
