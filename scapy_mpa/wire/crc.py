# SPDX-License-Identifier: GPL-2.0-or-later
"""CRC32c as MPA uses it (RFC 5044 4.4).

The standard says "computed as iSCSI does", and only two hex dumps show the octet order (RFC 5044
figures 5 and 6).  The CRC field holds the usual CRC32c value, *least* significant octet first.
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

    :param octets: all octets of the FPDU before the CRC field, with pad and all Markers.
    """
    return _field(crc32c(octets))


def crc_is_good(fpdu: bytes | bytearray | memoryview) -> bool:
    """Return whether the CRC of ``fpdu`` is good; it ends with its CRC field."""
    return crc32c(fpdu) == RESIDUE
