# SPDX-License-Identifier: GPL-2.0-or-later
"""The catalogue of mutations: those of this package, and any others that are registered.

``catalogue.md`` lists what each breaks, and what a receiver must do.  The modules beside it have
the changes, by the same names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Final

from scapy_mpa.craft.mutations.expectation import Action, Expectation
from scapy_mpa.craft.mutations.mutation import Mutation, Table
from scapy_mpa.wire.errors import ErrorCode, LocalProtocolError
from scapy_mpa.wire.shown import quoted, suggestion

_ROW: Final = re.compile(r"\| `([^`]+)` \| (.+) \| (.+) \| (no|to others)? ?\|")
_KNOWN: Final[dict[str, Mutation]] = {}


@cache
def rows() -> dict[str, tuple[str, str, str]]:
    """Return the rows of the table by name: expectation, what is wrong, whether it is evident."""
    table = files(__package__).joinpath("catalogue.md").read_text(encoding="utf-8")
    return {
        name: (expected, breaks, shown) for name, expected, breaks, shown in _ROW.findall(table)
    }


def _expectation(text: str) -> Expectation:
    """Parse an expectation such as ``error 1, 2: note`` or ``terminate 1/2/0x03``."""
    outcome, _, note = text.partition(": ")
    action, *codes = outcome.replace(",", "").split()
    terminates = [each.split("/") for each in codes if "/" in each]
    return Expectation(
        Action(action),
        tuple(ErrorCode(int(code)) for code in codes if "/" not in code),
        tuple((int(layer), int(etype), int(code, 16)) for layer, etype, code in terminates),
        note,
    )


def listed(table: Table) -> Iterator[Mutation]:
    """Yield the mutations of a table, with their rows of ``catalogue.md``."""
    for base, changes in table.items():
        for name, change in changes.items():
            expected, breaks, shown = rows()[name]
            evident = shown != "no", shown == "to others"
            yield Mutation(name, breaks, _expectation(expected), base, change, *evident)


def register(*added: Mutation) -> None:
    """Add mutations to the catalogue.

    :raises LocalProtocolError: there is another one with that name.
    """
    for mutation in added:
        if _KNOWN.setdefault(mutation.name, mutation) is not mutation:
            raise LocalProtocolError(f"there are two mutations {quoted(mutation.name)}")


def mutations(pattern: str = "*") -> list[Mutation]:
    """Return the mutations whose names match a pattern with ``*``, ``?`` and ``[...]``."""
    return [mutation for name, mutation in _KNOWN.items() if fnmatchcase(name, pattern)]


def find(name: str) -> Mutation:
    """Return the mutation with a name.

    :raises LocalProtocolError: there is none.
    """
    try:
        return _KNOWN[name]
    except KeyError as error:
        hint = suggestion(str(name), _KNOWN) or "`scapy-mpa fuzz --list` shows which there are"
        raise LocalProtocolError(f"there is no mutation {quoted(name)}; {hint}") from error
