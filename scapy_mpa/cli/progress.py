# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress bars for what takes long."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Final, TypeVar

from scapy_mpa.capture import Capture
from scapy_mpa.cli.output import is_terminal

__all__ = ["LONG_FILE", "watched", "with_progress"]

Batch = TypeVar("Batch")
Item = TypeVar("Item")

LONG_FILE: Final = 16 << 20
"""Octets of a file above which reading takes long enough to be watched."""

_WATCH_AFTER: Final = 2.0
"""Seconds after which it is worth while to say how far it is."""


def with_progress(capture: Capture, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches that are made of ``capture``, showing on standard error how far it is.

    Only on a terminal, only for a long file, and only if standard output, whose lines would run
    through the bar, goes elsewhere.
    """
    size = capture.size
    if size is None or size <= LONG_FILE or not _is_watched():
        yield from batches
        return
    import click

    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        for batch in batches:
            bar.update(capture.octets_read - bar.pos)
            yield batch


def watched(items: Iterable[Item], length: int, label: str) -> Iterator[Item]:
    """Yield items, showing on standard error how far it is once it has taken some seconds.

    Only on a terminal; nothing is printed meanwhile.

    :param length: how many there are.
    :param label: what is being done.
    """
    remaining = iter(items)
    if not (sys.stderr is not None and sys.stderr.isatty()):
        yield from remaining
        return
    begin = monotonic()
    done = 0
    for item in remaining:
        yield item
        done += 1
        if monotonic() - begin > _WATCH_AFTER:
            break
    if done == length:
        return
    import click

    with click.progressbar(remaining, length=length - done, label=label, file=sys.stderr) as bar:
        yield from bar


def _is_watched() -> bool:
    """Tell whether somebody sees standard error, and no lines of standard output in between."""
    return sys.stderr is not None and sys.stderr.isatty() and not is_terminal()
