# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes of files as they are written on a command line."""

from __future__ import annotations

import argparse
from typing import Final

__all__ = ["size_argument", "size_text"]

_UNITS: Final = {"G": 10**9, "M": 10**6, "k": 10**3}


def size_argument(text: str) -> int:
    """Return the octets of a size such as ``200k``, ``20M`` or ``1G``.

    :raises argparse.ArgumentTypeError: it is none.
    """
    number, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    if not number.isdecimal() or not int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 200k, 20M or 1G")
    return int(number) * unit


def size_text(octets: int) -> str:
    """Return a size in the largest unit that leaves at least one digit before the point."""
    for letter, unit in _UNITS.items():
        if octets >= unit:
            return f"{octets / unit:.3g} {letter}B"
    return f"{octets} B"
