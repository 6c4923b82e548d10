# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Response answers which Request, with missing FPDUs (RFC 5040 5.2, RFC 7306 5.2 and 7).

The truth is the script of a conversation, with the FPDUs of it that were captured.
"""

from __future__ import annotations

import random

from hypothesis import given
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

KINDS = {
    "nothing": (0.0, False),
    "some": (0.03, False),
    "much": (0.3, False),
    "damaged": (0.1, True),
    "beginning": (0.0, False),
}
"""What a capture lacks: the share, and whether it is captured with a bad CRC."""


@given(
    seed=st.integers(0, 2**32),
    depth=st.sampled_from((1, 2, 8)),
    markers=st.booleans(),
    buffers=st.sampled_from((None, None, 1, 3)),
    lacks=st.sampled_from(sorted(KINDS)),
    late=st.sampled_from((0, 0, 0.1, 0.3)),
    sizes=st.sampled_from(((), (64,), (0, 64, 2000))),
)
def test_conversations(
    seed: int,
    depth: int,
    markers: bool,
    buffers: int | None,
    lacks: str,
    late: float,
    sizes: tuple[int, ...],
) -> None:
    """All reports are true, and complete if nothing is missing."""
    rng = random.Random(seed)
    begins = lacks != "beginning"
    if not begins:
        # With one buffer, or a Request without Response, the first Request is ambiguous.
        buffers, late = None, 0
    script = messages.random_script(
        rng, 60, 700, 4000, depth=depth, buffers=buffers, sizes=sizes, unanswered=0.5 * begins
    )
    places = [
        (index, piece) for index, each in enumerate(script) for piece in range(len(each.ulpdus))
    ]
    rate, is_damaged = KINDS[lacks]
    missed = frozenset(place for place in places if rng.random() < rate)
    if not begins:
        missed = frozenset(places[: rng.randint(4, 60)])
    spoken = Spoken(
        script,
        missed=missed,
        is_damaged=is_damaged,
        delays={at: rng.randint(1, 5) for at in range(len(places)) if rng.random() < late},
        markers=markers,
        startup=begins,
    )
    check_tagged(spoken)
    check_pairing(spoken, all_of_them=not missed)
    if begins:
        check_untagged(spoken)
    if not missed:
        assert all(each.complete for each in spoken.found if each.fpdus)
        assert sum(bool(each.fpdus) for each in spoken.found) == len(script)
        assert not any(
            each.duplicates or each.overlaps or each.conflicts or each.cut_off
            for each in spoken.found
        )
    if not begins:
        for each in spoken.found:
            if each.opcode in RESPONSES and each.complete and each.length:
                request = script[spoken.index_of(each)[0]].answers
                assert request is not None
                wanted = name_of(script[request]) if spoken.asked(request) else None
                assert each.answers == wanted
