# SPDX-License-Identifier: GPL-2.0-or-later
"""What is attended to while captures are read: signals, and the clock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scapy_mpa.cli.status import SIGINT, Stopped, complain
from scapy_mpa.wire.shown import shown

if TYPE_CHECKING:
    import signal

    from scapy_mpa.capture import Capture
else:
    # ``signal`` makes enumerations of all that is in it, which takes longer than all that is done
    # here; and a command is to start soon.
    import _signal as signal


NEVER: Final = float("inf")

STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Those that end a program; not all systems have each."""
_QUESTIONS: Final = ("SIGUSR1", "SIGINFO")
"""Those that ask how far it is."""

_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)

_WAIT: Final = 0.05
"""Seconds for which octets are waited for at a time: after a signal Python goes on waiting."""

_LAST_WORDS: Final = 0.25
"""Seconds for which a pipe is read after Ctrl-C, unless it ends before.  That ends the program that
captures, too, which writes only then what it has held back."""


class Attention:
    """A context manager, in which captures that are opened with :meth:`may_read` are read.

    All is done between two reads, where nothing is in the midst of a segment: after a signal a
    capture ends.  The next one ends the program at once.

    :param stops: names of the signals that end reading.
    :param every: seconds between two calls of :attr:`tick`.
    """

    def __init__(self, stops: Sequence[str] = STOPS, *, every: float = NEVER) -> None:
        self._stops = stops
        self.every = every
        self.number = 0
        """Of the signal that came; 0 if none did."""
        self.tick: Callable[[], None] | None = None
        """What is to be done again and again while a capture is read."""
        self._next_tick = NEVER
        self._where: Callable[[], str] | None = None
        """None if no capture is open."""
        self._is_opening = False
        self._is_asked = False
        self._read_until = 0.0
        self._stack = ExitStack()

    def __enter__(self) -> Attention:
        self._stack.enter_context(_heeding(self._stops, self._stop, once=True))
        self._stack.enter_context(_heeding(_QUESTIONS, self._ask))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Have a signal end a block that opens a capture, such as a pipe that has no writer yet.

        Once it can be read, signals are seen to where the next octets are waited for.

        :raises Stopped: a signal came.
        """
        self._is_opening = True
        try:
            self._check()
            yield
        finally:
            self._is_opening = False

    @contextmanager
    def reading(self, where: Callable[[], str]) -> Iterator[None]:
        """Have a signal end what is read in a block, and not the block.

        :param where: says how far it is.
        :raises Stopped: at the end, if a signal came.
        """
        self._where = where
        try:
            yield
        finally:
            self._where = self.tick = None
            self._check()

    def _check(self) -> None:
        if self.number:
            raise Stopped(self.number)

    def _stop(self, number: int) -> None:
        self.number = number
        self._read_until = monotonic() + _LAST_WORDS * (number == SIGINT)
        if self._is_opening:
            raise Stopped(number)

    def _ask(self, number: int) -> None:
        self._is_asked = True

    def may_read(self, file: BinaryIO) -> bool:
        """Wait until a file can be read; return whether it is to be."""
        self._is_opening = False
        takes_long = _may_take_long(file)
        while True:
            now = monotonic()
            if self.number and (not takes_long or now >= self._read_until):
                return False
            self._attend(now)
            if not takes_long or _is_ready(file):
                return True

    def _attend(self, now: float) -> None:
        """Do what it is time for."""
        if self._is_asked:
            self._is_asked = False
            complain("nothing was read yet" if self._where is None else self._where())
        if self.tick is not None and now >= self._next_tick:
            self.tick()
            # Later than planned, rather than with no time left to read.
            now = monotonic()
            self._next_tick = now + self.every
        self._next_tick = min(self._next_tick, now + self.every)


def _may_take_long(file: BinaryIO) -> bool:
    """Tell whether reading a file may take long, and can be waited for."""
    try:
        return os.name == "posix" and not os.path.isfile(file.fileno())
    except OSError:
        return False


def _is_ready(file: BinaryIO) -> bool:
    """Wait for a moment until a file can be read; tell whether it can."""
    # What most captures have no use for is not imported for them.
    from select import select

    return bool(select([file], [], [], _WAIT)[0])


@contextmanager
def _heeding(
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
def stopping(what: str) -> Iterator[None]:
    """Let signals end a block as an exception does, so that it can tidy up.

    :param what: what is to be said then.
    :raises KeyboardInterrupt: a signal came.
    """

    def stop(number: int) -> None:
        raise Stopped(number)

    try:
        with _heeding(STOPS, stop, once=True):
            yield
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else SIGINT
        name = next(each for each in STOPS if getattr(signal, each, None) == number)
        complain(f"{what}, stopped by {name}")
        raise


def where(capture: Capture, connections: int, fpdus: int) -> str:
    """Say how far a capture is read.

    :param connections: how many were found so far.
    :param fpdus: how many were found so far.
    """
    octets = capture.octets_read
    share = f" ({octets * 100 // capture.size}%)" if capture.size else ""
    return (
        f"{shown(capture.name)}: frames {capture.frames}, octets {octets}{share}, "
        f"connections {connections}, FPDUs {fpdus}"
    )


def interrupted(frames: int) -> str:
    """Say that a signal ended reading.

    :param frames: how many were read.
    """
    return f"interrupted {f'after frame {frames}' if frames else 'before any frame'}"
