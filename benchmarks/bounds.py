# SPDX-License-Identifier: GPL-2.0-or-later
"""What hostile captures cost beside clean ones of as many segments of the same sizes.

::

    python -m benchmarks.bounds --scale 20000

makes both captures of each kind, has ``scapy-mpa dissect`` read them in turn, and prints the ratios
of processor time and of peak memory in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.comparisons import COMPARISONS
from benchmarks.measure import Usage, measured
from benchmarks.run import environment, markdown
from tests.truth import pcapfile
from tests.truth.hostile import HOSTILE

__all__ = ["Cost", "cost_of", "table"]

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians of some runs on one capture."""

    segments: int
    cpu: float
    """Seconds of processor time, start-up left out."""
    peak: float
    """Octets of memory."""


def cost_of(frames: Sequence[bytes], runs: int, directory: Path, idle: float = 0.0) -> Cost:
    """Have a capture with these frames listed.

    :param idle: seconds of processor time that start-up takes.
    """
    capture = directory / "capture.pcap"
    capture.write_bytes(pcapfile.pcap(frames))
    command = COMPARISONS["listing"].ours
    usages: list[Usage] = [
        measured(command.on(capture), command.count, good=command.good) for _ in range(runs)
    ]
    cpu = median(usage.cpu for usage in usages)
    return Cost(len(frames), max(cpu - idle, 0.001), median(usage.peak for usage in usages))


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
        idle = cost_of([], options.runs, Path(directory)).cpu
        for name in options.captures:
            pair = HOSTILE[name](options.scale)
            hostile, clean = (
                cost_of(frames, options.runs, Path(directory), idle) for frames in pair
            )
            results.append((name, hostile, clean))
            print(name, file=sys.stderr)
    print(f"{environment()}; {options.runs} runs each, medians\n\n{table(results)}")


if __name__ == "__main__":
    main()
