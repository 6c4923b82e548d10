# SPDX-License-Identifier: GPL-2.0-or-later
"""What is shown on a terminal: columns that fit, colours, progress, tables again and again."""

import io
import os
import sys
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import scapy_mpa.cli.progress
from scapy_mpa.capture import Capture
from scapy_mpa.cli.columns import Columns
from scapy_mpa.cli.progress import watched, with_progress
from scapy_mpa.cli.words import WORDS
from scapy_mpa.stream.clock import Clock
from tests.captures import PCAPS, REAL, capture_name
from tests.cli.command import PROBE, RPING, Record, environment, process, records, run
from tests.cli.running import drained, on_terminal, posix, running
from tests.cli.test_ring import frames_of, octets_of

TERMINATED = PCAPS / "term_sendnorecv.pcap"

SHOWN = """\
                   #0  192.168.7.1:46132 > 192.168.7.2:7175
     4    0.003841 #0  > Request rev 2 M0 C1 IRD 16 ORD 16 PD 0
     6    0.129024 #0  < Reply rev 2 M0 C1 IRD 16 ORD 16 PD 16
     8    0.150502 #0  > Send            qn 0       msn 1              8 L
    10    0.160597 #0  < Terminate       qn 2       msn 1             24 L: DDP
                         / Untagged Buffer Error / Invalid MSN - no buffer
                         available (mirrored)
    13    0.161828 #0  - ended: terminated by the Responder: DDP / Untagged
                         Buffer Error / Invalid MSN - no buffer available
                         (mirrored), of the Send qn 0 msn 1 mo 0, seq 630298884
                         in frame 8, rfc6581, CRC on, 1/1 FPDUs, 56/88 octets,
                         IRD 16/16, ORD 16/16
"""


def values_of(fpdu: Record) -> list[str]:
    """The values that the columns of an FPDU must show."""
    if fpdu["tagged"]:
        return [fpdu["stag"], fpdu["to"], str(fpdu["payload_length"])]
    return [str(fpdu[name]) for name in ("qn", "msn", "payload_length")]


@pytest.mark.parametrize("path", REAL, ids=capture_name)
def test_records_fit(path: Path) -> None:
    """Lines have at most 80 characters, and the same content as in a pipe."""
    columns = Columns(Clock(), 80)
    for record in records(path):
        lines = columns.line(record).splitlines()
        assert max(map(len, lines)) <= 80
        text = " ".join(line[25:] for line in lines)
        if record["type"] == "fpdu" and (record["tagged"] or record["mo"] is not None):
            assert set(values_of(record)) <= set(text.split())
        else:
            assert WORDS[record["type"]](record) in text


def test_terminal() -> None:
    """A terminal shows columns, or with ``--wide`` the lines of a pipe."""
    for options, wanted in ((), SHOWN), (("--wide",), run("dissect", TERMINATED).stdout):
        shown = on_terminal("dissect", *options, TERMINATED, NO_COLOR="1").decode()
        assert shown.replace("\r\n", "\n") == wanted


@pytest.mark.parametrize("command", ["craft", "fuzz"])
def test_lists_fit_a_terminal(command: str) -> None:
    """Names are on lines of their own, and the texts below them are wrapped."""
    printed = run(command, "--list").stdout.splitlines()[command == "fuzz" :]
    shown = on_terminal(command, "--list").decode().replace("\r\n", "\n").splitlines()
    assert max(map(len, shown)) <= 80
    names = [line for line in shown if not line.startswith(" ")]
    assert names == [line.split()[0] for line in printed]


OCTETS = (PCAPS / "mix_mpa1_crcon.pcap").read_bytes()
FRAMES = 66


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def crafted(count: int) -> Iterator[object]:
    """Items that are crafted."""
    return watched(range(count), count, "crafting")


def read(count: int, size: int | None = len(OCTETS)) -> Iterator[object]:
    """Frames of a capture of some length, None if it is a pipe."""
    capture = Capture(io.BytesIO(OCTETS), "capture", size)
    return with_progress(capture, islice(capture, count))


PIPE, TERMINAL = io.StringIO, Terminal
PROGRESS = [
    # The work, the number of steps, standard output and standard error, and what is shown.
    (crafted, 50, PIPE, TERMINAL, ("crafting", "100%")),
    (crafted, 50, TERMINAL, TERMINAL, ("crafting", "100%")),
    (crafted, 50, TERMINAL, PIPE, ()),
    (crafted, 2, PIPE, TERMINAL, ()),
    (read, FRAMES, PIPE, TERMINAL, (f"{FRAMES} frames read", "100%")),
    (partial(read, size=4 * len(OCTETS)), FRAMES, PIPE, TERMINAL, ("66 frames read", "25%")),
    # The progress bar would run through the printed lines.
    (read, FRAMES, TERMINAL, TERMINAL, ()),
    (read, FRAMES, PIPE, PIPE, ()),
    (read, 2, PIPE, TERMINAL, ()),
    (partial(read, size=None), FRAMES, PIPE, TERMINAL, ()),
]


@pytest.mark.parametrize("row", PROGRESS)
def test_progress_is_shown_on_terminals(row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is shown after a second, and only on a terminal."""
    work, count, out, err, shown = row
    clock = (0.4 * each for each in range(1000))
    monkeypatch.setattr(scapy_mpa.cli.progress, "monotonic", lambda: next(clock))
    printed = err()
    monkeypatch.setattr(sys, "stdout", out())
    monkeypatch.setattr(sys, "stderr", printed)
    assert len(list(work(count))) == count
    assert bool(printed.getvalue()) == bool(shown)
    assert all(each in printed.getvalue() for each in shown)


@posix
def test_colour_is_for_terminals() -> None:
    """Findings are coloured on a terminal, unless NO_COLOR is set, and never in a pipe."""
    assert b"\x1b[" not in process("dissect", RPING).stdout
    assert b"\x1b[32m" in on_terminal("dissect", RPING)
    assert b"\x1b[31m" in on_terminal("dissect", "--type", "error", PROBE)
    assert b"\x1b[" not in on_terminal("dissect", RPING, NO_COLOR="1")
    assert b"\x1b[" not in on_terminal("dissect", "--json", RPING)


WHOLE = RPING.read_bytes()
BEGIN = octets_of(frames_of(RPING)[:13])
TABLE = run("summary", "--wide", "-", stdin=WHOLE).stdout
STANDING = run("summary", "--wide", "-", stdin=BEGIN).stdout.replace("capture ended", "open")
CLEAR = "\x1b[H\x1b[2J"


def printed(out: int, shown: int) -> str:
    """The output of a command that first gets half of a capture, and then the rest.

    :param out: the end of a pipe or terminal to read from.
    :param shown: its other end, which is standard output.
    """
    words = ("summary", "--wide", "--every", 1, "-")
    with running(*words, stdout=shown, env=environment(TERM="xterm", NO_COLOR="")) as it:
        os.close(shown)
        it.give(BEGIN)
        seen = b""
        # The table is printed again although no frame came.
        while seen.count(b"open") < 2:
            seen += os.read(out, 1 << 16)
        it.give(WHOLE[len(BEGIN) :])
        it.stdin.close()
        text = (seen + drained(out)).decode().replace("\r\n", "\n")
        assert it.process.wait(30) == 0
    return text


@posix
@pytest.mark.parametrize("is_terminal", [False, True], ids=["pipe", "terminal"])
def test_tables(is_terminal: bool) -> None:
    """Tables follow each other in a pipe. On a terminal, each replaces the one before.

    The last one is that of the whole capture.
    """
    import pty

    text = printed(*(pty.openpty() if is_terminal else os.pipe()))
    nothing, *standing, last = text.split(CLEAR) if is_terminal else ["", *text.split("\n\n")]
    assert (nothing, last) == ("", TABLE)
    assert len(standing) >= 2
    end = "" if is_terminal else "\n"
    assert {f"{each}{end}" for each in standing} <= {"no TCP connections\n", STANDING, TABLE}
