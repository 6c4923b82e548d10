# SPDX-License-Identifier: GPL-2.0-or-later
"""What was completed up to a frame is told as by a look at everything that waits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.clean.by_frame import ByFrame

NUMBERS = st.integers(0, 20)


@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("wait"), NUMBERS, NUMBERS),
            st.tuples(st.just("place"), NUMBERS, st.just(0)),
            st.tuples(st.just("force"), NUMBERS, st.just(0)),
        ),
        max_size=60,
    )
)
def test_against_a_look_at_everything(steps: list[tuple[str, int, int]]) -> None:
    """Items come in any order, and go by their positions or because a slot is forced."""
    waiting: list[tuple[int, int, int, None]] = []
    by_frame = ByFrame(waiting)
    for serial, (what, number, completed) in enumerate(steps):
        upto: int | None = number
        if what == "wait":
            waiting.append((number, serial, completed, None))
            by_frame.add(number, serial, completed)
            continue
        if what == "force":
            upto = by_frame.pop_upto(number)
            assert upto == max((each[0] for each in waiting if each[2] <= number), default=None)
        for each in list(waiting):
            if upto is not None and each[0] <= upto:
                waiting.remove(each)
                by_frame.remove(each[1])
        if by_frame.is_stale:
            by_frame = ByFrame(waiting)
