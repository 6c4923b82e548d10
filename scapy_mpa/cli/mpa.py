# SPDX-License-Identifier: GPL-2.0-or-later
"""Which connections are of interest."""

from __future__ import annotations

from scapy_mpa.stream.events import ConnectionEnded

__all__ = ["carried_mpa"]


def carried_mpa(event: ConnectionEnded) -> bool:
    """Tell whether a connection had anything to do with MPA, be it only a bad startup frame.

    DDP Stream Sessions over SCTP count, too.
    """
    return (
        event.dialect is not None
        or event.revision is not None
        or event.errors > 0
        or any(half.fpdus > 0 for half in event.halves)
    )
