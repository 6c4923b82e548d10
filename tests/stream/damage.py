# SPDX-License-Identifier: GPL-2.0-or-later
"""Crafted segments that may be lost, out of order, cut off or altered."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from scapy_mpa.craft import Segment
from scapy_mpa.craft.impairments import CaptureLoss, Impairment, Reordering, impair


def damaged(
    segments: list[Segment], data: st.DataObject, rng: Random, seed: int, *more: Impairment
) -> list[Segment]:
    """The segments, damaged in one way or not at all.

    ``more`` are further ways than loss, disorder and an altered bit.
    """
    ways: tuple[Any, ...] = (None, "bit", CaptureLoss(0.1), Reordering(0.3), *more)
    damage = data.draw(st.sampled_from(ways))
    if damage is None:
        return segments
    if damage != "bit":
        return impair(segments, damage, seed=seed)
    hit = rng.randrange(5, len(segments))
    octets = bytearray(segments[hit].octets)
    if octets:
        octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
    return [*segments[:hit], replace(segments[hit], octets=bytes(octets)), *segments[hit + 1 :]]
