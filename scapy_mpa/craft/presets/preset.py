# SPDX-License-Identifier: GPL-2.0-or-later
"""A conversation that can be had by name."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple, TypeAlias

from scapy_mpa.craft.conversation import Conversation

__all__ = ["Build", "Preset", "preset"]

Build: TypeAlias = Callable[..., Conversation]
"""Takes chance, of which only payload is made, and options of a Conversation, which win over the
preset's own."""


class Preset(NamedTuple):
    """A conversation that can be had by name."""

    name: str
    summary: str
    """What it shows, in a few words."""
    build: Build

    def __call__(self, rng: Random, **options: object) -> Conversation:
        """Return its conversation."""
        return self.build(rng, **options)


def preset(name: str, summary: str) -> Callable[[Build], Preset]:
    """Make a function a preset."""
    return lambda build: Preset(name, summary, build)
