# SPDX-License-Identifier: GPL-2.0-or-later
"""How much work something is, without a clock: a busy machine does not change it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["calls", "steps"]


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


def steps(work: Callable[[], object], package: str) -> int:
    """Return how many lines of a package are executed while ``work`` is done.

    A line counts as often as a comprehension on it takes another turn, which calls nothing.

    :param package: the name that its modules begin with.
    """
    count = 0

    def note(frame: FrameType, what: str, argument: object) -> Any:
        nonlocal count
        if what == "call" and not frame.f_globals.get("__name__", "").startswith(package):
            return None
        count += what == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
