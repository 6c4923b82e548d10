# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong in the text of a scenario."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_mpa.craft.near import meant
from scapy_mpa.wire.errors import LocalProtocolError


class ScenarioError(LocalProtocolError):
    """A scenario cannot be understood: says where, and what is wanted there."""


def one_of(word: str, known: Iterable[str]) -> str:
    """Return what could be meant by a word that is none of those that are known."""
    names = list(known)
    return meant(word, names) or f"known are {', '.join(names)}"
