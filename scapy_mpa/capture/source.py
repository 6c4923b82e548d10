# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of a capture file, plain or compressed, in a window that only moves forward.

So pipes can be read. The window holds at most a chunk more than the caller asks for.
While its chunks are joined, it takes twice that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO, Final, TypeAlias

from scapy_mpa.capture.damage import DamagedError

MayRead: TypeAlias = Callable[[BinaryIO], bool]

COMPRESSIONS: Final = (
    ("gzip", ".gz", b"\x1f\x8b"),
    ("xz", ".xz", b"\xfd7zXZ\0"),
    ("bzip2", ".bz2", b"BZh"),
    ("zstd", ".zst", b"\x28\xb5\x2f\xfd"),
    ("lz4", ".lz4", b"\x04\x22\x4d\x18"),
)
"""The name of each format and of its command, the suffix of its files, their first octets."""
SUFFIXES: Final = frozenset(suffix for _, suffix, _ in COMPRESSIONS)
_LONGEST_MAGIC: Final = 6

_CHUNK: Final = 7 << 13
"""Octets of one read.  Large enough for few calls, and small enough for a processor's second cache.
For a larger chunk, the C library takes memory from the system and returns it each time.  Results
are handed out after each chunk, so a small chunk bounds their memory."""


def regular_size(file: str | int) -> int | None:
    """Return the octets of a regular file; None: it is a pipe, a device or a directory.

    :param file: its name or its descriptor.
    :raises OSError: there is no such file, or it cannot be found out.
    """
    status = os.stat(file)
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def at_once(file: BinaryIO) -> bool:
    """Return True: a file is read without waiting."""
    return True


class Source:
    """A window on the octets of a file.

    :param file: read with ``read1`` if it has that, so that frames of a live pipe do not wait until
        a chunk is full, otherwise with ``read``. Short reads are allowed.
    :param may_read: called with the file before each read, and may wait; False ends the file.
    """

    def __init__(self, file: BinaryIO, may_read: MayRead = at_once) -> None:
        self.octets_read = 0
        """Octets read from the file, still compressed if the file is."""
        self.base = 0
        """Where the window begins, in (decompressed) octets from the beginning."""
        self.window = b""
        self.compression: str | None = None
        """The name of the format that the file is compressed in."""
        self._chunks = self._read_chunks(file, may_read)

    def decompress(self) -> None:
        """If the first octets show compression, turn the window to the decompressed octets.

        :raises DamagedError: reading failed, or no decompressor is installed.
        """
        begin = self.forward(0, _LONGEST_MAGIC)[0]
        named = (name for name, _, magic in COMPRESSIONS if begin.startswith(magic))
        self.compression = next(named, None)
        if self.compression is not None:
            # Imported late: most files are not compressed, and a command must start soon.
            from scapy_mpa.capture.decompress import decompress

            compressed = chain((self.window,), self._chunks)
            self._chunks = decompress(self.compression, compressed, _CHUNK)
            self.window = b""

    def _read_chunks(self, file: BinaryIO, may_read: MayRead) -> Iterator[bytes]:
        read: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
        while may_read(file):
            try:
                chunk = read(_CHUNK)
            except ValueError as error:
                # "Not open for reading" is an OSError as well, so this comes first.
                raise self._failed(
                    "it is closed, or not open for reading", "open it for reading"
                ) from error
            except OSError as error:
                raise self._failed(
                    f"{error.strerror or error}", "check the disk or the network it is read from"
                ) from error
            if chunk is None:
                # To end here would lose later octets without a message.
                raise self._failed("it would have to be waited for", "open it in blocking mode")
            if not chunk:
                return
            self.octets_read += len(chunk)
            yield chunk

    def _failed(self, reason: str, advice: str) -> DamagedError:
        return DamagedError(
            f"reading failed ({reason})",
            self.octets_read,
            advice,
            in_compressed=self.compression is not None,
        )

    def forward(self, at: int, count: int) -> tuple[bytes, int]:
        """Move the window forward to position ``at``; return it, and where that position is now.

        From there on the window holds ``count`` octets or more, fewer only at the end of the file.

        :raises DamagedError: reading failed, or the compressed data is damaged.
        """
        if len(self.window) - at >= count:
            return self.window, at
        window = self.window[at:] + next(self._chunks, b"")
        self.window = b""
        if len(window) < count:
            # Joined at once: a list of pieces of a few octets would take twenty times the memory.
            joined = bytearray(window)
            while len(joined) < count and (chunk := next(self._chunks, b"")):
                joined += chunk
            window = bytes(joined)
        self.window = window
        self.base += at
        return window, 0
