# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for FPDUs and against them, in bits.

A bit count is minus the binary logarithm of a chance: that other octets look so, or that a sender
does so to one FPDU.
"""

from typing import Final

# -- what speaks for an FPDU -----------------------------------------------------------------------

PROOF: Final = 40
"""Bits that are enough: among the 2^26 words of 256 MiB, chance reaches them once in 2^14 times.  A
reading that is so much worse than the best is dropped."""
MARGIN: Final = PROOF - 26
"""The same for one place: n places need log2 n bits more."""
TAGGED: Final = 13
"""Of the 16 control bits 3 are free: Last, and one of few opcodes (RFC 5041 4.2, RFC 5040 4.1).
STag, TO, and nearly all lengths, may be anything."""
UNTAGGED: Final = 43
"""The same with about a bit less, and 32 bits of QN, which the opcode gives.  The 32 bits where no
Invalidate STag is count as nothing: zeros are common."""
ZERO: Final = 16
"""A ULPDU_Length of 0, for which a CRC speaks, too."""
CONTINUES: Final = 24
"""STag and TO, or QN, MSN and MO, are those that must follow (RFC 5041 5.1, 5.2): 96 bits.  But
other protocols count, and have offsets, too: a quarter of it."""
MARKER: Final = 28
"""16 reserved bits, and 14 that point to the header of its FPDU; less two, since small numbers in
tables look so."""
LEADING: Final = 4
"""A Marker of zeros, which are frequent in payloads."""
CRC: Final = 32
"""A good CRC over octets that are no FPDU, or one with another number of Markers."""
ARRIVAL: Final = 14
"""A length leads to where an FPDU is known to begin: to one of 2^14 words."""
BOUNDARY: Final = 6
"""An FPDU begins with a segment."""
CARRIED: Final = ARRIVAL + TAGGED
"""The length of an FPDU before a hole leads over it to this place: ``ARRIVAL``, and its header,
from which that length was read."""

# -- what speaks against a reading of the octets ---------------------------------------------------

DAMAGED: Final = 10
"""One FPDU in 1000 is damaged."""
BURST: Final = 4
"""The next FPDU is damaged, too: damage comes in bursts."""
SENSELESS: Final = 16
"""A header that makes no sense stands where lengths have led."""
FORGED: Final = 18
"""One FPDU in some 10^5 has a Marker that says otherwise."""
WRONG_LENGTH: Final = 14
"""A ULPDU_Length is wrong: its FPDU is damaged, and just there."""
NOTHING: Final = 20
"""Octets in which no FPDU is found."""
PER_OCTET: Final = 1 / 256
"""More for each of them."""
FARTHEST: Final = 20
"""No more than that in all: they may be of one FPDU, whose beginning is missing."""
NESTED: Final = 30
"""A row that is proven is payload of another FPDU: one payload in 1000 is iWARP, say, and it
is damaged."""
MORE: Final = 3
"""The same for each further FPDU of the row."""
UNKNOWN_PHASE: Final = 9
"""One place of 128, and that there are Markers at all."""
