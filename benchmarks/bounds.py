# SPDX-License-Identifier: GPL-2.0-or-later
"""What hostile captures cost beside clean ones of as many segments of the same sizes.

::

    python -m benchmarks.bounds --scale 20000

makes both captures of each kind, reads them as ``scapy-mpa dissect --json`` does, and prints the
ratios of processor time in Markdown, and the peak memory of ``scapy-mpa dissect``.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.comparisons import COMPARISONS
from benchmarks.measure import measured
from benchmarks.run import environment, markdown
from tests.recovery.work import read_plainly
from tests.truth import pcapfile
from tests.truth.hostile import HOSTILE

__all__ = ["Cost", "cost_of", "table"]

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """What one capture takes, the time as the median of some runs."""

    segments: int
    cpu: float
    """Seconds of processor time of reading it, start-up left out."""
    peak: float
    """Octets of memory of the command."""


def cost_of(frames: Sequence[bytes], runs: int, directory: Path) -> Cost:
    """Read a capture with these frames: often for the time, once for the memory."""
    octets = pcapfile.pcap(frames)
    times = []
    for _ in range(runs):
        gc.collect()
        begin = time.process_time()
        read_plainly(octets)
        times.append(time.process_time() - begin)
    capture = directory / "capture.pcap"
    capture.write_bytes(octets)
    command = COMPARISONS["listing"].ours
    usage = measured(command.on(capture), command.count, good=command.good)
    return Cost(len(frames), median(times), usage.peak)


def table(results: Sequence[tuple[str, Cost, Cost]]) -> str:
    """Return the Markdown table.

    :param results: name, what the hostile capture costs, and the clean one.
    """
    headings = ["capture", "segments", "µs a segment", "clean", "ratio", "peak MiB", "clean"]
    cells = []
    for name, hostile, clean in results:
        mine, other = hostile.cpu / hostile.segments, clean.cpu / clean.segments
        cells.append(
            [
                name,
                f"{hostile.segments}",
                f"{mine * 1e6:.1f}",
                f"{other * 1e6:.1f}",
                f"{mine / other:.1f}",
                f"{hostile.peak / _MIB:.0f}",
                f"{clean.peak / _MIB:.0f}",
            ]
        )
    return markdown(headings, cells)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds")
    parser.add_argument("--scale", type=int, default=20_000, help="segments; default: %(default)s")
    parser.add_argument("--runs", type=int, default=3, help="of each; default: %(default)s")
    parser.add_argument(
        "--captures", nargs="+", choices=HOSTILE, default=list(HOSTILE), metavar="NAME"
    )
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.scale < 100:
        parser.error("--runs must be at least 1, --scale at least 100")
    results = []
    with tempfile.TemporaryDirectory(prefix="scapy-mpa-bounds-") as directory:
        for name in options.captures:
            pair = HOSTILE[name](options.scale)
            hostile, clean = (cost_of(frames, options.runs, Path(directory)) for frames in pair)
            results.append((name, hostile, clean))
            print(name, file=sys.stderr)
    print(f"{environment()}; {options.runs} runs each, medians\n\n{table(results)}")


if __name__ == "__main__":
    main()
