# SPDX-License-Identifier: GPL-2.0-or-later
"""File after file, whatever is wrong with one of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.output import OutputError, write_lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.status import CLEAN, FAILED, FINDINGS, complain
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import CaptureError
from scapy_mpa.wire.shown import shown

__all__ = ["STANDARD_INPUT", "is_same", "read_files"]

STANDARD_INPUT: Final = "-"


def read_files(
    names: Sequence[str],
    show: Callable[[Reading], None],
    limits: Limits,
    *,
    headings: bool,
    connections: frozenset[int] = frozenset(),
    checks: bool = False,
    dialect: Dialect | None = None,
) -> int:
    """Show each capture, and say on standard error what is wrong; return the exit status.

    Connections are numbered on from file to file, so that each number is there once.

    :param show: prints what a capture holds; it must read it to its end.
    :param headings: print the name of each file before what it holds, if there are several.
    :param connections: numbers of the connections that matter, none for all.
    :param checks: report what DDP and RDMAP must not accept, too.
    :param dialect: what the user says is spoken.
    """
    status = CLEAN
    number = 0
    for name in names:
        try:
            capture = open_capture(name)
        except CaptureError as error:
            complain(str(error))
            status = FAILED
            continue
        with capture:
            name_shown = shown(capture.name)
            reading = Reading(
                capture,
                limits=limits,
                first_number=number,
                connections=connections,
                checks=checks,
                dialect=dialect,
            )
            try:
                if headings and len(names) > 1:
                    write_lines([f"==> {name_shown} <=="])
                show(reading)
            except OutputError as error:
                complain(f"{name_shown}: {error}, so reading stopped after frame {capture.frames}")
                return FAILED
        number = reading.next_number
        status = max(status, _conclude(reading, name_shown))
    strangers = sorted(wanted for wanted in connections if wanted >= number)
    if strangers and status != FAILED:
        there = f"they are 0 to {number - 1}" if number else "there are none"
        complain(f"no connection {', '.join(map(str, strangers))}: {there}")
        status = FAILED
    return status


def _conclude(reading: Reading, shown: str) -> int:
    """Say what is to be said when a capture was read; return the exit status for it."""
    status = FINDINGS if reading.has_findings else CLEAN
    nothing = reading.nothing_followed()
    if nothing:
        complain(f"{shown}: {nothing}")
        status = FAILED
    elif not_followed := reading.not_followed():
        complain(f"{shown}: {not_followed}")
    if limited := reading.limited():
        complain(f"{shown}: {limited}")
    if reading.capture.problem is not None:
        complain(str(reading.capture.problem))
        status = FAILED
    elif not reading.capture.frames:
        complain(f"{shown}: there are no frames in it")
    return status


def is_same(one: str, other: str) -> bool:
    """Tell whether what is written to one file would replace the other, there or not yet there.

    A device, such as ``/dev/null``, may be both.
    """
    if os.path.exists(one):
        return os.path.isfile(one) and os.path.exists(other) and os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
