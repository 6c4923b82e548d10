# SPDX-License-Identifier: GPL-2.0-or-later
"""Times as text, most of which is kept from one frame to the next."""

from __future__ import annotations

from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.express.clock import Clock, seconds_text

SECOND = 1_000_000_000
MOMENTS = st.tuples(st.integers(0, 3) | st.just((1 << 32) - 1), st.integers(0, SECOND - 1))
STEPS = st.integers(0, 999) | st.integers(0, 10**7)


def decimal_text(lapse_ns: int) -> str:
    """Return what decimal arithmetic makes of a time; halves go to the later microsecond."""
    rounding = ROUND_HALF_DOWN if lapse_ns < 0 else ROUND_HALF_UP
    seconds = Decimal(lapse_ns).scaleb(-9).quantize(Decimal("0.000001"), rounding)
    # There is no negative zero.
    return f"{seconds + Decimal(0):>11.6f}"


@pytest.mark.parametrize(
    ("lapse_ns", "text"),
    [
        (0, "   0.000000"),
        (499, "   0.000000"),
        (500, "   0.000001"),
        (-500, "   0.000000"),
        (-501, "  -0.000001"),
        (999_999_499, "   0.999999"),
        (999_999_500, "   1.000000"),
        (-1_500_000_000, "  -1.500000"),
        (123_456_789_012_345, "123456.789012"),
    ],
)
def test_seconds_have_six_decimals(lapse_ns: int, text: str) -> None:
    """What stands in a line, and that it is rounded."""
    assert seconds_text(lapse_ns) == text == decimal_text(lapse_ns)


@given(unit=st.sampled_from((1, 1000)), first=MOMENTS, begin=MOMENTS, steps=st.lists(STEPS))
@example(unit=1, first=(0, 700), begin=(0, 0), steps=[1] * 1500)
@example(unit=1, first=(0, 0), begin=(0, 999_999_000), steps=[1] * 600 + [999_000, 499, 1])
@example(unit=1000, first=(1, 999_999), begin=(1, 999_000), steps=[1] * 1100)
@example(unit=1000, first=(0, 1), begin=(2, 999_998), steps=[1, 1, 1])
def test_text_kept_is_right_for_others(
    unit: int, first: tuple[int, int], begin: tuple[int, int], steps: list[int]
) -> None:
    """What holds for frames of a thousandth of a second gives the text of each."""
    in_a_second = SECOND // unit
    first_ns = first[0] * SECOND + first[1] % in_a_second * unit
    clock = Clock(unit)
    clock.begin(first_ns)
    second, fraction = begin[0], begin[1] % in_a_second
    thousandth, since, until = b"", 0, 0
    for step in [0, *steps]:
        fraction += step
        if fraction >= in_a_second:
            second, fraction = second + fraction // in_a_second, fraction % in_a_second
            until = -1
        if not since <= fraction < until:
            thousandth, since, until = clock.thousandth(second, fraction)
        text = thousandth + clock.digits[fraction - since]
        assert text.decode() == decimal_text(second * SECOND + fraction * unit - first_ns)
