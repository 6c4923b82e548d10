# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets of a scenario of which only the number is given."""

from __future__ import annotations

import random

import pytest

from scapy_mpa.craft.scenario import values
from scapy_mpa.craft.scenario.values import LARGEST_SCENARIO, Chance

LARGEST_DRAWN = (1 << 28) - 1
"""What ``randbytes()`` can draw at one time: their bits are counted in 31."""


@pytest.mark.parametrize("size", [0, 1, 3, 1 << 20, (1 << 20) + 3, (2 << 20) + 1])
def test_octets_are_those_of_one_draw(size: int) -> None:
    """However many times are drawn: a seed gives what it always gave."""
    assert Chance(7).octets(size) == random.Random(7).randbytes(size)


def test_the_largest_scenario_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No draw is of more than is possible."""
    drawn = []

    class Counting(random.Random):
        def randbytes(self, n: int) -> bytes:
            drawn.append(n)
            return b""

    monkeypatch.setattr(values, "Random", Counting)
    Chance(7).octets(LARGEST_SCENARIO)
    assert sum(drawn) == LARGEST_SCENARIO
    assert max(drawn) <= LARGEST_DRAWN
