# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations by name, each of which shows one thing.

>>> conversation = conversation_of("read", seed=1)
>>> PRESETS["read"].summary
'RDMA Reads either way, several at a time, one never answered'
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.near import meant
from scapy_mpa.craft.presets import (
    dialects,
    endings,
    framing,
    messages,
    negotiations,
    private_data,
    sctp,
    startups,
    streams,
    vendors,
)
from scapy_mpa.craft.presets.preset import Preset
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["PRESETS", "Preset", "conversation_of"]

PRESETS: Final = {
    each.name: each
    for module in (
        *(messages, startups, negotiations, private_data, streams, endings),
        *(dialects, vendors, framing, sctp),
    )
    for each in vars(module).values()
    if isinstance(each, Preset)
}
"""By name, as they are listed."""


def conversation_of(name: str, seed: int | str = 0, **options: Any) -> Conversation:
    """Return the conversation of a preset.

    :param seed: of its payload: the same one gives the same octets.
    :param options: of :class:`~scapy_mpa.craft.conversation.Conversation`, where they are to be
        other ones than the preset's.
    :raises LocalProtocolError: there is no such preset, or an option is out of range.
    """
    if name not in PRESETS:
        question = meant(name, PRESETS)
        raise LocalProtocolError(
            f"there is no preset {quoted(name)}" + (question and f"; {question}")
        )
    return PRESETS[name](Random(seed), **options)
