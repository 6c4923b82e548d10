# SPDX-License-Identifier: GPL-2.0-or-later
"""CRC32c as MPA uses it (RFC 5044 4.4).

The standard says "computed as iSCSI does" and leaves the octet order to two hex dumps: the
CRC field holds the usual CRC32c value with its *least* significant octet first (RFC 5044
figures 5 and 6).
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Final

__all__ = ["CRC_LENGTH", "RESIDUE", "crc32c", "crc_field", "crc_is_good"]

if TYPE_CHECKING:
    from crc32c import crc32c
else:

    def _load():
        """Return the function of the package crc32c, without all else that it brings.

        On import the package looks up its own version among all that are installed, which takes
        a quarter of the time in which a command starts.  The function is in an extension module
        within; where that is not found, the package is imported as it is meant to be.
        """
        name = "crc32c._crc32c"
        package = PathFinder.find_spec("crc32c")
        if "crc32c" not in sys.modules and package and package.submodule_search_locations:
            spec = PathFinder.find_spec(name, package.submodule_search_locations)
            if spec is not None and spec.loader is not None:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                if hasattr(module, "crc32c"):
                    return module.crc32c
        from crc32c import crc32c

        return crc32c

    crc32c = _load()

CRC_LENGTH: Final = 4

RESIDUE: Final = 0x48674BC7
"""CRC32c over any octets followed by their own CRC field: one call checks an FPDU."""


def crc_field(octets: bytes | bytearray | memoryview) -> bytes:
    """Return the 4 octets of the CRC field for ``octets`` (RFC 5044 4.4).

    ``octets`` run from the first octet of the FPDU, a leading Marker included, up to the CRC
    field, the pad and every Marker in between included.
    """
    return crc32c(octets).to_bytes(CRC_LENGTH, "little")


def crc_is_good(fpdu: bytes | bytearray | memoryview) -> bool:
    """Tell whether ``fpdu``, from its first octet to the end of its CRC field, checks out."""
    return crc32c(fpdu) == RESIDUE
