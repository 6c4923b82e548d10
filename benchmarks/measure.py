# SPDX-License-Identifier: GPL-2.0-or-later
"""What a command uses: processor time and memory of its process, and what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["ROOT", "CommandError", "Usage", "measured"]

ROOT: Final = Path(__file__).resolve().parent.parent
_LAUNCHER: Final = Path(__file__).with_name("launch.py")
_MAXRSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024
_CHUNK: Final = 1 << 20


class CommandError(Exception):
    """A command ended with an exit status that says that it did not do its work."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run of a command used, and found."""

    cpu: float
    """Seconds of processor time, in user mode and in the kernel."""
    peak: int
    """Peak of resident memory in octets."""
    found: int
    """What was counted in its output."""


def _environment() -> dict[str, str]:
    """Return the environment of a command: with this checkout, and with bytecode kept.

    An installed package has its bytecode; without it each start compiles the package anew.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def measured(
    command: Sequence[str], count: Callable[[bytes], int], *, good: frozenset[int] = frozenset({0})
) -> Usage:
    """Run a command, counting in what it prints while it runs.

    Output goes through a pipe, so that no disk has a say in the figures.

    :param count: is given whole lines, many at a time.
    :param good: exit statuses that are no failure.
    :raises CommandError: any other exit status.
    """
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report")
        errors = Path(directory, "errors")
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER), str(report), *command],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
            assert process.stdout is not None
            with process, process.stdout as output:
                found = 0
                rest = b""
                while chunk := os.read(output.fileno(), _CHUNK):
                    lines, newline, rest_of_chunk = chunk.rpartition(b"\n")
                    if newline:
                        found += count(rest + lines)
                        rest = rest_of_chunk
                    else:
                        rest += chunk
                found += count(rest)
        complaint = errors.read_text(encoding="utf-8", errors="replace")
        if process.returncode:
            raise CommandError(f"{command[0]} could not be run: {complaint}")
        user, system, peak, status = report.read_text(encoding="ascii").split()
    if int(status) not in good:
        raise CommandError(f"{' '.join(command)} ended with exit status {status}: {complaint}")
    return Usage(float(user) + float(system), int(peak) * _MAXRSS_UNIT, found)
