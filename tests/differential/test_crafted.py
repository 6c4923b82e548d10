# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark's dissector finds in hurt presets what the dissector finds, which is the truth.

Compared is what ``test_tshark.py`` compares.  Wireshark is an oracle without Markers and with
nothing missing.  What it misreads besides is left out, each time for the reason named.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import (
    Conversation,
    Duplication,
    Impairment,
    Interleaved,
    Loss,
    Overlap,
    Reordering,
    Resegmentation,
    Segment,
    StartupCut,
    conversation_of,
    impair,
)
from tests import effort
from tests.craft.strategies import conversations
from tests.differential.presets import READABLE
from tests.differential.test_tshark import differences

MIXES: dict[str, tuple[Impairment, ...]] = {
    "nothing": (),
    "loss": (Loss(0.2),),
    "loss behind the capture": (Loss(0.2, captured=True),),
    "reordering": (Reordering(0.3),),
    "duplication": (Duplication(0.3),),
    "overlap": (Overlap(0.5),),
    "differing overlap": (Overlap(0.5, differing=True),),
    "segments of 1460": (Resegmentation(1460),),
    "super segments": (Resegmentation("super"),),
    "everything": (
        *(Resegmentation(3000), Loss(0.1), Loss(0.1, captured=True), Reordering(0.1)),
        *(Duplication(0.1), Overlap(0.2)),
    ),
}

LEFT_OUT = {
    ("super segments", "small-segments"): "of hundreds of FPDUs in a segment Wireshark shows some",
}


def chosen(mix: str) -> list[str]:
    """The presets of which Wireshark finds everything."""
    return [name for name in READABLE if (mix, name) not in LEFT_OUT]


def agree(
    hurt: Callable[[Conversation, random.Random], list[Segment]],
    names: list[str],
    tshark: str,
    path: Path,
) -> None:
    """Compare presets in one capture, each a connection of its own, and sequence numbers wrap."""
    parts = []
    for number, name in enumerate(names):
        conversation = conversation_of(name)
        initiator = replace(conversation.initiator.endpoint, port=20_000 + number)
        conversation = conversation.moved(initiator).wrapping()
        parts.append((conversation, hurt(conversation, random.Random(name))))
    capture = Interleaved(parts)
    capture.write(path)
    found, agreed = differences(path, tshark)
    assert not found, "\n".join(found[:10])
    assert agreed == sum(each["type"] in ("startup", "fpdu") for each in capture.truth())


@pytest.mark.examples
@pytest.mark.parametrize("mix", MIXES)
def test_presets(mix: str, tshark: str, tmp_path: Path) -> None:
    """Both find all startup frames and FPDUs of all presets, with the same fields."""

    def hurt(conversation: Conversation, rng: random.Random) -> list[Segment]:
        return impair(conversation.segments(), *MIXES[mix], seed=rng.getrandbits(32))

    agree(hurt, chosen(mix), tshark, tmp_path / "presets.pcapng")


def test_captured_in_disorder(tshark: str, tmp_path: Path) -> None:
    """So they do behind the startup frames, where only the capture is out of order."""

    def hurt(conversation: Conversation, rng: random.Random) -> list[Segment]:
        segments = conversation.segments()
        rest = StartupCut(conversation)(segments, rng)
        return segments[: len(segments) - len(rest)] + Reordering(0.2, by_capture=True)(rest, rng)

    agree(hurt, READABLE, tshark, tmp_path / "presets.pcapng")


# Each example has Wireshark read a capture.
@settings(max_examples=max(1, effort.DRAWN[effort.chosen] // 3))
@given(
    spoken=st.lists(
        # Wireshark wants 20 octets of a startup frame at once, starts anew with a Request only, and
        # knows no Rtr Frame.
        conversations(
            markers=(False, False), mss=1460, beginnings=("SYN", "nothing"), rtr_frames=False
        ),
        min_size=3,
        max_size=6,
    ),
    mix=st.sampled_from(sorted(set(MIXES) - {"super segments"})),
)
def test_conversations(
    spoken: list[Conversation], mix: str, tshark: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And of conversations of any kind."""
    parts = []
    for number, conversation in enumerate(spoken):
        moved = conversation.moved(replace(conversation.initiator.endpoint, port=20_000 + number))
        parts.append((moved, impair(moved.segments(), *MIXES[mix], seed=number)))
    capture = Interleaved(parts)
    path = tmp_path_factory.mktemp("spoken") / "spoken.pcapng"
    capture.write(path)
    found, agreed = differences(path, tshark)
    assert not found, "\n".join(found[:10])
    assert agreed == sum(each["type"] in ("startup", "fpdu") for each in capture.truth())


def test_no_preset_is_always_left_out() -> None:
    """Every preset without Markers is compared in most mixes."""
    assert len(READABLE) >= 25
    for name in READABLE:
        assert sum(name in chosen(mix) for mix in MIXES) >= len(MIXES) - 1
