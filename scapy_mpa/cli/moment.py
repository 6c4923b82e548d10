# SPDX-License-Identifier: GPL-2.0-or-later
"""Times on the command line: seconds since the first frame, or dates."""

import re
from datetime import datetime, timezone
from typing import Final, NamedTuple

from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["Span", "span"]

_SECONDS: Final = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?")
_DATE: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-][0-9]{2}):?([0-9]{2}))?)?"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SHOWN: Final = 6
"""Digits after the point with which the listing shows seconds."""


class Moment(NamedTuple):
    """A time."""

    time_ns: int
    """Since the first frame, or since the epoch."""
    is_relative: bool
    rounded_ns: int = 0
    """By how much it may have been rounded."""

    def after(self, first_time_ns: int) -> int:
        """Return it in nanoseconds since the epoch.

        :param first_time_ns: when the first frame was captured.
        """
        return self.time_ns + first_time_ns if self.is_relative else self.time_ns


class Span(NamedTuple):
    """Two times and all between them."""

    begin: Moment
    end: Moment

    def holds(self, time_ns: int, first_time_ns: int) -> bool:
        """Tell whether a time lies in it.

        :param time_ns: in nanoseconds since the epoch, as the other one.
        :param first_time_ns: when the first frame was captured.
        """
        begin, end = self
        return (
            begin.after(first_time_ns) - begin.rounded_ns
            <= time_ns
            <= end.after(first_time_ns) + end.rounded_ns
        )


def span(begin: str, end: str) -> Span:
    """Return what lies between two times.

    :raises LocalProtocolError: one of them is none, or the second is before the first.
    """
    found = Span(_moment(begin), _moment(end))
    if found.begin.is_relative == found.end.is_relative and found.end < found.begin:
        raise LocalProtocolError(f"{quoted(end)} is before {quoted(begin)}")
    return found


def _moment(text: str) -> Moment:
    """Return a time.

    :raises LocalProtocolError: it is none.
    """
    if seconds := _SECONDS.fullmatch(text):
        sign, whole, fraction = seconds.groups("")
        time_ns = int(whole) * SECOND + _nanoseconds(fraction)
        rounded_ns = SECOND // 10**_SHOWN // 2 if len(fraction) <= _SHOWN else 0
        return Moment(-time_ns if sign else time_ns, True, rounded_ns)
    if date := _DATE.fullmatch(text):
        day, clock, fraction, hours, minutes = date.groups("")
        zone = f"{hours or '+00'}:{minutes or '00'}"
        try:
            since = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}") - _EPOCH
        except ValueError as error:
            raise LocalProtocolError(f"{quoted(text)} is no time: {error}") from error
        return Moment((since.days * 86400 + since.seconds) * SECOND + _nanoseconds(fraction), False)
    raise LocalProtocolError(
        f"{quoted(text)} is no time: neither seconds since the first frame, such as 1.5, "
        "nor a date such as 2026-11-28T12:00:00"
    )


def _nanoseconds(fraction: str) -> int:
    """Return what digits after the point of a second stand for."""
    return int(fraction.ljust(9, "0"))
