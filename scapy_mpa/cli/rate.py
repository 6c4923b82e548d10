# SPDX-License-Identifier: GPL-2.0-or-later
"""Rates on the command line, such as ``1%`` and ``0.01``."""

from __future__ import annotations

import re
from typing import Final

import click

__all__ = ["rate"]

_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})(%?)")


def rate(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return the share that is meant, 0 to 1; None for none.

    :raises click.BadParameter: it is no share.
    """
    if value is None:
        return None
    found = _RATE.fullmatch(value)
    share = float(found[1]) / (100 if found[2] else 1) if found else -1
    if not 0 <= share <= 1:
        name = param.opts[0]
        raise click.BadParameter(
            f"{value!r} is no share such as 1% or 0.01; without one, {name} comes last.",
            ctx,
            param,
        )
    return share
