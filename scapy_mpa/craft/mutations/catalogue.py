# SPDX-License-Identifier: GPL-2.0-or-later
"""Which mutations there are: those of this package, and any that are registered."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from scapy_mpa.craft.mutations.mutation import Mutation
from scapy_mpa.craft.near import meant
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["find", "mutations", "register"]

_KNOWN: Final[dict[str, Mutation]] = {}


def register(*added: Mutation) -> None:
    """Add mutations to the catalogue.

    :raises LocalProtocolError: there is one of that name.
    """
    for mutation in added:
        if _KNOWN.setdefault(mutation.name, mutation) is not mutation:
            raise LocalProtocolError(f"there are two mutations {quoted(mutation.name)}")


def mutations(pattern: str = "*") -> list[Mutation]:
    """Return the mutations whose names match a pattern with ``*``, ``?`` and ``[...]``."""
    return [mutation for name, mutation in _KNOWN.items() if fnmatchcase(name, pattern)]


def find(name: str) -> Mutation:
    """Return the mutation of this name.

    :raises LocalProtocolError: there is none.
    """
    try:
        return _KNOWN[name]
    except KeyError as error:
        question = meant(str(name), _KNOWN) or "`scapy-mpa fuzz --list` shows which there are"
        raise LocalProtocolError(f"there is no mutation {quoted(name)}; {question}") from error
