# SPDX-License-Identifier: GPL-2.0-or-later
"""Headers of FPDUs back to back: they tell which word is part of one, and which a Marker.

An MSN of 12 may stand where a Marker says 12, and what is left of the header if that is taken for
the Marker may make sense as well.  But the MSNs of a queue ascend, by one from message to message,
and are the same in all segments of a message, of which each MO is where the one before ends
(RFC 5041 4.3, 5.1, 5.2).
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from scapy_mpa.stream.inference.sight import Sight
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.fpdu import MARKER_INTERVAL
from scapy_mpa.wire.rdmap import plausible

__all__ = ["Irregular", "irregular"]

_FPDUS: Final = 64
"""How many are looked at."""
_MODULUS: Final = 1 << 32


class Irregular(NamedTuple):
    """What is not as a conforming sender has it, from what tells most to what tells least."""

    senseless: int = 0
    """Headers that make no sense."""
    descents: int = 0
    """MSNs below that of the FPDU before, of the same queue."""
    astray: int = 0
    """MOs that are not where the FPDU before, of the same queue, has ended, or its message."""
    left_out: int = 0
    """MSNs that are in no FPDU."""


def irregular(sight: Sight, start: int, origin: int) -> Irregular:
    """Return what is irregular about the FPDUs from one on.

    :param start: where the first one begins.
    :param origin: position from which Markers are counted.
    """
    senseless = descents = astray = left_out = 0
    last: dict[int, tuple[int, int]] = {}
    for _ in range(_FPDUS):
        reading = sight.read(start, (start - origin) % MARKER_INTERVAL)
        if reading is None:
            break
        head = sight.header(reading)
        length = sight.number(reading.start + reading.layout.header)
        senseless += not plausible(head, length)
        header = ddp_header_of(head)
        if header is not None and header.qn is not None:
            qn, msn, mo = cast("tuple[int, int, int]", (header.qn, header.msn, header.mo))
            before, end = last.get(qn, (msn, mo))
            step = (msn - before) % _MODULUS
            if step < SEQUENCE_WINDOW:
                left_out += max(0, step - 1)
            else:
                descents += 1
            astray += mo != (0 if step else end)
            last[qn] = msn, 0 if header.last else mo + length - header.length
        start = reading.end
    return Irregular(senseless, descents, astray, left_out)
