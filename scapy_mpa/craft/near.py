# SPDX-License-Identifier: GPL-2.0-or-later
"""Suggestions for a mistyped name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 100
"""Characters of a name that is compared, at most: comparing takes time, and real names are
shorter."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests similar known names; empty if there are none."""
    near = get_close_matches(name, known, 2) if len(name) <= _LONGEST else []
    return f"did you mean {' or '.join(near)}?" if near else ""
