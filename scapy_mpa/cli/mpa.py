# SPDX-License-Identifier: GPL-2.0-or-later
"""Which connections are of interest."""

from __future__ import annotations

from typing import Any

__all__ = ["carried_mpa"]


def carried_mpa(record: dict[str, Any]) -> bool:
    """Tell whether a connection had anything to do with MPA, be it only a bad startup frame.

    DDP Stream Sessions over SCTP count, too.

    :param record: of the connection.
    """
    return (
        record["dialect"] is not None
        or record["revision"] is not None
        or record["errors"] > 0
        or any(record["fpdus"].values())
    )
