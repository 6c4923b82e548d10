# SPDX-License-Identifier: GPL-2.0-or-later
"""pcapng files (draft-ietf-opsawg-pcapng): any number of sections, each in its own byte order.

The blocks that are read: Section Header, Interface Description, Enhanced Packet, Simple Packet, and
the obsolete Packet Block. All others are skipped, however long. The options that are used:
``if_name``, ``if_tsresol`` and ``if_tsoffset``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

from scapy_mpa.capture.damage import CONVERT, UNFINISHED, DamagedError
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, Frame
from scapy_mpa.capture.interface import Interface, parse_interface
from scapy_mpa.capture.source import Source

PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"
"""Type of the Section Header Block, the same in both byte orders."""

MAXIMUM_INTERFACES: Final = 1 << 16
"""Interfaces of one section, at most. Each merged file adds one; a file with more of them only
fills memory."""

_MAXIMUM_BLOCK: Final = MAXIMUM_CAPTURED + (1 << 20)
"""Octets of a block that is read whole, at most: the largest frame, with room for options."""

SECTION_HEADER: Final = 0x0A0D0D0A
INTERFACE_DESCRIPTION: Final = 1
ENHANCED_PACKET: Final = 6
"""Types of the blocks that are read and written."""
_PACKET: Final = 2
_SIMPLE_PACKET: Final = 3

BYTE_ORDER_MAGIC: Final = 0x1A2B3C4D
"""The word in a Section Header that shows the byte order of its section."""

_HEAD: Final = 8
"""Octets of block type and length, before a block's body."""
_TAIL: Final = 4
"""Octets of the length that is repeated after the body."""
_SHORTEST_BLOCK: Final = _HEAD + _TAIL
_SHORTEST_SECTION_HEADER: Final = 28

_MAJOR_VERSION: Final = 1


class _Order:
    """The structs of one byte order; all but ``word`` are unpacked where a block begins."""

    def __init__(self, name: str) -> None:
        self.name = name
        """``<`` or ``>``, as for struct."""
        self.head = Struct(name + "II")
        """Type, length."""
        self.word = Struct(name + "I")
        """Length again."""
        self.section = Struct(name + "12xHH")
        """Major and minor version."""
        self.packets = {
            ENHANCED_PACKET: Struct(name + "8xIIIII"),
            _PACKET: Struct(name + "8xH2xIIII"),
            _SIMPLE_PACKET: Struct(name + "8xI"),
        }
        """By type of block: interface, timestamp (high, low), captured octets, original octets.  A
        Simple Packet Block has original octets only."""


_ORDERS: Final = {order.word.pack(BYTE_ORDER_MAGIC): order for order in map(_Order, "<>")}
"""By byte-order magic."""


def pcapng_frames(source: Source, warn: Callable[[str], None]) -> Iterator[Frame]:
    """Check the first section header and return an iterator of the frames.

    :param warn: called with the text of a fault that costs no frame.
    :raises DamagedError: the header is cut, damaged or of another version. The iterator raises it
        where the file ends inside a block, or a block is damaged.
    """
    window, _ = source.forward(0, _SHORTEST_SECTION_HEADER)
    if len(window) < _SHORTEST_SECTION_HEADER:
        raise DamagedError("the file ends inside its header", len(window))
    return _Reader(source, warn).frames()


class _Reader:
    """Walks the blocks of a file whose window begins with a section header."""

    def __init__(self, source: Source, warn: Callable[[str], None]) -> None:
        self._source = source
        self._warn = warn
        self._block = 0
        """Where the current block begins in the file, in octets."""
        self._interfaces: list[Interface] = []
        self._order = self._begin_section(0)

    def frames(self) -> Iterator[Frame]:
        source, order = self._source, self._order
        window = source.window
        at = number = 0
        while True:
            self._block = source.base + at
            if at + _SHORTEST_BLOCK > len(window):
                window, at = source.forward(at, _SHORTEST_BLOCK)
                if at == len(window):
                    return
                self._hold(at, _SHORTEST_BLOCK)
            kind, length = order.head.unpack_from(window, at)
            if kind == SECTION_HEADER:
                at = self._hold(at, _SHORTEST_SECTION_HEADER)
                window = source.window
                order = self._order = self._begin_section(at)
                _, length = order.head.unpack_from(window, at)
            if length < _SHORTEST_BLOCK or length & 3:
                raise self._damaged(f"a block claims a length of {length} octets")
            is_packet = kind in order.packets
            if is_packet or kind == INTERFACE_DESCRIPTION:
                if length > _MAXIMUM_BLOCK:
                    raise self._damaged(f"a block claims {length} octets, which no frame has")
                if at + length > len(window):
                    # It may be large, and the next one is made before this name is bound again.
                    del window
                    at = self._hold(at, length)
                end = at + length - _TAIL
            else:
                at = end = self._skip(at, length - _TAIL)
            window = source.window
            if order.word.unpack_from(window, end)[0] != length:
                raise self._damaged("a block has another length after it than in front")
            if is_packet:
                number += 1
                yield self._frame(number, kind, window, at, end)
            elif end > at:
                self._add_interface(window[at + _HEAD : end])
            at = end + _TAIL

    def _hold(self, at: int, count: int) -> int:
        """Move the window so that it holds ``count`` octets of a block; return where they begin."""
        window, at = self._source.forward(at, count)
        if at + count > len(window):
            raise DamagedError("the file ends inside a block", self._block, UNFINISHED)
        return at

    def _skip(self, at: int, count: int) -> int:
        """Skip ``count`` octets of a block without keeping them; return where its tail begins."""
        while (rest := len(self._source.window) - at) < count:
            count -= rest
            at = self._hold(at + rest, 1)
        return self._hold(at + count, _TAIL)

    def _begin_section(self, at: int) -> _Order:
        """Return the byte order of the section header at ``at``; forget interfaces."""
        window = self._source.window
        order = _ORDERS.get(window[at + _HEAD : at + _HEAD + 4])
        if order is None:
            raise self._damaged("a section header has no byte-order magic")
        major, minor = order.section.unpack_from(window, at)
        if major != _MAJOR_VERSION:
            raise DamagedError(
                f"pcapng version {major}.{minor} is not supported", self._block, CONVERT
            )
        _, length = order.head.unpack_from(window, at)
        if length < _SHORTEST_SECTION_HEADER:
            raise self._damaged(f"a section header claims a length of {length} octets")
        self._interfaces = []
        return order

    def _add_interface(self, body: bytes) -> None:
        if len(self._interfaces) == MAXIMUM_INTERFACES:
            raise self._damaged(f"a section has more than {MAXIMUM_INTERFACES} interfaces")
        interface = parse_interface(body, self._order.name, self._block)
        if interface.fault is not None:
            self._warn(
                f"at octet {self._block}: an interface is described wrongly ({interface.fault}), "
                "so defaults are used"
            )
        self._interfaces.append(interface)

    def _frame(self, number: int, kind: int, window: bytes, at: int, end: int) -> Frame:
        """Return the frame of the packet block at ``at``, whose body ends at ``end``."""
        layout = self._order.packets[kind]
        start = at + layout.size
        if start > end:
            raise self._damaged("a block is too short for its fields")
        *numbers, original = layout.unpack_from(window, at)
        index, high, low, captured = numbers or (0, 0, 0, None)
        if index >= len(self._interfaces):
            raise self._damaged(f"a frame is of interface {index}, which is not described")
        interface = self._interfaces[index]
        if captured is None:
            captured = min(original, interface.snap_length or original)
            time_ns = 0
        else:
            ticks = high << 32 | low
            time_ns = ticks * interface.numerator // interface.denominator + interface.offset_ns
        stop = start + captured
        if stop > end or captured > MAXIMUM_CAPTURED:
            raise self._damaged(f"a frame claims {captured} captured octets in its block")
        octets = window[start:stop]
        if original < captured:
            original = captured
        return Frame(number, time_ns, interface.link_type, octets, original, interface.name)

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(what, self._block)
