# SPDX-License-Identifier: GPL-2.0-or-later
"""The queue of captured frames that are not written yet, and the items to write in their places.

A cleaned capture keeps the order of the capture: an FPDU takes the place of the frame that
completed it.  So there is a slot for each frame, in one queue for all connections.  The first slot
is written when its connection allows it.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.capture.frame import Frame
from scapy_mpa.wire.startup import StartupFrame
from scapy_mpa.wire.tcp import FIN

_OVERHEAD: Final = 512
"""Octets of memory, roughly, that a slot or an item takes besides the octets that it keeps."""


class Written(NamedTuple):
    """A frame of the cleaned capture."""

    frame: Frame
    """Its number is that of the captured frame in whose place it is written."""
    comment: str | None = None


class Kind(enum.Enum):
    """The kind of an item."""

    STARTUP = enum.auto()
    FPDU = enum.auto()
    FIN = enum.auto()


@dataclass(slots=True, eq=False)
class Item:
    """A startup frame, an FPDU or a FIN of one direction, to be written."""

    kind: Kind
    connection: int
    """The number of its connection."""
    direction: int
    start: int
    """Position of its first octet in the captured stream."""
    end: int
    """Position after its last octet there."""
    octets: bytes
    length: int
    """Octets in the written stream; more than ``octets`` if some were not captured."""
    captured: int = 0
    """Captured octets, Markers included, and ``drift``: the FPDU before was reported with so many
    octets too few, or too many if below 0."""
    phase: int | None = None
    """As of :class:`~scapy_mpa.stream.events.FPDURecovered`."""
    drift: int = 0
    """Of an FPDU: octets from the reported end of the FPDU before to the start of this one, though
    nothing lies between them (SoftUiWARP)."""
    markers: int = 0
    """As of :class:`~scapy_mpa.stream.events.FPDURecovered`."""
    startup: StartupFrame | None = None
    attempt: int = 0
    """Of a startup frame: how many rejections were found before it."""
    frames: tuple[int, ...] = ()
    """The numbers of the frames that have its octets, in the order of the stream."""
    headers: Frame | None = None
    """The headers of the frame that completed it; None if that frame was already written."""
    is_same: bool = False
    """Whether its octets are written as they were captured."""
    slot: int | None = None
    """If it can be written in its captured segments: the number of the first one's slot."""
    is_written: bool = False

    @property
    def held(self) -> int:
        """Octets of memory, roughly, that it takes."""
        headers = 0 if self.headers is None else len(self.headers.octets)
        return _OVERHEAD + len(self.octets) + headers


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one captured frame, and the items to write there."""

    number: int
    time_ns: int
    frame: Frame | None
    """The frame to copy if nothing is changed; None if only ``items`` are written."""
    payload: bytes = b""
    """The captured payload of its segment; empty if ``is_fpdus`` and ``frame`` has all of it."""
    connection: int | None = None
    """The number of the frame's connection, None if it has none."""
    direction: int = 0
    position: int = 0
    """Position of the first octet of its segment."""
    length: int = 0
    """Octets of payload that the segment carried."""
    captured: int = 0
    """Octets of payload that were captured; fewer if the snap length cut some off."""
    ack: int = 0
    flags: int = 0
    headers: Frame | None = None
    """The headers of the frame; of the whole IP packet, if it came in fragments."""
    is_fpdus: bool = False
    """Whether its payload is known to be octets of FPDUs only."""
    covered: int = 0
    """Position up to which items cover its octets from the first one, without a break."""
    is_plain: bool = False
    """Whether other tools can read its segment.  It holds whole items, or it is one of several
    segments that hold one FPDU and nothing else."""
    items: list[Item] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Position after its segment."""
        return self.position + self.length + bool(self.flags & FIN)

    def lacks(self, position: int) -> bool:
        """Return whether the snap length cut off the octet at a position."""
        return self.position + self.captured <= position < self.position + self.length

    @property
    def held(self) -> int:
        """Octets of memory, roughly, that it takes without its items."""
        kept = len(self.payload)
        return _OVERHEAD + kept if self.frame is None else _OVERHEAD + kept + len(self.frame.octets)


class Queue:
    """All slots that are not written yet, in the order of the capture."""

    def __init__(self) -> None:
        self.slots: deque[Slot] = deque()
        self.held = 0
        """Octets of memory, roughly, of all slots and of all items, in a slot or not."""
        self.last = -1
        """The number of the slot appended last."""
        self._last_ns = 0
        """The time of the last frame."""

    def append(self, slot: Slot) -> None:
        """Add the slot of the next frame."""
        self.slots.append(slot)
        self.last = slot.number
        self._last_ns = slot.time_ns
        self.held += slot.held

    def find(self, number: int) -> Slot | None:
        """Return the slot of a frame, None if the slot was written."""
        slots = self.slots
        at = number - slots[0].number if slots else -1
        return slots[at] if 0 <= at < len(slots) else None

    def popleft(self) -> Slot:
        """Remove the first slot, to be written now, and return it."""
        slot = self.slots.popleft()
        self.held -= slot.held
        for item in slot.items:
            self.held -= item.held
        return slot

    def place(self, item: Item, number: int) -> int:
        """Put an item into the slot of a frame, or into the first slot if that one was written.

        Return the number of the slot.
        """
        slots = self.slots
        if not slots:
            # The item is written after the last frame and before the next.
            slots.append(Slot(self.last, self._last_ns, None))
            self.held += _OVERHEAD
        slot = slots[max(0, number - slots[0].number)]
        slot.items.append(item)
        return slot.number
