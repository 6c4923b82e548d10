# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence for and against FPDUs, in bits.

A number of bits is minus the binary logarithm of a chance: that other octets look so, or that this
happens to one FPDU.
"""

from typing import Final

# -- evidence for an FPDU --------------------------------------------------------------------------

PROOF: Final = 40
"""Bits that are enough.  Among the 2^26 words of 256 MiB, chance reaches them once in 2^14 times.
A path that costs so much more than the best is dropped."""
TAGGED: Final = 13
"""A tagged header makes sense.  Of its 16 control bits, 3 are free: Last, and one of few opcodes
(RFC 5041 4.2, RFC 5040 4.1).  STag and TO may have any value, and the length nearly any."""
UNTAGGED: Final = 43
"""An untagged header makes sense: two bits less, and the 32 bits of QN, which follows from the
opcode.  An unused Invalidate STag field counts nothing, since zeros are common."""
CONTINUES: Final = 24
"""STag and TO, or QN, MSN and MO, continue a message (RFC 5041 5.1, 5.2).  These are 96 bits.  But
other protocols have counters and offsets, too, so it is a quarter of that."""
MARKER: Final = 28
"""A Marker that points back: 16 reserved bits, and 14 that point to the header of its FPDU.  It is
two less, since small numbers in tables look so.  All its bits are as sent.  A receiver ignores some
(RFC 5044 4.2); a Marker with one of these set counts as ``LEADING``."""
LEADING: Final = 4
"""A Marker of zeros, which are frequent in payloads, or one with ignored bits set."""
CRC: Final = 32
"""A good CRC.  Other octets, or an FPDU with another number of Markers, have one only by chance."""
ARRIVAL: Final = 14
"""A length leads to a position at which an FPDU is known to begin: one of 2^14 words."""
MARGIN: Final = ARRIVAL
"""Enough evidence for one place: chance shows it once in 2^14 times, as for ``PROOF``.  A place
among n needs log2 n bits more."""
CARRIED: Final = ARRIVAL + TAGGED
"""The length of an FPDU leads over a hole to this place: ``ARRIVAL``, and ``TAGGED`` for the header
of that FPDU."""

ROW: Final = -(-PROOF // TAGGED)
"""Headers of FPDUs in a row that are proof."""
POINTING: Final = -(-PROOF // MARKER)
"""Markers that are proof."""

# -- evidence against a reading of the octets ------------------------------------------------------

DAMAGED: Final = 10
"""One FPDU in 1000 is damaged."""
BURST: Final = 4
"""An FPDU near a damaged one is damaged, too: damage comes in bursts.  If its header continues the
message of the FPDU before it, that is evidence for both, and it costs nothing."""
SENSELESS: Final = 16
"""A length leads to a header that makes no sense."""
FORGED: Final = 18
"""A Marker points elsewhere: one FPDU in some 10^5."""
WRONG_LENGTH: Final = 14
"""A ULPDU_Length is wrong: its FPDU is damaged, and at this very field."""
NOTHING: Final = 20
"""Octets in which no FPDU is found."""
PER_OCTET: Final = 1 / 256
"""More for each octet that is passed over, at most ``NOTHING`` in all: they may be one FPDU whose
beginning is missing."""
NESTED: Final = DAMAGED + NOTHING
"""Proven FPDUs in a row are payload of another FPDU.  One payload in 1000 is iWARP, as one in
1000 is damaged.  The bits of ``NOTHING`` are added, so that a wrong length is likelier."""
MORE: Final = 3
"""More for each further FPDU of that row."""
UNKNOWN_PHASE: Final = 9
"""Markers are at one of 128 offsets, and there are Markers at all."""
