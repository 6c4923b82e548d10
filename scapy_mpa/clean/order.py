# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which the FPDUs and startup frames of a connection are written.

The stream core may report an FPDU after a hole before those in it.  FPDUs are written in the order
of their stream.  So an FPDU after a hole waits until the hole is filled, or until the stream core
no longer waits for that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final

from scapy_mpa.clean.core import NEVER, Core
from scapy_mpa.clean.opening import NEEDED
from scapy_mpa.clean.readable import readable_startup, unmarked_octets
from scapy_mpa.clean.rewrite import Rewriter
from scapy_mpa.clean.slot import Item, Kind, Queue, Slot
from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.events import FPDURecovered, StartupSeen
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH, fpdu_length
from scapy_mpa.wire.startup import StartupKind
from scapy_mpa.wire.tcp import FIN, RST, SYN

_LONGEST: Final = fpdu_length(LARGEST_ULPDU_LENGTH)
"""Octets of the longest FPDU without Markers."""

_SHORTEST: Final = fpdu_length(0)
"""Octets of the shortest FPDU: other tools look for none in a shorter segment."""

_MOST_IN_FRAME: Final = 64
"""Limit of FPDUs in a copied frame: Wireshark reads 500 headers of one, up to seven for an FPDU."""


@dataclass(slots=True, eq=False)
class _Half:
    """One direction."""

    high: int | None = None
    """The highest position in the stream core: sequence numbers become positions near it."""
    fpdu_end: int = 0
    """The reported end of the FPDU that was reported last."""
    expected: int = 0
    """Position up to which all items are in their slots."""
    startup_end: int = 0
    """Position after the last startup frame."""
    last_slot: int = 0
    """The number of the last slot that holds an item of this direction."""
    pending: list[tuple[int, int, int, Item]] = field(default_factory=list)
    """The items that are not in a slot yet: a heap of position, serial number, the number of the
    frame that completed the item, and the item."""
    waits_from: int = NEVER
    """The number of the first frame that completed a pending item."""
    unexplained: deque[tuple[int, int]] | None = None
    """Frames whose octets are not identified yet, or follow a hole: the number of each, and the
    position after its octets."""

    def position(self, seq: int) -> int:
        return first_position(seq) if self.high is None else unwrap(seq, self.high)


@dataclass(slots=True, eq=False)
class Order:
    """Puts the items of one connection into slots."""

    rewriter: Rewriter
    """Writes the items of the slots."""
    _queue: Queue
    """The slots of all connections."""
    halves: tuple[_Half, _Half] = field(default_factory=lambda: (_Half(), _Half()))
    _serial: Iterator[int] = field(default_factory=count)
    blocked_from: int = NEVER
    """The number of the first frame whose slot must not be written yet."""
    is_at_rest: bool = False
    """Whether all captured octets are written, with their own sequence and acknowledgement numbers.
    The next segment can then be copied if it is in order and only acknowledges, or holds whole
    FPDUs without Markers.  It leaves the connection at rest."""

    # -- in ----------------------------------------------------------------------------------

    def place(self, slot: Slot, seq: int, core: Core) -> None:
        """Take the slot of a frame of this connection.

        :param core: its direction in the stream core, which has taken the segment.
        """
        half = self.halves[slot.direction]
        half.high = core.high
        self.is_at_rest = False
        slot.position = half.position(seq)
        end = slot.position + slot.length
        if slot.length:
            if half.unexplained is None:
                half.unexplained = deque()
            half.unexplained.append((slot.number, end))
        slot.covered = slot.position
        if slot.flags & SYN:
            # All items are written after the SYN.
            for each in self.halves:
                each.last_slot = each.last_slot if each.expected else slot.number
        if slot.flags & FIN:
            item = Item(
                Kind.FIN, self.rewriter.identity.number, slot.direction, end, end + 1, b"", 1
            )
            item.frames, item.is_same = (slot.number,), True
            self._wait(half, item, slot.number)

    def hold(self, slot: Slot, seq: int) -> None:
        """Take the slot of a frame that may be a copy, or begin the next connection of the ports.

        If it does not pass to that connection, it waits for the end of this one.
        """
        slot.position = self.halves[slot.direction].position(seq)
        self.blocked_from = min(self.blocked_from, slot.number)

    def startup(self, event: StartupSeen) -> None:
        """Take a startup frame."""
        half = self.halves[event.direction]
        start = half.position(event.seq)
        is_reply = event.startup.kind is StartupKind.REPLY
        if is_reply and event.startup.rejected and start < half.expected:
            # It was captured late, after the startup that followed it.
            return
        octets = event.octets
        # ``lacking`` octets were cut by a snap length.
        length = event.startup.length - event.lacking
        known = readable_startup(event.startup, event.dialect)
        item = Item(
            Kind.STARTUP,
            self.rewriter.identity.number,
            event.direction,
            start,
            start + length,
            known,
            max(len(known), length - extension_length(event.startup.revision)),
            captured=len(octets),
            startup=event.startup,
            frames=event.frames,
            is_same=known == octets and event.startup.kind is not StartupKind.RTR,
        )
        half.startup_end = max(half.startup_end, item.end)
        completed = max(event.frames, default=event.frame)
        # Octets before it, in streaming mode, may have been captured after it.
        before = [number for number, end in half.unexplained or () if end <= start]
        self.rewriter.opening.add(item)
        self._wait(half, item, max(completed, *before, 0))

    def fpdu(self, event: FPDURecovered) -> None:
        """Take an FPDU."""
        direction = event.direction
        half = self.halves[direction]
        rewriter = self.rewriter
        completed = max(event.frames)
        if completed <= rewriter.halves[direction].last_copied:
            # Its frames were copied before it was found.
            rewriter.report.left += 1
            return
        _, _, header, extent = event.place
        start = half.position(event.seq) - header
        octets = unmarked_octets(event)
        length = fpdu_length(event.ulpdu_length)
        if len(event.octets) < extent:
            end = start + len(event.octets)
            if any(slot.lacks(end) for slot in filter(None, map(self._queue.find, event.frames))):
                rewriter.report.cut += 1
            else:
                # It claims octets of the next FPDU.  With zeros instead, a bad CRC stays bad.
                extent = len(event.octets)
                rewriter.report.overlong += 1
                octets = octets.ljust(length, b"\0") if event.crc == "bad" else octets
        drift = start - half.fpdu_end if event.dialect is Dialect.SOFTUIWARP and event.offset else 0
        half.fpdu_end = start + extent
        rewriter.opening.add_fpdu(direction, start, half.startup_end, event)
        item = Item(
            Kind.FPDU,
            self.rewriter.identity.number,
            direction,
            start,
            half.fpdu_end,
            octets,
            length,
            captured=len(event.octets) + drift,
            phase=event.phase,
            drift=drift,
            markers=event.markers,
            frames=event.frames,
            is_same=octets == event.octets and extent == length and not drift,
        )
        self._wait(half, item, completed)

    def _wait(self, half: _Half, item: Item, completed: int) -> None:
        slot = self._queue.find(max(item.frames, default=completed))
        item.headers = None if slot is None else slot.headers
        heappush(half.pending, (item.start, next(self._serial), completed, item))
        half.waits_from = min(half.waits_from, completed)
        self._queue.held += item.held

    # -- at rest -----------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Check whether the connection is at rest now."""
        self.is_at_rest = (
            not self._queue.slots
            and self.rewriter.opening.written >= NEEDED
            and all(
                not half.pending and written.is_as_captured(half.expected)
                for half, written in zip(self.halves, self.rewriter.halves, strict=True)
            )
        )

    def can_copy(self, direction: Direction, number: int) -> bool:
        """Return whether the segment that a direction has just taken at rest can be copied.

        :param number: how many FPDUs it brought.
        """
        # Not the first FPDU of a direction: the opening must take it.
        is_first = not self.halves[direction.index].fpdu_end
        is_whole = not (direction.pieces or direction.shapes.marked)
        return is_whole and not is_first and 0 < number <= _MOST_IN_FRAME

    def place_at_rest(self, slot: Slot, seq: int, number: int) -> None:
        """Take the slot of a frame that is copied while the connection is at rest."""
        half = self.halves[slot.direction]
        slot.position = half.position(seq)
        if number:
            slot.is_plain = True
            half.high = half.fpdu_end = half.expected = slot.end
            half.last_slot = slot.number
            self.rewriter.report.fpdus += number
            self.rewriter.kept += slot.length

    # -- out ---------------------------------------------------------------------------------

    def settle(self, connection: Connection, cores: tuple[Core, Core]) -> None:
        """Put into slots all items that need not wait, and find out which slots may be written.

        :param cores: both directions in the stream core.
        """
        blocked_from, opening = NEVER, self.rewriter.opening
        for half, core in zip(self.halves, cores, strict=True):
            if half.pending:
                is_streaming = core.half.phase is Phase.STREAMING and not is_unknown(core.half)
                self._flush(half, core.awaited, is_over=is_streaming)
                if half.pending and half.pending[0][3].kind is Kind.FIN and opening.is_mpa:
                    # Octets before the FIN may turn out to be an FPDU.
                    blocked_from = min(blocked_from, half.pending[0][2])
            unexplained = half.unexplained
            if unexplained:
                explained = self._explained(half, core)
                while unexplained and unexplained[0][1] <= explained:
                    unexplained.popleft()
                if unexplained:
                    blocked_from = min(blocked_from, unexplained[0][0])
                else:
                    half.unexplained = None
        is_early = connection.segments <= LATE_SEGMENTS and opening.is_mpa
        if is_early and not opening.is_whole and any(each.begin for each in connection.halves):
            # A startup frame may still be captured.
            blocked_from = 0
        self.blocked_from = blocked_from

    def end(self) -> None:
        """Put all items into slots, since the connection is over."""
        for half in self.halves:
            self._flush(half, NEVER, is_over=True)
            half.unexplained = None
        self.blocked_from = NEVER

    def force(self, number: int) -> None:
        """Allow the slot of a frame to be written, although not everything is known.

        A direction whose items have waited since that frame, or longer, no longer waits for its
        holes.
        """
        for half in self.halves:
            while half.unexplained and half.unexplained[0][0] <= number:
                half.unexplained.popleft()
            if half.waits_from <= number:
                self._flush(half, NEVER, is_over=True)
        self.blocked_from = min(
            (half.unexplained[0][0] for half in self.halves if half.unexplained), default=NEVER
        )

    @staticmethod
    def _explained(half: _Half, core: Core) -> int:
        """Return the position up to which all octets are identified."""
        awaited = core.awaited
        if core.half.phase is Phase.FULL:
            # Until an FPDU is found, any octets may be part of the first one.
            if not core.has_fpdus:
                return half.startup_end
            # Octets no longer than an FPDU may be one with several segments of its own.
            is_short = (core.high or 0) - half.expected <= _LONGEST
            return min(awaited, half.expected) if is_short else awaited
        if core.half.phase is Phase.STREAMING and not is_unknown(core.half):
            streaming = streaming_of(core.half)
            begun = None if streaming is None else streaming.undecided_from()
            return awaited if begun is None else begun
        return half.startup_end

    def _as_captured(self, half: _Half, item: Item, number: int) -> int:
        """Return the number of the slot in which to put an item.

        If the segments of the item can be written as they were captured, it is the slot of the
        first one, else the given one.
        """
        found = [self._queue.find(each) for each in item.frames]
        slots = [each for each in found if each is not None]
        if (
            not item.is_same
            or not slots
            or len(slots) < len(found)
            or item.frames != tuple(sorted(item.frames))
            or slots[-1].number != number
            or slots[0].number < half.last_slot
            or item.start < half.expected
            or any(each.flags & (SYN | RST) for each in slots)
        ):
            return number
        first = slots[0]
        ends = [item.start, *(each.end for each in slots)]
        if ends[-1] == item.end and all(
            each.position == end for each, end in zip(slots, ends, strict=False)
        ):
            # The segments hold this item and nothing else.
            if slots[1:] and (item.kind is Kind.STARTUP or first.length < _SHORTEST):
                return number
            first.covered = item.end
            for each in slots:
                each.is_plain = True
        elif item.kind is not Kind.STARTUP and not slots[1:] and first.covered == item.start:
            first.covered = item.end
            first.is_plain = item.end == first.end and len(first.items) < _MOST_IN_FRAME
        else:
            return number
        item.slot = first.number
        return first.number

    def _flush(self, half: _Half, upto: int, *, is_over: bool) -> None:
        """Put the items before a position into slots, in the order of the stream.

        :param is_over: put a FIN there, too, even if octets before it are not identified.
        """
        pending = half.pending
        while pending and pending[0][0] < upto:
            start, _, completed, item = pending[0]
            if item.kind is Kind.FIN and start > half.expected and not is_over:
                break
            heappop(pending)
            if item.kind is Kind.FPDU and start < half.expected + item.drift:
                self.rewriter.report.late += 1
            number = max(completed, half.last_slot)
            placed = self._queue.place(item, self._as_captured(half, item, number))
            # An FPDU with several segments of its own is in the slot of the first, and fills all.
            half.last_slot = max(number, placed)
            half.expected = max(half.expected, start if item.kind is Kind.FIN else item.end)
        if not pending:
            half.waits_from = NEVER
