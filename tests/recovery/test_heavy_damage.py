# SPDX-License-Identifier: GPL-2.0-or-later
"""Heavily damaged captures still give records.

Such a capture has no known truth.  But any content in any order must give records, on both paths,
with messages and checks.
"""

from __future__ import annotations

import pytest

from scapy_mpa.stream.limits import Limits
from tests.recovery.damaged import heavily_damaged
from tests.recovery.reading import judge, plain, printed
from tests.truth.cases import case


@pytest.mark.parametrize("seed", range(80))
def test_a_heavily_damaged_capture_has_records(seed: int) -> None:
    """An exception in one connection would lose all connections of the capture."""
    octets = heavily_damaged(seed)
    for checks in (False, True):
        found = plain(octets, messages=True, checks=checks)
        last = {each["connection"]: each["type"] for each in found if each["type"] != "message"}
        assert set(last.values()) <= {"connection"}
    assert all(record["type"] for record in printed(octets))


@pytest.mark.parametrize("seed", [*range(40), 173])
@pytest.mark.parametrize("octets", [3000, 50_000])
def test_low_limits_give_records(seed: int, octets: int) -> None:
    """Limits that are reached again and again give gaps, and nothing false."""
    made = case(seed)
    records = plain(made.pcap(), limits=Limits(octets_in_total=octets))
    # The end of an FPDU may be captured after its beginning was given up.  Nothing checks its CRC.
    false = judge(made, records).false
    assert {record["crc"] for record in false} <= {"unknown"}
