# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads one file after the other; a file that cannot be read does not end the command."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from scapy_mpa.capture import Capture, open_capture
from scapy_mpa.capture.followed import Followed
from scapy_mpa.cli.attention import NEVER, Attention, interrupted
from scapy_mpa.cli.output import OutputError, write_lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.remarks import remarks
from scapy_mpa.cli.status import CLEAN, FAILED, FINDINGS, complain
from scapy_mpa.wire.errors import CaptureError
from scapy_mpa.wire.shown import shown


def read_files(
    names: Sequence[str],
    show: Callable[[Reading], None],
    *,
    headings: bool,
    joined: bool | None = None,
    attention: Attention | None = None,
    **how: Any,
) -> int:
    """Show each capture, and report faults on standard error; return the exit status.

    Connection numbers go on from capture to capture, so that each number occurs once.

    :param names: names of files.
    :param show: prints the contents of a capture; it must read it to its end.
    :param headings: print the name of each capture before its contents, if there are several files.
    :param joined: all files are one capture (True), or each one (False), or those of one ring.
    :param attention: handles signals and a regular task meanwhile.
    :param how: keyword arguments of :class:`~scapy_mpa.cli.reading.Reading`.
    :raises Stopped: a signal came; all records found by then are shown.
    """
    status, number, selection, has_selected = CLEAN, 0, None, False
    waiting = deque(grouped(names, joined=joined))
    attention = attention or Attention()
    while waiting:
        group = waiting.popleft()
        try:
            capture = open_files(group, attention, joined=joined)
        except CaptureError as error:
            complain(str(error))
            status = FAILED
            continue
        is_live = capture.size is None or attention.every < NEVER
        reading = Reading(capture, first_number=number, live=is_live, **how)
        selection = reading.selection
        of_files = f", {len(group)} files{'' if joined else ' of a ring'}" if group[1:] else ""
        with capture, attention.reading():
            name_shown = shown(capture.name)
            try:
                if headings and len(names) > 1:
                    write_lines([f"==> {name_shown}{of_files} <=="])
                show(reading)
            except OutputError as error:
                return _give_up(error, capture, attention)
            status = max(
                status,
                FINDINGS if reading.has_findings else CLEAN,
                conclude(capture, attention, reading.followed, reading.gaps, reading.ended),
            )
        number = reading.next_number
        has_selected = has_selected or reading.has_selected
        if rest := group[len(capture.parts) + len(capture.lost) :]:
            before = shown(capture.parts[-1].name)
            complain(
                f"{shown(rest[0])}: begins before {before} ends, so it is another capture "
                "(--join makes them one)"
            )
            waiting.appendleft(rest)
    if status == FAILED or selection is None:
        return status
    if lack := selection.lacking(number):
        complain(lack)
        return FAILED
    # A table of connections reports that itself.
    if not has_selected and not selection.is_of_connections:
        complain("nothing was found for the selected hosts, ports, times, frames and conditions")
    return status


def open_files(
    names: Sequence[str], attention: Attention, *, joined: bool | None = None
) -> Capture:
    """Open a capture.

    :param names: one of the groups of :func:`grouped`.
    :param joined: as given to that function.
    :raises CaptureError: none of its files can be read.
    """
    if len(names) == 1:
        return open_capture(names[0], attention.may_read)
    # Imported late: most commands do not need it.
    from scapy_mpa.capture.ring import Ring

    return Ring(names, attention.may_read, joined=bool(joined))


def _give_up(error: OutputError, capture: Capture, attention: Attention) -> int:
    """Report why reading of a capture stopped; return the exit status."""
    # The reader of the output may have got the same signal.
    ended = attention.number and interrupted(capture.frames)
    # No message if the reader closed its end of the pipe, as `head` does.
    if ended or not isinstance(error.__cause__, BrokenPipeError):
        why = f"{error}, so reading stopped after frame {capture.frames}"
        complain(f"{shown(capture.name)}: {ended or why}")
    return FAILED


def name_of(capture: Capture) -> str:
    """Return the name of a capture that was read, and the number of its files if it has several."""
    files = len(capture.parts) + len(capture.lost)
    return shown(capture.name) + (f", {files} files" if files > 1 else "")


def conclude(
    capture: Capture, attention: Attention, followed: Followed, gaps: int, ended: int
) -> int:
    """Print the remarks on a capture that was read; return the exit status for it.

    For the other parameters see :func:`~scapy_mpa.cli.remarks.remarks`.
    """
    name, status = name_of(capture), CLEAN
    if followed.has_nothing:
        status = FAILED
    for remark in remarks(followed, gaps, ended):
        complain(f"{name}: {remark}")
    for error in capture.lost:
        complain(str(error))
        status = FAILED
    for part in capture.parts:
        if part.warning is not None:
            complain(part.warning)
        if attention.number and part is capture.parts[-1]:
            # Its early end is then no fault of the file.
            complain(f"{name}: {interrupted(capture.frames)}")
        elif part.problem is not None:
            complain(str(part.problem))
            status = FAILED
        elif not part.frames:
            complain(f"{shown(part.name)}: there are no frames in it")
    return status


def grouped(names: Sequence[str], *, joined: bool | None) -> list[list[str]]:
    """Return the names in groups; each group is one capture.

    :param joined: as in :func:`read_files`.
    """
    if joined is False or len(names) == 1:
        return [[name] for name in names]
    # Imported late: most commands do not need it.
    from scapy_mpa.capture.ring import rings

    return rings(names, joined=bool(joined))
