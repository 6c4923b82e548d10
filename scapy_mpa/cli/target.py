# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command writes to: a file, which is there in whole or as it was, or standard output."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from scapy_mpa.capture.source import SUFFIXES
from scapy_mpa.capture.whole import whole_file
from scapy_mpa.cli.attention import stopping
from scapy_mpa.cli.output import OutputError, output_file
from scapy_mpa.wire.shown import shown

DASH: Final = "-"
"""What stands for standard input and standard output."""


@contextmanager
def target_file(name: str) -> Iterator[BinaryIO]:
    """Open a file for octets, or standard output.  A signal ends the block, but on standard output.

    :raises OutputError: it cannot be written.
    :raises KeyboardInterrupt: a signal came.
    """
    if name == DASH:
        with output_file() as file:
            yield file
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


def is_same(one: str, other: str, *, dash: tuple[int, int] = (0, 1)) -> bool:
    """Tell whether what is written to one file would replace the other, there or not yet there.

    A device, such as ``/dev/null``, may be both.

    :param dash: descriptors of what ``-`` stands for, by default standard input and output.
    """
    found, beside = _found(one, dash[0]), _found(other, dash[1])
    if found is not None and beside is not None:
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, beside)
    # Neither is there: one name, by whatever links.
    is_named = DASH not in (one, other) and found is beside
    return is_named and os.path.realpath(one) == os.path.realpath(other)


def _found(name: str, descriptor: int) -> os.stat_result | None:
    """Return what the system says of a file, None if it is not there."""
    try:
        return os.fstat(descriptor) if name == DASH else os.stat(name)
    except OSError:
        return None
