# SPDX-License-Identifier: GPL-2.0-or-later
"""Files in pcapng and classic pcap: whole, cut, damaged and hostile.

draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap describe them. Damage gives every frame before
it, then one clear problem.
"""

import gzip
import io
import itertools
import random
import re
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.wire.errors import CaptureError
from tests.capture import build
from tests.capture.build import block, enhanced, interface, option, packet, pcap, section, simple
from tests.capture.compressed import COMPRESS, octet_by_octet
from tests.capture.reading import frames_of
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
    where = f"at octet 0 of the compressed data, after frame 3: the {name} data is damaged"
    assert re.search(rf"{where} here or earlier, as the next {len(stored)} octets show \(", text)


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


IF_NAME, IF_TSRESOL, IF_TSOFFSET = 2, 9, 14
ORDERS = ("<", ">")
orders = st.sampled_from(ORDERS)

Make = Callable[..., bytes]
"""A function that makes a packet block, or a header."""


def problem(file: bytes) -> str:
    """The problem of a file, before any frame."""
    found, text = outcome(io.BytesIO(file))
    assert not found
    return text


@pytest.mark.parametrize("order", ORDERS)
def test_every_block_with_a_frame(order: str) -> None:
    """Enhanced, simple and obsolete Packet Blocks, in a file of either byte order."""
    name = option(IF_NAME, b"eth0", order)
    file = (
        section(order)
        + interface(order, link=1, snap_length=4, options=name)
        + interface(order, link=113)
        + enhanced(b"abc", order, ticks=1_700_000_000_123_456, original=1500)
        + packet(b"defgh", order, index=1, ticks=1)
        + simple(b"ijkl", 90, order)
        + simple(b"mn", 2, order)
    )
    assert frames_of(file) == [
        Frame(1, 1_700_000_000_123_456_000, 1, b"abc", 1500, "eth0"),
        Frame(2, 1000, 113, b"defgh", 5, None),
        Frame(3, 0, 1, b"ijkl", 90, "eth0"),
        Frame(4, 0, 1, b"mn", 2, "eth0"),
    ]


@given(
    resolution=st.one_of(st.none(), st.integers(0, 255)),
    offset=st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1)),
    ticks=st.integers(0, (1 << 64) - 1),
    order=orders,
    obsolete=st.booleans(),
)
@example(resolution=9, offset=None, ticks=1_700_000_000_123_456_789, order="<", obsolete=False)
@example(resolution=0x80 | 32, offset=100, ticks=(5 << 32) + (1 << 31), order="<", obsolete=False)
def test_time(
    resolution: int | None, offset: int | None, ticks: int, order: str, obsolete: bool
) -> None:
    """``if_tsresol`` is a power of ten or two, ``if_tsoffset`` is in seconds. Times are in
    nanoseconds."""
    options = b""
    unit = Fraction(1, 10**6)
    if resolution is not None:
        options += option(IF_TSRESOL, bytes([resolution]), order)
        base = 2 if resolution & 0x80 else 10
        unit = Fraction(1, base ** (resolution & 0x7F))
    if offset is not None:
        options += option(IF_TSOFFSET, struct.pack(order + "q", offset), order)
    make = packet if obsolete else enhanced
    file = section(order) + interface(order, options=options) + make(b"x", order, ticks=ticks)
    (frame,) = frames_of(file)
    assert frame.time_ns == floor((ticks * unit + (offset or 0)) * 10**9)


of_section = st.lists(
    st.tuples(st.integers(0, 2), st.binary(max_size=40), st.integers(0, 100)), max_size=4
)


@given(sections=st.lists(st.tuples(orders, of_section), min_size=1, max_size=4))
def test_sections_of_either_byte_order(
    sections: list[tuple[str, list[tuple[int, bytes, int]]]],
) -> None:
    """Each section has its own byte order and interfaces. Frames are numbered through."""
    file = b""
    expected = []
    for which, (order, frames) in enumerate(sections):
        file += section(order, options=option(4, b"application", order))
        for index in range(3):
            name = option(IF_NAME, f"s{which}i{index}".encode(), order)
            file += interface(order, link=10 * which + index, options=name)
        for index, octets, more in frames:
            file += enhanced(octets, order, index=index, original=len(octets) + more)
            expected.append((octets, len(octets) + more, 10 * which + index, f"s{which}i{index}"))
    found = frames_of(file)
    assert [frame.number for frame in found] == list(range(1, len(expected) + 1))
    assert [(*f[3:5], f.link_type, f.interface) for f in found] == expected


@given(
    kind=st.integers(0, 0xFFFFFFFF).filter(lambda kind: kind not in (1, 2, 3, 6, 0x0A0D0D0A)),
    body=st.binary(max_size=50),
    order=orders,
)
def test_unknown_blocks_are_skipped(kind: int, body: bytes, order: str) -> None:
    """Blocks of any other type are skipped anywhere."""
    other = block(kind, body, order)
    file = section(order) + other + interface(order) + other + enhanced(b"x", order) + other
    assert [frame.octets for frame in frames_of(file)] == [b"x"]


def test_long_unknown_block_is_skipped() -> None:
    """A skipped block may be longer than any window."""
    long = block(0x80000001, bytes((1 << 25) + 4))
    frames = frames_of(section() + interface() + enhanced(b"a") + long + enhanced(b"b"))
    assert [frame.octets for frame in frames] == [b"a", b"b"]


INTERFACE_NAMES = [
    (b"eth0\0\0", "eth0"),
    (b"", None),
    ("Gerät".encode(), "Gerät"),
    (b"\xff", "\ufffd"),
    (bytes(65532), None),
    (b"x" * 65532, "x" * 255),
]


@pytest.mark.parametrize(
    ("value", "name"),
    INTERFACE_NAMES,
    ids=["zeros", "empty", "umlaut", "not UTF-8", "all zeros", "long"],
)
def test_interface_name(value: bytes, name: str | None) -> None:
    """``if_name`` is UTF-8. Invalid octets are replaced, and a far too long name is cut."""
    (frame,) = frames_of(section() + interface(options=option(IF_NAME, value)) + enhanced(b"x"))
    assert frame.interface == name


LATE = option(IF_NAME, b"eth0") + option(IF_TSRESOL, b"\x09")
"""Good options after a wrong one: a name, and nanoseconds."""
WRONG = {
    "resolution of two octets": (option(IF_TSRESOL, b"\3\3"), "if_tsresol is 2 octets", 1000),
    "resolution of none": (option(IF_TSRESOL, b""), "if_tsresol is 0 octets", 1000),
    "offset of four octets": (option(IF_TSOFFSET, b"\1" * 4), "if_tsoffset is 4 octets", 1000),
    "offset of nine octets": (option(IF_TSOFFSET, b"\1" * 9), "if_tsoffset is 9 octets", 1000),
    "a good one after it": (option(IF_TSOFFSET, b"\1") + LATE, "if_tsoffset is 1 octets", 1),
    "longer than its block": (struct.pack("<HH", 1, 5) + b"abcd", "longer than its block", 1000),
    "cut": (option(IF_TSRESOL, b"\x09") + b"\1\0\1", "longer than its block", 1),
    "unknown": (option(4711, b"whatever") + LATE, None, 1),
    "without an end": (LATE, None, 1),
    "after the end": (option(0, b"") + LATE, None, 1000),
}
"""Options of an interface: the message, and the unit of time in nanoseconds."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options_of_an_interface(name: str) -> None:
    """Wrong options are ignored with a message, and lose no frame."""
    octets, what, unit = WRONG[name]
    capture = open_capture(
        io.BytesIO(section() + interface(options=octets) + enhanced(b"abcdefgh", ticks=7))
    )
    (frame,) = capture
    assert (frame.octets, frame.time_ns) == (b"abcdefgh", 7 * unit)
    assert capture.problem is None
    if what is None:
        assert capture.warning is None
    else:
        assert capture.warning is not None
        assert capture.warning.startswith("capture: at octet 28: an interface is described wrongly")
        assert what in capture.warning


@given(octets=st.binary(max_size=40), order=orders, make=st.sampled_from([enhanced, packet]))
def test_any_options(octets: bytes, order: str, make: Make) -> None:
    """With any options of an interface or a frame, the frames are read."""
    file = section(order) + interface(order, options=octets) + interface(order)
    file += enhanced(b"x", order) + make(bytes(20), order, options=octets, index=1)
    frames = frames_of(file + enhanced(b"y", order, index=1))
    assert [len(frame.octets) >= 5 for frame in frames] == [False, True, False]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("length", [-1, 0, 7, 20, 1 << 62])
def test_section_length(order: str, length: int) -> None:
    """A section of any claimed length ends where the next begins."""
    header = bytearray(section(order))
    header[16:24] = struct.pack(order + "q", length)
    one = bytes(header) + interface(order) + enhanced(b"x", order)
    other = section() + interface() + enhanced(b"y")
    assert [frame.octets for frame in frames_of(one + other + one)] == [b"x", b"y", b"x"]


HEAD = section() + interface()
TAIL, BOTH = struct.Struct("<I"), struct.Struct("<II")
CLAIM = struct.pack("<IIIII", 0, 0, 0, 5, 5)
DAMAGED = [
    ("a frame is of interface 1, which is not described", HEAD + enhanced(b"x", index=1)),
    ("a frame is of interface 0, which is not described", section() + simple(b"x", 1)),
    # Interfaces are those of the section.
    ("a frame is of interface 0, which is not described", HEAD + section() + enhanced(b"x")),
    ("claims a length of 8 octets", HEAD + struct.pack("<III", 5, 8, 8)),
    ("claims a length of 13 octets", HEAD + struct.pack("<IIBI", 5, 13, 0, 13)),
    ("has another length after it than in front", HEAD + enhanced(b"x")[:-4] + TAIL.pack(40)),
    ("has another length after it than in front", HEAD + block(5, b"")[:-4] + TAIL.pack(16)),
    ("too short for its fields", HEAD + block(6, bytes(16))),
    ("too short for its fields", HEAD + block(3, b"")),
    ("claims 5 captured octets in its block", HEAD + block(6, CLAIM + b"abcd")),
    ("claims 5 captured octets in its block", HEAD + simple(b"abcd", 5)),
    ("claims 4294967292 octets, which no frame has", HEAD + BOTH.pack(6, 0xFFFFFFFC) + bytes(99)),
    ("the file ends inside a block", HEAD + BOTH.pack(5, 0xFFFFFFFC) + bytes(99)),
    # In a later header. In the first one it is refused at once.
    ("pcapng version 2.0 is not supported", HEAD + section(version=(2, 0))),
    ("description is too short", section() + block(1, b"\x01\0\0\0")),
    ("a section header has no byte-order magic", HEAD + block(0x0A0D0D0A, bytes(16))),
    (
        "a section header claims a length of 24 octets",
        HEAD + struct.pack("<IIIHHq", 0x0A0D0D0A, 24, 0x1A2B3C4D, 1, 0, -1) + bytes(4),
    ),
]
"""The words of the problem, and a file."""


@pytest.mark.parametrize(("what", "file"), DAMAGED)
def test_damage(what: str, file: bytes) -> None:
    """Impossible fields end the reading, with a message."""
    text = problem(file)
    assert what in text
    assert "before any frame" in text


def test_many_interfaces() -> None:
    """As many interfaces as in merged files are accepted. More would only fill memory."""
    many = section() + interface() * (1 << 16)
    assert len(frames_of(many + enhanced(b"x", index=65535))) == 1
    assert "more than 65536 interfaces" in problem(many + interface() + enhanced(b"x"))


record = st.tuples(
    st.integers(0, 0xFFFFFFFF),
    # Some writers let the microseconds exceed a second. The time is the sum.
    st.integers(0, 1_999_999),
    st.binary(max_size=64),
    st.integers(0, 0xFFFFFFFF),
)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
@given(records=st.lists(record, max_size=5))
def test_every_variant(order: str, magic: int, unit: int, records: list[build.Record]) -> None:
    """Either byte order, micro- or nanoseconds: the same frames."""
    file = pcap(records, order=order, magic=magic, link=276)
    assert frames_of(file) == [
        Frame(
            number, seconds * 10**9 + fraction * unit, 276, octets, max(original, len(octets)), None
        )
        for number, (seconds, fraction, octets, original) in enumerate(records, 1)
    ]


OTHER_VERSIONS = [
    *((pcap, each) for each in ((2, 5), (2, 3), (1, 4), (3, 0), (543, 0))),
    (section, (2, 0)),
]


@pytest.mark.parametrize(("make", "version"), OTHER_VERSIONS)
def test_other_versions(make: Make, version: tuple[int, int]) -> None:
    """Versions whose records may differ are refused at once."""
    with pytest.raises(CaptureError, match=r"pcap(ng)? version \d+\.\d is not supported; convert"):
        open_capture(io.BytesIO(make(version=version)))


@pytest.mark.parametrize("captured", [(1 << 24) + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_impossible_length(captured: int) -> None:
    """An impossible length ends the reading there, with a message, and takes no memory.

    Super-segments and odd interfaces have frames larger than any snap length, which are read.
    """
    largest = bytes(1 << 24)
    (frame,) = frames_of(pcap([(0, 0, largest, len(largest))]))
    assert frame.octets == largest
    good = pcap([(0, 0, b"abcd", 4)])
    damaged = struct.pack("<IIII", 0, 0, captured, captured)
    capture = open_capture(io.BytesIO(good + damaged + b"rest"))
    assert [frame.octets for frame in capture] == [b"abcd"]
    assert str(capture.problem) == (
        f"capture: at octet 44, after frame 1: a frame claims {captured} captured octets, which no "
        "capture has; the file is damaged: capture or copy it again"
    )
