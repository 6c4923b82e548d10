# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of one ring: a capture that was written into one file after the other.

Names show which files may be of one ring, as dumpcap and tcpdump name them.  Times show whether
they are.
"""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.reader import STANDARD_INPUT, Capture, open_capture
from scapy_mpa.capture.source import SUFFIXES, MayRead, at_once, regular_size
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import CaptureError

_NUMBERS: Final = re.compile(
    # Date and time, or seconds since the epoch: tcpdump -G, and dumpcap.
    r"\d{4}-?\d\d-?\d\d[-_T.]?\d\d[-:.]?\d\d(?:[-:.]?\d\d)?(?!\d)|\d{10,}"
    # The number of the file, of dumpcap, and at the end of the name, of tcpdump -C.
    r"|(?<=_)\d{5,}|\d+$"
)
"""The parts that differ in the names of files of one ring."""


def rings(names: Sequence[str], *, joined: bool = False) -> list[list[str]]:
    """Return the names in groups.  The files of a group may be of one ring.

    The files of a group are in the order of their first frames.  The groups are in the order of
    their first names.  A file is a group by itself if it is no regular file, if no frame of it can
    be read, or if it is named twice; with another compression it is still the same file.

    :param joined: all files are one group; those without a time come last.
    """
    if joined:
        return [[name for group in _in_order(names) for name in group]]
    often = Counter(map(_uncompressed, names))
    groups: list[list[str]] = []
    known: dict[str, list[str]] = {}
    for name in names:
        group = [name]
        if often[_uncompressed(name)] == 1 and _size(name):
            group = known.setdefault(_without_numbers(name), group)
        if group == [name]:
            groups.append(group)
        else:
            group.append(name)
    return [ordered for group in groups for ordered in _in_order(group)]


def _without_numbers(name: str) -> str:
    """Return the part of a name that files of one ring share.

    tcpdump -z compresses each file but the last, so the suffix of a compression does not count.
    """
    directory, file = os.path.split(_uncompressed(name))
    return os.path.join(directory, _NUMBERS.sub("", file))


def _uncompressed(name: str) -> str:
    """Return a name without the suffix of a compression."""
    plain, suffix = os.path.splitext(name)
    return plain if suffix in SUFFIXES else name


def _in_order(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names in order of time, then each name without a time."""
    if len(names) == 1:
        yield list(names)
        return
    begins = [(_begin(name), name) for name in names]
    dated = [
        (begin, [int(digits) for digits in re.findall(r"\d+", _uncompressed(name))], name)
        for begin, name in begins
        if begin is not None
    ]
    if dated:
        yield [name for *_, name in sorted(dated)]
    yield from ([name] for begin, name in begins if begin is None)


def _begin(name: str) -> int | None:
    """Return the time of the first frame, in nanoseconds; None if no frame can be read.

    None also for a pipe: it can be read only once.
    """
    with suppress(CaptureError):
        if _size(name) is not None:
            with open_capture(name) as capture:
                return next((frame.time_ns for frame in capture), None)
    return None


def _unit(name: str) -> int:
    """Return the unit of the times of a file; a second, which is the longest, if it has none.

    A pipe, which can be read only once, may have nanoseconds.
    """
    with suppress(CaptureError):
        if _size(name) is None:
            return 1
        with open_capture(name) as capture:
            return capture.unit
    return SECOND


def _size(name: str) -> int | None:
    """Return the octets of a file, 0 if there is none; None: it is standard input or a pipe."""
    with suppress(OSError):
        return None if name == STANDARD_INPUT else regular_size(name)
    return 0


class Ring(Capture):
    """Files of one ring as one capture: frame numbers go on from file to file.

    Reading ends before a file whose first frame is earlier than the last frame of the file before
    it.  :attr:`parts` are the files that were read.

    :param names: file names in order of time.
    :param may_read: as in :func:`~scapy_mpa.capture.open_capture`.
    :param joined: a file may begin earlier than the one before it ends.
    :raises CaptureError: no file is a capture that can be read; a line for each.
    """

    def __init__(
        self, names: Sequence[str], may_read: MayRead = at_once, *, joined: bool = False
    ) -> None:
        self._may_read = may_read
        self._joined = joined
        sizes = [_size(name) for name in names]
        self.size = None if None in sizes else sum(filter(None, sizes))
        self.lost: list[CaptureError] = []
        waiting = deque(names)
        while not (first := self._opened(waiting.popleft())):
            if not waiting:
                raise CaptureError("\n".join(map(str, self.lost)))
        self._parts = [first]
        self.name = first.name
        self._following = list(waiting)
        self.raw_frames = self._chained()

    @property
    def parts(self) -> Sequence[Capture]:
        return self._parts

    @property
    def octets_read(self) -> int:
        return sum(part.octets_read for part in self._parts)

    @property
    def unit(self) -> int:
        """The smallest unit of its files."""
        return min(self._parts[0].unit, *map(_unit, self._following))

    def close(self) -> None:
        self._parts[-1].close()

    def _opened(self, name: str) -> Capture | None:
        try:
            return open_capture(name, self._may_read)
        except CaptureError as error:
            self.lost.append(error)
            return None

    def _chained(self) -> Iterator[Frame]:
        """Yield the frames of all files, up to the first file that does not continue the ring."""
        frames: Iterable[Frame] = self._parts[0]
        number = latest_ns = 0
        for name in (*self._following, None):
            for frame in frames:
                number += 1
                latest_ns = frame.time_ns
                yield Frame(number, *frame[1:])
            if name is None:
                return
            self.close()
            frames = ()
            part = self._opened(name)
            if part is None:
                continue
            first = next(iter(part), None)
            if first is not None:
                # A message about a fault of this file names the frame before it.
                part.frames += number
                if first.time_ns < latest_ns and not self._joined:
                    part.close()
                    return
                frames = chain((first,), part)
            self._parts.append(part)
