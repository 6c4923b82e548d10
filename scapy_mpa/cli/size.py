# SPDX-License-Identifier: GPL-2.0-or-later
"""Sizes on the command line, such as ``500k`` and ``16Mi``."""

from __future__ import annotations

import re
from typing import Final

import click

__all__ = ["size"]

_UNITS: Final = {"k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE: Final = re.compile(rf"([0-9]{{1,18}})({'|'.join(_UNITS)})?")


def size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the octets of a size; at least 1.

    :raises click.BadParameter: it is none.
    """
    found = _SIZE.fullmatch(value)
    octets = int(found[1]) * _UNITS.get(found[2], 1) if found else 0
    if not octets:
        raise click.BadParameter(
            f"{value!r} is no size such as 500k or 16M (powers of 1000) or 16Mi (of 1024).",
            ctx,
            param,
        )
    return octets
