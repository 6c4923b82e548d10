# SPDX-License-Identifier: GPL-2.0-or-later
"""The times of a connection: how long its beginning took, where it stalled, its last segment.

Progress is a new octet, or an acknowledgement of a new octet.  Copies and repeated
acknowledgements are no progress.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import Timing
from scapy_mpa.stream.segment import BEFORE_ALL_NS, SECOND, Segment
from scapy_mpa.wire.tcp import HANDSHAKE, SYN

STALL_NS: Final = SECOND // 5
"""The shortest time without progress that counts as a stall, in nanoseconds.  No timer of Linux
retransmits earlier (TCP_RTO_MIN).  RFC 6298 2.4 demands one second, but hardly any stack waits so
long."""

_NO_STALLS: Final = 0, 0, None, 0


class Timed:
    """The times of a connection, on the straight path and in recovery.

    :param segment: its first segment.
    """

    __slots__ = (
        "_first_frame",
        "_first_ns",
        "_handshake_ns",
        "_request_ns",
        "_startup_ns",
        "frame",
        "late_ns",
        "progress_ns",
        "stalls",
        "time_ns",
    )

    def __init__(self, segment: Segment) -> None:
        self._first_frame = segment.frame
        self._first_ns = segment.time_ns
        self.frame = segment.frame
        """The frame of the last segment.  Events carry its number."""
        self.time_ns = segment.time_ns
        """Capture time of the last segment."""
        self._handshake_ns: int | None = None
        self._request_ns: int | None = None
        """Capture time of the Request; None again after the Reply that accepts it."""
        self._startup_ns: int | None = None
        self.progress_ns = segment.time_ns
        """Capture time of the last progress.  If interfaces have different clocks, the fastest
        counts: otherwise each segment with another clock would seem to end a stall."""
        is_opening = segment.flags & HANDSHAKE == SYN
        self.late_ns = BEFORE_ALL_NS if is_opening else segment.time_ns
        """No segment before this time can end a stall.  BEFORE_ALL_NS until the handshake is
        over."""
        self.stalls: tuple[int, int, int | None, int] = _NO_STALLS
        """The last four items of :class:`~scapy_mpa.stream.events.Timing`."""

    def note_segment(self, segment: Segment) -> None:
        """Note the frame and the time of a segment."""
        self.frame = segment.frame
        self.time_ns = segment.time_ns

    @property
    def is_opening(self) -> bool:
        """Whether the handshake is not over."""
        return self.late_ns == BEFORE_ALL_NS

    def end_handshake(self, time_ns: int) -> None:
        """Take the first segment that the sender of the SYN sends after the SYN."""
        self._handshake_ns = time_ns - self._first_ns
        self.progress_ns = self.late_ns = max(time_ns, self.progress_ns)

    def is_late(self, time_ns: int) -> bool:
        """Return whether a segment may end a stall: it comes long after the last progress."""
        if self.is_opening or time_ns < self.late_ns:
            return False
        self.late_ns = self.progress_ns + STALL_NS
        return time_ns >= self.late_ns

    def begin_startup(self, time_ns: int | None) -> None:
        """Take a Request.

        :param time_ns: when it was captured, None if it was found later.
        """
        self._request_ns, self._startup_ns = time_ns, None

    def end_startup(self, time_ns: int | None) -> None:
        """Take a Reply that accepts.

        :param time_ns: as for the Request.
        """
        request_ns, self._request_ns = self._request_ns, None
        self._startup_ns = None
        if time_ns is not None and request_ns is not None:
            self._startup_ns = time_ns - request_ns

    def end_stall(self, frame: int, time_ns: int, stalled: int) -> None:
        """Take a segment with progress for which :meth:`is_late` was true.

        :param stalled: the directions whose octets waited before it: the sum of 1 << direction.
        """
        self.stalls = self._stalls(frame, time_ns, stalled)

    def note_progress(self, frame: int, time_ns: int, stalled: int) -> None:
        """Take a segment with progress.

        :param stalled: as for :meth:`end_stall`; 0 if :meth:`is_late` was false.
        """
        if stalled:
            self.end_stall(frame, time_ns, stalled)
        if time_ns > self.progress_ns:
            self.progress_ns = time_ns

    def _stalls(
        self, frame: int | None, time_ns: int, stalled: int
    ) -> tuple[int, int, int | None, int]:
        """Return ``stalls``, with the time since the last progress if that is a stall."""
        lasted = time_ns - self.progress_ns
        if not stalled or lasted < STALL_NS or self.is_opening:
            return self.stalls
        count, longest, ended_by, stalled_longest = self.stalls
        if lasted > longest:
            longest, ended_by, stalled_longest = lasted, frame, stalled
        return count + 1, longest, ended_by, stalled_longest

    def timing(self, stalled: int) -> Timing:
        """Return the times to report at the end.

        :param stalled: the directions whose octets wait, as for :meth:`end_stall`.
        """
        stalls = self._stalls(None, self.time_ns, stalled)
        return Timing(
            self._first_frame, self._first_ns, self._handshake_ns, self._startup_ns, *stalls
        )
