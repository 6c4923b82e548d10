# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory that a user may allow the stream core, and bounds that several parts share.

Everything that a limit drops is reported with the reason ``limit``: octets as a gap, a connection
as ended.
"""

from typing import Final, NamedTuple

from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH, fpdu_length

LATE_SEGMENTS: Final = 64
"""A segment may be captured so many segments late: after segments that were sent later, or after
its acknowledgement.  Then it is not waited for any more."""

STREAMING_OCTETS: Final = 1 << 18
"""After so many octets in streaming mode, only a startup frame can show that a direction is iWARP.
They are enough for a few of the longest FPDUs.  All other TCP traffic pays for the search of these
octets."""

FRAMING_WINDOW: Final = fpdu_length(LARGEST_ULPDU_LENGTH, 0)
"""No FPDU is longer.  Unexplained octets are of no use after so many further octets."""

LONGEST_WAIT: Final = STREAMING_OCTETS
"""The search must find where FPDUs go on within so many octets, and decides after them."""

READ_AT_A_TIME: Final = 4 << 10
"""Octets that are searched at one time.  FPDUs mostly are near, and no step may take long."""


class _Limits(NamedTuple):
    octets_per_half: int
    """Octets that one half connection may hold while it waits for missing octets, with the overhead
    in memory; at least 1.

    A sender has at most its window under way.  So a hole with more than 4 MiB after it nearly
    always stays.  Paths with larger windows need more.  With less than some 600 KiB, FPDUs after a
    wrong ULPDU_Length may not be found.  With less than some 64 KiB, long FPDUs may
    never be found."""

    octets_in_total: int
    """Octets that all half connections together may hold; at least 1.

    All SCTP associations may hold as many, with the memory of each association and session.
    A few busy connections need less.  Thousands with a hole each would otherwise fill any memory.
    """

    connections: int
    """Connections that are followed at one time; at least 1.

    An idle connection takes some 2 KiB.  At this number, an eighth of them is ended: those without
    a segment for longest."""

    idle_seconds: float
    """Seconds without a segment after which a connection may be ended to make room for others;
    more than 0.

    TCP sends its first keep-alive after two hours (RFC 9293 3.8.4)."""


class Limits(_Limits):
    """Limits of the memory that one capture may take.

    :raises ValueError: a value is not a number, or out of its range.
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
        # Rejects NaN, too.
        if not isinstance(self.idle_seconds, (int, float)) or not self.idle_seconds > 0:
            raise ValueError(f"idle_seconds is {self.idle_seconds!r}; it must be more than 0")
        return self


def limits_of(given: Limits | None) -> Limits:
    """Return the given limits, or the default limits for None.

    :raises TypeError: they are something else.
    """
    limits: object = Limits() if given is None else given
    if not isinstance(limits, Limits):
        raise TypeError(f"limits are {given!r}; give Limits(...), such as Limits(connections=1000)")
    return limits
