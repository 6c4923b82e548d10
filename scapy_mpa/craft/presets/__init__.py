# SPDX-License-Identifier: GPL-2.0-or-later
"""Preset conversations: each shows one feature.

>>> conversation = conversation_of("read", seed=1)
>>> PRESETS["read"].summary
'RDMA Reads either way, several at a time, one never answered'
"""

from __future__ import annotations

import re
from functools import partial
from importlib.resources import files
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.in_python import Preset, presets
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted, suggestion

__all__ = ["PRESETS", "Preset", "conversation_of"]

_SCENARIO: Final = re.compile(r"^\[(\S+)\] (.+)\n((?:(?!\[).*\n)*)", re.MULTILINE)
"""A preset in ``presets.txt``: its name, what it shows, and its scenario."""


def _build(text: str, name: str, seed: int | str, **options: Any) -> Conversation:
    return parse_scenario(text, name, seed=seed, **options)


def _from_text() -> list[Preset]:
    """Return the presets that are scenarios."""
    text = files(__package__).joinpath("presets.txt").read_text(encoding="utf-8")
    return [
        Preset(name, summary, partial(_build, steps, name))
        for name, summary, steps in _SCENARIO.findall(text)
    ]


PRESETS: Final = {each.name: each for each in (*_from_text(), *presets())}
"""The presets by name, in the order of the list."""


def conversation_of(name: str, seed: int | str = 0, **options: Any) -> Conversation:
    """Return the conversation of a preset.

    :param seed: seed of its payload: the same seed gives the same octets.
    :param options: options of :class:`~scapy_mpa.craft.conversation.Conversation`, which replace
        those of the preset.
    :raises LocalProtocolError: there is no such preset, or an option is out of range.
    """
    if name not in PRESETS:
        hint = suggestion(str(name), PRESETS) or "`scapy-mpa craft --list` shows which there are"
        raise LocalProtocolError(f"there is no preset {quoted(name)}; {hint}")
    return PRESETS[name].build(seed, **options)
