# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks that print shares of found FPDUs and costs of captures count correctly.

No time is asserted.
"""

from pathlib import Path

import pytest

from benchmarks import shares
from benchmarks.shares import Share
from tests.truth import pcapfile
from tests.truth.hostile import HOSTILE
from tests.truth.situations import cases_of


def test_ours_counts_each_connection_by_itself() -> None:
    """Ports distinguish the connections of one file."""
    cases = cases_of("FPDUs across segments", range(3), markers="both")
    octets = pcapfile.pcap(frame for case in cases for frame in case.frames())
    wanted = sum(len(case.wanted) for case in cases)
    assert shares.ours(cases, octets) == (Share(wanted, wanted, 0, wanted), 0)
    without = pcapfile.pcap(frame for case in cases[:2] for frame in case.frames())
    share, missing = shares.ours(cases, without)
    found = wanted - len(cases[2].wanted)
    assert share == Share(wanted, found, 0, found)
    assert missing == len(cases[2].wanted)


@pytest.mark.parametrize("situation", ["one FPDU a segment", "FPDUs across segments"])
def test_tshark_finds_all_where_it_is_right(situation: str, tshark: str, tmp_path: Path) -> None:
    """The counting is fair: no Markers, both startup frames, and nothing is missing."""
    cases = cases_of(situation, range(3), markers="neither")
    capture = tmp_path / "capture.pcap"
    capture.write_bytes(pcapfile.pcap(frame for case in cases for frame in case.frames()))
    wanted = sum(len(case.wanted) for case in cases)
    assert shares.theirs(cases, capture, tshark) == Share(wanted, wanted, 0)


@pytest.mark.examples
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_and_clean_captures_have_the_same_size(name: str) -> None:
    """They have about as many segments, and hostile ones are not longer."""
    hostile, clean = HOSTILE[name](200)
    assert 150 <= len(hostile) <= 260
    assert abs(len(hostile) - len(clean)) <= 10
    assert max(map(len, hostile)) <= max(map(len, clean))
