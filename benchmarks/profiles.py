# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of captures that there are; ``README.md`` says what each is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from benchmarks.network import UNIMPAIRED, Impairment
from benchmarks.traffic import Segments, aligned, mixed, packed, repacked

__all__ = ["MARKERS", "PROFILES", "Profile"]

MARKERS: Final = "-markers"
"""The end of the name of a profile with Markers in both directions."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What a capture is made of."""

    segments: Segments
    """What the Initiator sends."""
    impairment: Impairment = UNIMPAIRED
    """What happens to it."""
    connections: int = 1
    answered: int = 64
    """After how many segments the Responder sends a Send, in place of an acknowledgement."""
    markers: bool = False


_UNMARKED: Final = {
    "bulk": Profile(aligned),
    "small": Profile(packed, answered=16),
    "super": Profile(repacked),
    "loss": Profile(aligned, Impairment(loss=0.01, reordering=0.05)),
    "heavy-loss": Profile(aligned, Impairment(loss=0.05, reordering=0.15)),
    "connections-1000": Profile(mixed, connections=1000, answered=4),
    "connections-20000": Profile(mixed, connections=20000, answered=4),
}

PROFILES: Final = {
    name + end: replace(profile, markers=bool(end))
    for name, profile in _UNMARKED.items()
    for end in ("", MARKERS)
}
"""All profiles by name."""
