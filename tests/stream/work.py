# SPDX-License-Identifier: GPL-2.0-or-later
"""How much work something is, without a clock: a busy machine does not change it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

__all__ = ["calls"]


def calls(work: Callable[[], object]) -> int:
    """Return how many functions are called while ``work`` is done, built-in ones included."""
    count = 0

    def note(frame: FrameType, what: str, argument: object) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
