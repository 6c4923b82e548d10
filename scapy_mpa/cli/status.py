# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses, and one-line messages on standard error."""

from __future__ import annotations

import contextlib
from typing import Final

__all__ = [
    "CLEAN",
    "EXIT_STATUS_HELP",
    "FAILED",
    "FINDINGS",
    "INTERRUPTED",
    "PROGRAM",
    "Stopped",
    "complain",
]

PROGRAM: Final = "scapy-mpa"

CLEAN: Final = 0
FINDINGS: Final = 1
FAILED: Final = 2
"""Something could not be read, or not to its end, or not written; click uses the same for wrong
arguments."""
INTERRUPTED: Final = 130
"""What shells report of a program that Ctrl-C has ended."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work, as Ctrl-C does.

    :param number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    @property
    def status(self) -> int:
        """What shells report of a program that such a signal has ended."""
        return 128 + self.number


EXIT_STATUS_HELP: Final = """\
\b
Exit status:
  0  clean; gaps and overlaps alone, which a capture makes, are no fault
  1  findings in what is selected: at least one error (bad CRC, marker mismatch, bad startup
     frame) or Terminate
  2  a file cannot be read to its end, none of its frames can be followed, something cannot be
     written, standard error included, or the command line is wrong; wins over 1
"""


def complain(text: str) -> None:
    """Print a line on standard error.

    If it cannot be written, the exit status says so (:mod:`scapy_mpa.cli.streams`).
    """
    import click

    with contextlib.suppress(OSError):
        click.echo(f"{PROGRAM}: {text}", err=True)
