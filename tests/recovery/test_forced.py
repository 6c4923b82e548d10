# SPDX-License-Identifier: GPL-2.0-or-later
"""A dialect forced on what speaks another one: as much is found, and nothing that is not there."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import SctpConversation
from scapy_mpa.craft.presets import PRESETS, conversation_of
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import inlined, plain

FOUND = {"fpdu", "ift_frame", "ddp_segment", "startup", "session_control", "adaption_indication"}


def found(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What was found where, without what depends on the dialect."""
    return sorted(
        (each["type"], each["src"], each.get("seq", each.get("tsn")), each["frame"])
        for each in records
        if each["type"] in FOUND
    )


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 5), st.sampled_from(Dialect))
def test_presets(name: str, seed: int, dialect: Dialect) -> None:
    """Whole connections say themselves what they speak."""
    frames = conversation_of(name, seed).frames()
    assert found(plain(frames, dialect)) == found(plain(frames))
    assert found(inlined(frames, dialect)) == found(inlined(frames))


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(sorted(PRESETS)),
    st.integers(0, 5),
    st.integers(4, 20),
    st.sampled_from([None, *Dialect]),
    st.integers(0, 1 << 20),
)
def test_pieces_of_presets(
    name: str, seed: int, begin: int, dialect: Dialect | None, salt: int
) -> None:
    """Of what was captured in part as much is found as without, and on both ways of reading."""
    frames = conversation_of(name, seed).frames()[begin:]
    rng = random.Random(salt)
    frames = [frame for frame in frames if rng.random() > 0.05]
    told = plain(frames, dialect)
    assert set(found(plain(frames))) <= set(found(told))
    assert found(told) == found(inlined(frames, dialect))
    kinds = {each["type"] for each in told if each["type"] in FOUND}
    spoken = conversation_of(name, seed)
    if isinstance(spoken, SctpConversation):
        assert kinds <= {"session_control", "ddp_segment"}
    elif spoken.options.ift is not None:
        assert kinds <= {"ift_frame", "adaption_indication"}
    else:
        assert kinds <= {"fpdu", "startup"}
