# SPDX-License-Identifier: GPL-2.0-or-later
"""``summary --every``: the table as it stands, while a capture goes on."""

from __future__ import annotations

import os
import subprocess

from tests.cli.command import COMMAND, PCAPS, environment, run
from tests.cli.test_process import drained, posix
from tests.cli.test_ring import frames_of, octets_of

RPING = PCAPS / "rping_mpa2_crcon.pcap"
OCTETS = RPING.read_bytes()
BEGIN = octets_of(frames_of(RPING)[:13])
TABLE = run("summary", "--wide", "-", stdin=OCTETS).stdout
STANDING = run("summary", "--wide", "-", stdin=BEGIN).stdout.replace("capture ended", "open")
CLEAR = "\x1b[H\x1b[2J"


def printed(out: int, shown: int) -> str:
    """What is printed on a pipe or a terminal while half of a capture is there, and then all.

    :param out: is read.
    :param shown: is standard output.
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
        # It comes again though nothing else does.
        while seen.count(b"open") < 2:
            seen += os.read(out, 1 << 16)
        running.stdin.write(OCTETS[len(BEGIN) :])
        running.stdin.close()
        text = (seen + drained(out)).decode().replace("\r\n", "\n")
        assert running.wait(30) == 0
    return text


@posix
def test_in_a_pipe() -> None:
    """Tables come one after the other, and at the end as without it."""
    *standing, last = printed(*os.pipe()).split("\n\n")
    assert len(standing) >= 2
    assert {f"{each}\n" for each in standing} <= {"no TCP connections\n", STANDING, TABLE}
    assert last == TABLE


@posix
def test_on_a_terminal() -> None:
    """Each is in the place of the one before."""
    import pty

    nothing, *standing, last = printed(*pty.openpty()).split(CLEAR)
    assert nothing == ""
    assert len(standing) >= 2
    assert set(standing) <= {"no TCP connections\n", STANDING, TABLE}
    assert last == TABLE


def test_what_is_read_soon() -> None:
    """There is no time for it."""
    assert run("summary", "--wide", "--every", 1, RPING).stdout == TABLE
