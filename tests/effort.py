# SPDX-License-Identifier: GPL-2.0-or-later
"""How much the tests try: a little, as much as usual, or all there is.

``sh run test --quick`` and ``sh run test --thorough`` choose.  All rows of a table are tried.
Cases are *examples* if they are made from seeds, or are a grid of several parameters, or are marked
so: a part of these is tried, the same each time.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import pytest

CORE: Final = ("layers", "recovery", "straight", "stream", "wire")
"""The tests that are run quickly: what one captured segment comes to."""
SHARES: Final = {"quick": 25, "usual": 8}
"""One example in so many is tried,"""
LEAST: Final = {"quick": 1, "usual": 3}
"""but so many at least."""
DRAWN: Final = {"quick": 3, "usual": 10, "thorough": 60}
"""Examples that Hypothesis draws for one test."""

chosen = "usual"


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests that are not run."""
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
