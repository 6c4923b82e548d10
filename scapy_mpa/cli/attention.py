# SPDX-License-Identifier: GPL-2.0-or-later
"""Handles signals and regular tasks while captures are read."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scapy_mpa.cli.status import SIGINT, Stopped, complain
from scapy_mpa.wire.shown import shown

if TYPE_CHECKING:
    from scapy_mpa.capture import Capture

NEVER: Final = float("inf")

STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a program; not every system has all of them."""
_STATUS_SIGNALS: Final = ("SIGUSR1", "SIGINFO")
"""Signals that ask for the progress."""

_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)

_WAIT: Final = 0.05
"""Seconds of one wait for octets.  Waits are short, since Python goes on waiting after a signal."""

_DRAIN_SECONDS: Final = 0.25
"""Seconds for which a pipe is read after Ctrl-C, unless it ends before.  Ctrl-C also ends the
capturing program, which then writes the frames of its buffer."""


class Attention:
    """A context manager for reading captures that are opened with :meth:`may_read`.

    Signals and tasks are handled between two reads, when no segment is half processed.  After the
    first signal the capture ends; a second one ends the program at once.

    :param stops: names of the signals that end reading.
    :param every: seconds between two calls of :attr:`tick`.
    """

    def __init__(self, stops: Sequence[str] = STOPS, *, every: float = NEVER) -> None:
        self._stops = stops
        self.every = every
        self.number = 0
        """The number of the signal that came; 0 if none did."""
        self.tick: Callable[[], None] | None = None
        """The task that is repeated while a capture is read."""
        self._next_tick = NEVER
        self._progress: Callable[[], str] | None = None
        """None if no capture is open."""
        self._is_opening = False
        self._is_progress_wanted = False
        self._read_until = 0.0
        self._stack = ExitStack()

    def __enter__(self) -> Attention:
        self._stack.enter_context(_handling(self._stops, self._stop, once=True))
        self._stack.enter_context(_handling(_STATUS_SIGNALS, self._ask_progress))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Have a signal end a block that opens a capture, such as a pipe that has no writer yet.

        As soon as the capture is read, :meth:`may_read` handles signals instead.

        :raises Stopped: a signal came.
        """
        self._is_opening = True
        try:
            self._check()
            yield
        finally:
            self._is_opening = False

    @contextmanager
    def reading(self, progress: Callable[[], str]) -> Iterator[None]:
        """Have a signal end the capture that a block reads, but not the block itself.

        :param progress: returns a text with the progress.
        :raises Stopped: at the end of the block, if a signal came.
        """
        self._progress = progress
        try:
            yield
        finally:
            self._progress = self.tick = None
            self._check()

    def _check(self) -> None:
        if self.number:
            raise Stopped(self.number)

    def _stop(self, number: int) -> None:
        self.number = number
        self._read_until = monotonic() + _DRAIN_SECONDS * (number == SIGINT)
        if self._is_opening:
            raise Stopped(number)

    def _ask_progress(self, number: int) -> None:
        self._is_progress_wanted = True

    def may_read(self, file: BinaryIO) -> bool:
        """Wait until a file can be read; return False if reading must end."""
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
        """Print the progress if it was asked for, and call :attr:`tick` if it is due."""
        if self._is_progress_wanted:
            self._is_progress_wanted = False
            complain("nothing was read yet" if self._progress is None else self._progress())
        if self.tick is not None and now >= self._next_tick:
            self.tick()
            # Counted from its end: a slow task must not use up the time for reading.
            now = monotonic()
            self._next_tick = now + self.every
        self._next_tick = min(self._next_tick, now + self.every)


def _may_take_long(file: BinaryIO) -> bool:
    """Return whether a read may take long, and ``select`` can wait for it."""
    try:
        return os.name == "posix" and not os.path.isfile(file.fileno())
    except OSError:
        return False


def _is_ready(file: BinaryIO) -> bool:
    """Wait for a moment until a file can be read; return whether it can."""
    # Imported late: most captures do not need it.
    from select import select

    return bool(select([file], [], [], _WAIT)[0])


@contextmanager
def _handling(
    names: Sequence[str], handle: Callable[[int], None], *, once: bool = False
) -> Iterator[None]:
    """Have ``handle`` called with the number of each of these signals that comes during a block.

    A signal that is ignored, as after ``nohup``, stays ignored.

    :param once: a second signal ends the program at once.
    """
    old_handlers: dict[int, Any] = {}

    def take(number: int, frame: FrameType | None) -> None:
        if once:
            for each in old_handlers:
                signal.signal(each, signal.SIG_DFL)
            old_handlers.clear()
        handle(number)

    try:
        for number in (getattr(signal, name, None) for name in names):
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler in _DEFAULTS:
                # Python handles signals in its main thread only.
                with suppress(ValueError):
                    signal.signal(number, take)
                    old_handlers[number] = handler
        yield
    finally:
        for each, handler in old_handlers.items():
            signal.signal(each, handler)


@contextmanager
def stopping(what: str) -> Iterator[None]:
    """Have a signal end a block by an exception, so that the block can clean up.

    :param what: the message to print then.
    :raises KeyboardInterrupt: a signal came.
    """

    def stop(number: int) -> None:
        raise Stopped(number)

    try:
        with _handling(STOPS, stop, once=True):
            yield
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else SIGINT
        name = next(each for each in STOPS if getattr(signal, each, None) == number)
        complain(f"{what}, stopped by {name}")
        raise


def progress_text(capture: Capture, connections: int, fpdus: int) -> str:
    """Return a text with the progress of reading a capture.

    :param connections: number of connections found so far.
    :param fpdus: number of FPDUs found so far.
    """
    octets = capture.octets_read
    share = f" ({octets * 100 // capture.size}%)" if capture.size else ""
    return (
        f"{shown(capture.name)}: frames {capture.frames}, octets {octets}{share}, "
        f"connections {connections}, FPDUs {fpdus}"
    )


def interrupted(frames: int) -> str:
    """Return a text which says that a signal ended reading.

    :param frames: number of frames read.
    """
    return f"interrupted {f'after frame {frames}' if frames else 'before any frame'}"
