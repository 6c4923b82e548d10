# SPDX-License-Identifier: GPL-2.0-or-later
"""Compressed files, and the octets of them before damage."""

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

zstd: Final[Any] = import_module(
    "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
)
lz4: Final[Any] = import_module("lz4.frame")

# With checksums, as the commands write them.
COMPRESS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": partial(gzip.compress, mtime=0),
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstd": partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1}),
    "lz4": partial(lz4.compress, content_checksum=True),
}
SUFFIXES: Final = {"gzip": ".gz", "xz": ".xz", "bzip2": ".bz2", "zstd": ".zst", "lz4": ".lz4"}

_NEW: Final[dict[str, tuple[Callable[[], Any], type[Exception]]]] = {
    "gzip": (partial(zlib.decompressobj, 31), zlib.error),
    "xz": (lzma.LZMADecompressor, lzma.LZMAError),
    "bzip2": (bz2.BZ2Decompressor, OSError),
    "zstd": (zstd.ZstdDecompressor, zstd.ZstdError),
    "lz4": (lz4.LZ4FrameDecompressor, RuntimeError),
}


def octet_by_octet(name: str, stored: bytes) -> tuple[bytes, bool]:
    """The octets that the library reads before an error, and whether there is none."""
    new, failure = _NEW[name]
    # zlib reads all of an octet only without a limit, which is 0.
    most = 0 if name == "gzip" else 1
    member = new()
    found = bytearray()
    for octet in stored:
        if member.eof and not octet:
            continue
        member = new() if member.eof else member
        given = bytes([octet])
        try:
            while piece := member.decompress(given, most):
                found += piece
                given = b""
                if member.eof:
                    break
        except failure:
            return bytes(found), False
    return bytes(found), member.eof
