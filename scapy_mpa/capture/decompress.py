# SPDX-License-Identifier: GPL-2.0-or-later
"""Decompression that yields every octet before a damage, in pieces of bounded size.

A call of a decompressor that meets a damage yields nothing, not even the octets before it.  The
number of octets that can be used would then depend on the size of the calls.  So a spare
decompressor is kept one step back.  It repeats the step that fails, octet by octet.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from scapy_mpa.capture.damage import UNFINISHED, DamagedError

_LOG_MEMORY: Final = 27
"""Binary logarithm of the octets that a decompressor may use: as many as ``zstd --long`` needs,
and nearly twice as many as ``xz -9``."""


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
    """Return the decompressed octets of ``chunks``, in pieces of ``largest`` octets at most.

    Several members in a row are one file (RFC 1952 2.2).  Zeros between and after members, which
    tapes leave, are skipped.

    :param name: name of the format.
    :param chunks: short ones: each member copies the rest of its chunk, and there may be many
        tiny members.
    :raises DamagedError: no decompressor is installed.  The iterator raises it where the data is
        damaged or ends early; all octets before that are yielded.
    """
    modules, new, failure = _FORMATS[name]
    module = _module(name, modules)
    return _decompressed(
        name, lambda: _Members(lambda: new(module), largest), failure(module), chunks
    )


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
    name: str, new: Callable[[], _Members], failure: type[Exception], chunks: Iterable[bytes]
) -> Iterator[bytes]:
    members = new()
    twin = None if members.can_be_copied else new()
    done = 0
    for part in chunks:
        spare = twin or members.copy()
        given = 0
        try:
            for octets in members.feed(part):
                given += len(octets)
                yield octets
        except failure as error:
            good = yield from _salvage(spare, part, given, failure)
            raise _damage(name, error, done + good) from error
        if twin:
            # The spare decompressor takes the same step; its output is not used.
            deque(twin.feed(part), 0)
        done += len(part)
    if not members.are_whole:
        raise DamagedError(f"the {name} data ends early", done, UNFINISHED, in_compressed=True)


class _Members:
    """Decompresses one member after the other.

    :param new: makes the decompressor of a member, with the interface of the standard library.
        zlib has ``unconsumed_tail`` where others have ``needs_input``.
    :param most: octets of a piece, at most.
    :param member: the decompressor of the first member, if there is one already.
    """

    def __init__(self, new: Callable[[], Any], most: int, member: Any = None) -> None:
        self._new = new
        self._member = member or new()
        self.most = most

    @property
    def are_whole(self) -> bool:
        """Whether the last member is complete."""
        return bool(self._member.eof)

    @property
    def can_be_copied(self) -> bool:
        """Whether there is a :meth:`copy`."""
        return hasattr(self._member, "copy")

    def copy(self) -> _Members:
        """Return a copy in the same state."""
        return _Members(self._new, self.most, self._member.copy())

    def feed(self, octets: bytes) -> Iterator[bytes]:
        """Decompress the next octets; yield the result in pieces."""
        while True:
            member = self._member
            if member.eof:
                octets = octets.lstrip(b"\0")
                if not octets:
                    return
                member = self._member = self._new()
            most = self.most
            found = member.decompress(octets, most)
            if found:
                yield found
            if member.eof:
                octets = member.unused_data or b""
            else:
                octets = getattr(member, "unconsumed_tail", b"")
                # After a full piece there may be more output, even if the decompressor denies it.
                if not octets and len(found) < most and getattr(member, "needs_input", True):
                    return


def _salvage(
    spare: _Members, part: bytes, given: int, failure: type[Exception]
) -> Generator[bytes, None, int]:
    """Yield the decompressed octets before the damage; return how many octets of ``part`` are good.

    :param given: number of decompressed octets that were yielded already.
    """
    largest = spare.most
    for good in range(len(part)):
        try:
            pieces = spare.feed(part[good : good + 1])
            while True:
                # Pieces of one octet: an error after a piece does not cost the piece.
                spare.most = max(1, min(largest, given))
                octets = next(pieces, None)
                if octets is None:
                    break
                if given:
                    given -= len(octets)
                else:
                    yield octets
        except failure:
            return good
    return len(part)


def _damage(name: str, error: Exception, octet: int) -> DamagedError:
    # zlib says: "Error -3 while decompressing data: incorrect data check".
    reason = str(error).rpartition(": ")[2]
    what = f"the {name} data is damaged ({reason})"
    advice = f"capture or copy it again (`{name} -t` tests it)"
    if "memory" in reason.lower():
        what = f"the {name} data takes more than {1 << _LOG_MEMORY - 20} MiB to decompress"
        advice = f"decompress it with `{name} -d` first"
    return DamagedError(what, octet, advice, in_compressed=True)
