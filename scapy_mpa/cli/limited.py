# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of what was dropped because of a limit."""

from __future__ import annotations

__all__ = ["limited", "not_searched"]


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


def not_searched(directions: int) -> str | None:
    """Say how many directions were not searched to their end; None if all were."""
    if not directions:
        return None
    words = "1 direction was not searched to its end"
    if directions > 1:
        words = f"{directions} directions were not searched to their end"
    return f"{words} for FPDUs: too much looks like some"
