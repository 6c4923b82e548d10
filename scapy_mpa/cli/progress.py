# SPDX-License-Identifier: GPL-2.0-or-later
"""A progress bar for long files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, TypeVar

import click

from scapy_mpa.cli.output import is_terminal
from scapy_mpa.cli.reading import Reading

__all__ = ["LONG_FILE", "with_progress"]

Batch = TypeVar("Batch")

LONG_FILE: Final = 16 << 20
"""Octets of a file above which reading takes long enough to be watched."""


def with_progress(reading: Reading, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Yield the batches that ``reading`` gives, showing on standard error how far it is.

    Only on a terminal, only for a long file, and only if standard output, whose lines would run
    through the bar, goes elsewhere.
    """
    size = reading.capture.size
    watched = sys.stderr is not None and sys.stderr.isatty() and not is_terminal()
    if size is None or size <= LONG_FILE or not watched:
        yield from batches
        return
    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        for batch in batches:
            bar.update(reading.capture.octets_read - bar.pos)
            yield batch
