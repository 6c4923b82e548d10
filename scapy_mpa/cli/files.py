# SPDX-License-Identifier: GPL-2.0-or-later
"""File after file, whatever is wrong with one of them."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture import Capture, open_capture
from scapy_mpa.cli.attention import NEVER, Attention, interrupted
from scapy_mpa.cli.output import OutputError, write_lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.status import CLEAN, FAILED, FINDINGS, Stopped, complain
from scapy_mpa.cli.unfollowed import not_followed, nothing_followed
from scapy_mpa.wire.errors import CaptureError
from scapy_mpa.wire.shown import shown

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection

__all__ = ["STANDARD_INPUT", "is_same", "opened", "read_files"]

STANDARD_INPUT: Final = "-"


def read_files(
    names: Sequence[str],
    show: Callable[[Reading], None],
    reading_of: Callable[..., Reading],
    *,
    headings: bool,
    selection: Selection | None = None,
    separate: bool = False,
    attention: Attention | None = None,
) -> int:
    """Show each capture, and say on standard error what is wrong; return the exit status.

    Connections are numbered on from capture to capture, so that each number is there once.

    :param names: of files, directories and patterns.
    :param show: prints what a capture holds; it must read it to its end.
    :param reading_of: makes a reading of a capture; takes ``first_number`` and ``live``, too.
    :param headings: print the name of each capture before what it holds, if files are several.
    :param selection: what matters, None for all.
    :param separate: files of one ring are captures of their own, too.
    :param attention: what is attended to while they are read.
    :raises Stopped: a signal came; what was read by then is shown.
    """
    names, status = _files(names)
    number = 0
    waiting = deque(_grouped(names, separate=separate))
    with attention or Attention() as attention:
        while waiting:
            group = waiting.popleft()
            capture = opened(group, attention)
            if capture is None:
                status = FAILED
                if group[1:]:
                    waiting.appendleft(group[1:])
                continue
            is_live = capture.size is None or attention.every < NEVER
            reading = reading_of(capture, first_number=number, live=is_live)
            of_ring = f", {len(group)} files of a ring" if group[1:] else ""
            with capture, attention.reading(reading.where):
                name_shown = shown(capture.name)
                try:
                    if headings and len(names) > 1:
                        write_lines([f"==> {name_shown}{of_ring} <=="])
                    show(reading)
                except OutputError as error:
                    return _give_up(error, capture, attention)
                status = max(status, _conclude(reading, name_shown, attention))
            number = reading.next_number
            if rest := group[len(capture.parts) :]:
                before = shown(capture.parts[-1].name)
                complain(f"{shown(rest[0])}: begins before {before} ends, so it is another capture")
                waiting.appendleft(rest)
    if status != FAILED and selection is not None and (lack := selection.lacking(number)):
        complain(lack)
        status = FAILED
    return status


def opened(names: Sequence[str], attention: Attention) -> Capture | None:
    """Open a capture; None if it cannot be read, which is said then.

    :param names: of its files, one or those of a ring.
    :raises Stopped: a signal came.
    """
    try:
        with attention.opening():
            if len(names) == 1:
                return open_capture(names[0], attention.may_read)
            # What most commands have no use for is not imported for them.
            from scapy_mpa.capture.ring import Ring

            return Ring(names, attention.may_read)
    except CaptureError as error:
        if not attention.number:
            complain(str(error))
            return None
    except Stopped:
        pass
    name = "standard input" if names[0] == STANDARD_INPUT else shown(names[0])
    complain(f"{name}: {interrupted(0)}")
    raise Stopped(attention.number)


def _give_up(error: OutputError, capture: Capture, attention: Attention) -> int:
    """Say why no more is read of a capture; return the exit status."""
    # Who takes the output may have had the same signal.
    ended = attention.number and interrupted(capture.frames)
    # Who has read enough, as `head` has, is not told that there is more.
    if ended or not isinstance(error.__cause__, BrokenPipeError):
        why = f"{error}, so reading stopped after frame {capture.frames}"
        complain(f"{shown(capture.name)}: {ended or why}")
    return FAILED


def _conclude(reading: Reading, name: str, attention: Attention) -> int:
    """Say what is to be said when a capture was read; return the exit status for it."""
    status = FINDINGS if reading.has_findings else CLEAN
    counts = reading.unfollowed
    if counts and not reading.has_followed:
        complain(f"{name}: {nothing_followed(counts)}")
        status = FAILED
    elif left := not_followed(counts):
        complain(f"{name}: {left}")
    if limited := reading.limited():
        complain(f"{name}: {limited}")
    if not_searched := reading.not_searched():
        complain(f"{name}: {not_searched}")
    parts = reading.capture.parts
    for part in parts:
        if part.warning is not None:
            complain(part.warning)
        if attention.number and part is parts[-1]:
            # That it ends there is no fault of it.
            complain(f"{name}: {interrupted(reading.capture.frames)}")
        elif part.problem is not None:
            complain(str(part.problem))
            status = FAILED
        elif not part.frames:
            complain(f"{name}: there are no frames in it")
    return status


def _files(names: Sequence[str]) -> tuple[Sequence[str], int]:
    """Return the files that names stand for, and the exit status if some stand for none."""
    if all(name == STANDARD_INPUT or os.path.isfile(name) for name in names):
        return names, CLEAN
    # What most commands have no use for is not imported for them.
    from scapy_mpa.cli.expanding import expanded

    return expanded(names)


def _grouped(names: Sequence[str], *, separate: bool) -> list[list[str]]:
    """Return the names in groups, each of one capture."""
    if separate or len(names) == 1:
        return [[name] for name in names]
    # As above.
    from scapy_mpa.capture.ring import rings

    return rings(names)


def is_same(one: str, other: str, *, dash: tuple[int, int] = (0, 1)) -> bool:
    """Tell whether what is written to one file would replace the other, there or not yet there.

    A device, such as ``/dev/null``, may be both.

    :param dash: descriptors of what ``-`` stands for, by default standard input and output.
    """
    found, beside = _found(one, dash[0]), _found(other, dash[1])
    if found is not None and beside is not None:
        return stat.S_ISREG(found.st_mode) and os.path.samestat(found, beside)
    # Neither is there: one name, by whatever links.
    is_named = STANDARD_INPUT not in (one, other) and found is beside
    return is_named and os.path.realpath(one) == os.path.realpath(other)


def _found(name: str, descriptor: int) -> os.stat_result | None:
    """Return what the system says of a file, None if it is not there."""
    try:
        return os.fstat(descriptor) if name == STANDARD_INPUT else os.stat(name)
    except OSError:
        return None
