# SPDX-License-Identifier: GPL-2.0-or-later
"""Opening captures: files, pipes, standard input, compression, and messages for other files."""

import builtins
import errno
import gzip
import io
import lzma
import os
import re
import struct
import sys
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.compressed import COMPRESS, lz4, zstd
from tests.captures import CRAFTED, PCAPS, REAL, capture_name

FILE = build.pcap([(1, 2, b"abc", 1500), (3, 4, b"defg", 4)])
OCTETS = [b"abc", b"defg"]
NG_FILE = build.section() + build.interface() + build.enhanced(b"abc") + build.enhanced(b"defg")


def error_of(octets: bytes) -> str:
    """The message of opening a file of these octets."""
    with pytest.raises(CaptureError) as caught:
        open_capture(io.BytesIO(octets))
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("file", [FILE, NG_FILE], ids=["pcap", "pcapng"])
@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()], ids=["plain", *COMPRESS])
@pytest.mark.parametrize("as_path", [str, Path])
def test_path(tmp_path: Path, file: bytes, compress: Any, as_path: Any) -> None:
    """A name or a path. The octets show the compression, not the name."""
    stored = compress(file)
    (tmp_path / "x.bin").write_bytes(stored)
    with open_capture(as_path(tmp_path / "x.bin")) as capture:
        assert capture.name == str(tmp_path / "x.bin")
        assert capture.size == len(stored)
        assert [frame.octets for frame in capture] == OCTETS
        assert capture.octets_read == len(stored)
        assert capture.frames == 2
        assert capture.problem is None


def test_second_iteration_continues(tmp_path: Path) -> None:
    """Iterating again continues where the last iteration stopped."""
    (tmp_path / "x").write_bytes(FILE)
    with open_capture(tmp_path / "x") as capture:
        for _ in capture:
            assert capture.frames == 1
            break
        assert [frame.number for frame in capture] == [2]
        assert list(capture) == []


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` is standard input, which cannot seek. If it is closed or a terminal, a message says
    what to do."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(FILE))))
    with open_capture("-") as capture:
        assert (capture.name, capture.size) == ("standard input", None)
        assert [frame.octets for frame in capture] == OCTETS
        assert capture.problem is None
    terminal = io.BytesIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    for stdin, message in (
        (None, "it is not open; name a"),
        (io.StringIO(), "it is not open; name a"),
        (io.TextIOWrapper(terminal), "it is a terminal; pipe a capture"),
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(CaptureError, match=f"^standard input: {message}"):
            open_capture("-")


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()], ids=["plain", *COMPRESS])
def test_live_pipe(compress: Any) -> None:
    """A frame is yielded when it has arrived, not when a buffer is full."""
    for file, buffering in ((FILE, 0), (FILE, -1), (NG_FILE, 0), (NG_FILE, -1)):
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb", 0) as out, os.fdopen(reading, "rb", buffering) as pipe:
            out.write(compress(file[:-9]))
            with open_capture(pipe) as capture:
                assert next(iter(capture)).octets == OCTETS[0]
                out.write(compress(file[-9:]))
                assert next(iter(capture)).octets == OCTETS[1]


ZEROS = bytes(4)
"""Tapes leave zeros after a member."""
SKIPPABLE = struct.pack("<II", 0x184D2A50, 5) + b"skip!"
"""A frame of user data in zstd and lz4 (RFC 8878 3.1.2). pzstd and others write it."""


@pytest.mark.parametrize(
    ("name", "between"),
    [*((name, ZEROS) for name in COMPRESS), ("zstd", SKIPPABLE), ("lz4", SKIPPABLE)],
)
def test_several_members(name: str, between: bytes) -> None:
    """Members in a row are one file (RFC 1952 2.2). Octets between them are not part of it."""
    parts = [FILE[:10], FILE[10:50], b"", FILE[50:]]
    stored = between.join(COMPRESS[name](part) for part in parts) + between * 128
    assert [frame.octets for frame in open_capture(io.BytesIO(stored))] == OCTETS


def flushed(name: str, octets: bytes) -> bytes:
    """The beginning of a member, from a compressor that holds nothing back."""
    if name == "gzip":
        deflate = zlib.compressobj(wbits=31)
        return deflate.compress(octets) + deflate.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd":
        compressor = zstd.ZstdCompressor()
        return bytes(compressor.compress(octets, compressor.FLUSH_BLOCK))
    frame = lz4.LZ4FrameCompressor(auto_flush=True)
    return bytes(frame.begin() + frame.compress(octets))


@pytest.mark.parametrize("name", ["gzip", "zstd", "lz4"])
def test_live_pipe_within_a_member(name: str) -> None:
    """Frames are yielded before the member ends."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as out, os.fdopen(reading, "rb", 0) as pipe:
        out.write(flushed(name, FILE[:-9]))
        with open_capture(pipe) as capture:
            assert next(iter(capture)).octets == OCTETS[0]
            out.close()
            assert list(capture) == []
            assert f"the {name} data ends early" in str(capture.problem)


ADVICE = [
    ("xz", "decompress it with `xz -d` first"),
    ("zstd", "`pip install 'scapy-mpa[compression]'`, or decompress it with `zstd -d` first"),
    ("lz4", "`pip install 'scapy-mpa[compression]'`, or decompress it with `lz4 -d` first"),
]


@pytest.mark.parametrize(("name", "advice"), ADVICE)
def test_no_decompressor(monkeypatch: pytest.MonkeyPatch, name: str, advice: str) -> None:
    """The message says what to install, or how to do without it."""
    for module in ("lzma", "compression.zstd", "backports.zstd", "lz4.frame"):
        monkeypatch.setitem(sys.modules, module, None)
    assert error_of(COMPRESS[name](FILE)) == (
        f"capture: it is compressed with {name}, and no decompressor is installed; {advice}"
    )


# Files that need so much memory (RFC 8878 3.1.1.1.2).
ZSTD_OF_256_MIB = b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00"
XZ_OF_256_MIB = lzma.compress(FILE, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28}])
TOO_MUCH = "data takes more than 128 MiB to decompress; decompress it with"

UNKNOWN = "not a pcap or pcapng capture; give a file"


NO_CAPTURES = [
    # An empty file is no capture without frames, since even that has a header.
    *((each(b""), "the file is empty; give a file") for each in (bytes, *COMPRESS.values())),
    *((each, UNKNOWN) for each in (b"\0", b"\xd4\xc3\xb2", bytes(100), b"\xff" * 300)),
    (COMPRESS["gzip"](COMPRESS["gzip"](FILE)), UNKNOWN),
    (ZSTD_OF_256_MIB, f"the zstd {TOO_MUCH}"),
    (XZ_OF_256_MIB, f"the xz {TOO_MUCH}"),
]


@pytest.mark.parametrize(("octets", "message"), NO_CAPTURES)
def test_not_a_capture(octets: bytes, message: str) -> None:
    """The message says what to do."""
    assert message in error_of(octets)


def failing(octets: bytes, good: int) -> Any:
    """A file on a disk that fails after so many reads."""
    pieces = [octets[at : at + 30] for at in range(0, 30 * good, 30)]

    def read(size: int = -1) -> bytes:
        if not pieces:
            raise OSError(errno.EIO, "Input/output error")
        return pieces.pop(0)

    return SimpleNamespace(read=read)


def test_reading_fails() -> None:
    """The error of the first read is that of opening. A later one is the problem, after all
    whole frames."""
    message = "reading failed (Input/output error); check the disk or the network it is read from"
    with pytest.raises(CaptureError) as caught:
        open_capture(failing(FILE, 0))
    assert str(caught.value) == f"capture: at octet 0, before any frame: {message}"
    capture = open_capture(failing(FILE, 2))
    assert [frame.octets for frame in capture] == OCTETS[:1]
    assert str(capture.problem) == f"capture: at octet 60, after frame 1: {message}"


def test_unreadable_files(tmp_path: Path) -> None:
    """Closed files, files open for writing, and files that have no octets yet."""
    closed = io.BytesIO(FILE)
    closed.close()
    with (tmp_path / "out").open("wb") as writing, (tmp_path / "raw").open("wb", 0) as raw:
        for file in (closed, writing, raw):
            with pytest.raises(CaptureError, match="closed, or not open for reading"):
                open_capture(file)
    waiting: Any = SimpleNamespace(read=lambda size=-1: None)
    with pytest.raises(CaptureError, match="open it in blocking mode"):
        open_capture(waiting)


NOT_OPENED: dict[str, tuple[str, int | None, str]] = {
    # A name, the error of the system, and the message.
    "missing": ("x", None, "{}: there is no such file; check the name"),
    "directory": ("", None, "{}: it is a directory; name a capture file in it"),
    "no permission": ("x", errno.EACCES, "{}: there is no permission to read it; ask its owner"),
    "refused": ("x", errno.ELOOP, "{}: it cannot be opened (Too many"),
    "impossible name": ("a\0\nb", None, "a\\x00\\nb': it cannot be opened (embedded"),
    "a name that would break the line": ("a\nb", None, "a\\nb': there is no such file"),
}


@pytest.mark.parametrize("name", NOT_OPENED)
def test_not_opened(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that cannot be opened: one line that says which, why, and what to do."""
    file, number, message = NOT_OPENED[name]
    path = os.path.join(tmp_path, file).rstrip(os.sep)

    def refuse(*args: object, **kwargs: object) -> NoReturn:
        raise OSError(number, os.strerror(number or 0))

    with monkeypatch.context() as patch, pytest.raises(CaptureError) as caught:
        if number is not None:
            patch.setattr(builtins, "open", refuse)
        open_capture(path)
    assert message.format(path) in str(caught.value)
    assert "\n" not in str(caught.value)


PACKETS = {
    name: int(packets)
    for name, packets in re.findall(
        r"^\| (\S+) \| (\d+) \|", (PCAPS / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
}


@pytest.mark.parametrize("path", REAL + CRAFTED, ids=capture_name)
def test_packets(path: Path) -> None:
    """The file has as many frames as the table of captures says, and no problem."""
    with open_capture(path) as capture:
        assert sum(1 for _ in capture) == PACKETS[path.relative_to(PCAPS).as_posix()]
        assert capture.problem is None
        assert capture.octets_read == capture.size == path.stat().st_size
