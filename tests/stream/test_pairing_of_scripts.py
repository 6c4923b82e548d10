# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request, whatever is missing (RFC 5040 5.2, RFC 7306 5.2 and 7).

The truth is the script of a conversation and which of its FPDUs are in the capture.
"""

from __future__ import annotations

import random

from hypothesis import event, given
from hypothesis import strategies as st

from tests.stream.spoken import (
    RESPONSES,
    Spoken,
    check_pairing,
    check_tagged,
    check_untagged,
    name_of,
)
from tests.truth import messages

SCRIPTS = {
    "seed": st.integers(0, 2**32),
    "depth": st.sampled_from((1, 2, 8)),
    "markers": st.booleans(),
}


@given(**SCRIPTS, buffers=st.sampled_from((None, 1, 3)), late=st.booleans())
def test_a_conversation_that_was_captured_whole(
    seed: int, depth: int, markers: bool, buffers: int | None, late: bool
) -> None:
    """Everything is complete and paired, however buffers are used and in whatever order it came."""
    rng = random.Random(seed)
    script = messages.random_script(
        rng, 60, 700, 4000, depth=depth, buffers=buffers, unanswered=0.5
    )
    count = sum(len(each.ulpdus) for each in script)
    delays = {at: rng.randint(1, 5) for at in range(count) if late and rng.random() < 0.3}
    spoken = Spoken(script, delays=delays, markers=markers)
    check_untagged(spoken)
    check_tagged(spoken)
    check_pairing(spoken, all_of_them=True)
    assert all(each.complete for each in spoken.found if each.fpdus)
    assert sum(bool(each.fpdus) for each in spoken.found) == len(script)
    assert not any(
        each.duplicates or each.overlaps or each.conflicts or each.cut_off for each in spoken.found
    )


@given(
    **SCRIPTS,
    buffers=st.sampled_from((None, None, 1, 3)),
    rate=st.sampled_from((0.03, 0.1, 0.3)),
    damaged=st.booleans(),
    late=st.booleans(),
    sizes=st.sampled_from(((), (64,), (0, 64, 2000))),
)
def test_a_conversation_of_which_some_is_missing(
    seed: int,
    depth: int,
    markers: bool,
    buffers: int | None,
    rate: float,
    damaged: bool,
    late: bool,
    sizes: tuple[int, ...],
) -> None:
    """Whatever is missing or damaged: what is said is true."""
    rng = random.Random(seed)
    script = messages.random_script(
        rng, 80, 700, 4000, depth=depth, buffers=buffers, sizes=sizes, unanswered=0.5
    )
    missed = frozenset(
        (index, piece)
        for index, each in enumerate(script)
        for piece in range(len(each.ulpdus))
        if rng.random() < rate
    )
    count = sum(len(each.ulpdus) for each in script)
    delays = {at: rng.randint(1, 5) for at in range(count) if late and rng.random() < 0.1}
    spoken = Spoken(script, missed=missed, is_damaged=damaged, delays=delays, markers=markers)
    check_untagged(spoken)
    check_tagged(spoken)
    check_pairing(spoken, all_of_them=False)
    paired = [each.answers for each in spoken.found if each.opcode in RESPONSES and each.fpdus]
    event(f"paired: {10 * sum(each is not None for each in paired) // max(1, len(paired))}/10")


@given(
    seed=st.integers(0, 2**32),
    depth=st.sampled_from((1, 2, 8)),
    markers=st.booleans(),
    skipped=st.integers(4, 60),
    sizes=st.sampled_from(((), (0, 64, 2000))),
)
def test_a_conversation_whose_beginning_is_missing(
    seed: int, depth: int, markers: bool, skipped: int, sizes: tuple[int, ...]
) -> None:
    """Responses to Requests from before the capture are not paired, the others are."""
    script = messages.random_script(random.Random(seed), 80, 700, 4000, depth=depth, sizes=sizes)
    order = [
        (index, piece) for index, each in enumerate(script) for piece in range(len(each.ulpdus))
    ]
    spoken = Spoken(script, missed=frozenset(order[:skipped]), markers=markers, startup=False)
    check_tagged(spoken)
    check_pairing(spoken, all_of_them=False)
    for each in spoken.found:
        if each.opcode in RESPONSES and each.complete and each.length:
            request = script[spoken.index_of(each)[0]].answers
            assert request is not None
            wanted = name_of(script[request]) if spoken.asked(request) else None
            assert each.answers == wanted
