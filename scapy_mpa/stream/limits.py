# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that a user may allow the stream core; and bounds that several parts share.

Whatever is dropped because of a limit is reported: octets as a gap, a connection as ended, both
with the reason ``limit``.
"""

from typing import Final, NamedTuple

LATE_SEGMENTS: Final = 64
"""A capture may hold a segment so many segments late: after others that were sent later, or after
its acknowledgement.  After that it is not waited for."""

STREAMING_OCTETS: Final = 1 << 18
"""Octets in streaming mode after which a direction is not taken for iWARP any more, unless a
startup frame comes: enough for a few of the longest FPDUs.  All other TCP traffic pays for the
search in them."""

FRAMING_WINDOW: Final = 66_560
"""No FPDU is longer: 64 KiB of ULPDU, 130 Markers, header, pad and CRC.  Octets that could not
be placed are of no use once this much follows them."""

LONGEST_WAIT: Final = 4 * FRAMING_WINDOW
"""Octets after which a decision is due, and in which a place to go on is searched."""

READ_FIRST: Final = 2 << 10
READ_AT_A_TIME: Final = 64 << 10
"""Octets that are searched at one time, at first and at most: what is found is mostly near, and
memory does not grow with what is searched."""


class _Limits(NamedTuple):
    octets_per_half: int
    """Octets that one half connection may hold while it waits for others, those of memory that
    holding them takes included; at least 1.

    A sender has no more than its window under way.  So more than 4 MiB after a hole nearly always
    mean that the hole will stay.  Paths with larger windows need more.  With less than some 600
    KiB, FPDUs may not be found after a wrong ULPDU_Length.  With less than some 64 KiB, long FPDUs
    may not be found anywhere."""

    octets_in_total: int
    """Octets that all half connections together may hold, and as many all SCTP associations, what
    each of these and of their sessions takes included; at least 1.

    A few busy connections need less; thousands with a hole each would otherwise fill any memory.
    """

    connections: int
    """Connections that are followed at one time; at least 1.

    One that is idle takes some 2 KiB.  When there are as many, an eighth of them is ended: those
    without a segment for longest."""

    idle_seconds: float
    """Seconds without a segment after which a connection may be ended to make room for others;
    more than 0.

    TCP's own keep-alive asks after two hours (RFC 9293 3.8.4)."""


class Limits(_Limits):
    """Limits of the memory that one capture may take.

    :raises ValueError: a value is no number, or out of its range.
    """

    __slots__ = ()

    def __new__(
        cls,
        octets_per_half: int = 4 << 20,
        octets_in_total: int = 12 << 20,
        connections: int = 1 << 17,
        idle_seconds: float = 7200.0,
    ) -> "Limits":
        self = super().__new__(cls, octets_per_half, octets_in_total, connections, idle_seconds)
        for name in ("octets_per_half", "octets_in_total", "connections"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}; it must be an integer of at least 1")
        # Written so that NaN fails, too.
        if not isinstance(self.idle_seconds, (int, float)) or not self.idle_seconds > 0:
            raise ValueError(f"idle_seconds is {self.idle_seconds!r}; it must be more than 0")
        return self


def limits_of(given: Limits | None) -> Limits:
    """Return the limits that were given, those that are usual if none were.

    :raises TypeError: it is something else.
    """
    limits: object = Limits() if given is None else given
    if not isinstance(limits, Limits):
        raise TypeError(f"limits are {given!r}; give Limits(...), such as Limits(connections=1000)")
    return limits
