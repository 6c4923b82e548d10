# SPDX-License-Identifier: GPL-2.0-or-later
"""The output of a command: standard output, or a file that is written as a whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from scapy_mpa.capture.source import SUFFIXES, regular_size
from scapy_mpa.capture.whole import whole_file
from scapy_mpa.cli.attention import stopping
from scapy_mpa.cli.output import OutputError, output_file
from scapy_mpa.wire.shown import shown

Output: TypeAlias = tuple[str, Callable[[BinaryIO], object]]
"""The name of an output, and a function that writes its octets."""

DASH: Final = "-"
"""The name of standard input and standard output on the command line."""


@contextmanager
def target_file(name: str) -> Iterator[BinaryIO]:
    """Open a file for octets, or standard output.  If it is a file, a signal ends the block.

    :raises OutputError: the output cannot be written.
    :raises KeyboardInterrupt: a signal came.
    """
    if name == DASH:
        with output_file() as output:
            if output is None:
                raise OutputError("standard output takes text only; name a file")
            yield output
        return
    ending = Path(name).suffix
    if ending in SUFFIXES:
        raise OutputError(f"{shown(name)}: cannot be written compressed (leave out {ending})")
    try:
        with stopping(f"{shown(name)}: not written"), whole_file(name) as file:
            yield file
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{shown(name)}: cannot be written ({reason})") from error


def write_all(files: Iterable[Output]) -> None:
    """Write files, all of them or none.

    What cannot be taken back comes last: standard output, pipes and devices.

    :raises OutputError: a file cannot be written.
    :raises KeyboardInterrupt: a signal came.
    """
    (name, write), *rest = sorted(files, key=lambda each: _is_written_directly(each[0]))
    with target_file(name) as file:
        write(file)
        if rest:
            # A full disk shows here, before any of the others takes its name.
            file.flush()
            write_all(rest)


def _is_written_directly(name: str) -> bool:
    with suppress(OSError):
        return name == DASH or regular_size(name) is None
    return False


def is_same(first: str, second: str, *, dash: tuple[int, int] = (0, 1)) -> bool:
    """Return whether two names mean one file, which may not exist yet.

    False for a device, such as ``/dev/null``, since writing does not replace it.

    :param dash: the descriptors that ``-`` means, by default standard input and output.
    """
    status, other = _status_of(first, dash[0]), _status_of(second, dash[1])
    if status is not None and other is not None:
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other)
    # Neither file exists: compare the paths, with links resolved.
    is_named = DASH not in (first, second) and status is other
    return is_named and os.path.realpath(first) == os.path.realpath(second)


def _status_of(name: str, descriptor: int) -> os.stat_result | None:
    """Return the status of a file, None if there is none."""
    try:
        return os.fstat(descriptor) if name == DASH else os.stat(name)
    except OSError:
        return None
