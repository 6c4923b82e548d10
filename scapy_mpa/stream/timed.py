# SPDX-License-Identifier: GPL-2.0-or-later
"""When a connection began, how long its beginning took, and where it stalled.

Progress is an octet that was not captured before, or an acknowledgement of one more.  Copies and
repeated acknowledgements are none.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import Timing
from scapy_mpa.stream.segment import BEFORE_ALL_NS, HANDSHAKE, SECOND, SYN, Segment

STALL_NS: Final = SECOND // 5
"""Time without progress that is a stall: no timer of Linux retransmits earlier (TCP_RTO_MIN).  RFC
6298 2.4 has one second, which hardly any stack keeps to."""

_NO_STALLS: Final = 0, 0, None, 0


class Timed:
    """The times of a connection, whoever follows it.

    :param segment: its first one.
    """

    __slots__ = (
        "_asked_ns",
        "_first_frame",
        "_first_ns",
        "_handshake_ns",
        "_startup_ns",
        "late_ns",
        "moved_ns",
        "stalls",
    )

    def __init__(self, segment: Segment) -> None:
        self._first_frame = segment.frame
        self._first_ns = segment.time_ns
        self._handshake_ns: int | None = None
        self._asked_ns: int | None = None
        """When the Request was captured, until there is a Reply that accepts."""
        self._startup_ns: int | None = None
        self.moved_ns = segment.time_ns
        """When the last progress was captured, by the fastest clock of those that interfaces have:
        the others would make a stall of each segment."""
        is_opening = segment.flags & HANDSHAKE == SYN
        self.late_ns = BEFORE_ALL_NS if is_opening else segment.time_ns
        """No stall has lasted long enough before this time; not known until the handshake is
        over."""
        self.stalls: tuple[int, int, int | None, int] = _NO_STALLS
        """How many, how long the longest was, the frame that ended it, and whose octets waited."""

    @property
    def is_opening(self) -> bool:
        """Whether the handshake is not over."""
        return self.late_ns == BEFORE_ALL_NS

    def end_handshake(self, time_ns: int) -> None:
        """Take the first segment that the sender of the SYN sends after it."""
        self._handshake_ns = time_ns - self._first_ns
        self.move(time_ns)
        self.late_ns = self.moved_ns

    def move(self, time_ns: int) -> None:
        """Take progress."""
        if time_ns > self.moved_ns:
            self.moved_ns = time_ns

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
        self._asked_ns, self._startup_ns = time_ns, None

    def end_startup(self, time_ns: int | None) -> None:
        """Take a Reply that accepts.

        :param time_ns: as of the Request.
        """
        asked_ns, self._asked_ns = self._asked_ns, None
        self._startup_ns = None
        if time_ns is not None and asked_ns is not None:
            self._startup_ns = time_ns - asked_ns

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
        return Timing(
            self._first_frame, self._first_ns, self._handshake_ns, self._startup_ns, *stalls
        )
