# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals while captures are read: what was read by then is shown, as of a whole capture.

What is right is what the frames give that came before the signal, in a file of their own.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Capture, open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records import json_line
from scapy_mpa.wire.errors import CaptureError
from tests.cli.command import PCAPS, RPING, parsed, run
from tests.cli.running import on_linux, running
from tests.cli.test_ring import frames_of, octets_of

pytestmark = on_linux

FRAMES = frames_of(RPING)
WHOLE = 13
"""Frames that are read: a startup and some FPDUs, and no end."""
BEGIN = octets_of(FRAMES[:WHOLE])
CUT = octets_of(FRAMES[: WHOLE + 1])[:-10]
"""Part of a frame after these."""

DONE = f"scapy-mpa: standard input: interrupted after frame {WHOLE}\n"


@pytest.fixture
def long_capture(tmp_path: Path) -> Path:
    """More than is read at once, and than a pipe holds of what is printed."""
    path = tmp_path / "long.pcap"
    path.write_bytes(gzip.decompress((PCAPS / "2vm_perf_write_bw_q4_crcon.pcap.gz").read_bytes()))
    return path


COMMANDS = {
    "dissect": ("dissect",),
    "dissect as JSON": ("dissect", "--json"),
    "summary": ("summary",),
    "summary as JSON": ("summary", "--json"),
    "with options": ("summary", "--all", "--check"),
    "clean": ("clean", "-q", "-o", "-"),
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("octets", [BEGIN, CUT], ids=["between frames", "in a frame"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_pipe(command: tuple[str, ...], octets: bytes, name: str) -> None:
    """All that the whole frames give is printed, and the status is that which shells give."""
    number = getattr(signal, name)
    with running(*command, "-") as it:
        it.read(octets, WHOLE)
        wanted = run(*command, "-", stdin=BEGIN).stdout_bytes
        assert it.end(number) == (wanted, DONE, 128 + number)


@pytest.mark.parametrize(
    ("octets", "printed"),
    [(b"", b""), (BEGIN[:20], b""), (BEGIN[:24], b"no TCP connections\n")],
    ids=["nothing", "part of the header", "header"],
)
def test_before_the_first_frame(octets: bytes, printed: bytes) -> None:
    """There is not much to say."""
    said = "scapy-mpa: standard input: interrupted before any frame\n"
    with running("summary", "-") as it:
        it.give(octets)
        # What it answers, it says when it has read all.
        while octets and f" octets {len(octets)}," not in (line := it.ask()):
            if len(octets) < 24:
                assert line == "scapy-mpa: nothing was read yet\n"
                break
        assert it.end(signal.SIGINT) == (printed, said, 130)


def test_a_pipe_that_nobody_writes_to(tmp_path: Path) -> None:
    """It is not even open."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with running("summary", path, RPING) as it:
        said = f"scapy-mpa: {path}: interrupted before any frame\n"
        assert it.end(signal.SIGTERM) == (b"", said, 143)


@pytest.mark.parametrize("begin", [0, 13])
def test_last_words(begin: int) -> None:
    """What the program that captures writes when Ctrl-C ends it, too, is read to its end."""
    octets = RPING.read_bytes()
    given = octets_of(FRAMES[:begin]) if begin else b""
    with running("summary", "-") as it:
        if begin:
            it.read(given, begin)
        it.process.send_signal(signal.SIGSTOP)
        it.process.send_signal(signal.SIGINT)
        it.give(octets[len(given) :])
        it.stdin.close()
        printed, said, status = it.end(signal.SIGCONT)
    assert (printed, status) == (run("summary", RPING).stdout_bytes, 130)
    assert said == f"scapy-mpa: standard input: interrupted after frame {len(FRAMES)}\n"


def test_files_after_it_are_not_read() -> None:
    """Each that was read before has its table, and the one being read."""
    with running("summary", RPING, "-", RPING) as it:
        it.read(BEGIN, WHOLE)
        printed, said, status = it.end(signal.SIGINT)
    assert re.findall(rb"==> (\S+)", printed) == [os.fsencode(RPING), b"standard"]
    assert printed.count(b"192.168.7.2:7174") == 2
    assert (said, status) == (DONE, 130)


def test_while_it_prints(long_capture: Path) -> None:
    """Nobody reads what it prints, so it waits; records are whole, and so are connections."""
    with running("dissect", "--json", "--payload", long_capture) as it:
        begin = it.stdout.read(1)
        it.process.send_signal(signal.SIGINT)
        it.wait_until_heeded(signal.SIGINT, heeded=False)
        printed, said, status = it.end(signal.SIGCONT)
    records = parsed((begin + printed).decode())
    assert records[-1]["type"] == "connection"
    frames = max(each["frame"] for each in records)
    found = re.fullmatch(rf"scapy-mpa: {long_capture}: interrupted after frame (\d+)\n", said)
    assert found
    assert status == 130
    assert frames <= int(found[1]) < len(frames_of(long_capture))


def test_a_second_one_ends_at_once(long_capture: Path) -> None:
    """Whatever it does."""
    with running("dissect", "--json", "--payload", long_capture) as it:
        it.stdout.read(1)
        it.process.send_signal(signal.SIGINT)
        it.wait_until_heeded(signal.SIGINT, heeded=False)
        it.process.send_signal(signal.SIGINT)
        assert it.process.wait(30) == -signal.SIGINT


@pytest.mark.parametrize("command", [("dissect",), ("clean", "-q", "-o", "-")], ids=" ".join)
def test_the_same_signal_ends_who_takes_the_output(command: tuple[str, ...]) -> None:
    """That nobody takes the rest is no news."""
    with running(*command, "-") as it:
        it.read(BEGIN, WHOLE)
        it.stdout.close()
        it.process.send_signal(signal.SIGINT)
        assert it.stderr.read().decode() == DONE
        assert it.process.wait(30) == 130


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_where_it_is(command: tuple[str, ...]) -> None:
    """A line says how much was read and found, as often as it is asked."""
    (connection,) = parsed(run("summary", "--json", "-", stdin=BEGIN).stdout)
    found = sum(connection["fpdus"].values())
    with running(*command, "-") as it:
        assert it.ask() == "scapy-mpa: nothing was read yet\n"
        begin = f"scapy-mpa: standard input: frames {WHOLE}, octets {len(BEGIN)}, connections 1, "
        assert it.read(BEGIN, WHOLE) == it.ask() == f"{begin}FPDUs {found}\n"
        it.stdin.close()
        assert it.stderr.read() == b""


class Drips(io.BytesIO):
    """A file that gives few octets at a time.

    :param reads: how often it may be read.
    """

    def __init__(self, octets: bytes, sizes: list[int], reads: int) -> None:
        super().__init__(octets)
        self._sizes = sizes
        self.reads = reads

    def read1(self, size: int | None = -1, /) -> bytes:
        self.reads -= 1
        return self.read(self._sizes[self.reads % len(self._sizes)])


def records_of(capture: Capture) -> tuple[list[str], int]:
    """The records of a capture, and the number of its frames."""
    reading = Reading(capture)
    events = [event for events in reading.batches() for event in events]
    return [json_line(event, reading.clock) for event in events], reading.capture.frames


@given(
    name=st.sampled_from(("pcap", "pcapng", "pcap.gz")),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=8),
    reads=st.integers(1, 40),
)
def test_wherever_reading_stops(name: str, sizes: list[int], reads: int) -> None:
    """It is as if the capture ended after the last whole frame."""
    file = Drips(octets_of(FRAMES, name), [max(sizes), *sizes], reads)
    try:
        records, frames = records_of(open_capture(file, lambda _: file.reads > 0))
    except CaptureError:
        return
    assert records == records_of(open_capture(io.BytesIO(octets_of(FRAMES[:frames]))))[0]
