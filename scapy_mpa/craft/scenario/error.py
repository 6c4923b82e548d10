# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong in the text of a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from scapy_mpa.wire.errors import LocalProtocolError

__all__ = ["ScenarioError", "one_of"]


class ScenarioError(LocalProtocolError):
    """A scenario cannot be understood: says where, and what is wanted there."""


def one_of(word: str, known: Iterable[str]) -> str:
    """Return what could be meant by a word that is none of those that are known."""
    names = list(known)
    near = get_close_matches(word, names, 2)
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(names)}"
