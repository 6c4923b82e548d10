# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a file as a whole, or leaves the old one as it was.

A reader cannot see that a file ends early.  So octets go to a temporary file in the same directory,
which takes the file's name when it is complete.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

_BUFFER: Final = 1 << 18
"""Octets that are written at a time."""

_STANDARD_STREAMS: Final = (1, 2)
"""Descriptors of standard output and standard error."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for octets; it replaces the old one when the block ends without an error.

    Until then, or if the block raises anything, the old file stays, or there is none.  The new file
    has the mode of the old one, and a symbolic link leads to it.  Pipes, devices, ``/dev/stdout``
    and all else that is no regular file or is open as standard output are written directly.

    :raises OSError: the file cannot be written; ``filename`` is ``path``, or None.
    """
    name = os.fspath(path)
    place = _place(name)
    if place is None:
        with open(name, "wb", buffering=_BUFFER) as file:
            yield file
        return
    # Not the old name with a suffix, which might be too long for the directory.
    beside = os.path.join(os.path.dirname(place), f".{os.urandom(8).hex()}.part")
    try:
        with open(beside, "xb", buffering=_BUFFER) as file:
            _take_mode(place, beside)
            yield file
        os.replace(beside, place)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(beside)
        if isinstance(error, OSError) and error.filename == beside:
            error.filename, error.filename2 = name, None
        raise


def _place(name: str) -> str | None:
    """Return the path of the file to replace, None if the file must be written directly.

    :raises OSError: the file cannot be written.
    """
    try:
        found = os.stat(name)
    except FileNotFoundError:
        # A name that ends in a slash is a directory's; open() then raises the error.
        return os.path.realpath(name) if os.path.basename(name) else None
    if not stat.S_ISREG(found.st_mode) or _is_open(name, found):
        return None
    # A file without permission to write must not be replaced.
    os.close(os.open(name, os.O_WRONLY))
    return os.path.realpath(name)


def _is_open(name: str, found: os.stat_result) -> bool:
    """Return whether a name means an open file, such as ``/dev/stdout`` and ``/dev/fd/3``.

    The program that opened it would not see a new file in its place.
    """
    if os.path.realpath(os.path.dirname(name)).startswith("/proc/"):
        return True
    for descriptor in _STANDARD_STREAMS:
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), found):
                return True
    return False


def _take_mode(place: str, beside: str) -> None:
    """Give the new file the owner and the mode of the file that it will replace, if any."""
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(beside, found.st_uid, found.st_gid)
    os.chmod(beside, stat.S_IMODE(found.st_mode) & 0o777)
