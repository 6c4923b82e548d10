# SPDX-License-Identifier: GPL-2.0-or-later
"""The error for a mistake in the text of a scenario."""

from __future__ import annotations

from collections.abc import Iterable

from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import suggestion


class ScenarioError(LocalProtocolError):
    """A scenario cannot be understood; the message says where, and what is expected there."""


def one_of(word: str, known: Iterable[str]) -> str:
    """Return suggestions for an unknown word: similar known words, else all known words."""
    names = list(known)
    return suggestion(word, names) or f"known are {', '.join(names)}"
