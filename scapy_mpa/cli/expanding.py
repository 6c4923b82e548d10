# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files directories and patterns stand for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob
from typing import Final

from scapy_mpa.capture import is_capture
from scapy_mpa.cli.status import CLEAN, FAILED, complain
from scapy_mpa.wire.shown import shown

__all__ = ["expanded"]

_WILD: Final = frozenset("*?[")
"""What makes a pattern of a name, unless there is a file of that name."""


def expanded(names: Iterable[str]) -> tuple[list[str], int]:
    """Return the names of files, those of each directory and pattern sorted, and the exit status.

    What is passed over, or not found, is said on standard error.
    """
    found: list[str] = []
    status = CLEAN
    for name in names:
        matches = [name]
        if _WILD.intersection(name) and not os.path.lexists(name):
            matches = sorted(glob(name))
            if not matches:
                complain(f"{shown(name)}: no file matches; check the pattern")
                status = FAILED
        for match in matches:
            files = _captures_in(match) if os.path.isdir(match) else [match]
            found += files
            if not files:
                status = FAILED
    return found, status


def _captures_in(directory: str) -> list[str]:
    """Return the captures in a directory, none if that cannot be; what else is to be said is."""
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        reason = error.strerror or error
        complain(f"{shown(directory)}: the directory cannot be read ({reason}); name a file")
        return []
    paths = [os.path.join(directory, name) for name in names if not name.startswith(".")]
    files = list(filter(os.path.isfile, paths))
    captures = list(filter(is_capture, files))
    if not captures:
        complain(f"{shown(directory)}: the directory has no capture in it; name a file")
    elif others := len(files) - len(captures):
        said = "1 other file is" if others == 1 else f"{others} other files are"
        complain(f"{shown(directory)}: {said} not read")
    return captures
