# SPDX-License-Identifier: GPL-2.0-or-later
"""Opening capture files: which format it is, and what to say if it is none."""

from __future__ import annotations

import os
import stat
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from io import TextIOBase
from typing import BinaryIO, Final

from scapy_mpa.capture.damage import CONVERT, DamagedError, NoCaptureError
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.pcap import PCAP_MAGICS, PcapHeader, pcap_frames, pcap_header
from scapy_mpa.capture.source import MayRead, Source, at_once, compression_of
from scapy_mpa.wire.errors import CaptureError, CaptureNotFoundError
from scapy_mpa.wire.shown import shown

_STANDARD_INPUT: Final = "-"

_LOOKS: Final = (
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"snoop\0", "a capture of snoop", CONVERT),
    (b"GMBU", "a capture of Microsoft Network Monitor", CONVERT),
)
"""Beginnings of files that may be taken for captures, what they are, and what to do."""

_NOT_OPENED: Final[dict[type[Exception], str]] = {
    FileNotFoundError: "there is no such file; check the name",
    PermissionError: "there is no permission to read it; ask its owner, or change its mode",
    IsADirectoryError: "it is a directory; name a capture file in it",
}

_SAMPLE: Final = 256
"""Octets that distinguish text from other data."""


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
    """What is wrong with the file and costs no frame, the first of it; one line with the name."""
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

        :param name: what to call it.
        :param size: octets of the file, None if that is not known.
        :param owned: whether leaving the capture closes ``file``.
        :param may_read: as of :class:`~scapy_mpa.capture.source.Source`.
        :raises CaptureError: it is not a capture that can be read.
        """
        self.name = name
        """The file as it was named; "standard input" for ``-``."""
        self.size = size
        """Octets of the file, compressed as it is; None if that is not known, as of a pipe."""
        self._file = file
        self._owned = owned
        self.source = Source(file, may_read)
        """The octets of the file, for a reader who takes the frames out of them itself."""
        try:
            self.unnoted = self._open_format()
            """The frames, for a reader who sets :attr:`frames` and calls :meth:`stop` itself."""
        except DamagedError as error:
            raise self._explained(error) from error

    def _open_format(self) -> Iterator[Frame]:
        """Return an iterator of the frames, in whichever format they are."""
        source = self.source
        source.decompress()
        magic = source.forward(0, 4)[0][:4]
        if magic in PCAP_MAGICS:
            self.pcap = pcap_header(source)
            return pcap_frames(source, self.pcap)
        # Not imported for the sake of a classic file: a command is to start soon.
        from scapy_mpa.capture.pcapng import PCAPNG_MAGIC, pcapng_frames

        if magic == PCAPNG_MAGIC:
            return pcapng_frames(source, self._warn)
        raise _not_a_capture(source.forward(0, _SAMPLE)[0][:_SAMPLE], source.compression)

    @property
    def parts(self) -> Sequence[Capture]:
        """The files that it is in, each with its own problem."""
        return (self,)

    def _warn(self, text: str) -> None:
        if self.warning is None:
            self.warning = f"{shown(self.name)}: {text}"

    def stop(self, error: DamagedError) -> None:
        """Take note of why reading stopped before the end of a whole file."""
        self.problem = self._explained(error)
        self.problem.__cause__ = error

    @property
    def octets_read(self) -> int:
        """Octets read from the file so far, compressed as it is: the progress towards ``size``."""
        return self.source.octets_read

    def __iter__(self) -> Iterator[Frame]:
        try:
            for frame in self.unnoted:
                self.frames += 1
                yield frame
        except DamagedError as error:
            self.stop(error)

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, unless it was given open."""
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
        beginning of the capture. Nothing is sought, so pipes will do.
    :param may_read: is given the file before each read, and may wait; False: it ends here.
    :raises TypeError: it is neither a name nor a file that is read in octets.
    :raises CaptureError: there is no such file, it cannot be read, or it is not a capture of a
        supported version. The message is one line: which file, what is wrong, what to do.
    """
    if not isinstance(path, str | os.PathLike):
        _check_file(path)
        name = getattr(path, "name", None)
        return Capture(path, name if isinstance(name, str) else "capture", may_read=may_read)
    name = os.fsdecode(path)
    if name == _STANDARD_INPUT:
        return Capture(_standard_input(), "standard input", may_read=may_read)
    file = _open(name)
    try:
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
        return Capture(file, name, size, owned=True, may_read=may_read)
    except BaseException:
        file.close()
        raise


def is_capture(name: str) -> bool:
    """Tell a capture from other files by its first octets, decompressed if need be.

    One that cannot be read counts as a capture: whoever opens it gets the reason.
    """
    try:
        with open_capture(name):
            return True
    except CaptureError as error:
        return not isinstance(error.__cause__, NoCaptureError)


def _check_file(file: object) -> None:
    """Find out whether something is a file, and open for octets.

    :raises TypeError: it is not.
    """
    if not callable(getattr(file, "read", None)):
        raise TypeError(
            f"the name of a capture, or an open file, is wanted, not {type(file).__name__}"
        )
    if isinstance(file, TextIOBase):
        raise TypeError(
            "the file is open as text, and a capture is octets: give its name, or open it with "
            'mode "rb"'
        )


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


def _not_a_capture(sample: bytes, outer: str | None) -> NoCaptureError:
    """Say what a file is that is no capture, as far as its first octets tell.

    :param outer: how it was compressed.
    """
    advice = "give a file written by `tcpdump -w`, dumpcap or Wireshark"
    if not sample:
        return NoCaptureError("the file is empty", advice=advice)
    what = "not a pcap or pcapng capture"
    if inner := compression_of(sample):
        twice = f"data compressed with {inner} twice"
        look = twice if inner == outer else f"{inner}-compressed data"
        return NoCaptureError(
            f"{what}, it looks like {look}", advice=f"decompress it with `{inner} -d` first"
        )
    for beginning, look, remedy in _LOOKS:
        if sample.startswith(beginning):
            return NoCaptureError(f"{what}, it looks like {look}", advice=remedy)
    if _is_text(sample):
        what += ", it looks like text"
    return NoCaptureError(what, advice=advice)


def _is_text(sample: bytes) -> bool:
    try:
        # A character may be cut at the end of the sample, which a one-shot decoder would not take.
        text = getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return "".join(text.split()).isprintable()
