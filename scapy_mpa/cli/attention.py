# SPDX-License-Identifier: GPL-2.0-or-later
"""Handles signals, and a regular task, while captures are read."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any, BinaryIO, Final

from scapy_mpa.cli.status import SIGINT, Stopped, complain

NEVER: Final = float("inf")

STOPS: Final = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a program; not every system has all of them."""
_DEFAULTS: Final = (signal.SIG_DFL, signal.default_int_handler)

_WAIT: Final = 0.05
"""Seconds of one wait for octets.  Waits are short, since Python goes on waiting after a signal."""

_DRAIN_SECONDS: Final = 0.25
"""Seconds for which a pipe is read after Ctrl-C, unless it ends before.  Ctrl-C also ends the
capturing program, which then writes the frames of its buffer."""


class Attention:
    """Ends the reading of a capture after a signal, and repeats a task while it is read.

    Both happen between two reads, when no segment is half processed.  So the capture must be opened
    with :meth:`may_read`.  A second signal ends the program at once, and so does a signal while no
    capture is read.

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
        self._read_until = 0.0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have a signal end the capture that a block reads, but not the block itself.

        :raises Stopped: at the end of the block, if a signal came.
        """
        try:
            with _handling(self._stops, self._stop):
                yield
        finally:
            self.tick = None
            if self.number:
                raise Stopped(self.number)

    def _stop(self, number: int) -> None:
        self.number = number
        self._read_until = monotonic() + _DRAIN_SECONDS * (number == SIGINT)

    def may_read(self, file: BinaryIO) -> bool:
        """Wait until a file can be read; return False if reading must end."""
        takes_long = _may_take_long(file)
        while True:
            now = monotonic()
            if self.number and (not takes_long or now >= self._read_until):
                return False
            if self.tick is not None and now >= self._next_tick:
                self.tick()
                # Counted from its end: a slow task must not use up the time for reading.
                now = monotonic()
                self._next_tick = now + self.every
            self._next_tick = min(self._next_tick, now + self.every)
            if not takes_long or _is_ready(file):
                return True


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
def _handling(names: Sequence[str], handle: Callable[[int], None]) -> Iterator[None]:
    """Have ``handle`` called with the number of the first of these signals during a block.

    A second signal ends the program at once.  A signal that is ignored, as after ``nohup``, stays
    ignored.
    """
    old_handlers: dict[int, Any] = {}

    def take(number: int, frame: FrameType | None) -> None:
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
        with _handling(STOPS, stop):
            yield
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Stopped) else SIGINT
        complain(f"{what}, stopped by {signal.Signals(number).name}")
        raise


def interrupted(frames: int) -> str:
    """Return a text which says that a signal ended reading.

    :param frames: number of frames read.
    """
    return f"interrupted {f'after frame {frames}' if frames else 'before any frame'}"
