# SPDX-License-Identifier: GPL-2.0-or-later
"""gzip (RFC 1952) decompression that gives out every octet in front of a damage.

The standard library's gzip module drops what it decompressed in the read that meets a damage, so
that how much of a damaged file can be used would depend on how it was read.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture.damage import DamagedError

if TYPE_CHECKING:
    from zlib import _Decompress

__all__ = ["gunzip"]

_GZIP_FORMAT: Final = 16 + zlib.MAX_WBITS
"""Makes zlib read the gzip header and check the trailer."""

_PART: Final = 1 << 15
"""Octets decompressed at once. What is left of them is copied for each member and each full piece
of output; a file of many tiny members must not make that costly."""


def gunzip(chunks: Iterable[bytes], largest: int) -> Iterator[bytes]:
    """Yield the decompressed octets of ``chunks``, in pieces of about ``largest`` octets at most.

    Several members in a row are one file (RFC 1952 2.2); zeros between and after them, which
    tapes leave, are skipped.

    :raises DamagedError: the data is damaged or ends early; all octets before that are yielded.
    """
    inflate = zlib.decompressobj(_GZIP_FORMAT)
    done = 0
    for part in _parts(chunks):
        rest = part
        while rest:
            if inflate.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                inflate = zlib.decompressobj(_GZIP_FORMAT)
            before = inflate.copy()
            try:
                octets = inflate.decompress(rest, largest)
            except zlib.error as error:
                salvaged, good = _salvage(before, rest)
                if salvaged:
                    yield salvaged
                at = done + len(part) - len(rest) + good
                # zlib says: "Error -3 while decompressing data: incorrect data check".
                reason = str(error).rpartition(": ")[2]
                raise DamagedError(
                    f"the gzip data is damaged ({reason})",
                    at,
                    "capture or copy it again (`gzip -t` tests it)",
                    in_compressed=True,
                ) from error
            if octets:
                yield octets
            rest = inflate.unused_data if inflate.eof else inflate.unconsumed_tail
        done += len(part)
    if not inflate.eof:
        octets = inflate.flush()
        if octets:
            yield octets
        raise DamagedError(
            "the gzip data ends early",
            done,
            "it is still being written, or was copied in part: read it when it is whole",
            in_compressed=True,
        )


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for at in range(0, len(chunk), _PART):
            yield chunk[at : at + _PART]


def _salvage(inflate: _Decompress, octets: bytes) -> tuple[bytes, int]:
    """Return what ``octets`` decompress to before the damage, and how many are before it."""
    pieces = []
    good = 0
    while good < len(octets):
        try:
            pieces.append(inflate.decompress(octets[good : good + 1]))
        except zlib.error:
            break
        good += 1
    return b"".join(pieces), good
