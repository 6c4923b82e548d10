# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for FPDUs and against them where startup frames do not tell, in bits.

A bit count is minus the binary logarithm of the chance that other octets look so, or that a sender
does such a thing to one FPDU.
"""

from typing import Final

__all__ = [
    "CONTINUES",
    "CRC",
    "FORGED",
    "LEADING",
    "MARKER",
    "PROOF",
    "TAGGED",
    "UNKNOWN_PHASE",
    "UNTAGGED",
]

PROOF: Final = 40
"""Bits that are enough: in 64 MiB, with 2^26 places, chance makes so much with 2^-14.  What is so
much worse than the best is out of the question."""
TAGGED: Final = 13
"""Of the 16 control bits 3 are free: Last, and one of few opcodes (RFC 5041 4.2, RFC 5040 4.1).
STag, TO, and nearly all lengths, may be anything."""
UNTAGGED: Final = 43
"""The same with about a bit less, and 32 bits of QN, which the opcode gives.  The 32 bits where no
Invalidate STag is count as nothing: zeros are common."""
CONTINUES: Final = 24
"""STag and TO, or QN, MSN and MO, are those that must follow (RFC 5041 5.1, 5.2): 96 bits.  But
other protocols count, and have offsets, too: a quarter of it."""
MARKER: Final = 28
"""16 reserved bits, and 14 that point to the header of its FPDU; less two, for small numbers, which
tables are full of, read so."""
LEADING: Final = 4
"""A Marker that says 0: zeros are what payloads have most of."""
CRC: Final = 32
"""A good CRC over octets that are no FPDU, or one with another number of Markers."""
FORGED: Final = 18
"""One FPDU in some 10^5 has a Marker that says otherwise."""
UNKNOWN_PHASE: Final = 9
"""One place of 128, and that there are Markers at all."""
