# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals while files are written: nothing half done stays, and a line says so."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from scapy_mpa.cli.status import Stopped, complain

__all__ = ["stopping"]

_SIGNALS: Final = ("SIGTERM", "SIGHUP")
"""Those that end a program, beside SIGINT; not all systems have both."""


@contextmanager
def stopping(what: str) -> Iterator[None]:
    """Let signals end a block as an exception does, so that it can tidy up.

    A second one ends the program at once.  A signal that is ignored, as after ``nohup``, stays so.

    :param what: what is to be said then.
    :raises KeyboardInterrupt: a signal came.
    """
    taken: list[int] = []

    def restore() -> None:
        while taken:
            signal.signal(taken.pop(), signal.SIG_DFL)

    def stop(number: int, frame: FrameType | None) -> None:
        restore()
        raise Stopped(number)

    # Python takes signals in its main thread only.
    is_main = threading.current_thread() is threading.main_thread()
    try:
        for number in (getattr(signal, name, None) for name in _SIGNALS if is_main):
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                taken.append(number)
                signal.signal(number, stop)
        yield
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        complain(f"{what}, stopped by {signal.Signals(number).name}")
        raise
    finally:
        restore()
