# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress bars for work that takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeVar

from scapy_mpa.capture import Capture
from scapy_mpa.cli.output import is_terminal

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

__all__ = ["watched", "with_progress"]

Item = TypeVar("Item")

_WATCH_AFTER: Final = 1.0
"""Seconds of work before a bar is shown."""
_SHOW_EVERY: Final = 0.1
"""Seconds between two updates of the bar."""


def with_progress(capture: Capture, batches: Iterator[Item]) -> Iterator[Item]:
    """Yield the batches that are made of ``capture``; show a progress bar on standard error.

    No bar is shown for a pipe, or if standard output is a terminal, where its lines would disturb
    the bar.
    """
    size = capture.size
    if size is None or is_terminal():
        return batches
    return _with_bar(
        batches, size, lambda: f"{capture.frames} frames read", lambda _: capture.octets_read
    )


def watched(items: Iterable[Item], length: int, label: str) -> Iterator[Item]:
    """Yield items; show a progress bar on standard error.  Nothing else may be printed meanwhile.

    :param length: number of items.
    :param label: name of the work.
    """
    return _with_bar(items, length, lambda: label, lambda count: count)


def _with_bar(
    items: Iterable[Item], length: int, label: Callable[[], str], position: Callable[[int], int]
) -> Iterator[Item]:
    """Yield items; if that takes long and standard error is a terminal, show a bar there.

    :param label: returns the text beside the bar.
    :param position: returns the progress, 0 to ``length``, for a number of yielded items.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    show_at = monotonic() + _WATCH_AFTER
    bar, count = None, 0
    with ExitStack() as stack:
        for count, item in enumerate(items, 1):
            yield item
            if monotonic() < show_at:
                continue
            show_at = monotonic() + _SHOW_EVERY
            if bar is None:
                import click

                bar = stack.enter_context(click.progressbar(length=length, file=sys.stderr))
            _move(bar, label(), position(count))
        if bar is not None:
            _move(bar, label(), position(count))


def _move(bar: ProgressBar[Any], label: str, position: int) -> None:
    bar.label = label
    bar.update(position - bar.pos)
    # update() does not draw if the position is the same, but the label may have changed.
    bar.render_progress()
