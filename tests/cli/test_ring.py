# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of one ring, as dumpcap and tcpdump write them, are read as one capture.

The reference is the same capture with all frames in one file.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.capture import ring
from tests.capture.build import enhanced, interface, pcap, section
from tests.capture.compressed import COMPRESS, SUFFIXES
from tests.clean import cleaning
from tests.cli.command import PCAPS, parsed, run

SECOND = 1_000_000

Stamped = tuple[int, bytes]
"""Microseconds, and the frame."""


def frames_of(path: Path) -> list[Stamped]:
    """The frames of a capture."""
    return [(each.time_ns // 1000, each.octets) for each in cleaning.frames_of(path)]


FRAMES = frames_of(PCAPS / "mix_mpa1_crcon.pcap")
THIRD = len(FRAMES) // 3
# The clock may not have moved on between the last frame of a file and the first of the next.
FRAMES[THIRD] = FRAMES[THIRD - 1][0], FRAMES[THIRD][1]
PARTS = [FRAMES[:THIRD], FRAMES[THIRD : 2 * THIRD], FRAMES[2 * THIRD :]]


def octets_of(frames: Sequence[Stamped], name: str = "") -> bytes:
    """A file of these frames, in the format of its name."""
    if "pcapng" in name:
        octets = section() + interface() + b"".join(enhanced(each, ticks=at) for at, each in frames)
    else:
        octets = pcap((*divmod(at, SECOND), each, len(each)) for at, each in frames)
    compress = next((COMPRESS[each] for each, end in SUFFIXES.items() if name.endswith(end)), bytes)
    return compress(octets)


def written(directory: Path, names: str, parts: Sequence[Sequence[Stamped]]) -> list[Path]:
    """Files of these names, in this order."""
    paths = [directory / name for name in names.split()]
    for path, frames in zip(paths, parts, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(octets_of(frames, path.name))
    return paths


def records_of(*arguments: object) -> list[dict[str, object]]:
    """The records of captures that have no message on standard error."""
    result = run("dissect", "--json", *arguments)
    assert (result.exit_code, result.stderr) in ((0, ""), (1, ""))
    return parsed(result.stdout)


@pytest.fixture(name="whole", scope="module")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """The records of the capture in one file."""
    return records_of(*written(tmp_path_factory.mktemp("whole"), "whole.pcap", [FRAMES]))


OF_ONE_RING = {
    "dumpcap": "ring_00001.pcap ring_00002.pcap ring_00003.pcap",
    "dumpcap with times": "a_00009_20260101120000.pcapng a_00010_20260101120500.pcapng "
    "a_00011_20260101121000.pcapng",
    "dumpcap, times first": "a_20260101120000_00001.pcapng.gz a_20260101120500_00002.pcapng.gz "
    "a_20260101121000_00003.pcapng.gz",
    "tcpdump -C": "trace trace1 trace2",
    "tcpdump -C, with an extension": "trace.pcap trace.pcap1 trace.pcap2",
    "tcpdump -C, as a shell sorts": "trace.pcap9 trace.pcap10 trace.pcap11",
    "tcpdump -W": "trace.pcap08 trace.pcap09 trace.pcap10",
    "tcpdump -W, starting again": "trace.pcap2 trace.pcap0 trace.pcap1",
    "tcpdump -z gzip": "t.pcap.gz t.pcap1.gz t.pcap2",
    "tcpdump -G": "t-2026-01-01_12:00:00.pcap t-2026-01-01_12:05:00.pcap "
    "t-2026-01-01_12:10:00.pcap",
    "tcpdump -G, seconds": "t1767265200.pcap t1767265500.pcap t1767265800.pcap",
    **{f"tcpdump -C, {n}": f"t.pcap{end} t.pcap1{end} t.pcap2{end}" for n, end in SUFFIXES.items()},
}
"""Names in order of time."""


@pytest.mark.parametrize("how", OF_ONE_RING)
def test_ring_is_one_capture(tmp_path: Path, how: str, whole: list[dict[str, object]]) -> None:
    """In any order of the arguments, frames are numbered on from file to file."""
    first, second, third = written(tmp_path, OF_ONE_RING[how], PARTS)
    assert records_of(first, second, third) == whole
    assert records_of(third, first, second) == whole
    assert records_of("--check", second, third, first) == whole


APART = {
    "other names": "a.pcap b.pcap c.pcap",
    "own numbers": "run1.pcap run2.pcap run3.pcap",
    "of several rings": "a_00001.pcap b_00002.pcap c_00003.pcap",
    "in several directories": "a/x_00001.pcap b/x_00002.pcap c/x_00003.pcap",
    "a file and its compressed copies": "x1.pcap x1.pcap.gz x1.pcap.bz2",
    "in several formats": "x_00001.pcap x_00002.pcapng x_00003.pcap.gz",
}


@pytest.mark.parametrize("how", [*APART, "separate"])
def test_several_captures(tmp_path: Path, how: str) -> None:
    """Files are read one by one if their names are not of one ring, whatever their times.

    ``--separate`` does the same for a ring. A file that is named twice is read twice.
    """
    paths = written(tmp_path, APART.get(how, OF_ONE_RING["dumpcap"]), PARTS)
    if how != "separate":
        paths.append(paths[0])
    alone = [records_of(path) for path in paths]
    options = ["--separate"] if how == "separate" else []
    assert [each["frame"] for each in records_of(*options, *paths)] == [
        each["frame"] for records in alone for each in records
    ]


def test_headings_and_tables(tmp_path: Path) -> None:
    """All files of a ring have one heading, in the place of the first that is named."""
    first, second, third = written(tmp_path, OF_ONE_RING["tcpdump -C"], PARTS)
    (other,) = written(tmp_path, "other.pcap", [FRAMES])
    for command in ("dissect", "summary"):
        lines = run(command, second, other, third, first).stdout.splitlines()
        heads = [at for at, line in enumerate(lines) if line.startswith("==>")]
        assert [lines[at] for at in heads] == [
            f"==> {first}, 3 files of a ring <==",
            f"==> {other} <==",
        ]
    rows = [line.split()[7:9] for line in lines if line[0].isdigit()]
    assert len(rows) == 2 * (len(rows) // 2) > 0
    assert rows[: len(rows) // 2] == rows[len(rows) // 2 :]


def test_captures_that_overlap_in_time(tmp_path: Path) -> None:
    """If one begins before the other ends, they are several captures, and a line says so."""
    late = [(at + 1, each) for at, each in FRAMES]
    one, other = written(tmp_path, "eth eth1", [FRAMES, late])
    result = run("dissect", "--json", other, one)
    assert result.exit_code in (0, 1)
    assert result.stderr == (
        f"scapy-mpa: {other}: begins before {one} ends, so it is another capture "
        "(--join makes them one)\n"
    )
    alone = [each["frame"] for each in records_of(one)]
    assert [each["frame"] for each in parsed(result.stdout)] == alone * 2
    (both,) = written(tmp_path, "both.pcap", [FRAMES + late])
    joined, merged = (run("dissect", "--json", "--join", *each) for each in ([other, one], [both]))
    assert parsed(joined.stdout) == parsed(merged.stdout)
    assert joined.stderr == merged.stderr.replace(f"{both}", f"{one}, 2 files")


def test_joined(tmp_path: Path, whole: list[dict[str, object]]) -> None:
    """``--join`` reads files with any names as one capture, and so does ``clean``.

    A file that cannot be read costs only itself.
    """
    paths = written(tmp_path, APART["other names"], PARTS)
    expected = tmp_path / "whole.pcapng"
    run("clean", *written(tmp_path, "whole.pcap", [FRAMES]), "-o", expected)
    (twice,) = written(tmp_path, "twice.pcap", [FRAMES[:THIRD] * 2])
    assert records_of("--join", paths[0], paths[0]) == records_of(twice)
    for order in (paths, paths[::-1]):
        assert records_of("--join", *order) == whole
        for selected in ((), ("--frames", f"{THIRD}-")):
            target = tmp_path / "clean.pcapng"
            result = run("clean", *selected, *order, tmp_path / "gone", "-o", target)
            assert cleaning.frames_of(target) == cleaning.frames_of(expected)
            assert result.exit_code == 2
            assert f"scapy-mpa: {paths[0]}, 4 files: 1 connection " in result.stderr
            assert result.stderr.endswith("gone: there is no such file; check the name\n")
    result = run("summary", "--join", *paths)
    assert result.stdout.startswith(f"==> {paths[0]}, 3 files <==\n")
    result = run("clean", tmp_path / "1", tmp_path / "2", "-o", target)
    assert result.exit_code == 2
    assert result.stderr == "".join(
        f"scapy-mpa: {tmp_path / name}: there is no such file; check the name\n" for name in "12"
    )
    result = run("clean", *paths, "-o", paths[1])
    assert result.exit_code == 2
    assert "that is the capture itself" in result.stderr


def test_damaged_files(tmp_path: Path) -> None:
    """Only the unreadable part of a damaged file is missing."""
    names = " ".join(f"r_{number:05}.pcap" for number in range(5))
    first, cut, third, empty, text = written(tmp_path, names, [*PARTS, [], []])
    cut.write_bytes(cut.read_bytes()[:-1])
    text.write_text("no capture")
    result = run("summary", "--json", first, cut, third, empty, text, tmp_path / "r_00009.pcap")
    assert result.exit_code == 2
    lost, none, other, missing = result.stderr.splitlines()
    assert lost.startswith(f"scapy-mpa: {cut}: at octet ")
    assert f"after frame {2 * THIRD - 1}: the file ends inside a frame" in lost
    assert none == f"scapy-mpa: {empty}: there are no frames in it"
    assert other.startswith(f"scapy-mpa: {text}: ")
    assert "no such file" in missing
    (alone,) = written(tmp_path, "x.pcap", [[*FRAMES[: 2 * THIRD - 1], *FRAMES[2 * THIRD :]]])
    expected = parsed(run("summary", "--json", alone).stdout)
    assert parsed(result.stdout) == expected


@pytest.mark.parametrize("moment", ["rings", "Ring"])
@pytest.mark.parametrize("gone", [{0}, {1}, {1, 2}, {0, 2}])
def test_deleted_files(
    gone: set[int], moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that dumpcap deletes meanwhile are named, and the others are one capture."""
    paths = written(tmp_path, OF_ONE_RING["dumpcap"], PARTS)
    begin = getattr(ring, moment)

    def begin_and_delete(*arguments: Any, **options: Any) -> object:
        begun = begin(*arguments, **options)
        for at in gone:
            paths[at].unlink(missing_ok=True)
        return begun

    monkeypatch.setattr(ring, moment, begin_and_delete)
    result = run("dissect", "--json", *paths)
    assert result.exit_code == 2
    if moment == "Ring":
        # The first one was open.
        gone = gone - {0}
    assert result.stderr == "".join(
        f"scapy-mpa: {paths[at]}: there is no such file; check the name\n" for at in sorted(gone)
    )
    left = [each for at, part in enumerate(PARTS) if at not in gone for each in part]
    (alone,) = written(tmp_path, "x.pcap", [left])
    assert parsed(result.stdout) == parsed(run("dissect", "--json", alone).stdout)


def test_joined_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: list[dict[str, object]]
) -> None:
    """A file that is named as standard input is not read."""
    monkeypatch.chdir(tmp_path)
    written(Path(), "- a.pcap", [FRAMES[:1], FRAMES[:-1]])
    result = run("dissect", "--json", "--join", "-", "a.pcap", stdin=octets_of(FRAMES[-1:]))
    assert parsed(result.stdout) == whole


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="there is no /dev/fd")
@pytest.mark.parametrize("joined", [(), ("--join",)])
def test_pipes_with_numbers(
    tmp_path: Path, joined: tuple[str, ...], whole: list[dict[str, object]]
) -> None:
    """Numbers in the names of a shell's ``<(command)`` make no ring. All octets are read."""
    parts = [FRAMES[:THIRD], FRAMES[THIRD:]]
    alone = [each for path in written(tmp_path, "a b", parts) for each in records_of(path)]
    ends = []
    for part in parts:
        read_end, write_end = os.pipe()
        ends.append(read_end)
        os.write(write_end, octets_of(part))
        os.close(write_end)
    try:
        found = records_of(*joined, *(f"/dev/fd/{end}" for end in ends))
    finally:
        for end in ends:
            os.close(end)
    expected = whole if joined else alone
    assert [each["frame"] for each in found] == [each["frame"] for each in expected]
