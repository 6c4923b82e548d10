# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of an ordinary frame: Ethernet, IPv4 without options, TCP; and of an FPDU."""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.stream.segment import ACK, PSH

__all__ = ["FPDU_HEADERS", "HEADERS", "HEADERS_LENGTH", "HEADER_LENGTHS", "IPV4_AT"]

HEADERS: Final = Struct(">12xIHxxIxx12sIIH")
"""All of them in one go: EtherType with IP version, header length and service; total length;
fragment, time to live and protocol; addresses and ports; sequence number, acknowledgement number;
data offset with flags."""
HEADERS_LENGTH: Final = 54
"""Octets of a frame that has no TCP options."""
IPV4_AT: Final = 14
HEADER_LENGTHS: Final = {
    words << 12 | flags: 34 + 4 * words for words in range(5, 16) for flags in (ACK, ACK | PSH)
}
"""Where the TCP payload begins in the frame, for the flags of an ordinary segment."""
FPDU_HEADERS: Final = Struct(">IIQI")
"""From ULPDU_Length on: with the two control octets as one number; then STag and TO, and what is of
no account; or what is of no account, QN and MSN as one number, and MO."""
