# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of SoftUiWARP: pads that differ from RFC 5044 4.1, and a CRC field of zeros.

RFC 5044 pads ULPDU_Length field and ULPDU to a multiple of 4.  SoftUiWARP adds as many octets as
the remainder of their length divided by 4.  For ULPDUs of even length the result is the same; after
one of odd length, all later FPDUs are off the 4-octet grid by 2.  Its Markers are not known.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH

CRC_FIELD: Final = bytes(CRC_LENGTH)
"""The octets in place of the CRC of RFC 5044."""


def pad_length(ulpdu_length: int) -> int:
    """Return the octets of pad, 0 to 3, for a ULPDU of ``ulpdu_length`` octets."""
    return ulpdu_length + HEADER_LENGTH & 3


def fpdu_length(ulpdu_length: int) -> int:
    """Return the octets that an FPDU occupies in the TCP stream.

    :param ulpdu_length: octets of the ULPDU, 0 to 65535.
    """
    return HEADER_LENGTH + ulpdu_length + pad_length(ulpdu_length) + CRC_LENGTH
