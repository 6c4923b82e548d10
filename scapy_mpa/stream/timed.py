# SPDX-License-Identifier: GPL-2.0-or-later
"""When a connection began, how long its beginning took, and where it stalled.

Progress is an octet that was not captured before, or an acknowledgement of one more.  Copies and
repeated acknowledgements are none.
"""

from __future__ import annotations

import struct
from typing import Final

from scapy_mpa.stream.events import Timing
from scapy_mpa.stream.segment import HANDSHAKE, SECOND, SYN, Segment

STALL_NS: Final = SECOND // 5
"""Time without progress that is a stall: no timer of Linux retransmits earlier (TCP_RTO_MIN).  RFC
6298 2.4 has one second, which hardly any stack keeps to."""

_BEGINNING: Final = struct.Struct("=I3q?")
"""First frame, its time, how long the handshake took, when the Request came or how long startup
took, and whether that is over.  As integers they would take twice the memory, and there may be a
hundred thousand open connections."""
_LEAST: Final = -1 << 63
"""Not known; and any time from before the year 1677."""
_MOST: Final = -_LEAST - 1
"""Any time after the year 2262."""
_LAST_FRAME: Final = (1 << 32) - 1
_NO_STALLS: Final = 0, 0, None, 0


class Timed:
    """The times of a connection, whoever follows it.

    :param segment: its first one.
    """

    __slots__ = (
        "_began",
        "late_ns",
        "moved_ns",
        "stalls",
    )

    def __init__(self, segment: Segment) -> None:
        self._began = _packed(segment.frame, segment.time_ns, _LEAST, _LEAST)
        self.moved_ns = segment.time_ns
        """When the last progress was captured, by the fastest clock of those that interfaces have:
        the others would make a stall of each segment."""
        self.late_ns = 0 if segment.flags & HANDSHAKE == SYN else segment.time_ns
        """No stall has lasted long enough before this time; 0 until the handshake is over."""
        self.stalls: tuple[int, int, int | None, int] = _NO_STALLS
        """How many, how long the longest was, the frame that ended it, and whose octets waited."""

    @property
    def is_opening(self) -> bool:
        """Whether the handshake is not over."""
        return not self.late_ns

    def end_handshake(self, time_ns: int) -> None:
        """Take the first segment that the sender of the SYN sends after it."""
        frame, first_ns, _, startup_ns, is_over = _BEGINNING.unpack(self._began)
        self._began = _packed(frame, first_ns, time_ns - first_ns, startup_ns, is_over)
        self.move(time_ns)
        self.late_ns = self.moved_ns

    def move(self, time_ns: int) -> None:
        """Take progress."""
        self.moved_ns = max(self.moved_ns, time_ns)

    def is_late(self, time_ns: int) -> bool:
        """Tell whether a segment comes so long after the last progress that it may end a stall."""
        if self.is_opening or time_ns < self.late_ns:
            return False
        self.late_ns = self.moved_ns + STALL_NS
        return time_ns >= self.late_ns

    def begin_startup(self, time_ns: int | None) -> None:
        """Take a Request.

        :param time_ns: when it was captured, None if it was found later.
        """
        frame, first_ns, handshake_ns, *_ = _BEGINNING.unpack(self._began)
        asked_ns = _LEAST if time_ns is None else time_ns
        self._began = _packed(frame, first_ns, handshake_ns, asked_ns)

    def end_startup(self, time_ns: int | None) -> None:
        """Take a Reply that accepts.

        :param time_ns: as of the Request.
        """
        frame, first_ns, handshake_ns, asked_ns, is_over = _BEGINNING.unpack(self._began)
        is_known = time_ns is not None and asked_ns != _LEAST and not is_over
        startup_ns = time_ns - asked_ns if time_ns is not None and is_known else _LEAST
        self._began = _packed(frame, first_ns, handshake_ns, startup_ns, True)

    def end_stall(self, frame: int, time_ns: int, waiting: int) -> None:
        """Take progress after which :meth:`is_late` was true.

        :param frame: brings it.
        :param waiting: whose octets were outstanding before: 1 << direction, or both.
        """
        self.stalls = self._stalls(frame, time_ns, waiting)

    def _stalls(
        self, frame: int | None, time_ns: int, waiting: int
    ) -> tuple[int, int, int | None, int]:
        """Return the stalls, among them the time since the last progress if that is one."""
        lasted = time_ns - self.moved_ns
        if not waiting or lasted < STALL_NS or self.is_opening:
            return self.stalls
        count, longest, ended_by, stalled = self.stalls
        if lasted > longest:
            longest, ended_by, stalled = lasted, frame, waiting
        return count + 1, longest, ended_by, stalled

    def timing(self, time_ns: int, waiting: int) -> Timing:
        """Return what is reported of all this at the end.

        :param time_ns: of the last segment.
        :param waiting: whose octets are outstanding, as of :meth:`end_stall`.
        """
        stalls = self._stalls(None, time_ns, waiting)
        frame, first_ns, *took, is_over = _BEGINNING.unpack(self._began)
        handshake_ns, startup_ns = [None if each == _LEAST else each for each in took]
        if not is_over:
            startup_ns = None
        return Timing(frame, first_ns, handshake_ns, startup_ns, *stalls)


def _packed(
    frame: int, first_ns: int, handshake_ns: int, startup_ns: int, is_over: bool = False
) -> bytes:
    """Return a beginning as octets."""
    try:
        return _BEGINNING.pack(frame, first_ns, handshake_ns, startup_ns, is_over)
    except struct.error:
        # A capture may claim any time.
        times = [max(_LEAST, min(each, _MOST)) for each in (first_ns, handshake_ns, startup_ns)]
        return _BEGINNING.pack(min(frame, _LAST_FRAME), *times, is_over)
