# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses, and one-line messages on standard error.

Exit status:
  0  clean; gaps and overlaps do not count, since capturing may cause them
  1  findings in the selected part: at least one error (bad CRC, marker
     mismatch, bad startup frame) or Terminate
  2  a file cannot be read to its end, none of its frames can be followed,
     output cannot be written, or the command line is wrong; wins over 1
  130  Ctrl-C ended reading (143 SIGTERM, 129 SIGHUP); the records found by
       then are shown
"""

from __future__ import annotations

import contextlib
from typing import Final

PROGRAM: Final = "scapy-mpa"

CLEAN: Final = 0
FINDINGS: Final = 1
FAILED: Final = 2
"""A file could not be read to its end, or output could not be written; click uses the same status
for wrong arguments."""
SIGNALLED: Final = 128
"""A shell reports this plus the number of the signal that ended a program."""

SIGINT: Final = 2
"""The number of SIGINT on all systems."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work, as Ctrl-C does.

    :param number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def status_of(error: KeyboardInterrupt) -> int:
    """Return the exit status after a signal."""
    return SIGNALLED + (error.number if isinstance(error, Stopped) else SIGINT)


def complain(text: str) -> None:
    """Print lines on standard error, if that can be written."""
    import click

    with contextlib.suppress(OSError):
        for line in text.splitlines():
            click.echo(f"{PROGRAM}: {line}", err=True)
