# SPDX-License-Identifier: GPL-2.0-or-later
"""The flags of a TCP header (RFC 9293 3.1)."""

from typing import Final

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
PSH: Final = 0x08
ACK: Final = 0x10

TURNS: Final = SYN | FIN | RST
"""Flags of the segments that begin or end a connection."""

HANDSHAKE: Final = TURNS | ACK
"""Flags that distinguish a SYN from a SYN,ACK, and both from other segments."""

NOT_PSH: Final = 0xFF & ~PSH
"""All flags but PSH, which means nothing for FPDUs."""
