# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for FPDUs in a row where neither CRCs nor startup frames do, in bits.

A bit count is minus the binary logarithm of the chance that other octets look so.  A header alone
is little: tables of numbers or of tags hold thousands of words that read as one, at places to which
lengths lead.  So one FPDU must also go on where another one ended, or hold a Marker.
"""

from collections import Counter
from typing import Final

from scapy_mpa.wire.ddp import DDPHeader, ddp_header_of

__all__ = ["Evidence"]

_PROOF: Final = 40
"""Bits that are enough: in 64 MiB, with 2^26 places, chance makes so much with 2^-14."""
_TAGGED_HEADER: Final = 13
"""Of the 16 control bits 3 are free: Last, and one of few opcodes (RFC 5041 4.2, RFC 5040 4.1).
STag, TO, and nearly all lengths, may be anything."""
_UNTAGGED_HEADER: Final = 43
"""The same with about a bit less, and 32 bits of QN, which the opcode gives.  The 32 bits where no
Invalidate STag is count as nothing: zeros are common."""
_CONTINUATION: Final = 24
"""STag and TO, or QN, MSN and MO, are those that must follow (RFC 5041 5.1, 5.2): 96 bits.  But
other protocols count, and have offsets, too: a quarter of it."""
_MARKER: Final = 28
"""16 reserved bits, and 14 that point to the header of its FPDU; less two, for small numbers, which
tables are full of, read so.  One that says 0 is zeros, and counts as nothing."""
_MODULUS: Final = 1 << 32


class Evidence:
    """Adds up what the FPDUs of one row show.

    What comes again says nothing new: a table repeats a record at a fixed distance, and lengths
    lead from one record to the next.  So each ULPDU_Length with its control octets counts once, and
    each Marker.  A number that counts by one, say, seems to go on behind each payload of one octet:
    so a step of TO counts only if more often than not it is the length of the payload.
    """

    __slots__ = ("_heads", "_last", "_markers", "_steps")

    def __init__(self) -> None:
        # ULPDU_Lengths with control octets, and their bits.
        self._heads: dict[tuple[int, bytes], int] = {}
        # What Markers say.
        self._markers: set[int] = set()
        # The last segment of each STag or QN, and how many octets of payload it has.
        self._last: dict[tuple[int | None, int | None], tuple[DDPHeader, int]] = {}
        # How far TO goes on, None for MSN and MO, and how often rightly, less how often not.
        self._steps: Counter[int | None] = Counter()

    @property
    def is_proof(self) -> bool:
        """Whether it is enough, and more than headers that make sense."""
        continued = sum((+self._steps).values())
        more = continued * _CONTINUATION + len(self._markers) * _MARKER
        return more > 0 and sum(self._heads.values()) + more >= _PROOF

    def take(self, head: bytes, length: int, telling: tuple[int, ...]) -> None:
        """Take the next FPDU.

        :param head: octets behind its ULPDU_Length, without Markers, up to the end of its header.
        :param length: its ULPDU_Length.
        :param telling: what those of its Markers say that do not say 0.
        """
        header = ddp_header_of(head)
        if header is None:
            return
        bits = _UNTAGGED_HEADER if header.stag is None else _TAGGED_HEADER
        self._heads[length, bytes(head[:2])] = bits
        self._markers.update(telling)
        buffer = header.stag, header.qn
        if buffer in self._last:
            self._compare(*self._last[buffer], header)
        self._last[buffer] = header, length - header.length

    def _compare(self, before: DDPHeader, payload: int, header: DDPHeader) -> None:
        """See whether a segment continues the one before with its STag or QN."""
        if header.to is not None:
            step = header.to - (before.to or 0)
            # Of one without payload, the next header is the same one again.
            if step:
                self._steps[step] += 1 if step == payload else -1
        elif before.last:
            due = ((before.msn or 0) + 1) % _MODULUS, 0
            self._steps[None] += due == (header.msn, header.mo)
        elif payload:
            due = before.msn or 0, (before.mo or 0) + payload
            self._steps[None] += due == (header.msn, header.mo)
