# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals while captures are read: what was read by then is shown, as of a whole capture.

What is right is what the frames give that came before the signal, in a file of their own.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Capture, open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records import json_line
from scapy_mpa.wire.errors import CaptureError
from tests.cli.command import COMMAND, PCAPS, RPING, environment, parsed, run
from tests.cli.test_ring import frames_of, octets_of

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes as Linux shows them"
)

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


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)


class Running:
    """A command, its standard streams being pipes."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            # Whoever runs the tests in the background may have had some ignored.
            preexec_fn=_heed_signals,
        )
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.stdout: BinaryIO = self.process.stdout  # type: ignore[assignment]
        self.stderr: BinaryIO = self.process.stderr  # type: ignore[assignment]
        self.wait_until_heeded(signal.SIGUSR1)

    def wait_until_heeded(self, number: int, *, heeded: bool = True) -> None:
        """Wait until a signal is taken by a handler, or by none."""
        limit = time.monotonic() + 30
        while True:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            caught = int(re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)[0], 16)
            if bool(caught >> (number - 1) & 1) == heeded:
                return
            assert time.monotonic() < limit
            time.sleep(0.01)

    def give(self, octets: bytes) -> None:
        """Write to its standard input."""
        self.stdin.write(octets)
        self.stdin.flush()

    def ask(self) -> str:
        """Ask how far it is; return the line that says so."""
        self.process.send_signal(signal.SIGUSR1)
        return self.stderr.readline().decode()

    def read(self, octets: bytes, frames: int) -> str:
        """Have it read octets; return what it says when it has read so many frames."""
        self.give(octets)
        limit = time.monotonic() + 30
        while f" frames {frames}," not in (line := self.ask()):
            assert time.monotonic() < limit, line
        return line

    def end(self, number: int) -> tuple[bytes, str, int]:
        """Send a signal; return what is printed from then on, and the exit status."""
        self.process.send_signal(number)
        printed, said = self.stdout.read(), self.stderr.read().decode()
        return printed, said, self.process.wait(30)


@contextlib.contextmanager
def running(*arguments: object) -> Iterator[Running]:
    """A command that heeds signals."""
    command = Running(*arguments)
    with command.process as process:
        try:
            yield command
        finally:
            process.kill()


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
