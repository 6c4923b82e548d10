# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of a capture file, plain or compressed, in a window that only moves forward.

Works on pipes: nothing is sought. Memory is one chunk, or what the caller asks for in one piece.
"""

from __future__ import annotations

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
"""The name of each format, which is that of its command, too; the suffix of its files, and how they
begin."""
SUFFIXES: Final = frozenset(suffix for _, suffix, _ in COMPRESSIONS)
_LONGEST_MAGIC: Final = 6

_CHUNK: Final = 7 << 14
"""Octets asked for in one read: few calls, still inside a processor's second cache, and less than
what the C library would ask the system for each time and give back."""


def compression_of(octets: bytes) -> str | None:
    """Return the name of the format that begins so, None if it is none of :data:`COMPRESSIONS`."""
    for name, _, magic in COMPRESSIONS:
        if octets.startswith(magic):
            return name
    return None


def at_once(file: BinaryIO) -> bool:
    """Have a file read, without waiting for anything."""
    return True


class Source:
    """A window on the octets of a file.

    :param file: read with ``read1`` if it has that, so that frames of a live pipe are not held
        back until a chunk is full, otherwise with ``read``. Short reads are fine.
    :param may_read: is given the file before each read, and may wait; False: it ends here.
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
        self._ahead = b""
        """The chunk whose first octets are the end of the window; empty if there is none, or no
        more of it than that."""
        self._shown = 0
        """How many they are."""

    def decompress(self) -> None:
        """Look at the first octets; if the file is compressed, the window is on what it holds.

        :raises DamagedError: they cannot be read, or nothing is there to decompress them.
        """
        self.compression = compression_of(self.forward(0, _LONGEST_MAGIC)[0])
        if self.compression is not None:
            # Most files are not, and a command is to start soon.
            from scapy_mpa.capture.decompress import decompress

            read = [self.window, self._ahead[self._shown :]]
            self._chunks = decompress(self.compression, chain(read, self._chunks), _CHUNK)
            self._turn(b"", 0)

    def _read_chunks(self, file: BinaryIO, may_read: MayRead) -> Iterator[bytes]:
        read: Callable[[int], object] = getattr(file, "read1", file.read)
        while may_read(file):
            try:
                chunk = read(_CHUNK)
            except ValueError as error:
                # The latter is an OSError as well.
                raise self._failed(
                    "it is closed, or not open for reading", "open it for reading"
                ) from error
            except OSError as error:
                raise self._failed(
                    f"{error.strerror or error}", "check the disk or the network it is read from"
                ) from error
            if chunk is None:
                # What is still to come would be missing without a word.
                raise self._failed("it would have to be waited for", "open it in blocking mode")
            if not isinstance(chunk, bytes):
                raise TypeError(
                    f"reading the file gives {type(chunk).__name__}, and a capture is octets"
                )
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
        """Go on to where ``at`` of the window is; return a window, and where that is in it.

        From there on the window holds ``count`` octets or more, fewer only at the end of the file.
        Nearly all windows are chunks as they were read: what lies in two of them gets a window of
        its own, and no other octet is moved.

        :raises DamagedError: reading failed, or the compressed data is damaged.
        """
        rest = len(self.window) - at
        begin = self._shown - rest
        if self._ahead and begin >= 0:
            self._turn(self._ahead, at - begin)
            if len(self.window) - begin >= count:
                return self.window, begin
            at, rest = begin, len(self.window) - begin
        window = bytearray(self.window[at:])
        missing = count - rest
        while missing > 0:
            chunk, shown = self._ahead, self._shown
            if not chunk:
                chunk, shown = next(self._chunks, b""), 0
                if not chunk:
                    break
                if missing == count and len(chunk) >= count:
                    self._turn(chunk, at)
                    return chunk, 0
            # At once: kept until all are there, pieces of a few octets would take twenty times as
            # much memory as these.
            window += chunk[shown : shown + missing]
            shown += min(missing, len(chunk) - shown)
            missing = count - len(window)
            self._ahead, self._shown = (chunk, shown) if shown < len(chunk) else (b"", 0)
        self.window = bytes(window)
        self.base += at
        return self.window, 0

    def _turn(self, chunk: bytes, by: int) -> None:
        """Make a chunk the window, which begins ``by`` octets farther on."""
        self.window = chunk
        self.base += by
        self._ahead, self._shown = b"", 0
