# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure work and memory.  No clock is used, so a busy machine does not change the result."""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["calls", "peak", "steps", "traced", "watched"]


def watched(
    work: Callable[[], object],
    note: Any,
    current: Callable[[], Any] = sys.getprofile,
    change: Callable[[Any], None] = sys.setprofile,
) -> None:
    """Do ``work``, and let ``note`` profile it, or trace it."""
    before = current()
    change(note)
    try:
        work()
    finally:
        change(before)


def calls(work: Callable[[], object]) -> int:
    """Return how many functions ``work`` calls, built-in ones included."""
    count = 0

    def note(frame: FrameType, what: str, argument: object) -> None:
        nonlocal count
        count += what in ("call", "c_call")

    watched(work, note)
    return count


def steps(work: Callable[[], object], package: str) -> int:
    """Return how many lines of a package ``work`` executes.

    A comprehension counts its line once for each turn.

    :param package: the prefix of the names of its modules.
    """
    count = 0

    def note(frame: FrameType, what: str, argument: object) -> Any:
        nonlocal count
        if what == "call" and not frame.f_globals.get("__name__", "").startswith(package):
            return None
        count += what == "line"
        return note

    watched(work, note, sys.gettrace, sys.settrace)
    return count


@contextmanager
def traced() -> Iterator[Callable[[], tuple[int, int]]]:
    """Yield a function that returns the octets allocated since the start: now, and at most."""
    gc.collect()
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()


def peak(work: Callable[[], object]) -> int:
    """Return how many octets of memory ``work`` takes at most, in addition to those held."""
    with traced() as memory:
        work()
        return memory()[1]
