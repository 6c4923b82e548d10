# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa clean``."""

import struct
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.capture import Capture, Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.cli import cleaning
from scapy_mpa.cli.files import open_files
from scapy_mpa.craft.scenario import parse_scenario
from tests.capture.build import enhanced, interface, option, pcap, section
from tests.clean.cleaning import frames_of
from tests.cli.command import PROBE, RPING, run
from tests.cli.test_whole_files import unchanged

MICRO, NANO = 0xA1B2C3D4, 0xA1B23C4D
SECONDS = "32 bits for seconds since 1970, and this frame has"


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """A capture with Markers and without its startup frames."""
    sends = [f"initiator send {size}\nresponder send {size}\n" for size in range(100, 2000, 100)]
    conversation = parse_scenario("markers both\n" + "".join(sends))
    path = tmp_path / "marked.pcap"
    conversation.write(path, conversation.segments()[5:])
    return path


def test_standard_output(marked: Path, tmp_path: Path) -> None:
    """Standard output is what a file named pcapng is."""
    target = tmp_path / "clean.pcapng"
    assert run("clean", "-q", marked, "-o", target).exit_code == 0
    assert run("clean", "-q", marked, "-o", "-").stdout_bytes == target.read_bytes()


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_frames_not_followed_are_counted(tmp_path: Path, quiet: tuple[str, ...]) -> None:
    """As in other commands. These frames are copied unchanged."""
    complaints = run("clean", PROBE, "-o", tmp_path / "clean.pcapng", *quiet).stderr.splitlines()
    rows = [line for line in complaints if "not followed" in line]
    assert rows == [line for line in run("summary", PROBE).stderr.splitlines() if line in rows]
    assert rows == [f"scapy-mpa: {PROBE}: 8 frames not followed: 6 not TCP, 2 not IP"]
    assert bool(quiet) == (complaints == rows)


ONLY_PCAPNG = [
    ({"time_ns": 10**19}, b"old", f"{SECONDS} 10000000000"),
    ({"link_type": 147}, None, "one link type, 1, and this frame has 147"),
    ({"link_type": 147}, b"old", "one link type, 1, and this frame has 147"),
]


@pytest.mark.parametrize(("magic", "written"), [(MICRO, MICRO), (NANO, NANO), (None, NANO)])
def test_no_time_is_cut(magic: int | None, written: int, tmp_path: Path) -> None:
    """pcap has nanoseconds, unless the capture has none (None: the capture is pcapng)."""
    source, target = tmp_path / "in", tmp_path / "out.pcap"
    octets = pcap([(1, 123_456, bytes(60), 60)], magic=magic or 0)
    if magic is None:
        options = option(9, b"\x09")
        octets = section() + interface(options=options) + enhanced(bytes(60), ticks=1_000_123_456)
    source.write_bytes(octets)
    run("clean", source, "-o", target)
    assert target.read_bytes()[:4] == struct.pack("<I", written)
    assert frames_of(target) == frames_of(source)


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("last", [MICRO, NANO, None])
def test_no_time_is_cut_of_several_files(last: int | None, piped: bool, tmp_path: Path) -> None:
    """pcap has nanoseconds only if a file has them, or may have them, as a pipe.

    None: the last file is none.
    """
    target = tmp_path / "out.pcap"
    names = [tmp_path / name for name in "abc"]
    for at, (name, magic) in enumerate(zip(names, (MICRO, MICRO, last), strict=True)):
        name.write_bytes(pcap([(at, 123_456, bytes(60), 60)], magic=magic) if magic else b"none")
    given = [*names[:2], "-" if piped else names[2]]
    run("clean", *given, "-o", target, stdin=names[2].read_bytes())
    assert target.read_bytes()[:4] == struct.pack("<I", NANO if piped else last or MICRO)
    assert [each[1:] for each in frames_of(target)] == [
        each[1:] for name in names[: 3 if last else 2] for each in frames_of(name)
    ]


@pytest.mark.parametrize(("change", "before", "words"), ONLY_PCAPNG)
def test_frames_that_only_pcapng_can_hold(
    marked: Path, tmp_path: Path, change: dict[str, int], before: bytes | None, words: str
) -> None:
    """The message names the frame and its file, and says to write pcapng, which works.

    The frames before it are not written either.
    """
    frames = frames_of(marked)
    source, target = tmp_path / "odd.pcapng", tmp_path / "clean.pcap"
    odd = Frame(len(frames) + 1, frames[-1].time_ns, 1, bytes(60), 60, None)._replace(**change)
    write_frames(source, [*frames, odd])
    with unchanged(target, before):
        result = run("clean", "-q", source, "-o", target)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    begin = f"scapy-mpa: {target}: frame {odd.number} of {source} cannot be written: "
    assert line.startswith(begin)
    assert words in line
    assert line.endswith(": write pcapng")
    target = tmp_path / "clean.pcapng"
    assert run("clean", "-q", source, "-o", target).exit_code == 0
    assert frames_of(target)[-1][1:] == odd[1:]


def test_connections_after_damage(tmp_path: Path) -> None:
    """A connection may follow the readable part of a capture. What was read is written."""
    source, target = tmp_path / "cut.pcap", tmp_path / "clean.pcapng"
    source.write_bytes(RPING.read_bytes()[:-1])
    result = run("clean", "-q", "--connection", 9, source, "-o", target)
    assert (result.exit_code, target.exists()) == (2, True)
    assert "the file ends inside a frame" in result.stderr
    assert "no connection 9" not in result.stderr
    source.write_bytes(RPING.read_bytes())
    result = run("clean", "-q", "--connection", 9, source, tmp_path / "gone", "-o", target)
    assert "no connection 9" not in result.stderr


def test_capture_removed_before_its_second_reading(
    marked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A selection by the end of connections reads FILE twice. A missing file is an error."""

    opened = iter(range(2))

    def gone(*arguments: Any, **options: Any) -> Capture:
        if next(opened):
            marked.unlink()
        return open_files(*arguments, **options)

    monkeypatch.setattr(cleaning, "open_files", gone)
    target = tmp_path / "clean.pcap"
    result = run("clean", "--where", "ended=closed", marked, "-o", target)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"scapy-mpa: {marked}: there is no such file; check the name\n"
    assert not target.exists()
