# SPDX-License-Identifier: GPL-2.0-or-later
"""Lost output: a full disk, a closed stream, a reader that has gone.

Each command runs as a process of its own, with streams as a shell gives them.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from tests.cli.command import PCAPS, RPING, process
from tests.cli.running import posix

FULL = "/dev/full"
LARGE = PCAPS / "seqwrap_client_crcon.pcap.gz"
CLOSED = "scapy-mpa: standard output was closed"

# Only Linux must have it, and CI runs on Linux: there the tests fail without it.
needs_full = pytest.mark.skipif(
    not os.path.exists(FULL) and "CI" not in os.environ, reason="there is no /dev/full"
)

PRINTING = {
    "help": ["--help"],
    "version": ["--version"],
    "help of a command": ["clean", "--help"],
    "dissect": ["dissect", LARGE],
    "dissect with an option": ["dissect", "--json", LARGE],
    "summary": ["summary", "--json", LARGE],
    "clean": ["clean", "-q", LARGE, "-o", "-"],
    "craft": ["craft", "large-message", "-o", "-"],
    "truth": ["craft", "send", "-o", os.devnull, "--truth", "-"],
    "presets": ["craft", "--list"],
    "catalogue": ["fuzz", "--list", "--only", "*crc*"],
    "case": ["fuzz", "-o", ".", "--case", "rfc5044/4.3/fpduptr-not-pointing"],
    "shell": ["shell", "-c", "print(1)"],
}
"""Commands that write to standard output, by what they write."""


def close_reader() -> None:
    """Make standard output a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)


LOST = {
    "| true": close_reader,
    f">{FULL}": lambda: os.dup2(os.open(FULL, os.O_WRONLY), 1),
    ">&-": lambda: os.close(1),
    ">&- 2>&-": lambda: os.closerange(1, 3),
}
"""Redirections of a shell, and their effect on a process before it runs."""


def run(redirected: str, arguments: list[object], directory: Path) -> tuple[int, str]:
    """Exit status and standard error of a command whose output is redirected."""
    options = {"capture_output": False, "cwd": directory, "preexec_fn": LOST[redirected]}
    streams = {"stdin": DEVNULL, "stdout": DEVNULL, "stderr": PIPE}
    done = process(*arguments, **options, **streams)
    return done.returncode, done.stderr.decode()


@needs_full
@pytest.mark.examples
@pytest.mark.parametrize(
    ("what", "redirected", "reason"),
    [
        *((what, f">{FULL}", "No space left on device") for what in PRINTING if what != "shell"),
        *((what, ">&-", "it is not open") for what in ("help", "dissect", "clean", "shell")),
        # If standard error is lost too, nothing can be reported.
        *((what, ">&- 2>&-", None) for what in ("version", "dissect", "clean")),
    ],
)
def test_lost_streams(
    what: str, redirected: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line reports the loss, and the status is 2, with and without Python's buffers."""
    message = f"scapy-mpa: .*standard output cannot be written \\({reason}\\).*\n" if reason else ""
    for unbuffered in ("", "1") if what == "dissect" else ("",):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        status, stderr = run(redirected, PRINTING[what], tmp_path)
        assert status == 2
        assert re.fullmatch(message, stderr)


@posix
@pytest.mark.parametrize(
    "what", ["clean", "craft", "dissect", "dissect with an option", "summary", "presets", "shell"]
)
def test_closed_pipe(what: str, tmp_path: Path) -> None:
    """Output into a closed pipe, as with ``| head -1``, stops the command with status 2.

    Lists end without a message: their reader has read enough.
    """
    messages = {"clean": f"{CLOSED}, so cleaning stopped\n", "craft": f"{CLOSED}\n"}
    assert run("| true", PRINTING[what], tmp_path) == (2, messages.get(what, ""))


@needs_full
def test_stream_that_is_not_needed(tmp_path: Path) -> None:
    """A command does not fail if it has nothing to write to a full disk."""
    target = tmp_path / "new.pcapng"
    assert run(f">{FULL}", ["clean", "-q", RPING, "-o", target], tmp_path) == (0, "")
    assert target.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
