# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are there in whole, or as they were before.

Whoever is given a file that ends early takes it for all there is.  So octets go to a file beside
it, which takes its name when all are written.
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
    """Open a file for octets; it replaces what has its name when the block ends without an error.

    Until then, and if the block raises anything, what was there stays: another file, or none.  The
    new file has the mode of the old one, and a symbolic link leads to it.  What is no regular file,
    or is open as standard output, is written directly: pipes, devices, ``/dev/stdout``.

    :raises OSError: it cannot be written; ``filename`` is ``path``, or None.
    """
    name = os.fspath(path)
    place = _place(name)
    if place is None:
        with open(name, "wb", buffering=_BUFFER) as file:
            yield file
        return
    # Of its own length, since a name may be as long as a directory allows.
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
    """Return what is to be replaced, None if the file is to be written directly.

    :raises OSError: it cannot be written.
    """
    try:
        found = os.stat(name)
    except FileNotFoundError:
        # A name that ends like a directory's is no file's, which open() says.
        return os.path.realpath(name) if os.path.basename(name) else None
    if not stat.S_ISREG(found.st_mode) or _is_open(name, found):
        return None
    # A file that must not be written must not be replaced.
    os.close(os.open(name, os.O_WRONLY))
    return os.path.realpath(name)


def _is_open(name: str, found: os.stat_result) -> bool:
    """Tell whether a name stands for a file that is open, as ``/dev/stdout`` and ``/dev/fd/3`` do.

    Who has opened it would not see another one.
    """
    if os.path.realpath(os.path.dirname(name)).startswith("/proc/"):
        return True
    for descriptor in _STANDARD_STREAMS:
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), found):
                return True
    return False


def _take_mode(place: str, beside: str) -> None:
    """Give a new file the owner and the mode of the one that it will replace, if there is one."""
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(beside, found.st_uid, found.st_gid)
    os.chmod(beside, stat.S_IMODE(found.st_mode) & 0o777)
