# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses, and one-line messages on standard error."""

from __future__ import annotations

import contextlib
from typing import Final

PROGRAM: Final = "scapy-mpa"

CLEAN: Final = 0
FINDINGS: Final = 1
FAILED: Final = 2
"""Something could not be read, or not to its end, or not written; click uses the same for wrong
arguments."""
SIGNALLED: Final = 128
"""Shells report this and the number of the signal of a program that a signal has ended."""

SIGINT: Final = 2
"""The number of this signal on all systems."""


class Stopped(KeyboardInterrupt):
    """A signal ended the work, as Ctrl-C does.

    :param number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def status_of(error: KeyboardInterrupt) -> int:
    """Return the exit status after a signal."""
    return SIGNALLED + (error.number if isinstance(error, Stopped) else SIGINT)


EXIT_STATUS_HELP: Final = """\
\b
Exit status:
  0  clean; gaps and overlaps alone, which a capture makes, are no fault
  1  findings in what is selected: at least one error (bad CRC, marker
     mismatch, bad startup frame) or Terminate
  2  a file cannot be read to its end, none of its frames can be followed,
     something cannot be written, standard error included, or the command line
     is wrong; wins over 1
  130  Ctrl-C ended reading (143 SIGTERM, 129 SIGHUP); what was read by then
       is shown
SIGUSR1, and SIGINFO where there is one, asks how far it is.
"""


def complain(text: str) -> None:
    """Print a line on standard error.

    If it cannot be written, the exit status says so (:mod:`scapy_mpa.cli.output`).
    """
    import click

    with contextlib.suppress(OSError):
        click.echo(f"{PROGRAM}: {text}", err=True)
