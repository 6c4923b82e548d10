# SPDX-License-Identifier: GPL-2.0-or-later
"""``catalogue.md``: what each mutation breaks, and what is expected of a receiver.

How it is done, the modules beside it say, by the same names.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from scapy_mpa.craft.mutations.expectation import Action, Expectation
from scapy_mpa.wire.errors import ErrorCode

__all__ = ["Row", "rows"]

_ROW: Final = re.compile(r"\| `([^`]+)` \| (.+) \| (.+) \| (no|to others)? ?\|")


class Row(NamedTuple):
    """A row of the table, without its name."""

    expectation: Expectation
    breaks: str
    is_evident: bool
    is_overheard: bool


@cache
def rows() -> dict[str, Row]:
    """Return the rows of the table by their names."""
    table = files(__package__).joinpath("catalogue.md").read_text(encoding="utf-8")
    return {
        name: Row(_expectation(expected), breaks, shown != "no", shown == "to others")
        for name, expected, breaks, shown in _ROW.findall(table)
    }


def _expectation(text: str) -> Expectation:
    """Return what ``error 1, 2: note`` or ``terminate 1/2/0x03`` says."""
    said, _, note = text.partition(": ")
    action, *codes = said.replace(",", "").split()
    terminates = [each.split("/") for each in codes if "/" in each]
    return Expectation(
        Action(action),
        tuple(ErrorCode(int(code)) for code in codes if "/" not in code),
        tuple((int(layer), int(etype), int(code, 16)) for layer, etype, code in terminates),
        note,
    )
