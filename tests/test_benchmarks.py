# SPDX-License-Identifier: GPL-2.0-or-later
"""The captures and counts of the benchmarks are right.

No time is asserted.
"""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.comparisons import COMPARISONS, Command
from benchmarks.generate import Made, generate
from benchmarks.measure import CommandError, measured
from benchmarks.profiles import MARKERS, PROFILES
from benchmarks.run import Row, Side, compare, table
from benchmarks.traffic import EMSS
from tests.truth import mpastream, walker

SIZE = 200_000
MISSING = Command(("a-program-that-nobody-has",), lambda lines: 0)


@pytest.fixture
def made(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Path, Made]:
    """A capture of the profile that the test names, and its description."""
    path = tmp_path_factory.getbasetemp() / f"{request.param}.pcap"
    return path, Made.of(path) if path.exists() else generate(request.param, SIZE, path)


def of_profile(*names: str) -> pytest.MarkDecorator:
    """Run a test with a capture of each of these profiles."""
    return pytest.mark.parametrize("made", names, indirect=True, ids=names)


@of_profile(*PROFILES)
def test_capture_is_as_promised(made: tuple[Path, Made]) -> None:
    """Every octet is captured as RFC 5044 requires, and there are as many FPDUs as promised.

    A walk over all lengths gives the ULPDUs. A stream made of them again equals the captured one,
    octet for octet, Markers and CRCs included. The file has the promised size, about the requested
    one. The promise is in a file beside it.
    """
    path, promise = made
    assert path.stat().st_size == promise.octets
    assert 0.9 * SIZE < promise.octets < 1.5 * SIZE
    assert Made.of(path) == promise
    markers = promise.profile.endswith(MARKERS)
    frames, connections = walker.walk(path)
    fpdus = 0
    for connection in connections:
        for role, kind in (("i", "request"), ("r", "reply")):
            startup = connection.request if role == "i" else connection.reply
            assert startup == walker.Startup(kind, int(markers), 1, 0, 1, b"")
            ulpdus = [each.ulpdu for each in connection.fpdus[role]]
            again, _ = mpastream.build_stream(ulpdus, markers=markers)
            stream = connection.streams[role]
            assert not stream.holes() and stream.contiguous()[startup.size :] == again
            fpdus += len(ulpdus)
    lengths = [len(segment.payload) for each in connections for segment in each.segments]
    assert (fpdus, len(connections)) == (promise.fpdus, promise.connections)
    assert len(lengths) == frames == promise.frames
    # Each full segment holds an FPDU as long as RFC 5044 4.5 has it, or several; or segments are
    # several full ones, longer than any on the wire.
    match promise.profile.removesuffix(MARKERS):
        case "bulk":
            assert max(lengths) <= EMSS
            assert sum(1448 <= length <= EMSS for length in lengths) > 0.98 * fpdus
        case "small":
            assert max(lengths) <= EMSS
            assert fpdus > 8 * sum(length > 0 for length in lengths)
        case "super":
            assert sum(length for length in lengths if length >= 8 * 1448) > 0.7 * sum(lengths)
            assert max(lengths) > 1 << 15


def test_capture_is_reproducible(tmp_path: Path) -> None:
    """The same seed gives the same octets, another one gives others."""
    captures = []
    for number, seed in enumerate((1, 1, 2)):
        path = tmp_path / f"{number}.pcap"
        generate("heavy-loss-markers", SIZE, path, seed=seed)
        captures.append(path.read_bytes())
    assert captures[0] == captures[1] != captures[2]


def test_measured_reports_failure() -> None:
    """A command that fails, or cannot be run, is no measurement. A status can be allowed."""
    failing = [sys.executable, "-c", "raise SystemExit('no way')"]
    with pytest.raises(CommandError, match="no way"):
        measured(failing, len)
    with pytest.raises(CommandError, match="could not be run"):
        measured(list(MISSING.words), len)
    assert measured(failing, len, good=frozenset({1})).found == 0


@pytest.mark.parametrize("name", COMPARISONS)
@of_profile("small-markers")
def test_row_without_the_other_command(made: tuple[Path, Made], name: str) -> None:
    """All FPDUs are counted in our output. A command that is not installed leaves dashes."""
    path, promise = made
    comparison = replace(COMPARISONS[name], theirs=MISSING)
    row = compare(comparison, path, runs=1)
    assert row.made == promise
    assert row.ours.found == promise.fpdus
    assert row.theirs is None
    cells = table([row]).splitlines()[-1].split(" | ")
    assert cells[0] == "| small-markers"
    assert cells[3] == "100 %"
    assert cells[-1] == "- |"


def test_tables() -> None:
    """Ratios are theirs to ours. Less than all is never shown as all."""
    promise = Made("bulk", 1, 20_000_000, 10, 1, 100_000)
    small = Row(promise, Side(2.0, 20 << 20, 100_000), Side(5.0, 200 << 20, 99_999))
    *_, row = table([small]).splitlines()
    assert (
        row == "| bulk | 20 MB | 100000 | 100 % | 99.99 % (99999) | 2.00 | 5.00 | 2.5 | 20 | 200 |"
    )
