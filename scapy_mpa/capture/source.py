# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of a capture file, plain or gzip-compressed, in a window that only moves forward.

Works on pipes: nothing is sought. Memory is one chunk, or what the caller asks for in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO, Final

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.gunzip import GZIP_MAGIC, gunzip

__all__ = ["Source"]

_CHUNK: Final = 1 << 16
"""Octets asked for in one read: few calls, still inside a processor's second cache, and less than
what the C library would ask the system for each time and give back."""


class Source:
    """A window on the octets of a file.

    :param file: read with ``read1`` if it has that, so that frames of a live pipe are not held
        back until a chunk is full, otherwise with ``read``. Short reads are fine.
    """

    __slots__ = ("_chunks", "base", "compressed", "octets_read", "window")

    def __init__(self, file: BinaryIO) -> None:
        self.octets_read = 0
        """Octets read from the file, still compressed if the file is."""
        self.base = 0
        """Where the window begins, in (decompressed) octets from the beginning."""
        self.window = b""
        self.compressed = False
        self._chunks = self._read_chunks(getattr(file, "read1", file.read))

    def decompress_if_gzip(self) -> None:
        """Look at the first octets; if they say gzip, the window is on what it decompresses to.

        :raises DamagedError: they cannot be read.
        """
        self.advance(0, len(GZIP_MAGIC))
        self.compressed = self.window.startswith(GZIP_MAGIC)
        if self.compressed:
            self._chunks = gunzip(chain([self.window], self._chunks), _CHUNK)
            self.window = b""

    def _read_chunks(self, read: Callable[[int], bytes]) -> Iterator[bytes]:
        while True:
            try:
                chunk = read(_CHUNK)
            except OSError as error:
                raise DamagedError(
                    f"reading failed ({error.strerror or error})",
                    self.octets_read,
                    "check the disk or the network it is read from",
                    in_compressed=self.compressed,
                ) from error
            if not chunk:
                return
            self.octets_read += len(chunk)
            yield chunk

    def advance(self, at: int, count: int) -> bytes:
        """Drop the first ``at`` octets of the window; return the window, new octets added.

        It then holds ``count`` octets or more, fewer only at the end of the file.

        :raises DamagedError: reading failed, or the compressed data is damaged.
        """
        pieces = [self.window[at:]]
        self.base += at
        missing = count - len(pieces[0])
        while missing > 0:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            pieces.append(chunk)
            missing -= len(chunk)
        self.window = b"".join(pieces)
        return self.window
