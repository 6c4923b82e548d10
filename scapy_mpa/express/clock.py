# SPDX-License-Identifier: GPL-2.0-or-later
"""When frames were captured, as text: seconds since the first one.

Of frames within the same thousandth of a second only the last three digits differ, and to have
them at hand takes a third of what it takes to format a number.
"""

from __future__ import annotations

from typing import Final, SupportsIndex

from scapy_mpa.stream.segment import SECOND

__all__ = ["Clock", "seconds_text"]

_MICROSECOND: Final = 1000
_THOUSANDTH: Final = 1000
"""Microseconds."""
_WIDTH: Final = 11


def seconds_text(lapse_ns: int) -> str:
    """Return nanoseconds as seconds, rounded to six decimals, 11 characters wide at least."""
    microseconds = _rounded(lapse_ns)
    seconds, rest = divmod(abs(microseconds), SECOND // _MICROSECOND)
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{seconds}.{rest:06}".rjust(_WIDTH)


def _rounded(lapse_ns: int) -> int:
    """Return the nearest microsecond, of two the later one."""
    return (lapse_ns + _MICROSECOND // 2) // _MICROSECOND


class _OfNanoseconds(list[bytes]):
    """Three digits by nanoseconds."""

    def __getitem__(self, index: SupportsIndex | slice) -> bytes:  # type: ignore[override]
        assert isinstance(index, int)
        return super().__getitem__(index // _MICROSECOND)


class Clock:
    """Writes when the frames of a capture were captured.

    The text of a frame is what :meth:`thousandth` returns for it, or for one shortly before, and of
    ``digits`` those that stand at the difference of the two fractions.

    :param unit: nanoseconds in a unit of a fraction: 1000 or 1.
    """

    def __init__(self, unit: int) -> None:
        self._unit = unit
        self._first_ns = 0
        self.digits: list[bytes] = [] if unit == _MICROSECOND else _OfNanoseconds()
        """By units of the fraction, from the first frame on."""

    def begin(self, time_ns: int) -> None:
        """Take note of when the first frame was captured, in nanoseconds since the epoch."""
        self._first_ns = time_ns
        self.digits += [b"%03d" % number for number in range(_THOUSANDTH)]

    def thousandth(self, second: int, fraction: int) -> tuple[bytes, int, int]:
        """Return all but the last three digits for a frame, and of which fractions of the same
        second this holds: the first one, at which the digits are zeros, and the first that is too
        late.

        Where the latter is not behind the former, it holds only for the very frame.
        """
        lapse_ns = second * SECOND + fraction * self._unit - self._first_ns
        text = seconds_text(lapse_ns).encode()
        span = _THOUSANDTH * _MICROSECOND // self._unit
        if _rounded(lapse_ns) < 0:
            # Digits become less.
            since = fraction - int(text[-3:]) * span // _THOUSANDTH
            return text[:-3], since, since
        since = (
            fraction - (lapse_ns + _MICROSECOND // 2) % (_THOUSANDTH * _MICROSECOND) // self._unit
        )
        return text[:-3], since, since + span
