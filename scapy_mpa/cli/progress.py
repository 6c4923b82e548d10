# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress bars for what takes long."""

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
"""Seconds after which it is worth while to say how far it is."""
_SHOW_EVERY: Final = 0.1
"""Seconds between two looks at it."""


def with_progress(capture: Capture, batches: Iterator[Item]) -> Iterator[Item]:
    """Yield the batches that are made of ``capture``, showing on standard error how far it is.

    Not of a pipe, and only if standard output, whose lines would run through the bar, goes
    elsewhere than to a terminal.
    """
    size = capture.size
    if size is None or is_terminal():
        return batches
    return _with_bar(
        batches, size, lambda: f"{capture.frames} frames read", lambda _: capture.octets_read
    )


def watched(items: Iterable[Item], length: int, label: str) -> Iterator[Item]:
    """Yield items, showing on standard error how far it is; nothing is printed meanwhile.

    :param length: how many there are.
    :param label: what is being done.
    """
    return _with_bar(items, length, lambda: label, lambda count: count)


def _with_bar(
    items: Iterable[Item],
    length: int,
    label: Callable[[], str],
    position: Callable[[int], int],
) -> Iterator[Item]:
    """Yield items; if standard error is a terminal, show a bar on it once that takes long.

    :param label: says what is being done.
    :param position: tells how far it is, of ``length``, from how many items were yielded.
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
    # The label may change where the position does not.
    bar.render_progress()
