# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures that grow in a pipe, and signals while they are read.

The result of what was read is shown. The reference is a file with only the frames before the
signal.
"""

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
from scapy_mpa.records.record import json_of, record_of
from scapy_mpa.wire.errors import CaptureError
from tests.cli.command import PCAPS, RPING, parsed, run
from tests.cli.running import on_linux, running
from tests.cli.test_ring import frames_of, octets_of

pytestmark = on_linux

FRAMES = frames_of(RPING)
WHOLE = 13
"""Number of frames read: a startup and some FPDUs, without an end."""
BEGIN = octets_of(FRAMES[:WHOLE])
CUT = octets_of(FRAMES[: WHOLE + 1])[:-10]
"""These frames and a part of the next one."""

STOPPED = "scapy-mpa: standard input: interrupted"
DONE = f"{STOPPED} after frame {WHOLE}\n"


@pytest.fixture
def long_capture(tmp_path: Path) -> Path:
    """A capture larger than one read, with more output than a pipe holds."""
    path = tmp_path / "long.pcap"
    path.write_bytes(gzip.decompress((PCAPS / "2vm_perf_write_bw_q4_crcon.pcap.gz").read_bytes()))
    return path


LIVE = [
    (["dissect", "-"], 700, b"Request rev 2", b"ended: closed"),
    (["clean", "-q", "-", "-o", "-"], 900, b"MPA ID Rep Frame", b"rdma-ping-0"),
]


@pytest.mark.parametrize(("arguments", "begin", "shown", "rest"), LIVE)
def test_a_live_capture_is_read_at_once(
    arguments: list[str], begin: int, shown: bytes, rest: bytes
) -> None:
    """Octets of a pipe are printed or written before the pipe brings more, or ends."""
    octets = RPING.read_bytes()
    with running(*arguments) as it:
        it.give(octets[:begin])
        seen = b""
        while shown not in seen:
            seen += os.read(it.stdout.fileno(), 1 << 16)
        it.give(octets[begin:])
        it.stdin.close()
        assert rest in it.stdout.read()
        assert it.process.wait(30) == 0


COMMANDS = (
    *("dissect", "dissect --json", "summary", "summary --json", "summary --all --check"),
    "clean -q -o -",
)
READ = {
    "between frames": (BEGIN, BEGIN, DONE),
    "in a frame": (CUT, BEGIN, DONE),
    "before any": (BEGIN[:24], BEGIN[:24], f"{STOPPED} before any frame\n"),
}
"""What is read, the same as a file of whole frames, and the message."""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("place", READ)
@pytest.mark.parametrize("command", COMMANDS)
def test_signal_while_reading_a_pipe(command: str, place: str, name: str) -> None:
    """The result of all whole frames is printed, and the status is that of shells."""
    number, (octets, file, message) = getattr(signal, name), READ[place]
    with running(*command.split(), "-") as it:
        it.read(octets)
        wanted = run(*command.split(), "-", stdin=file).stdout_bytes
        assert it.end(number) == (wanted, message, 128 + number)


def test_rest_of_the_pipe_is_read() -> None:
    """The octets that a capturing program writes after the same Ctrl-C are read to their end."""
    with running("summary", "-") as it:
        it.read(BEGIN)
        it.process.send_signal(signal.SIGSTOP)
        it.process.send_signal(signal.SIGINT)
        it.give(RPING.read_bytes()[len(BEGIN) :])
        it.stdin.close()
        printed, message, status = it.end(signal.SIGCONT)
    assert (printed, status) == (run("summary", RPING).stdout_bytes, 130)
    assert message == f"{STOPPED} after frame {len(FRAMES)}\n"


def test_files_after_the_signal_are_not_read() -> None:
    """Each file read before has its table, and so has the current one."""
    with running("summary", RPING, "-", RPING) as it:
        it.read(BEGIN)
        printed, message, status = it.end(signal.SIGINT)
    assert re.findall(rb"==> (\S+)", printed) == [os.fsencode(RPING), b"standard"]
    assert printed.count(b"192.168.7.2:7174") == 2
    assert (message, status) == (DONE, 130)


def test_signal_while_printing(long_capture: Path) -> None:
    """Output that nobody reads blocks the command. Records and connections are complete."""
    with running("dissect", "--json", "--payload", long_capture) as it:
        begin = it.stdout.read(1)
        it.process.send_signal(signal.SIGINT)
        it.wait_for_handler(signal.SIGINT, handled=False)
        printed, message, status = it.end(signal.SIGCONT)
    records = parsed((begin + printed).decode())
    assert records[-1]["type"] == "connection"
    frames = max(each["frame"] for each in records)
    found = re.fullmatch(rf"scapy-mpa: {long_capture}: interrupted after frame (\d+)\n", message)
    assert found
    assert status == 130
    assert frames <= int(found[1]) < len(frames_of(long_capture))


def test_second_signal_ends_at_once(long_capture: Path) -> None:
    """A second signal ends the command at once, whatever it does."""
    with running("dissect", "--json", "--payload", long_capture) as it:
        it.stdout.read(1)
        it.process.send_signal(signal.SIGINT)
        it.wait_for_handler(signal.SIGINT, handled=False)
        it.process.send_signal(signal.SIGINT)
        assert it.process.wait(30) == -signal.SIGINT


@pytest.mark.parametrize("command", [("dissect",), ("clean", "-q", "-o", "-")], ids=" ".join)
def test_signal_also_ends_the_reader_of_the_output(command: tuple[str, ...]) -> None:
    """If the reader of the output is gone, no message reports it."""
    with running(*command, "-") as it:
        it.read(BEGIN)
        it.stdout.close()
        it.process.send_signal(signal.SIGINT)
        assert it.stderr.read().decode() == DONE
        assert it.process.wait(30) == 130


class SlowFile(io.BytesIO):
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
    return [json_of(record_of(event, reading.clock)) for event in events], reading.capture.frames


@given(
    name=st.sampled_from(("pcap", "pcapng", "pcap.gz")),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=8),
    reads=st.integers(1, 40),
)
def test_reading_stops_anywhere(name: str, sizes: list[int], reads: int) -> None:
    """Wherever reading stops, the capture ends after the last whole frame."""
    file = SlowFile(octets_of(FRAMES, name), [max(sizes), *sizes], reads)
    try:
        records, frames = records_of(open_capture(file, lambda _: file.reads > 0))
    except CaptureError:
        return
    assert records == records_of(open_capture(io.BytesIO(octets_of(FRAMES[:frames]))))[0]
