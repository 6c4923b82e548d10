# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways to cut a direction into segments."""

from __future__ import annotations

import random

from tests.truth import impair

__all__ = ["WAYS", "cut"]

WAYS = ["segment size", "any size", "one FPDU a segment", "several FPDUs a segment", "tiny"]


def cut(way: str, half: impair.Half, rng: random.Random) -> list[impair.Sending]:
    """Segments of a direction, in one of the ways."""
    if way == "segment size":
        return impair.cut_mss(half.octets, rng.choice((536, 1448, 1460, 3000)))
    if way == "any size":
        return impair.cut_random(half.octets, rng, 1, rng.choice((40, 700, 65495)))
    if way == "one FPDU a segment":
        return impair.cut_aligned(half.octets, half.truth)
    if way == "several FPDUs a segment":
        return impair.cut_packed(half.octets, half.truth, rng.choice((1460, 8960)))
    return impair.cut_mss(half.octets, rng.randint(1, 12))
