# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of what was dropped because of a limit."""

from __future__ import annotations

__all__ = ["limited"]


def limited(gaps: int, ended: int) -> str | None:
    """Say what was dropped because of a limit, and what to do; None if there was nothing.

    :param gaps: gaps with that reason.
    :param ended: connections that ended for it.
    """
    words = []
    if gaps:
        words.append("1 gap" if gaps == 1 else f"{gaps} gaps")
    if ended:
        words.append("1 connection ended" if ended == 1 else f"{ended} connections ended")
    if not words:
        return None
    return (
        f"{' and '.join(words)} because of a limit; it can be raised by --limit-half, "
        "--limit-total or --limit-connections"
    )
