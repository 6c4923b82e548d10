# SPDX-License-Identifier: GPL-2.0-or-later
"""What the property tests of the layers draw from."""

from hypothesis import strategies as st

from tests.truth import messages


@st.composite
def ulpdus(draw: st.DrawFn, largest: int = 1600) -> bytes:
    """The ULPDUs of all messages, of any length, and octets that are none."""
    rng = draw(st.randoms(use_true_random=False))
    if draw(st.booleans()):
        return messages.random_ulpdus(rng, 1, largest=largest)[0]
    return rng.randbytes(draw(st.integers(0, largest)))
