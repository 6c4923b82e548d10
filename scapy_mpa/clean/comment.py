# SPDX-License-Identifier: GPL-2.0-or-later
"""Comments of the frames of a cleaned capture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_RUNS: Final = 64
"""Runs of frame numbers that are named: a comment has no room for all that an FPDU may have."""


def comment_of(*remarks: str) -> str:
    """Return the comment of a frame."""
    return f"scapy-mpa clean: {'; '.join(remarks)}"


def of_frames(numbers: Iterable[int]) -> str:
    """Return words that name the captured frames whose octets a frame has."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    names = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_RUNS]]
    if runs[_RUNS:]:
        names.append("...")
    is_one = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"of frame{'' if is_one else 's'} {', '.join(names)}"
