# SPDX-License-Identifier: GPL-2.0-or-later
"""The standard streams of a command.

Errors in writing them are noticed, and end without a traceback.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final, TextIO

from scapy_mpa.cli.status import complain

_STREAMS: Final = (("stdout", 1), ("stderr", 2))
"""Names in :mod:`sys`, and file descriptors."""


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
        _give_up(sys.stdout)
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


class _File(io.FileIO):
    """The file of a standard stream, which remembers an error in writing it."""

    error: OSError | None = None
    """The error, if nobody reported it yet."""

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

    Without this, Python prints nothing at all if one of them is closed, and reports other errors
    in its own words when it exits.
    """
    _hold_places()
    streams = []
    for name, descriptor in _STREAMS:
        stream = getattr(sys, name)
        # A stream that was replaced is left alone.  On a terminal, Windows needs Python's own.
        if stream is getattr(sys, f"__{name}__") and not (stream and stream.isatty()):
            stream = _watched(descriptor, stream)
            setattr(sys, name, stream)
        streams.append(stream)
    return streams


def _hold_places() -> None:
    """Occupy the descriptors of closed streams, so that files opened later do not get them.

    Output would be written into such a file.  The descriptors are opened for reading only, so that
    writing fails.
    """
    if sys.stdout is None or sys.stderr is None:
        last = _STREAMS[-1][1]
        while (held := os.open(os.devnull, os.O_RDONLY)) < last:
            pass
        if held > last:
            os.close(held)


def _watched(descriptor: int, stream: TextIO | None) -> TextIO:
    # Set by PYTHONUNBUFFERED.  Octets in a buffer cannot be lost unnoticed: settle() flushes it.
    is_unbuffered = bool(getattr(stream, "write_through", False))
    return io.TextIOWrapper(
        io.BufferedWriter(_File(descriptor, "w", closefd=False)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace" if stream is None else stream.errors,
        line_buffering=is_unbuffered or bool(getattr(stream, "line_buffering", True)),
    )


def settle(streams: Sequence[TextIO]) -> bool:
    """Flush both streams; return False if there was an error that was not reported yet.

    It is then reported on standard error, unless the reader of standard output closed its end.

    :param streams: standard output and standard error, as :func:`watch` returned them.
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
    """Return the error in writing a stream, None if all was written."""
    file = _file_of(stream)
    try:
        stream.flush()
    except OSError as error:
        return error
    except ValueError:
        # Code in the shell may have closed the stream.
        pass
    return None if file is None else file.error


def is_lost_output(error: BaseException) -> bool:
    """Return whether an exception is the error in writing standard output."""
    file = _file_of(sys.stdout)
    return file is not None and error is file.error


def _give_up(stream: TextIO) -> None:
    """Drop the buffered and all later octets of a stream; at exit Python would report an error."""
    file = _file_of(stream)
    if file is not None:
        file.error = None
    # A stream without a descriptor causes no error at exit.
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _file_of(stream: TextIO) -> _File | None:
    """Return the file of a watched stream, None if the stream is not watched."""
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    return raw if isinstance(raw, _File) else None
