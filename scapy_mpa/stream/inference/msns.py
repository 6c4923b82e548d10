# SPDX-License-Identifier: GPL-2.0-or-later
"""MSNs of FPDUs back to back: they tell which word of a header is one, and which a Marker.

An MSN of 12 may stand where a Marker says 12, and what is left of the header if that is taken for
the Marker may make sense as well.  But the MSNs of a queue ascend, by one from message to message,
and are the same in all segments of a message (RFC 5041 4.3, 5.1).
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.inference.sight import Sight
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.fpdu import MARKER_INTERVAL

__all__ = ["irregular_steps"]

_FPDUS: Final = 64
"""How many are looked at."""
_MODULUS: Final = 1 << 32


def irregular_steps(sight: Sight, start: int, origin: int) -> tuple[int, int]:
    """Return how often MSNs descend from an FPDU to the next one of its queue, and how many they
    leave out.

    :param start: where the first FPDU begins.
    :param origin: position from which Markers are counted.
    """
    descents = left_out = 0
    last: dict[int, int] = {}
    for _ in range(_FPDUS):
        reading = sight.read(start, (start - origin) % MARKER_INTERVAL)
        if reading is None:
            break
        header = ddp_header_of(sight.header(reading))
        if header is not None and header.qn is not None and header.msn is not None:
            step = (header.msn - last.get(header.qn, header.msn)) % _MODULUS
            if step < SEQUENCE_WINDOW:
                left_out += max(0, step - 1)
            else:
                descents += 1
            last[header.qn] = header.msn
        start = reading.end
    return descents, left_out
