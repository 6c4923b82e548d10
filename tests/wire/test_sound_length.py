# SPDX-License-Identifier: GPL-2.0-or-later
"""Which octets are one FPDU but for its ULPDU_Length (RFC 5044 4.1, 4.4)."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.sound_length import SoundLength
from tests.truth.mpastream import Damage
from tests.wire.placed import placed

# None begins right behind a Marker, which then is its own.
phases = st.sampled_from([None, 0, *range(8, 512, 4)])


def ends_of(octets: bytes, phase: int | None, steps: random.Random) -> list[int]:
    """After how many octets they are said to be one FPDU, asked every few words and at the end."""
    measured = SoundLength(phase)
    at = measured.least
    measured.extend(octets[:at])
    found = [at] if measured.is_one() else []
    while at < len(octets):
        size = 4 * steps.randrange(1, 40)
        measured.extend(octets[at : at + size])
        at = min(at + size, len(octets))
        assert measured.octets == at
        if measured.is_one():
            found.append(at)
    return found


@given(
    seed=st.integers(0, 2**32),
    phase=phases,
    size=st.one_of(st.integers(0, 600), st.integers(0, 65_535)),
    said=st.one_of(st.none(), st.integers(0, 65_535)),
    sender=st.booleans(),
)
def test_an_fpdu_is_one_where_it_ends_whatever_its_length_says(
    seed: int, phase: int | None, size: int, said: int | None, sender: bool
) -> None:
    """Told the truth, lied by the sender, or changed on the way; and nowhere before."""
    rng = random.Random(seed)
    if phase is not None:
        size = min(size, 64_000)
    damage = None if said is None else Damage(ulpdu_length=said, sender=sender)
    octets, _ = placed(rng.randbytes(size), phase, damage=damage)
    assert ends_of(octets, phase, rng) == [len(octets)]


@given(
    seed=st.integers(0, 2**32),
    phase=phases,
    size=st.integers(0, 2_000),
    data=st.data(),
)
def test_any_other_damage_is_told(
    seed: int, phase: int | None, size: int, data: st.DataObject
) -> None:
    """An octet that differs anywhere else is not made good by a length."""
    rng = random.Random(seed)
    octets = bytearray(placed(rng.randbytes(size), phase)[0])
    field = 4 if phase == 0 else 0
    others = [at for at in range(len(octets)) if at not in (field, field + 1)]
    octets[data.draw(st.sampled_from(others))] ^= data.draw(st.integers(1, 255))
    assert ends_of(bytes(octets), phase, rng) == []


@pytest.mark.parametrize("wrong", [-4, 4, 400])
def test_a_length_that_makes_the_crc_good_must_be_that_of_the_octets(wrong: int) -> None:
    """A CRC that fits another length than that of the octets is chance, or forged."""
    honest, _ = placed(bytes(range(200)), None)
    damage = Damage(ulpdu_length=200 + wrong, sender=True)
    forged, _ = placed(bytes(range(200)), None, damage=damage)
    # As the sender had it, it would be good; on the way its length was set right.
    mixed = honest[:2] + forged[2:]
    measured = SoundLength(None)
    measured.extend(mixed)
    assert not measured.is_one()


@given(
    seed=st.integers(0, 2**32),
    phase=phases,
    size=st.one_of(st.integers(0, 600), st.integers(0, 9_000)),
    said=st.one_of(st.none(), st.integers(0, 65_535)),
    sender=st.booleans(),
)
def test_sifting_leaves_where_it_ends_and_little_else(
    seed: int, phase: int | None, size: int, said: int | None, sender: bool
) -> None:
    """Whatever is sifted at a time; and what it leaves is in order, and on words."""
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
        likely += measured.sift(block)
        measured.extend(octets[measured.octets : at + len(block)])
        blocks += 1
    assert len(fpdu) in likely
    assert likely == sorted(likely)
    assert all(measured.least <= each <= len(octets) and each % 4 == 0 for each in likely)
    # Of 2500 places 160 are left, and hardly ever twice as many.
    assert len(set(likely)) <= 10 + len(octets) // 4 // 8 + blocks
