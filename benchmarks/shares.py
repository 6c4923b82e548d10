# SPDX-License-Identifier: GPL-2.0-or-later
"""The share of FPDUs found in constructed captures, by situation, compared with tshark.

::

    python -m benchmarks.shares --seeds 20

makes a capture for each situation, without Markers and with.  Each capture has so many connections,
one after the other.  It prints a table in Markdown; ``docs/measured.md`` says how to read it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from benchmarks.run import environment, markdown
from tests.differential.tshark import Row, rows
from tests.recovery.reading import Outcome, judge, plain
from tests.truth import pcapfile
from tests.truth.cases import Case
from tests.truth.situations import SITUATIONS, cases_of
from tests.truth.wanted import Statement

__all__ = ["Share", "ours", "table", "theirs"]

_Said: TypeAlias = tuple[int | str | bytes | None, ...]
_HalfOf: TypeAlias = tuple[int, int]
_FIELDS: Final = ("tagged", "last", "opcode", "stag", "to", "qn", "msn", "mo")
_MARKERS: Final = ("neither", "both")
_WITHOUT_SNAP_LENGTH: Final = 262_144


@dataclass(frozen=True, slots=True)
class Share:
    """What was found of the FPDUs that there are."""

    there: int
    found: int
    false: int
    """Reported, but not there, or reported before."""
    at_once: int = 0
    """Of those found, how many were reported with the segment that completes them."""


def ours(cases: Sequence[Case], octets: bytes) -> tuple[Share, int]:
    """Read a capture that holds all these cases.

    Return the share, and how many are missing that must be found.  An FPDU is found if all that is
    said of it is right, the payload included.
    """
    by_connection: dict[str, list[dict[str, object]]] = {}
    for record in plain(octets):
        src, dst = str(record["src"]), str(record["dst"])
        initiator = dst if src.endswith(":4000") else src
        by_connection.setdefault(initiator, []).append(record)
    outcomes: list[Outcome] = [
        judge(case, by_connection.get(case.endpoints[0], [])) for case in cases
    ]
    there = sum(outcome.required + outcome.optional for outcome in outcomes)
    missing = sum(len(outcome.missing) for outcome in outcomes)
    unfound = sum(outcome.optional - outcome.optional_found for outcome in outcomes)
    false = sum(len(outcome.false) for outcome in outcomes)
    at_once = sum(outcome.at_once for outcome in outcomes)
    return Share(there, there - missing - unfound, false, at_once), missing


def theirs(cases: Sequence[Case], capture: Path, program: str) -> Share:
    """Let tshark read a capture that holds all these cases.

    An FPDU is found if one with its ULPDU_Length and the same DDP header is shown in its
    direction, or with its ULPDU_Length only, if no DDP header is shown; its sequence number, its
    payload and its CRC are not asked for.

    :param program: tshark's path.
    """
    half_of_frame: list[_HalfOf] = [
        (number, segment.direction)
        for number, case in enumerate(cases)
        for segment in case.segments
    ]
    shown: dict[_HalfOf, Counter[_Said]] = {}
    for row in rows(program, capture):
        if row.get("kind") == "fpdu":
            half = half_of_frame[int(row["frame"]) - 1]
            shown.setdefault(half, Counter())[_shown(row)] += 1
    there: dict[_HalfOf, Counter[_Said]] = {}
    for number, case in enumerate(cases):
        for (direction, _), wanted in case.wanted.items():
            there.setdefault((number, direction), Counter())[_true(wanted.statement)] += 1
    found = sum(_matching(shown.get(half, Counter()), each) for half, each in there.items())
    return Share(
        sum(each.total() for each in there.values()),
        found,
        sum(each.total() for each in shown.values()) - found,
    )


def _matching(shown: Counter[_Said], there: Counter[_Said]) -> int:
    """Return how many of those shown are there, each counted once."""
    exact = shown & there
    bare = Counter({said: count for said, count in (shown - exact).items() if said[1] is None})
    lengths: Counter[_Said] = Counter()
    for said, count in (there - exact).items():
        lengths[(said[0], *[None] * len(_FIELDS))] += count
    return exact.total() + (bare & lengths).total()


def _shown(row: Row) -> _Said:
    return (row["ulpdu_length"], *(row.get(name) for name in _FIELDS))


def _true(statement: Statement) -> _Said:
    return (statement.ulpdu_length, *(getattr(statement.header, name) for name in _FIELDS))


def table(results: Sequence[tuple[str, str, Share, int, Share | None]]) -> str:
    """Return the Markdown table of situations.

    :param results: situation, who sends Markers, our share, how many we miss that must be found,
        tshark's share.
    """
    headings = ["situation", "Markers", "FPDUs", "found", "missing", "false", "at once"]
    headings += ["tshark found", "tshark false"]
    cells = [
        [
            situation,
            "yes" if markers == "both" else "no",
            f"{mine.there}",
            _percent(mine.found, mine.there),
            f"{missing}",
            f"{mine.false}",
            _percent(mine.at_once, mine.found),
            *(
                ("-", "-")
                if other is None
                else (_percent(other.found, other.there), f"{other.false}")
            ),
        ]
        for situation, markers, mine, missing, other in results
    ]
    return markdown(headings, cells)


def _percent(part: int, whole: int) -> str:
    if part == whole:
        return "100 %"
    # Rounded down, so that nothing less than all reads as all.
    return f"{1000 * part // whole / 10:.1f} %"


def measure(
    situation: str, markers: str, seeds: int, program: str | None, directory: Path
) -> tuple[Share, int, Share | None]:
    """Make a situation's capture and read it, with tshark, too, if it is there."""
    cases = cases_of(situation, range(seeds), markers=markers)
    octets = pcapfile.pcap(
        (frame for case in cases for frame in case.frames()),
        snaplen=cases[0].dimensions.snap or _WITHOUT_SNAP_LENGTH,
    )
    mine, missing = ours(cases, octets)
    if program is None:
        return mine, missing, None
    capture = directory / "capture.pcap"
    capture.write_bytes(octets)
    return mine, missing, theirs(cases, capture, program)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shares")
    parser.add_argument(
        "--seeds", type=int, default=20, help="connections of a situation; default: %(default)s"
    )
    parser.add_argument(
        "--situations", nargs="+", choices=SITUATIONS, default=list(SITUATIONS), metavar="NAME"
    )
    options = parser.parse_args(arguments)
    if options.seeds < 1:
        parser.error("--seeds must be at least 1")
    program = shutil.which("tshark")
    results = []
    with tempfile.TemporaryDirectory(prefix="scapy-mpa-shares-") as directory:
        for situation in options.situations:
            for markers in _MARKERS:
                if situation == "forged FPDUPTR" and markers == "neither":
                    continue
                share = measure(situation, markers, options.seeds, program, Path(directory))
                results.append((situation, markers, *share))
                print(f"{situation}, Markers {markers}", file=sys.stderr)
    print(f"{environment()}; {options.seeds} connections each\n\n{table(results)}")


if __name__ == "__main__":
    main()
