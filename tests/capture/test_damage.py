# SPDX-License-Identifier: GPL-2.0-or-later
"""Cut, damaged and hostile files give every frame before the damage, then one clear problem."""

import gzip
import io
import itertools
import random
import re
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.build import block, enhanced, interface, option, packet, section
from tests.capture.compressed import COMPRESS, octet_by_octet
from tests.stream.work import peak

PCAP_HEADER = build.pcap()
PCAP_RECORDS = [
    build.pcap([(n, n, bytes(n), 99)], order="<")[len(PCAP_HEADER) :] for n in (5, 0, 16)
]
PCAP = PCAP_HEADER + b"".join(PCAP_RECORDS)

COMMENT = option(1, b"comment")
NG_FRAMES = [enhanced(b"abcde", options=COMMENT), packet(b""), build.simple(b"ab", 2)]
NG_BLOCKS = [
    section(options=COMMENT),
    interface(options=option(2, b"eth0")),
    NG_FRAMES[0],
    block(5, b"statistics"),
    NG_FRAMES[1],
    section(">"),
    interface(">"),
    build.simple(b"ab", 2, ">"),
]
NG = b"".join(NG_BLOCKS)

Outcome = tuple[list[Frame], str]


def outcome(file: Any) -> Outcome:
    """All frames of a file, and the problem. No other error may be raised."""
    try:
        capture = open_capture(file)
    except CaptureError as error:
        return [], str(error)
    frames = list(capture)
    return frames, str(capture.problem or "")


def check(frames: list[Frame], text: str) -> None:
    """Check numbers and lengths of frames, and that the problem is one line."""
    assert [frame.number for frame in frames] == list(range(1, len(frames) + 1))
    assert all(frame.original_length >= len(frame.octets) for frame in frames)
    assert "\n" not in text


@pytest.mark.parametrize(
    ("pieces", "with_frame", "what"),
    [([PCAP_HEADER, *PCAP_RECORDS], (1, 2, 3), "frame"), (NG_BLOCKS, (2, 4, 7), "block")],
)
def test_cut_anywhere(pieces: list[bytes], with_frame: tuple[int, ...], what: str) -> None:
    """A file cut between records or blocks is whole. Cut inside one, it gives the frames before,
    and a problem."""
    file = b"".join(pieces)
    ends = list(itertools.accumulate(map(len, pieces)))
    (whole, text) = outcome(io.BytesIO(file))
    assert (len(whole), text) == (len(with_frame), "")
    for cut in range(len(file) + 1):
        frames, text = outcome(io.BytesIO(file[:cut]))
        assert frames == whole[: sum(ends[at] <= cut for at in with_frame)]
        if cut in ends:
            assert text == ""
        elif cut < ends[0]:
            assert text
            assert what == "block" or ("inside its header" in text) == (cut >= 4)
        else:
            begun = max(end for end in ends if end < cut)
            assert f"at octet {begun}, " in text
            assert f"the file ends inside a {what}; it is still being written, or" in text


@pytest.mark.parametrize("name", COMPRESS)
@pytest.mark.parametrize("file", [PCAP, NG], ids=["pcap", "pcapng"])
def test_compressed_cut_anywhere(file: bytes, name: str) -> None:
    """A cut compressed file gives each frame that can be decompressed, and reports the cut."""
    whole, _ = outcome(io.BytesIO(file))
    stored = COMPRESS[name](file)
    for cut in range(6, len(stored)):
        expected, _ = outcome(io.BytesIO(octet_by_octet(name, stored[:cut])[0]))
        frames, text = outcome(io.BytesIO(stored[:cut]))
        assert frames == expected == whole[: len(frames)]
        assert f"at octet {cut} of the compressed data" in text
        assert f"the {name} data ends early" in text


@pytest.mark.parametrize("name", COMPRESS)
@given(data=st.data())
def test_compressed_damaged_anywhere(name: str, data: st.DataObject) -> None:
    """A wrong octet in compressed data loses few frames before it, and is reported."""
    noise = random.Random(name)
    file = NG + b"".join(enhanced(noise.randbytes(50), ">") for _ in range(120))
    stored = bytearray(COMPRESS[name](file))
    at = data.draw(st.integers(10, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    frames, text = outcome(io.BytesIO(stored))
    check(frames, text)
    least, _ = outcome(io.BytesIO(octet_by_octet(name, bytes(stored[: at // 4096 * 4096]))[0]))
    salvaged, is_whole = octet_by_octet(name, bytes(stored))
    most, _ = outcome(io.BytesIO(salvaged))
    assert least == frames[: len(least)]
    assert frames == most[: len(frames)]
    # Repeated octets may be coded in another way, so a change may lose nothing.
    assert (is_whole and salvaged == file) is not bool(text)


@pytest.mark.parametrize("name", COMPRESS)
def test_octets_after_compressed(name: str) -> None:
    """Other octets after a compressed file are reported."""
    stored = COMPRESS[name](PCAP) + b"garbage" * 3
    frames, text = outcome(io.BytesIO(stored))
    assert len(frames) == 3
    where = f"at octet 0 of the compressed data, after frame 3: the next {len(stored)} octets show"
    assert re.search(rf"{where} that the {name} data is damaged \([^)]+\)", text)


beginnings = st.sampled_from(
    [
        b"",
        PCAP_HEADER,
        build.pcap(order=">"),
        section(),
        section(">") + interface(">"),
        section() + interface(),
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        *(compress(NG)[:12] for compress in COMPRESS.values()),
    ]
)


@given(
    file=st.builds(bytes.__add__, beginnings, st.binary(max_size=300))
    | st.sampled_from(
        [PCAP, NG, b"text", b"", *(each(file) for each in COMPRESS.values() for file in (PCAP, NG))]
    ),
    changes=st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), max_size=4),
    cut=st.one_of(st.none(), st.integers(0, 400)),
    compress=st.sampled_from([bytes, *COMPRESS.values()]),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
)
@example(file=NG, changes=[], cut=None, compress=bytes, sizes=[1])
@example(file=NG, changes=[], cut=None, compress=gzip.compress, sizes=[1])
def test_any_octets(
    file: bytes,
    changes: list[tuple[int, bytes]],
    cut: int | None,
    compress: Callable[[bytes], bytes],
    sizes: list[int],
) -> None:
    """Any octets, also real files with changes, give frames or our own error.

    The size of reads changes neither, even in damaged files, unless compressed data is damaged.
    """
    changed = bytearray(file)
    for at, octets in changes:
        changed[at : at + len(octets)] = octets
    stored = compress(bytes(changed[:cut]))
    found = outcome(io.BytesIO(stored))
    check(*found)
    assert "data is damaged" in found[1] or outcome(build.short_reads(stored, sizes)) == found


@pytest.mark.parametrize("name", ["pcap", "pcapng"])
@pytest.mark.parametrize("compression", ["plain", *COMPRESS])
def test_frames_across_chunks(name: str, compression: str) -> None:
    """Frames of all sizes in a file of several chunks: none is lost where chunks meet."""
    chance = random.Random(name)
    octets = [chance.randbytes(chance.choice((0, 60, 1514, 65226, 300_000))) for _ in range(40)]
    if name == "pcap":
        file = build.pcap((0, 0, one, len(one)) for one in octets)
    else:
        other = block(9, bytes(70_000))
        file = section() + interface() + b"".join(enhanced(one) + other for one in octets)
    stored = COMPRESS.get(compression, bytes)(file)
    frames, text = outcome(build.short_reads(stored, [1 << 20, 65536, 4096, 999]))
    assert text == ""
    assert [frame.octets for frame in frames] == octets


class Endless(io.RawIOBase):
    """A file that begins with some octets and then repeats others, up to a number of octets."""

    def __init__(self, beginning: bytes, repeated: bytes, octets: int) -> None:
        super().__init__()
        self._next = beginning
        self._repeated = repeated * (1 + (1 << 16) // len(repeated))
        self._left = octets

    def read(self, size: int = -1) -> bytes:
        octets, self._next = self._next[:size], self._next[size:] or self._repeated
        self._left -= len(octets)
        return octets if self._left > 0 else b""


NOISE = random.Random(1).randbytes(1500)
RECORD = PCAP_RECORDS[2][:8] + struct.pack("<II", 1500, 1500) + NOISE
ZEROS = struct.pack("<IIII", 0, 0, 1 << 16, 1 << 16) + bytes(1 << 16)


def bomb(compress: Callable[[bytes], bytes]) -> bytes:
    """A small file that decompresses to a large one."""
    return compress(PCAP_HEADER + ZEROS * 500)


HOSTILE: dict[str, tuple[Any, bytes]] = {
    "ordinary frames": (PCAP_HEADER, RECORD),
    "pcapng frames": (section() + interface(), enhanced(NOISE)),
    "frame of 16 MiB": (PCAP_HEADER + struct.pack("<IIII", 0, 0, 1 << 24, 1 << 24), bytes(99)),
    "frame of 4 GiB": (PCAP_HEADER + struct.pack("<IIII", 0, 0, 1 << 31, 1 << 31), bytes(99)),
    "pcapng block of 4 GiB": (section() + struct.pack("<II", 9, 0xFFFFFFFC), bytes(99)),
    "interfaces": (section(), interface(options=option(2, b"x" * 4000))),
    "sections": (section(), section() + interface()),
    "frame in tiny members": (
        gzip.compress(PCAP_HEADER + struct.pack("<IIII", 0, 0, 1 << 24, 1 << 24), mtime=0),
        gzip.compress(b"ab", mtime=0),
    ),
    **{
        # Built only when needed, since this takes a while.
        f"{name} bomb": (partial(bomb, compress), bytes(99))
        for name, compress in COMPRESS.items()
    },
}


@pytest.mark.examples
@pytest.mark.parametrize("name", HOSTILE)
def test_memory(name: str) -> None:
    """Memory does not grow with the file. A wrong length costs no more than the largest frame.

    It costs twice that while pieces are joined. All else takes much less, except xz, which must
    remember 8 MiB.
    """
    beginning, repeated = HOSTILE[name]
    made = beginning() if callable(beginning) else beginning
    file: Any = Endless(made, repeated, (1 << 20) if name == "sections" else (1 << 23))

    def read() -> None:
        for _ in open_capture(file):
            pass

    assert peak(read) < (1 << 25 if "16 MiB" in name or "xz" in name else 6 << 20)
