# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation that can be had by name."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeAlias

from scapy_mpa.craft.conversation import Conversation

__all__ = ["Build", "Preset", "preset"]

Build: TypeAlias = Callable[..., Conversation]
"""Takes a seed, of which only payload is made, and options of a Conversation, which win over the
preset's own."""


class Preset(NamedTuple):
    """A conversation that can be had by name."""

    name: str
    summary: str
    """What it shows, in a few words."""
    build: Build


def preset(name: str, summary: str) -> Callable[[Callable[..., Conversation]], Preset]:
    """Make a function a preset that takes a generator in place of the seed."""
    return lambda build: Preset(
        name, summary, lambda seed, **options: build(Random(seed), **options)
    )
