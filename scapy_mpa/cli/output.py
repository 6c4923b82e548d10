# SPDX-License-Identifier: GPL-2.0-or-later
"""The standard streams of a command.

Whatever cannot be written to them is noticed, and given up without a traceback.  Standard output is
written in large pieces.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, BinaryIO, Final, TextIO

from scapy_mpa.cli.status import complain

_PIECE: Final = 1 << 20
"""Octets that are written at a time."""

_STREAMS: Final = (("stdout", 1), ("stderr", 2))
"""Names in :mod:`sys`, and file descriptors."""


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
        _give_up(sys.stdout)
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


class _File(io.FileIO):
    """The file of a standard stream.  It remembers that it could not be written."""

    error: OSError | None = None
    """What nobody has reported, nor will."""

    def write(self, octets: Any) -> Any:
        try:
            return super().write(octets)
        except OSError as error:
            self.error = error
            if error.errno == errno.EBADF:
                self.error = OSError(errno.EBADF, "it is not open")
            raise self.error from None


def watch() -> list[TextIO]:
    """Begin to notice errors of standard output and standard error; return both.

    Without this, Python prints nothing at all where one of them is closed, and reports other
    errors in its own words when it exits.
    """
    _hold_places()
    streams = []
    for name, descriptor in _STREAMS:
        stream = getattr(sys, name)
        # Whoever has replaced it knows why.  Of a terminal Windows needs Python's own.
        if stream is getattr(sys, f"__{name}__") and not (stream and stream.isatty()):
            stream = _watched(descriptor, stream)
            setattr(sys, name, stream)
        streams.append(stream)
    return streams


def _hold_places() -> None:
    """Keep files that are opened later from getting the descriptor of a closed stream.

    What is written to that stream would end in them.  The place is held for reading only, so that
    writing fails.
    """
    if sys.stdout is None or sys.stderr is None:
        last = _STREAMS[-1][1]
        while (held := os.open(os.devnull, os.O_RDONLY)) < last:
            pass
        if held > last:
            os.close(held)


def _watched(descriptor: int, stream: TextIO | None) -> TextIO:
    # PYTHONUNBUFFERED asks for this; octets that a buffer holds back cannot be lost unnoticed.
    is_unbuffered = bool(getattr(stream, "write_through", False))
    return io.TextIOWrapper(
        io.BufferedWriter(_File(descriptor, "w", closefd=False)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace" if stream is None else stream.errors,
        line_buffering=is_unbuffered or bool(getattr(stream, "line_buffering", True)),
    )


def settle(streams: Sequence[TextIO]) -> bool:
    """Write what is still held back; tell whether all was written, or somebody said why not.

    If not, it is said on standard error, unless the reader of standard output went away.

    :param streams: standard output and standard error, as they were returned.
    """
    is_whole = True
    output, _ = streams
    for stream in streams:
        error = _error_of(stream)
        if error is None:
            continue
        is_whole = False
        if stream is output and error.errno != errno.EPIPE:
            complain(f"standard output cannot be written ({error.strerror or error})")
        _give_up(stream)
    return is_whole


def _error_of(stream: TextIO) -> OSError | None:
    """Return why something could not be written, None if all was."""
    file = _file_of(stream)
    try:
        stream.flush()
    except OSError as error:
        return error
    except ValueError:
        # The code that a shell was given may have closed it.
        pass
    return None if file is None else file.error


def is_lost_output(error: BaseException) -> bool:
    """Tell whether an exception says that standard output cannot be written."""
    file = _file_of(sys.stdout)
    return file is not None and error is file.error


def _give_up(stream: TextIO) -> None:
    """Drop what a stream holds back, and whatever follows: Python would complain of it at exit."""
    file = _file_of(stream)
    if file is not None:
        file.error = None
    # A stream that is no file of the system is not flushed at exit either.
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _file_of(stream: TextIO) -> _File | None:
    """Return the file of a stream that is watched, None if it is not."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, _File) else None
