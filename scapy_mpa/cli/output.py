# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard output: written in large pieces, and given up without a traceback when it is closed."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, Final

from scapy_mpa.cli.streams import give_up

__all__ = [
    "OutputError",
    "is_terminal",
    "line_width",
    "output_file",
    "text_of",
    "wants_colour",
    "write_lines",
    "write_text",
]


_PIECE: Final = 1 << 20
"""Octets that are written at a time."""


class OutputError(Exception):
    """Standard output takes no more; says why in a few words."""


def write_lines(lines: Iterable[str]) -> None:
    """Print lines, and see to it that they are on their way.

    :raises OutputError: standard output is closed, or cannot be written.
    """
    write_text(text_of(lines))


def text_of(lines: Iterable[str]) -> bytes:
    """Return lines as text, each with its end."""
    return "".join([f"{line}\n" for line in lines]).encode()


def write_text(text: bytes) -> None:
    """Print whole lines, and see to it that they are on their way.

    :raises OutputError: standard output is closed, or cannot be written.
    """
    if not text:
        return
    try:
        octets = getattr(sys.stdout, "buffer", None)
        if octets is None or is_terminal():
            import click

            click.echo(text.decode(), color=wants_colour(), nl=False)
        else:
            sys.stdout.flush()
            octets.write(text)
            octets.flush()
    except OSError as error:
        give_up(sys.stdout)
        if error.errno == errno.EPIPE:
            raise OutputError("standard output was closed") from error
        reason = error.strerror or error
        raise OutputError(f"standard output cannot be written ({reason})") from error


def output_file() -> BinaryIO:
    """Return standard output as a file for octets, which are written in large pieces.

    What it does raises :class:`OutputError` if standard output is closed, or cannot be written.
    """
    return io.BufferedWriter(_StandardOutput(), _PIECE)


class _StandardOutput(io.RawIOBase):
    """Standard output without a buffer."""

    def writable(self) -> bool:
        return True

    def write(self, octets: Any) -> int:
        write_text(bytes(octets))
        return len(octets)


def is_terminal() -> bool:
    """Tell whether standard output is a terminal."""
    return sys.stdout.isatty()


def line_width() -> int:
    """Return how many characters a line may have: those of the terminal, elsewhere 80."""
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80 if is_terminal() else 80


def wants_colour() -> bool:
    """Tell whether to print in colour: on a terminal, unless NO_COLOR says no."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
