# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that receive octets and signals from a test, and commands on terminals."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, environment

posix = pytest.mark.skipif(os.name != "posix", reason="about files, pipes and signals of POSIX")
on_linux = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at processes as Linux shows them"
)


def _restore_signals(ignored: Collection[int]) -> None:
    """Restore signals, since some may be ignored if the tests run in the background."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


STREAMS = ("stdin", "stdout", "stderr")


class Running:
    """A command whose standard streams are pipes.

    :param ignored: signals that are ignored, as after ``nohup``.
    :param options: others of ``Popen``.
    """

    def __init__(self, *arguments: object, ignored: Collection[int] = (), **options: Any) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            preexec_fn=partial(_restore_signals, ignored),
            **{"env": environment(), **dict.fromkeys(STREAMS, subprocess.PIPE), **options},
        )
        self.stdin, self.stdout, self.stderr = (getattr(self.process, each) for each in STREAMS)

    def wait_for_handler(self, number: int, *, handled: bool = True) -> None:
        """Wait until a signal has a handler, or has none."""
        limit = time.monotonic() + 30
        while True:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            caught = int(re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)[0], 16)
            if bool(caught >> (number - 1) & 1) == handled:
                return
            assert time.monotonic() < limit
            time.sleep(0.01)

    def give(self, octets: bytes) -> None:
        """Write to its standard input."""
        self.stdin.write(octets)
        self.stdin.flush()

    def read(self, octets: bytes) -> None:
        """Give it octets, and wait until it has processed them and waits for more."""
        import fcntl
        import termios

        self.give(octets)
        limit = time.monotonic() + 30
        sleeping = 0
        # It sleeps for a moment at other times, too.
        while sleeping < 5:
            assert time.monotonic() < limit
            time.sleep(0.01)
            is_empty = not any(fcntl.ioctl(self.stdin, termios.FIONREAD, bytes(4)))
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            sleeping = sleeping + 1 if is_empty and state == "S" else 0
        self.wait_for_handler(signal.SIGTERM)

    def end(self, number: int) -> tuple[bytes, str, int]:
        """Send a signal. Return what is printed after it, and the exit status."""
        self.process.send_signal(number)
        printed, message = self.stdout.read(), self.stderr.read().decode()
        return printed, message, self.process.wait(30)


@contextlib.contextmanager
def running(*arguments: object, **options: Any) -> Iterator[Running]:
    """A command that handles signals."""
    command = Running(*arguments, **options)
    with command.process as process:
        try:
            yield command
        finally:
            process.kill()


def on_terminal(*arguments: object, typed: str | None = None, **variables: str) -> bytes:
    """What a command prints if standard output is a terminal.

    :param typed: input at the terminal, which is then all three streams.
    """
    import pty

    ours, theirs = pty.openpty()
    if typed is not None:
        # The terminal keeps the input until it is read.
        os.write(ours, typed.encode())
    others = subprocess.DEVNULL if typed is None else theirs
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=others,
        stdout=theirs,
        stderr=others,
        env=environment(**{"TERM": "xterm", "NO_COLOR": "", **variables}),
        start_new_session=True,
    ) as running:
        os.close(theirs)
        printed = drained(ours)
        running.wait(60)
    return printed


def drained(terminal: int) -> bytes:
    """All that is printed on a terminal until no process has it open."""
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # Linux reports the end so
            piece = b""
        if not piece:
            os.close(terminal)
            return b"".join(pieces)
        pieces.append(piece)
