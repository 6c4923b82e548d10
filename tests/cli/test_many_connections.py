# SPDX-License-Identifier: GPL-2.0-or-later
"""What each of very many connections costs in memory that are open at one time."""

from __future__ import annotations

import gc
import io
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from benchmarks.generate import generate
from scapy_mpa.capture import open_capture
from scapy_mpa.cli.lines import LinePage, Lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.stream.octets import overlap


def listed(reading: Reading) -> Callable[[list[Any]], object]:
    """What ``dissect`` makes of rows."""
    return LinePage(Lines(reading.clock, colour=False)).page


def counted(reading: Reading) -> Callable[[list[Any]], object]:
    """What ``summary`` makes of them."""
    return list


Way: TypeAlias = Callable[[Reading], Callable[[list[Any]], object]]


def peak(capture: bytes, way: Way) -> int:
    """Octets that reading a capture takes at most, beside those of the capture.

    To be asked of a process of its own: where there were captures before, Python has objects at
    hand that it need not allocate.
    """
    reading = Reading(open_capture(io.BytesIO(capture)), timed=False)
    use = way(reading)
    with pytest.MonkeyPatch.context() as patch:
        # So small a capture would not fill what is kept for comparison, whatever there is.
        patch.setattr(overlap, "RECENT_OCTETS", 1 << 14)
        gc.collect()
        tracemalloc.start()
        for rows in reading.rows():
            use(rows)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most


@pytest.mark.slow
@pytest.mark.parametrize(("way", "most"), [(listed, 880), (counted, 800)])
def test_each_direction_takes_no_more_than_so_much(tmp_path: Path, way: Way, most: int) -> None:
    """From their startup, when all wait for a Reply, to their end, when all have sent a FIN.

    The rest of 1 KiB goes to what Python takes to provide as much.
    """
    # What dictionaries take grows in steps, so that twice as many would tell little.
    fewer, more = 1000, 4000
    peaks = []
    for count in (fewer, more):
        path = tmp_path / f"{count}.pcap"
        # The least that a connection may take of a file, so that it has no more of them.
        assert generate("connections-20000", 1000 * count, path).connections == count
        with ProcessPoolExecutor(1, get_context("spawn")) as apart:
            peaks.append(apart.submit(peak, path.read_bytes(), way).result())
    assert peaks[1] - peaks[0] < 2 * (more - fewer) * most
