# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the commands of scapy-mpa beside others on the same captures, in one run.

::

    python -m benchmarks.run --size 200M --runs 3

makes one capture after the other, runs the commands in turn (ours, theirs, ours, theirs, ...) and
prints tables in Markdown.  Figures are medians.  ``README.md`` says how to read them.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.comparisons import COMPARISONS, Command, Comparison
from benchmarks.generate import Made
from benchmarks.measure import ROOT, Usage, measured
from benchmarks.profiles import PROFILES
from benchmarks.size import size_argument, size_text
from scapy_mpa import __version__

__all__ = ["Row", "Side", "compare", "environment", "markdown", "table"]

_MIB: Final = 1 << 20
_NOTHING: Final = "-"


@dataclass(frozen=True, slots=True)
class Side:
    """Medians of the runs of one command on one capture."""

    cpu: float
    """Seconds of processor time."""
    peak: float
    """Peak of resident memory in octets."""
    found: int
    """FPDUs, the same in every run."""

    @classmethod
    def of(cls, runs: Sequence[Usage]) -> Side:
        """Return the medians of some runs.

        :raises ValueError: the runs did not find the same.
        """
        found = {run.found for run in runs}
        if len(found) > 1:
            raise ValueError(f"runs of one command found different numbers of FPDUs: {found}")
        return cls(median(run.cpu for run in runs), median(run.peak for run in runs), found.pop())


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one comparison on one capture."""

    made: Made
    ours: Side
    theirs: Side | None
    """None where their command is not installed."""


def compare(comparison: Comparison, capture: Path, runs: int) -> Row:
    """Run both commands of a comparison on a capture, in turn.

    :param runs: how often each, at least 1.
    """
    commands = [comparison.ours]
    if comparison.theirs.is_there:
        commands.append(comparison.theirs)
    usages: list[list[Usage]] = [[] for _ in commands]
    for _ in range(runs):
        for command, done in zip(commands, usages, strict=True):
            done.append(_run(command, capture))
    sides = [Side.of(done) for done in usages]
    return Row(Made.of(capture), sides[0], sides[1] if len(sides) > 1 else None)


def _run(command: Command, capture: Path) -> Usage:
    return measured(command.on(capture), command.count, good=command.good)


def table(rows: Sequence[Row]) -> str:
    """Return the Markdown table of a comparison."""
    headings = ["profile", "size", "FPDUs there", "found by us", "found by tshark"]
    headings += ["our CPU s", "tshark CPU s", "tshark / ours", "our peak MiB", "tshark peak MiB"]
    return markdown(headings, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    made, ours, theirs = row.made, row.ours, row.theirs
    cells = [made.profile, size_text(made.octets), f"{made.fpdus}", _share(ours, made)]
    if theirs is None:
        return [*cells, _NOTHING, f"{ours.cpu:.2f}", _NOTHING, _NOTHING, _mib(ours), _NOTHING]
    return [
        *cells,
        _share(theirs, made),
        f"{ours.cpu:.2f}",
        f"{theirs.cpu:.2f}",
        f"{theirs.cpu / ours.cpu:.1f}",
        _mib(ours),
        _mib(theirs),
    ]


def _share(side: Side, made: Made) -> str:
    if side.found == made.fpdus:
        return "100 %"
    # Rounded down, so that nothing less than all reads as all.
    return f"{10000 * side.found // made.fpdus / 100:.2f} % ({side.found})"


def _mib(side: Side) -> str:
    return f"{side.peak / _MIB:.0f}"


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first hold numbers."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [headings, rule, *rows])


def environment() -> str:
    """Return what the figures depend on: the machine and the versions."""
    versions = [f"scapy-mpa {__version__}", f"Python {platform.python_version()}"]
    tshark = shutil.which("tshark")
    if tshark is not None:
        said = subprocess.run([tshark, "--version"], capture_output=True, text=True, check=True)
        number = re.search(r"\d+(?:\.\d+)+", said.stdout)
        versions.append(f"tshark {number[0] if number else 'of unknown version'}")
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs; {', '.join(versions)}"


def _made(name: str, size: int, directory: Path) -> Path:
    """Make a capture, in another process: it shall not add to the memory of this one."""
    words = [sys.executable, "-m", "benchmarks.generate", name, "-o", str(directory)]
    subprocess.run([*words, "--size", str(size)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return directory / f"{name}.pcap"


def _rows(
    names: Sequence[str], comparisons: Sequence[str], size: int, runs: int
) -> Iterator[tuple[str, Row]]:
    """Yield each comparison's row for each profile; only one capture exists at a time."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="scapy-mpa-benchmark-") as directory:
            capture = _made(name, size, Path(directory))
            for comparison in comparisons:
                yield comparison, compare(COMPARISONS[comparison], capture, runs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run")
    parser.add_argument("--size", type=size_argument, default="200M", help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=3, help="of each command; default: %(default)s")
    parser.add_argument(
        "--profiles", nargs="+", choices=PROFILES, default=list(PROFILES), metavar="NAME"
    )
    parser.add_argument(
        "--comparisons", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), metavar="NAME"
    )
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be at least 1")

    rows: dict[str, list[Row]] = {name: [] for name in options.comparisons}
    for name, row in _rows(options.profiles, options.comparisons, options.size, options.runs):
        rows[name].append(row)
        # A full run takes hours; what is known so far is not to be lost with it.
        print(f"{name}: {' | '.join(_cells(row))}", file=sys.stderr)
    print(f"{environment()}; {options.runs} runs each, medians")
    for name in options.comparisons:
        print(f"\n### {COMPARISONS[name].title}\n\n{table(rows[name])}")


if __name__ == "__main__":
    main()
