# SPDX-License-Identifier: GPL-2.0-or-later
"""How long closed connections linger if interfaces have their own clocks."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.lingering import LINGER_NS, Lingering
from scapy_mpa.stream.segment import SECOND


def released(lingering: Lingering[str], time_ns: int) -> list[str]:
    """The connections that are released when a segment of another one comes."""
    gone = []
    for each in lingering.advance(time_ns):
        lingering.discard(each)
        gone.append(each)
    return gone


@pytest.mark.parametrize("begin", [0, -(10**18)])
def test_one_clock(begin: int) -> None:
    """Each connection lingers for half a minute after its end, also before 1970."""
    lingering: Lingering[str] = Lingering()
    lingering.add("a", begin + 1 * SECOND)
    lingering.add("b", begin + 9 * SECOND)
    begin += LINGER_NS
    assert released(lingering, begin + 1 * SECOND) == []
    assert released(lingering, begin + 2 * SECOND) == ["a"]
    assert released(lingering, begin + 10 * SECOND) == ["b"]
    assert released(lingering, 1 << 62) == []


def test_a_clock_that_is_ahead() -> None:
    """It does not shorten the time of connections that ended by another clock."""
    lingering: Lingering[str] = Lingering()
    assert released(lingering, 1000 * SECOND) == []
    lingering.add("a", 1 * SECOND)
    assert released(lingering, 1001 * SECOND) == []
    assert released(lingering, 2 * SECOND) == []
    assert released(lingering, 1001 * SECOND + LINGER_NS) == ["a"]
