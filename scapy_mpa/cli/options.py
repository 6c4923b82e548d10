# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share, and their checks."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["files_argument", "record_types"]

_REPEATING: Final = frozenset({"message"})
"""Not shown without ``--type``: a message says again what its FPDUs say."""

files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
"""Files are opened by the capture reader, which says best what is wrong with one."""


def record_types(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str]:
    """Return the record types in a comma-separated list, those shown without one if there is none.

    :raises click.BadParameter: there are others than ``RECORD_TYPES``.
    """
    from scapy_mpa.records import RECORD_TYPES

    if value is None:
        return frozenset(RECORD_TYPES) - _REPEATING
    types = frozenset(name.strip() for name in value.split(","))
    unknown = sorted(types.difference(RECORD_TYPES))
    if unknown:
        raise click.BadParameter(
            f"no record type {', '.join(map(repr, unknown))}; known are {', '.join(RECORD_TYPES)}.",
            ctx,
            param,
        )
    return types
