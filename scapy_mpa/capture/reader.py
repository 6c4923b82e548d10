# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens capture files, finds out their format, and explains why a file cannot be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.pcap import PCAP_MAGICS, PcapHeader, pcap_frames, pcap_header
from scapy_mpa.capture.source import MayRead, Source, at_once, regular_size
from scapy_mpa.wire.errors import CaptureError, CaptureNotFoundError
from scapy_mpa.wire.shown import shown

STANDARD_INPUT: Final = "-"
"""Its name on the command line."""

_NOT_OPENED: Final[dict[type[Exception], str]] = {
    FileNotFoundError: "there is no such file; check the name",
    PermissionError: "there is no permission to read it; ask its owner, or change its mode",
    IsADirectoryError: "it is a directory; name a capture file in it",
}


class Capture:
    """A capture file being read: iterate over it, once, for its frames.

    A context manager; leaving it closes the file, unless an open one was given. Memory does not
    grow with the file. Made by :func:`open_capture`.
    """

    frames = 0
    """Frames yielded so far."""
    problem: CaptureError | None = None
    """Why iteration stopped before the end of a whole file: reading failed, or the file ends or is
    damaged inside a frame. All frames before that have been yielded."""
    warning: str | None = None
    """The first fault of the file that costs no frame; one line with the file's name."""
    lost: Sequence[CaptureError] = ()
    """Why files of a ring could not be opened when their turn came."""
    pcap: PcapHeader | None = None
    """The file header of a classic pcap file, None for other formats."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        size: int | None = None,
        *,
        owned: bool = False,
        may_read: MayRead = at_once,
    ) -> None:
        """Read the beginning of ``file``.

        :param name: name for messages.
        :param size: octets of the file, None if that is not known.
        :param owned: whether leaving the capture closes ``file``.
        :param may_read: as in :class:`~scapy_mpa.capture.source.Source`.
        :raises CaptureError: the file is not a capture that can be read.
        """
        self.name = name
        """The name that the user gave; "standard input" for ``-``."""
        self.size = size
        """Octets of the file, before decompression; None if that is not known, as of a pipe."""
        self._file = file
        self._owned = owned
        self.source = Source(file, may_read)
        """The octets of the file, for a caller that reads the frames itself."""
        try:
            self.raw_frames = self._open_format()
            """The frames, for a caller that sets :attr:`frames` and calls :meth:`stop` itself."""
        except DamagedError as error:
            raise self._explained(error) from error

    def _open_format(self) -> Iterator[Frame]:
        """Return an iterator of the frames, in any supported format."""
        source = self.source
        source.decompress()
        magic = source.forward(0, 4)[0][:4]
        if magic in PCAP_MAGICS:
            self.pcap = pcap_header(source)
            return pcap_frames(source, self.pcap)
        # Imported late: a command must start soon, and a classic file does not need it.
        from scapy_mpa.capture.pcapng import PCAPNG_MAGIC, pcapng_frames

        if magic == PCAPNG_MAGIC:
            return pcapng_frames(source, self._warn)
        advice = "give a file written by `tcpdump -w`, dumpcap or Wireshark"
        what = "not a pcap or pcapng capture" if magic else "the file is empty"
        raise DamagedError(what, advice=advice)

    @property
    def parts(self) -> Sequence[Capture]:
        """The files of the capture, each with its own problem."""
        return (self,)

    @property
    def unit(self) -> int:
        """Nanoseconds in one unit of its times; 1 for pcapng, whose interfaces may have any."""
        return self.pcap.unit if self.pcap else 1

    def _warn(self, text: str) -> None:
        if self.warning is None:
            self.warning = f"{shown(self.name)}: {text}"

    def stop(self, error: DamagedError) -> None:
        """Set :attr:`problem`: why reading stopped before the end of a whole file."""
        self.problem = self._explained(error)
        self.problem.__cause__ = error

    @property
    def octets_read(self) -> int:
        """Octets read from the file so far, before decompression: the progress towards ``size``."""
        return self.source.octets_read

    def __iter__(self) -> Iterator[Frame]:
        try:
            for frame in self.raw_frames:
                self.frames += 1
                yield frame
        except DamagedError as error:
            self.stop(error)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        if self._owned:
            self._file.close()

    def _explained(self, error: DamagedError) -> CaptureError:
        where = ""
        if error.octet is not None:
            where = f"at octet {error.octet}"
            if error.in_compressed:
                where += " of the compressed data"
            elif self.source.compression:
                where += " of the decompressed data"
            where += f", after frame {self.frames}: " if self.frames else ", before any frame: "
        return CaptureError(f"{shown(self.name)}: {where}{error.what}; {error.advice}")


def open_capture(path: str | os.PathLike[str] | BinaryIO, may_read: MayRead = at_once) -> Capture:
    """Open a pcap or pcapng file, plain or compressed, and read its beginning.

    :param path: a file name, ``-`` for standard input, or a file open for binary reading, at the
        beginning of the capture. It is read forward only, so a pipe is possible.
    :param may_read: called with the file before each read, and may wait; False ends the capture.
    :raises CaptureError: there is no such file, it cannot be read, or it is not a capture of a
        supported version. The message is one line: the file, the fault, and the advice.
    """
    if not isinstance(path, str | os.PathLike):
        name = getattr(path, "name", None)
        return Capture(path, name if isinstance(name, str) else "capture", may_read=may_read)
    name = os.fsdecode(path)
    if name == STANDARD_INPUT:
        return Capture(_standard_input(), "standard input", may_read=may_read)
    file = _open(name)
    try:
        return Capture(file, name, regular_size(file.fileno()), owned=True, may_read=may_read)
    except BaseException:
        file.close()
        raise


def _open(name: str) -> BinaryIO:
    try:
        # Unbuffered: the source reads chunks larger than a buffer.
        return open(name, "rb", buffering=0)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        text = _NOT_OPENED.get(type(error), f"it cannot be opened ({reason}); check the name")
        kind = CaptureNotFoundError if isinstance(error, FileNotFoundError) else CaptureError
        raise kind(f"{shown(name)}: {text}") from error


def _standard_input() -> BinaryIO:
    file: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if file is None or file.closed:
        raise CaptureError("standard input: it is not open; name a capture file instead")
    if file.isatty():
        raise CaptureError("standard input: it is a terminal; pipe a capture into it")
    return file
