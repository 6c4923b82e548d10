# SPDX-License-Identifier: GPL-2.0-or-later
"""CRC32c as MPA uses it (RFC 5044 4.4).

The standard says "computed as iSCSI does" and leaves the octet order to two hex dumps: the
CRC field holds the usual CRC32c value with its *least* significant octet first (RFC 5044
figures 5 and 6).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from crc32c import crc32c

__all__ = ["CRC_LENGTH", "RESIDUE", "crc32c", "crc_field", "crc_is_good"]

CRC_LENGTH: Final = 4
_field: Final = Struct("<I").pack

RESIDUE: Final = 0x48674BC7
"""CRC32c over any octets followed by their own CRC field: one call checks an FPDU."""


def crc_field(octets: bytes | bytearray | memoryview) -> bytes:
    """Return the 4 octets of the CRC field for ``octets`` (RFC 5044 4.4).

    ``octets`` run from the first octet of the FPDU, a leading Marker included, up to the CRC
    field, the pad and every Marker in between included.
    """
    return _field(crc32c(octets))


def crc_is_good(fpdu: bytes | bytearray | memoryview) -> bool:
    """Return whether the CRC of ``fpdu`` is good; it ends with its CRC field."""
    return crc32c(fpdu) == RESIDUE
