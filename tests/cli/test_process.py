# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line among other processes: pipes and terminals, also while a capture grows."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.command import COMMAND, PROBE, RPING, environment, process, run
from tests.cli.running import drained, on_linux, on_terminal, posix, running
from tests.cli.test_ring import frames_of, octets_of


@on_linux
@pytest.mark.parametrize(
    ("arguments", "begin", "shown", "rest"),
    [
        (["dissect", "-"], 700, b"Request rev 2", b"ended: closed"),
        (["clean", "-q", "-", "-o", "-"], 900, b"MPA ID Rep Frame", b"rdma-ping-0"),
    ],
)
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


@posix
def test_colour_is_for_terminals() -> None:
    """Findings are coloured on a terminal, unless NO_COLOR is set, and never in a pipe."""
    assert b"\x1b[" not in process("dissect", RPING).stdout
    assert b"\x1b[32m" in on_terminal("dissect", RPING)
    assert b"\x1b[31m" in on_terminal("dissect", "--type", "error", PROBE)
    assert b"\x1b[" not in on_terminal("dissect", RPING, NO_COLOR="1")
    assert b"\x1b[" not in on_terminal("dissect", "--json", RPING)


OCTETS = RPING.read_bytes()
BEGIN = octets_of(frames_of(RPING)[:13])
TABLE = run("summary", "--wide", "-", stdin=OCTETS).stdout
STANDING = run("summary", "--wide", "-", stdin=BEGIN).stdout.replace("capture ended", "open")
CLEAR = "\x1b[H\x1b[2J"


def printed(out: int, shown: int) -> str:
    """The output of a command that first gets half of a capture, and then the rest.

    :param out: the end of a pipe or terminal to read from.
    :param shown: its other end, which is standard output.
    """
    with subprocess.Popen(
        [*COMMAND, "summary", "--wide", "--every", "1", "-"],
        stdin=subprocess.PIPE,
        stdout=shown,
        env=environment(TERM="xterm", NO_COLOR=""),
    ) as running:
        os.close(shown)
        assert running.stdin is not None
        running.stdin.write(BEGIN)
        running.stdin.flush()
        seen = b""
        # The table is printed again although no frame came.
        while seen.count(b"open") < 2:
            seen += os.read(out, 1 << 16)
        running.stdin.write(OCTETS[len(BEGIN) :])
        running.stdin.close()
        text = (seen + drained(out)).decode().replace("\r\n", "\n")
        assert running.wait(30) == 0
    return text


@posix
def test_tables_in_a_pipe() -> None:
    """Tables follow each other. The last one is that of the whole capture."""
    *standing, last = printed(*os.pipe()).split("\n\n")
    assert len(standing) >= 2
    assert {f"{each}\n" for each in standing} <= {"no TCP connections\n", STANDING, TABLE}
    assert last == TABLE


@posix
def test_tables_on_a_terminal() -> None:
    """Each table replaces the one before."""
    import pty

    nothing, *standing, last = printed(*pty.openpty()).split(CLEAR)
    assert nothing == ""
    assert len(standing) >= 2
    assert set(standing) <= {"no TCP connections\n", STANDING, TABLE}
    assert last == TABLE
