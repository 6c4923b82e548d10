# SPDX-License-Identifier: GPL-2.0-or-later
"""Signals: the one place where a command takes them, and what they do while files are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.cli.status import SIGINT, Stopped, complain

if TYPE_CHECKING:
    import signal
else:
    # ``signal`` makes enumerations of all that is in it, which takes longer than all that is done
    # here; and a command is to start soon.
    import _signal as signal

__all__ = ["QUESTIONS", "STOPS", "heeding", "stopping", "woken_by_signals"]

STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those that end a program; not all systems have each."""
QUESTIONS: Final = ("SIGUSR1", "SIGINFO")
"""Those that ask how far it is."""

_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)


@contextmanager
def heeding(
    names: Sequence[str], heed: Callable[[int], None], *, once: bool = False
) -> Iterator[None]:
    """Have ``heed`` called with the number of a signal that comes during a block.

    A signal that is ignored, as after ``nohup``, stays so.

    :param once: the next one ends the program at once.
    """
    former: dict[int, Any] = {}

    def take(number: int, frame: FrameType | None) -> None:
        if once:
            for each in former:
                signal.signal(each, signal.SIG_DFL)
            former.clear()
        heed(number)

    try:
        for number in (getattr(signal, name, None) for name in names):
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler in _DEFAULTS:
                # Python takes signals in its main thread only.
                with suppress(ValueError):
                    signal.signal(number, take)
                    former[number] = handler
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


@contextmanager
def woken_by_signals() -> Iterator[int]:
    """Give a descriptor that can be read after a signal, also after one that comes right before."""
    woken, waking = os.pipe()
    for each in (woken, waking):
        os.set_blocking(each, False)
    former = None
    try:
        # As above.
        with suppress(ValueError):
            former = signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        yield woken
    finally:
        if former is not None:
            signal.set_wakeup_fd(former)
        os.close(woken)
        os.close(waking)


@contextmanager
def stopping(what: str) -> Iterator[None]:
    """Let signals end a block as an exception does, so that it can tidy up.

    :param what: what is to be said then.
    :raises KeyboardInterrupt: a signal came.
    """

    def stop(number: int) -> None:
        raise Stopped(number)

    try:
        with heeding(STOPS, stop, once=True):
            yield
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else SIGINT
        name = next(each for each in STOPS if getattr(signal, each, None) == number)
        complain(f"{what}, stopped by {name}")
        raise
