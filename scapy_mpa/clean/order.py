# SPDX-License-Identifier: GPL-2.0-or-later
"""The order in which what was recovered of a connection is written.

FPDUs are recovered in any order: one beyond a hole before those in it.  They are written in the
order of their stream, so one beyond a hole waits until the hole is filled, or the stream core waits
for it no longer.
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
from scapy_mpa.clean.readable import known_octets, unmarked_octets
from scapy_mpa.clean.rewrite import Rewriter
from scapy_mpa.clean.slot import Item, Kind, Queue, Slot
from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.direction import Direction
from scapy_mpa.stream.events import FPDURecovered, StartupSeen
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.halves.streaming import is_unknown, streaming_of
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.segment import ACK, FIN, RST, SYN
from scapy_mpa.stream.sequence import first_position, unwrap
from scapy_mpa.wire.dialect import Dialect, extension_length
from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH, fpdu_length
from scapy_mpa.wire.startup import StartupKind

_LONGEST: Final = fpdu_length(LARGEST_ULPDU_LENGTH)
"""Octets of an FPDU without Markers at most."""

_SHORTEST: Final = fpdu_length(0)
"""Octets of an FPDU at least: other tools do not look for one in fewer."""

_MOST_IN_FRAME: Final = 64
"""FPDUs of a frame that is copied: Wireshark reads 500 headers of one, up to seven for an FPDU."""


@dataclass(slots=True, eq=False)
class _Half:
    """One direction."""

    near: int | None = None
    """The highest position that the stream core has seen: positions here are its own."""
    next_at: int = 0
    """Position of what follows the FPDU that was reported last, as that was reported."""
    expected: int = 0
    """Position up to which everything is in its slot."""
    covered: int = 0
    """Position of what follows the last startup frame."""
    last: int = 0
    """The number of the slot in which the last item is."""
    pending: list[tuple[int, int, int, Item]] = field(default_factory=list)
    """What is not in a slot yet: a heap of position, serial number, the number of the frame
    that completed it, and the item."""
    waits_from: int = NEVER
    """The number of the first frame that completed any of it."""
    unexplained: deque[tuple[int, int]] | None = None
    """Frames with octets that nobody knows yet, or before which others are missing,
    and where the octets end."""

    def position(self, seq: int) -> int:
        return first_position(seq) if self.near is None else unwrap(seq, self.near)


@dataclass(slots=True, eq=False)
class Order:
    """One connection."""

    rewriter: Rewriter
    """Writes what is in order."""
    _queue: Queue
    """Where that is put."""
    halves: tuple[_Half, _Half] = field(default_factory=lambda: (_Half(), _Half()))
    _serial: Iterator[int] = field(default_factory=count)
    blocked_from: int = NEVER
    """The number of the first frame whose slot must not be written yet."""
    _asked: int = NEVER
    """The number of the slot before which the last Request is not written."""
    _first: int = NEVER
    """The number of the first frame that startup frames must precede, while some may yet be
    captured."""
    _waits_until: int | None = None
    """Segments of the connection up to which they are waited for."""
    _reset_at: int = NEVER
    is_at_rest: bool = False
    """Whether all that was captured is written, and with the numbers that it had.  What comes next
    then can be copied if it is acknowledgements, or whole FPDUs without Markers, in order.  After
    that the connection is at rest as before."""

    # -- in ----------------------------------------------------------------------------------

    def place(self, slot: Slot, seq: int, core: Core) -> None:
        """Take the slot of a frame of this connection.

        :param core: its direction in the stream core, which has the segment already.
        """
        half = self.halves[slot.direction]
        half.near = core.high
        self.is_at_rest = False
        slot.position = half.position(seq)
        end = slot.position + slot.length
        if slot.length:
            if half.unexplained is None:
                half.unexplained = deque()
            half.unexplained.append((slot.number, end))
        slot.covered = slot.position
        if slot.flags & SYN:
            # Nothing stands before it.
            for each in self.halves:
                each.last = each.last if each.expected else slot.number
        if slot.flags & RST and self._reset_at == NEVER:
            self._reset_at = slot.number
        if self._waits_until is None and slot.flags & ACK:
            peer = core.half.owner.halves[1 - slot.direction]
            begin = None if peer.octets else peer.begin
            if begin is not None and unwrap(slot.ack, begin) > begin + 1:
                # It speaks of the first octets, which were not captured, and not of a FIN alone.
                self._await_startup(slot.number)
        if slot.flags & FIN:
            item = Item(
                Kind.FIN, self.rewriter.identity.number, slot.direction, end, end + 1, b"", 1
            )
            item.frames, item.is_same = (slot.number,), True
            self._wait(half, item, slot.number)

    def startup(self, event: StartupSeen) -> None:
        """Take a startup frame."""
        half = self.halves[event.direction]
        start = half.position(event.seq)
        is_reply = event.startup.kind is StartupKind.REPLY
        if is_reply and event.startup.rejected and start < half.expected:
            # It was captured after the startup that followed.
            return
        octets = event.octets
        # A snap length may have cut it.
        length = event.startup.length - event.lacking
        known = known_octets(event.startup, octets, event.dialect)
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
        half.covered = max(half.covered, item.end)
        completed = max(event.frames, default=event.frame)
        # Octets in streaming mode before it may have been captured after it.
        before = [number for number, end in half.unexplained or () if end <= start]
        if is_reply:
            if not self.rewriter.opening.has_fpdus:
                # It may answer another Request than the one before.
                self._waits_until = None
            self._await_startup(completed)
        self.rewriter.opening.expect(item)
        if any(end > item.end and number < completed for number, end in half.unexplained or ()):
            # It was captured late.  What follows it need not wait for the frame that brought it.
            earliest = max(self._first, self._asked) if is_reply else self._first
            completed = min(completed, earliest)
        number = max(completed, *before, 0)
        if event.startup.kind is StartupKind.REQUEST:
            self._asked = number
        self._wait(half, item, number)

    def fpdu(self, event: FPDURecovered) -> None:
        """Take an FPDU."""
        direction = event.direction
        half = self.halves[direction]
        rewriter = self.rewriter
        completed = max(event.frames)
        if rewriter.has_copied(direction, completed):
            rewriter.report.left += 1
            return
        _, _, header, extent = event.place
        start = half.position(event.seq) - header
        octets = unmarked_octets(event)
        length = fpdu_length(event.ulpdu_length)
        drift = start - half.next_at if event.dialect is Dialect.SOFTUIWARP and event.offset else 0
        half.next_at = start + extent
        self._await_startup(completed)
        rewriter.opening.expect_fpdus(direction, start, half.covered, event)
        item = Item(
            Kind.FPDU,
            self.rewriter.identity.number,
            direction,
            start,
            half.next_at,
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

    def _await_startup(self, number: int) -> None:
        """Take note of a frame that startup frames must precede."""
        if self._first != NEVER or self._waits_until is None:
            self._first = min(self._first, number)

    def _wait(self, half: _Half, item: Item, completed: int) -> None:
        slot = self._queue.find(max(item.frames, default=completed))
        item.headers = None if slot is None else slot.headers
        heappush(half.pending, (item.start, next(self._serial), completed, item))
        half.waits_from = min(half.waits_from, completed)
        self._queue.held += item.held

    # -- at rest -----------------------------------------------------------------------------

    @property
    def has_begun(self) -> bool:
        """Whether startup frames are waited for no more."""
        return self._first == NEVER and self._waits_until is not None

    def come_to_rest(self) -> None:
        """Find out whether the connection is at rest now."""
        self.is_at_rest = (
            not self._queue.slots
            and self._reset_at == NEVER
            and self.rewriter.opening.written >= NEEDED
            and all(
                not half.pending and self.rewriter.is_as_captured(direction, half.expected)
                for direction, half in enumerate(self.halves)
            )
        )

    def can_copy(self, direction: Direction, number: int) -> bool:
        """Tell whether a segment can be copied with which a direction has gone on at rest.

        :param number: how many FPDUs it brought.
        """
        # The first FPDU of a direction shows where they begin.
        is_first = not self.halves[direction.index].next_at
        is_whole = not (direction.pieces or direction.markers)
        return is_whole and not is_first and 0 < number <= _MOST_IN_FRAME

    def go_on(self, slot: Slot, seq: int, number: int) -> None:
        """Take the slot of a frame that is copied at rest."""
        half = self.halves[slot.direction]
        slot.position = half.position(seq)
        if number:
            slot.is_plain = True
            half.near = half.next_at = half.expected = slot.end
            half.last = slot.number
            self.rewriter.report.fpdus += number
            self.rewriter.report.left_out -= slot.length

    # -- out ---------------------------------------------------------------------------------

    def settle(self, connection: Connection, cores: tuple[Core, Core]) -> None:
        """Put into slots what can be, and find out which slots may be written.

        :param cores: what is known of both directions.
        """
        blocked_from, opening = NEVER, self.rewriter.opening
        for half, core in zip(self.halves, cores, strict=True):
            if half.pending:
                is_streaming = core.half.phase is Phase.STREAMING and not is_unknown(core.half)
                self._flush(half, core.awaited, is_over=is_streaming)
                if half.pending and half.pending[0][3].kind is Kind.FIN and opening.is_mpa:
                    # Octets before it may turn out to be an FPDU.
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
        if self._reset_at < blocked_from and any(
            core.high is not None and core.high > half.expected
            for half, core in zip(self.halves, cores, strict=True)
            if core.half.phase is Phase.FULL
        ):
            blocked_from = self._reset_at
        if self._first != NEVER:
            if self._waits_until is None:
                self._waits_until = connection.segments + LATE_SEGMENTS
            is_begun = opening.has_startup or any(core.begin for core in connection.halves)
            if not is_begun or opening.is_whole or connection.segments > self._waits_until:
                self._first = NEVER
        self.blocked_from = min(blocked_from, self._first)

    def end(self) -> None:
        """Put everything into slots: the connection is over."""
        for half in self.halves:
            self._flush(half, NEVER, is_over=True)
            half.unexplained = None
        self._first = self.blocked_from = NEVER

    def force(self, number: int) -> None:
        """Have the slot of a frame written, whatever is not known yet.

        Holes before what waits since then or longer are not waited for any more.
        """
        for half in self.halves:
            while half.unexplained and half.unexplained[0][0] <= number:
                half.unexplained.popleft()
            if half.waits_from <= number:
                self._flush(half, NEVER, is_over=True)
        if self._first <= number:
            self._first = NEVER
        if self._reset_at <= number:
            self._reset_at = NEVER
        self.blocked_from = min(
            (half.unexplained[0][0] for half in self.halves if half.unexplained), default=NEVER
        )

    @staticmethod
    def _explained(half: _Half, core: Core) -> int:
        """Return the position up to which it is known what octets are."""
        awaited = core.awaited
        if core.half.phase is Phase.FULL:
            # Before the first FPDU is found, any octets may be part of it.
            if not core.has_fpdus:
                return half.covered
            # What is no longer than an FPDU may be one that has several segments for itself.
            is_short = (core.high or 0) - half.expected <= _LONGEST
            return min(awaited, half.expected) if is_short else awaited
        if core.half.phase is Phase.STREAMING and not is_unknown(core.half):
            streaming = streaming_of(core.half)
            begun = None if streaming is None else streaming.undecided_from()
            return awaited if begun is None else begun
        return half.covered

    def _as_captured(self, half: _Half, item: Item, number: int) -> int:
        """Find out whether the segments of an item can be written as they were captured.

        Return the number of the slot in which to put it: the first of these, else the one given.
        """
        found = [self._queue.find(each) for each in item.frames]
        slots = [each for each in found if each is not None]
        if (
            not item.is_same
            or not slots
            or len(slots) < len(found)
            or item.frames != tuple(sorted(item.frames))
            or slots[-1].number != number
            or slots[0].number < half.last
            or item.start < half.expected
            or any(each.flags & (SYN | RST) for each in slots)
        ):
            return number
        first = slots[0]
        ends = [item.start, *(each.end for each in slots)]
        if ends[-1] == item.end and all(
            each.position == end for each, end in zip(slots, ends, strict=False)
        ):
            # It has its segments for itself.
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
        """Put into slots what lies before a position, in the order of the stream.

        :param is_over: a FIN, too, although it is not known what precedes it.
        """
        pending = half.pending
        while pending and pending[0][0] < upto:
            start, _, completed, item = pending[0]
            if item.kind is Kind.FIN and start > half.expected and not is_over:
                break
            heappop(pending)
            if item.kind is Kind.FPDU and start < half.expected + item.drift:
                self.rewriter.report.late += 1
            number = max(completed, half.last)
            placed = self._queue.place(item, self._as_captured(half, item, number))
            # An FPDU that has several segments for itself is in the first, up to the last.
            half.last = max(number, placed)
            half.expected = max(half.expected, start if item.kind is Kind.FIN else item.end)
        if not pending:
            half.waits_from = NEVER
