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

from tests.cli.command import RPING, process

FULL = "/dev/full"

pytestmark = pytest.mark.skipif(not os.path.exists(FULL), reason="there is no /dev/full")

PRINTING = {
    "help": ["--help"],
    "version": ["--version"],
    "help of a command": ["clean", "--help"],
    "dissect": ["dissect", RPING],
    "dissect with an option": ["dissect", "--json", RPING],
    "summary": ["summary", RPING],
    "clean": ["clean", "-q", RPING, "-o", "-"],
    "craft": ["craft", "send", "-o", "-"],
    "truth": ["craft", "send", "-o", os.devnull, "--truth", "-"],
    "presets": ["craft", "--list"],
    "catalogue": ["fuzz", "--list", "--only", "*crc*"],
    "case": ["fuzz", "-o", ".", "--case", "rfc5044/4.3/fpduptr-not-pointing"],
    "shell": ["shell", "-c", "print(1)"],
}
"""Commands that write to standard output, by what they write."""


LOST = {
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
    what: str,
    redirected: str,
    reason: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One line reports the loss, and the status is 2, with and without Python's buffers."""
    message = f"scapy-mpa: .*standard output cannot be written \\({reason}\\).*\n" if reason else ""
    for unbuffered in ("", "1") if what == "dissect" else ("",):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        status, stderr = run(redirected, PRINTING[what], tmp_path)
        assert status == 2
        assert re.fullmatch(message, stderr)


def test_stream_that_is_not_needed(tmp_path: Path) -> None:
    """A command does not fail if it has nothing to write to a full disk."""
    target = tmp_path / "new.pcapng"
    assert run(f">{FULL}", ["clean", "-q", RPING, "-o", target], tmp_path) == (0, "")
    assert target.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
