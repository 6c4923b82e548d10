# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for FPDUs in a row where neither CRCs nor startup frames do, in bits.

A bit count is minus the binary logarithm of the chance that other octets look so.  A header alone
is little: tables of numbers or of tags hold thousands of words that read as one, at places to which
lengths lead.  So one FPDU must also go on where another one ended, or hold a Marker.
"""

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
    each Marker.
    """

    __slots__ = ("_bits", "_due", "_goes_on", "_seen")

    def __init__(self) -> None:
        self._bits = 0
        self._goes_on = False
        # Of each STag or QN, what continues the last segment of it.
        self._due: dict[tuple[int | None, int | None], tuple[int | None, ...]] = {}
        self._seen: set[object] = set()

    @property
    def is_proof(self) -> bool:
        """Whether it is enough, and more than headers that make sense."""
        return self._goes_on and self._bits >= _PROOF

    def take(self, head: bytes, length: int, telling: tuple[int, ...]) -> None:
        """Take the next FPDU.

        :param head: octets behind its ULPDU_Length, without Markers, up to the end of its header.
        :param length: its ULPDU_Length.
        :param telling: what those of its Markers say that do not say 0.
        """
        header = ddp_header_of(head)
        if header is None:
            return
        self._count((length, head[:2]), _UNTAGGED_HEADER if header.stag is None else _TAGGED_HEADER)
        for fpduptr in telling:
            self._count(fpduptr, _MARKER)
            self._goes_on = True
        self._continue(header, length - header.length)

    def _count(self, what: object, bits: int) -> None:
        if what not in self._seen:
            self._seen.add(what)
            self._bits += bits

    def _continue(self, header: DDPHeader, payload: int) -> None:
        """See whether a segment continues the one before with its STag or QN."""
        buffer = header.stag, header.qn
        place = header.msn, header.to, header.mo
        # A segment without payload leaves TO as it is: the next header is the same one again.
        if self._due.get(buffer) == place:
            self._bits += _CONTINUATION
            self._goes_on = True
        due: tuple[int | None, ...] | None
        if header.to is not None:
            due = (None, header.to + payload, None) if payload else None
        elif header.last:
            due = ((header.msn or 0) + 1) % _MODULUS, None, 0
        else:
            due = (header.msn, None, (header.mo or 0) + payload) if payload else None
        if due is None:
            self._due.pop(buffer, None)
        else:
            self._due[buffer] = due
