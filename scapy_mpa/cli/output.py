# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard output.

Errors in writing it are noticed, and end without a traceback.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from typing import BinaryIO

from scapy_mpa.cli.status import complain


class OutputError(Exception):
    """Standard output cannot be written; its text is the reason in a few words."""


def write_lines(lines: Iterable[str]) -> None:
    """Print lines, and flush standard output.

    :raises OutputError: standard output is closed, or cannot be written.
    """
    write_text(text_of(lines))


def text_of(lines: Iterable[str]) -> bytes:
    """Return lines as text, each with a newline."""
    return "".join([f"{line}\n" for line in lines]).encode()


def write_text(text: bytes) -> None:
    """Print whole lines, and flush standard output.

    :raises OutputError: standard output is closed, or cannot be written.
    """
    if not text:
        return
    with output_file() as file:
        if file is None or is_terminal():
            import click

            click.echo(text.decode(), color=wants_colour(), nl=False)
        else:
            file.write(text)


@contextlib.contextmanager
def output_file() -> Iterator[BinaryIO | None]:
    """Open standard output for octets, and flush it at the end of the block.

    It is None if standard output takes text only.  Any OSError in the block counts as one of
    standard output.

    :raises OutputError: standard output is closed, or cannot be written.
    """
    try:
        sys.stdout.flush()
        yield getattr(sys.stdout, "buffer", None)
        sys.stdout.flush()
    except OSError as error:
        _give_up()
        if error.errno == errno.EPIPE:
            raise OutputError("standard output was closed") from error
        reason = error.strerror or error
        raise OutputError(f"standard output cannot be written ({reason})") from error


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def line_width() -> int:
    """Return the characters of a line: the width of the terminal, elsewhere 80."""
    return os.get_terminal_size(sys.stdout.fileno()).columns or 80 if is_terminal() else 80


def wants_colour() -> bool:
    """Return whether to print in colour: on a terminal, unless NO_COLOR is set, or TERM is dumb."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def buffer_output() -> None:
    """Give standard output a buffer, even if PYTHONUNBUFFERED is set.

    Without one, a signal may cut off the rest of a long text.
    """
    stream = sys.stdout
    if not stream.isatty():
        file = os.fdopen(stream.fileno(), "wb", closefd=False)
        sys.stdout = TextIOWrapper(file, stream.encoding, stream.errors)


def settle() -> bool:
    """Flush standard output; return False if that fails.

    The error is reported on standard error, unless the reader of standard output closed its end.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.EPIPE:
            complain(f"standard output cannot be written ({error.strerror or error})")
        _give_up()
        return False
    except ValueError:
        # Code in the shell has closed it.
        pass
    return True


def _give_up() -> None:
    """Drop the buffered and all later octets of standard output; Python would report an error."""
    # A stream without a descriptor causes no error at exit.
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
