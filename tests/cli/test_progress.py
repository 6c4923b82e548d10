# SPDX-License-Identifier: GPL-2.0-or-later
"""Long work shows its progress, but only on a terminal."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import pytest

import scapy_mpa.cli.progress
from scapy_mpa.capture import Capture
from scapy_mpa.cli.progress import watched, with_progress
from tests.cli.command import PCAPS

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
SHOWN = [
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


@pytest.mark.parametrize(("work", "count", "out", "err", "shown"), SHOWN)
def test_progress_is_shown_on_terminals(
    work: Callable[[int], Iterator[object]],
    count: int,
    out: type[io.StringIO],
    err: type[io.StringIO],
    shown: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Progress is shown after a second, and only on a terminal."""
    clock = (0.4 * each for each in range(1000))
    monkeypatch.setattr(scapy_mpa.cli.progress, "monotonic", lambda: next(clock))
    printed = err()
    monkeypatch.setattr(sys, "stdout", out())
    monkeypatch.setattr(sys, "stderr", printed)
    assert len(list(work(count))) == count
    assert bool(printed.getvalue()) == bool(shown)
    assert all(each in printed.getvalue() for each in shown)
