# SPDX-License-Identifier: GPL-2.0-or-later
"""Which octets are one FPDU if its ULPDU_Length is ignored (RFC 5044 4.1, 4.4)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.sound_length import SoundLength
from tests.truth.mpastream import Damage
from tests.wire.placed import placed

# No FPDU begins just after a Marker: that Marker is its own.
phases = st.sampled_from([None, 0, *range(8, 512, 4)])


@pytest.mark.parametrize("wrong", [-4, 4, 400])
def test_length_that_makes_the_crc_good_must_be_the_true_one(wrong: int) -> None:
    """A CRC that fits another length than that of the octets is chance, or forged."""
    honest, _ = placed(bytes(range(200)), None)
    damage = Damage(ulpdu_length=200 + wrong, sender=True)
    forged, _ = placed(bytes(range(200)), None, damage=damage)
    # As sent, the CRC is good.  On the way the length was set right.
    mixed = honest[:2] + forged[2:]
    measured = SoundLength(None)
    measured.extend(mixed)
    assert not measured.is_fpdu()


@given(
    seed=st.integers(0, 2**32),
    phase=phases,
    size=st.one_of(st.integers(0, 600), st.integers(0, 9_000)),
    said=st.one_of(st.none(), st.integers(0, 65_535)),
    sender=st.booleans(),
)
def test_sifting_leaves_the_end_and_few_other_places(
    seed: int, phase: int | None, size: int, said: int | None, sender: bool
) -> None:
    """In blocks of any size.  The places that are left are in order, and at words."""
    rng = random.Random(seed)
    damage = None if said is None else Damage(ulpdu_length=said, sender=sender)
    fpdu, _ = placed(rng.randbytes(size), phase, damage=damage)
    octets = fpdu + rng.randbytes(4 * rng.randrange(100))
    measured = SoundLength(phase)
    likely: list[int] = []
    blocks = 0
    while measured.octets < len(octets):
        at = measured.octets
        block = octets[at : at + max(measured.least, 4 * rng.randrange(1, 400))]
        likely += measured.possible_lengths(block)
        measured.extend(octets[measured.octets : at + len(block)])
        blocks += 1
    assert len(fpdu) in likely
    assert likely == sorted(likely)
    assert all(measured.least <= each <= len(octets) and each % 4 == 0 for each in likely)
    # Of 2500 places 160 are left, and hardly ever twice as many.
    assert len(set(likely)) <= 10 + len(octets) // 4 // 8 + blocks
