# SPDX-License-Identifier: GPL-2.0-or-later
"""The captured frames whose fate is not decided, and what is to be written in their places.

A cleaned capture is in the order of the captured one: what was recovered stands where the frame
stood that made it known.  So there is a slot for each frame, in one queue for all connections, and
the first slot is written once its connection says so.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scapy_mpa.capture.frame import Frame
from scapy_mpa.stream.segment import FIN
from scapy_mpa.wire.startup import StartupFrame

_OVERHEAD: Final = 512
"""Octets of memory, roughly, that a slot or an item takes beside those that it keeps."""


class Written(NamedTuple):
    """A frame of the cleaned capture."""

    frame: Frame
    """Its number is that of the captured frame in whose place it stands."""
    comment: str | None = None


class Kind(enum.Enum):
    """What an item is."""

    STARTUP = enum.auto()
    FPDU = enum.auto()
    FIN = enum.auto()


@dataclass(slots=True, eq=False)
class Item:
    """A part of the stream of one direction, as it is to be written."""

    kind: Kind
    connection: int
    """The number of its connection."""
    direction: int
    start: int
    """Position of its first octet in the captured stream."""
    end: int
    """Position of what follows it there."""
    octets: bytes
    length: int
    """Octets in the stream that is written; more than ``octets`` if a snap length cut it."""
    captured: int = 0
    """Octets that were captured, Markers included: its own, and by how many (more or less than 0)
    the one before it was reported with too few."""
    phase: int | None = None
    """As of :class:`~scapy_mpa.stream.events.FPDURecovered`."""
    drift: int = 0
    """Of an FPDU: octets from where the one before it was said to end up to where it begins, though
    nothing lies between them (SoftUiWARP)."""
    markers: int = 0
    """As of :class:`~scapy_mpa.stream.events.FPDURecovered`."""
    startup: StartupFrame | None = None
    attempt: int = 0
    """Of a startup frame: how many rejections were found before it."""
    frames: tuple[int, ...] = ()
    """The frames whose octets it has, ascending by place in the stream."""
    headers: Frame | None = None
    """The headers of the frame that completed it; None if that was written before."""
    is_same: bool = False
    """Whether its octets are written as they were captured."""
    slot: int | None = None
    """The number of the slot in whose frame it begins, None if it is not as it was there."""
    is_written: bool = False

    @property
    def held(self) -> int:
        """Octets of memory, roughly, that it takes."""
        headers = 0 if self.headers is None else len(self.headers.octets)
        return _OVERHEAD + len(self.octets) + headers


@dataclass(slots=True, eq=False)
class Slot:
    """The place of one captured frame."""

    number: int
    time_ns: int
    frame: Frame | None
    """What is copied if nothing else is known, or nothing is changed; None if only ``items`` are
    written."""
    payload: bytes = b""
    """The payload of its segment, as far as it was captured; empty where ``is_fpdus`` and
    ``frame`` has all of it."""
    connection: int | None = None
    """The number of the connection that the frame belongs to, None if there is none."""
    direction: int = 0
    position: int = 0
    """Of the first octet of its segment."""
    length: int = 0
    """Octets of payload that the segment carried."""
    ack: int = 0
    flags: int = 0
    headers: Frame | None = None
    """The headers of the frame; of the whole IP packet, if it came in fragments."""
    is_fpdus: bool = False
    """Whether it is known that its octets are of FPDUs, and of nothing else."""
    covered: int = 0
    """Position up to which its octets are those of items that follow each other from its
    beginning."""
    is_plain: bool = False
    """Whether other tools can read its segment: it holds whole items, or it is one of several that
    an FPDU has for itself."""
    items: list[Item] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Position of what follows its segment."""
        return self.position + self.length + bool(self.flags & FIN)

    @property
    def held(self) -> int:
        """Octets of memory, roughly, that it takes without its items."""
        kept = len(self.payload)
        return _OVERHEAD + kept if self.frame is None else _OVERHEAD + kept + len(self.frame.octets)


class Queue:
    """All slots that are not written yet, in the order of capture."""

    def __init__(self) -> None:
        self.slots: deque[Slot] = deque()
        self.held = 0
        """Octets of memory, roughly, that slots take, and items whether or not they have one."""
        self.last = -1
        """The number of the last slot that there was."""
        self._last_ns = 0
        """The time of the last frame."""

    def append(self, slot: Slot) -> None:
        """Add the slot of the next frame."""
        self.slots.append(slot)
        self.last = slot.number
        self._last_ns = slot.time_ns
        self.held += slot.held

    def empty(self, slot: Slot) -> None:
        """Have a frame not written, only what is in its slot."""
        self.held -= slot.held
        slot.frame = None
        self.held += slot.held

    def find(self, number: int) -> Slot | None:
        """Return the slot of a frame, None if it is written."""
        slots = self.slots
        at = number - slots[0].number if slots else -1
        return slots[at] if 0 <= at < len(slots) else None

    def popleft(self) -> Slot:
        """Return the first slot, to be written now."""
        slot = self.slots.popleft()
        self.held -= slot.held
        for item in slot.items:
            self.held -= item.held
        return slot

    def place(self, item: Item, number: int) -> int:
        """Put an item into the slot of a frame, or the first one if that is gone.

        Return the number of the slot.
        """
        slots = self.slots
        if not slots:
            # After the last frame, or before the next.
            slots.append(Slot(self.last, self._last_ns, None))
            self.held += _OVERHEAD
        slot = slots[max(0, number - slots[0].number)]
        slot.items.append(item)
        return slot.number
