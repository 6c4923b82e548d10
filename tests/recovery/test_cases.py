# SPDX-License-Identifier: GPL-2.0-or-later
"""Constructed captures of every kind: what must be found is found, and nothing else is reported.

Each case is a whole capture file, read as the command line reads it. From its octets,
``tests/truth/findable.py`` derives what must be found. Any case can be made again by its seed:
``case(17)``, ``case_of("capture loss", 3, markers="both")``.
"""

import ast
import re
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from scapy_mpa.stream.limits import Limits
from tests.recovery.damaged import heavily_damaged
from tests.recovery.reading import check, judge, plain, printed
from tests.truth.cases import case, dimensions_of
from tests.truth.situations import ANYTHING, SITUATIONS, case_of

CASES = {
    **{f"{seed}: {dimensions_of(seed)}": partial(case, seed) for seed in range(280)},
    **{
        f"{situation}, Markers {markers}, {seed}": partial(
            case_of, situation, seed, markers=markers
        )
        for situation, markers, seed in product(SITUATIONS, ("neither", "both"), range(3))
        if situation != ANYTHING
    },
}
"""Cases from the product of all dimensions, and one situation at a time."""

RECORD = re.compile(r"(\d+) (\{.*\})\n    .+\n(?:    Still wrong: (.+)\n)?")
TEXT = Path(__file__).with_name("once_wrong.txt").read_text(encoding="utf-8")
ONCE_WRONG = [
    RECORD.fullmatch(each).groups() for each in re.split(r"^(?=\d)", TEXT, flags=re.MULTILINE)[1:]
]
EVERY_TIME = ("8", "15", "555", "706", "5591", "6261", "3174")
"""The seeds that each run reads.  Of the others, a usual run reads a part."""


@pytest.mark.examples
@pytest.mark.parametrize("name", CASES)
def test_everything_is_found(name: str) -> None:
    """All that must be found is found, and nothing else."""
    check(CASES[name]())


def marks_of(seed: str, still: str | None) -> list[pytest.MarkDecorator]:
    """The marks of a case that was once read wrongly.

    The second is strict: it fails when a case is read rightly, and then the reason must go.
    """
    example = [] if seed in EVERY_TIME else [pytest.mark.examples]
    return [*example, *([pytest.mark.xfail(reason=still)] if still else [])]


@pytest.mark.parametrize(
    ("seed", "fixed"),
    [pytest.param(seed, fixed, marks=marks_of(seed, still)) for seed, fixed, still in ONCE_WRONG],
)
def test_once_wrong(seed: str, fixed: str) -> None:
    """Cases that were once read wrongly."""
    check(case(int(seed), **ast.literal_eval(fixed)))


# -- heavy damage, and low limits ------------------------------------------------------------------

# A heavily damaged capture has no known truth.  But any content in any order must give records, on
# both paths, with messages and checks.


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
