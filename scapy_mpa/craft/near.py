# SPDX-License-Identifier: GPL-2.0-or-later
"""What somebody may have meant who has mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_LONGEST: Final = 100
"""Characters of a name that is looked at: nobody mistypes more, and looking takes time."""


def meant(name: str, known: Iterable[str]) -> str:
    """Return a question with the names that are like one that there is not; empty: none is."""
    near = get_close_matches(name, known, 2) if len(name) <= _LONGEST else []
    return f"did you mean {' or '.join(near)}?" if near else ""
