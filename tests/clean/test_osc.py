# SPDX-License-Identifier: GPL-2.0-or-later
"""What is written of OSC's software iWARP is laid out as RFC 5044 has it."""

from __future__ import annotations

from random import Random

import pytest

from scapy_mpa.craft import Conversation, FPDUItem
from scapy_mpa.craft.impairments import Duplication, Reordering, impair
from tests.clean.cleaning import clean, recovered


@pytest.mark.parametrize("markers", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("crc", [True, False])
@pytest.mark.parametrize("is_impaired", [False, True])
def test_cleaned(markers: tuple[bool, bool], crc: bool, is_impaired: bool) -> None:
    """Every FPDU is there, without Markers, with a CRC that is good or a CRC field of zeros."""
    made = Conversation(dialect="osc", markers=markers, crc=crc, packing="stream", mss=400)
    rng = Random(1)
    for _ in range(15):
        for side in made.sides:
            side.send(rng.randbytes(rng.randrange(900)))
    made.close()
    segments = made.segments()
    if is_impaired:
        segments = impair(segments, Reordering(0.3), Duplication(0.3), seed=4)
    cleaned = clean(made.frames(segments))
    found = recovered(cleaned.frames)
    for side in (0, 1):
        wanted = [
            each.ulpdu for each in made.script if isinstance(each, FPDUItem) and each.side == side
        ]
        mine = [each for each in found if each.direction == side]
        assert [each.ulpdu for each in mine] == wanted
        assert {each.crc for each in mine} == {"good" if crc else "off"}
        assert crc or all(each.octets.endswith(bytes(4)) for each in mine)
    placed = [each for each in made.layout() if isinstance(each.item, FPDUItem)]
    bare = sum((len(each.item.ulpdu) + 5 & ~3) + 4 * crc for each in placed)
    assert cleaned.report.markers == (sum(len(each.octets) for each in placed) - bare) // 4
