# SPDX-License-Identifier: GPL-2.0-or-later
"""Decompression in pieces of bounded size.

A call of a decompressor that meets damage yields nothing, not even the octets before it.  So a call
gets few octets, and damage loses no more than these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from scapy_mpa.capture.damage import UNFINISHED, DamagedError

_LOG_MEMORY: Final = 27
"""Binary logarithm of the octets that a decompressor may use: as many as ``zstd --long`` needs,
and nearly twice as many as ``xz -9``."""

_STEP: Final = 1 << 12
"""Octets that a call decompresses."""

_Make = Callable[[Any], Any]
_FORMATS: Final[dict[str, tuple[tuple[str, ...], _Make, _Make]]] = {
    "gzip": (
        ("zlib",),
        # So zlib reads the gzip header and checks the trailer.
        lambda zlib: zlib.decompressobj(16 + zlib.MAX_WBITS),
        lambda zlib: zlib.error,
    ),
    "xz": (
        ("lzma",),
        lambda lzma: lzma.LZMADecompressor(lzma.FORMAT_XZ, 1 << _LOG_MEMORY),
        lambda lzma: lzma.LZMAError,
    ),
    "bzip2": (("bz2",), lambda bz2: bz2.BZ2Decompressor(), lambda _: OSError),
    "zstd": (
        ("compression.zstd", "backports.zstd"),
        lambda zstd: zstd.ZstdDecompressor(
            options={zstd.DecompressionParameter.window_log_max: _LOG_MEMORY}
        ),
        lambda zstd: zstd.ZstdError,
    ),
    "lz4": (("lz4.frame",), lambda lz4: lz4.LZ4FrameDecompressor(), lambda _: RuntimeError),
}
"""By the names of :data:`~scapy_mpa.capture.source.COMPRESSIONS`: modules (the first one installed
is used), the function that makes a decompressor, and the error that the decompressor raises."""


def decompress(name: str, chunks: Iterable[bytes], largest: int) -> Iterator[bytes]:
    """Return the decompressed octets of ``chunks``, in pieces below twice ``largest`` octets.

    Several members in a row are one file (RFC 1952 2.2).  Zeros between and after members, which
    tapes leave, are skipped.

    :param name: name of the format.
    :param chunks: the compressed octets.
    :raises DamagedError: no decompressor is installed.  The iterator raises it where the data is
        damaged or ends early.  The last octets before damage are lost.
    """
    modules, new, failure = _FORMATS[name]
    module = _module(name, modules)
    return _decompressed(name, lambda: new(module), failure(module), chunks, largest)


def _module(name: str, modules: tuple[str, ...]) -> Any:
    for module in modules:
        try:
            return import_module(module)
        except ImportError:
            continue
    advice = f"decompress it with `{name} -d` first"
    if "." in modules[-1]:
        # The module belongs to a package that pip installs, not to Python.
        advice = f"`pip install 'scapy-mpa[compression]'`, or {advice}"
    raise DamagedError(
        f"it is compressed with {name}, and no decompressor is installed", advice=advice
    )


def _decompressed(
    name: str,
    new: Callable[[], Any],
    failure: type[Exception],
    chunks: Iterable[bytes],
    largest: int,
) -> Iterator[bytes]:
    member = new()
    done = 0
    for chunk in chunks:
        made = bytearray()
        try:
            for at in range(0, len(chunk), _STEP):
                octets = chunk[at : at + _STEP]
                while True:
                    if member.eof:
                        octets = octets.lstrip(b"\0")
                        if not octets:
                            break
                        member = new()
                    found = member.decompress(octets, largest)
                    made += found
                    if len(made) >= largest:
                        yield bytes(made)
                        made.clear()
                    if member.eof:
                        octets = member.unused_data or b""
                        continue
                    # zlib has ``unconsumed_tail`` where others have ``needs_input``.
                    octets = getattr(member, "unconsumed_tail", b"")
                    # After a full piece there may be more, even if the decompressor denies it.
                    is_full = len(found) == largest
                    if not (octets or is_full) and getattr(member, "needs_input", True):
                        break
        except failure as error:
            if made:
                yield bytes(made)
            step = min(_STEP, len(chunk) - at)
            raise _damage(name, error, done + at, step) from error
        if made:
            yield bytes(made)
        done += len(chunk)
    if not member.eof:
        raise DamagedError(f"the {name} data ends early", done, UNFINISHED, in_compressed=True)


def _damage(name: str, error: Exception, octet: int, step: int) -> DamagedError:
    """Return the error for octets that a decompressor refused.

    :param octet: where they begin.  All before them were decompressed, but a checksum may show that
        the damage is there.
    :param step: their number.
    """
    # zlib says: "Error -3 while decompressing data: incorrect data check".
    reason = str(error).rpartition(": ")[2]
    what = f"the {name} data is damaged here or earlier, as the next {step} octets show ({reason})"
    advice = f"capture or copy it again (`{name} -t` tests it)"
    if "memory" in reason.lower():
        what = f"the {name} data takes more than {1 << _LOG_MEMORY - 20} MiB to decompress"
        advice = f"decompress it with `{name} -d` first"
    return DamagedError(what, octet, advice, in_compressed=True)
