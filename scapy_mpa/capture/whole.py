# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a file as a whole, or leaves the old one as it was.

A reader cannot see that a file ends early.  So octets go to a temporary file in the same directory,
which takes the file's name when it is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

from scapy_mpa.capture.source import regular_size

_BUFFER: Final = 1 << 18
"""Octets that are written at a time."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for octets; it replaces the old one when the block ends without an error.

    Until then, or if the block raises anything, the old file stays, or there is none.  The new file
    has the mode of the old one, and a symbolic link leads to it.  Pipes, devices and all else that
    is no regular file are written directly.

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
            if os.path.exists(place):
                os.chmod(beside, os.stat(place).st_mode & 0o777)
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
        size = regular_size(name)
    except FileNotFoundError:
        # A name that ends in a slash is a directory's; open() then raises the error.
        return os.path.realpath(name) if os.path.basename(name) else None
    if size is None:
        return None
    # A file without permission to write must not be replaced.
    os.close(os.open(name, os.O_WRONLY))
    return os.path.realpath(name)
