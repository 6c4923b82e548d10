# SPDX-License-Identifier: GPL-2.0-or-later
"""How many tests run: a few, the usual ones, or all.

``sh run test --quick`` and ``sh run test --thorough`` choose.  All rows of a table run. Cases are
*examples* if they are made from seeds, or are a grid of several parameters, or are marked so. A
part of the examples runs, the same each time.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import pytest

CORE: Final = ("layers", "recovery", "straight", "stream", "wire")
"""The tests of a quick run: those of what happens to one captured segment."""
SHARES: Final = {"quick": 25, "usual": 8}
"""One of so many examples runs,"""
LEAST: Final = {"quick": 1, "usual": 3}
"""but at least so many."""
DRAWN: Final = {"quick": 3, "usual": 10, "thorough": 60}
"""Examples that Hypothesis draws for one test."""

chosen = "usual"


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that do not run."""
    if chosen == "thorough":
        return set()
    dropped = {item for item in items if item.get_closest_marker("slow")}
    examples: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        marks = list(item.iter_markers("parametrize"))
        is_row = len(marks) == 1 and marks[0].args[0] != "seed"
        if marks and (chosen == "quick" or not is_row or item.get_closest_marker("examples")):
            examples[item.nodeid.partition("[")[0]].append(item)
    for name, cases in examples.items():
        random.Random(name).shuffle(cases)
        dropped.update(cases[max(len(cases) // SHARES[chosen], LEAST[chosen]) :])
    return dropped
