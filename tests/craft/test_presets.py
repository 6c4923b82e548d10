# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: each is dissected to its truth, and shows what its name promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from scapy_mpa.craft import Conversation, conversation_of
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.tcp import FIN, RST

NAMES = list(PRESETS)


@pytest.mark.parametrize("name", NAMES)
def test_seeds(name: str) -> None:
    """The same seed gives the same octets. Another gives other payload in as many frames."""
    one, again, other = (conversation_of(name, seed=seed).frames() for seed in (1, 1, 2))
    assert one == again
    assert [len(each.octets) for each in one] == [len(each.octets) for each in other]
    if name not in ("reject",):
        assert one != other


def test_caller_options_replace_those_of_a_preset() -> None:
    """The caller's options replace those of the preset."""
    assert conversation_of("markers", markers=(False, True)).options.markers == (False, True)
    ift = conversation_of("ift-speculative", hc=(False, True)).options.ift
    assert ift is not None and [each.hc for each in ift] == [False, True]


def kinds(conversation: Conversation) -> set[Any]:
    """The kinds of messages in a conversation."""
    return {each.get("message") for each in conversation.truth() if each["type"] == "fpdu"}


def test_presets_contain_what_they_show() -> None:
    """Each preset contains what its name promises."""
    for name, messages in {
        "send": {"Send", "Send with SE", "Send with Invalidate", "Send with SE and Invalidate"},
        "immediate": {"Immediate Data", "Immediate Data with SE"},
        "atomics": {"Atomic Request", "Atomic Response"},
        "terminate": {"Terminate"},
        "read": {"RDMA Read Request", "RDMA Read Response"},
        "reject": set(),
    }.items():
        assert kinds(conversation_of(name)) >= messages
    ends = {
        name: Counter(each.flags & (FIN | RST) for each in conversation_of(name).segments())
        for name in ("reset", "half-close", "open-end", "send")
    }
    assert ends["reset"][RST] and ends["half-close"][FIN] == 1 and ends["send"][FIN] == 2
    assert not ends["open-end"][FIN] and not ends["open-end"][RST]
