# SPDX-License-Identifier: GPL-2.0-or-later
"""The cleaner: takes the frames of a capture, returns those of the cleaned capture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from scapy_mpa.capture import Frame
from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.reframe import decapsulated
from scapy_mpa.clean.core import cores_of
from scapy_mpa.clean.opening import NEEDED
from scapy_mpa.clean.order import Order
from scapy_mpa.clean.report import Report
from scapy_mpa.clean.rewrite import Rewriter
from scapy_mpa.clean.slot import Queue, Slot, Written
from scapy_mpa.stream.connections.connection import Connection
from scapy_mpa.stream.direction import Direction, event_of
from scapy_mpa.stream.events import (
    ConnectionEnded,
    ConnectionId,
    Event,
    FPDURecovered,
    GapFound,
    StartupSeen,
)
from scapy_mpa.stream.halves.extent import may_reset
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.tcp import RST, SYN

_NO_NUMBER: Final = -1
"""The connection number of a segment that has no connection."""


class Cleaner:
    """Rewrites a capture.

    >>> cleaner = Cleaner()
    >>> for frame in capture:                           # doctest: +SKIP
    ...     for written in cleaner.receive(frame):
    ...         writer.write(*written)
    >>> for written in cleaner.finish():                # doctest: +SKIP
    ...     writer.write(*written)

    :param limits: how much may be held in memory.  Frames that are not written yet may take as many
        octets in total again.
    :param dialect: the dialect, or its name, to assume where the octets leave a choice.
    :param decapsulate: leave out tags and tunnels.
    :param selects: returns whether a connection is written.  It is asked for segments without a
        connection, too: for a connection of number -1.  Frames without a segment are left out.
        None: all frames are written.
    :param decoding: keyword arguments of :class:`~scapy_mpa.capture.Decoder`.  Its link types are
        also written.
    """

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        dialect: str | Dialect | None = None,
        decapsulate: bool = False,
        selects: Callable[[ConnectionId], bool] | None = None,
        decoding: Mapping[str, Any] = {},
    ) -> None:
        self.report = Report()
        self._decapsulate = decapsulate
        self._selects = selects
        options = dict(decoding)
        self._link_types: Mapping[int, int] = options.pop("link_types", None) or {}
        # Connections over SCTP are followed for their numbers, and to count other SCTP packets.
        self.followed = Followed(
            lambda *_: None, limits, dialect_named(dialect), straight=False, **options
        )
        """The connections of the capture.  Frames that were not followed are copied unchanged."""
        self._decoder, self._flows = self.followed.decoder, self.followed.flows
        self._limit = self._flows.limits.octets_in_total
        self._queue = Queue()
        self._orders: dict[int, Order] = {}
        """By connection number, until the last slot of the connection is written."""
        self._ended: deque[tuple[int, int, int]] = deque()
        """Ended connections: the number of the last slot at the end, the connection number, and the
        number of captured octets."""
        self._out: list[Written] = []

    @property
    def connections(self) -> int:
        """Connections found so far."""
        return self._flows.table.next_number

    def receive(self, frame: Frame) -> list[Written]:
        """Take a frame; return the frames that can be written now.

        The number of a frame must be one higher than that of the frame before, as in a capture.
        """
        if frame.link_type in self._link_types:
            # Readers of the output do not know this option, and a decapsulated frame is Ethernet.
            frame = frame._replace(link_type=self._link_types[frame.link_type])
        segment = self._decoder.segment(frame)
        whole = self._decoder.whole or frame
        if self._decapsulate:
            innermost = decapsulated(whole, self._decoder.readers)
            if innermost is None:
                # The frame of the last fragment replaces it.
                self._queue.append(Slot(frame.number, frame.time_ns, None))
                self.report.replaced += 1
                return self._drained()
            self.report.decapsulated += innermost.octets != whole.octets
            frame = whole = innermost
        elif self._selects is not None:
            # The fragments before the last one are left out.
            frame = whole
        if segment is None:
            self._append(frame, is_written=self._selects is None)
            return self._drained()
        order = self._take(frame, whole, segment)
        written = self._drained()
        if order is not None and order.rewriter.opening.written >= NEEDED:
            self._flows.to_straight_path(order.rewriter.identity.flow)
            order.come_to_rest()
        return written

    def finish(self) -> list[Written]:
        """Return the frames that are left, after the end of the capture."""
        for _ in self._flows.ends():
            self._dispatch(self._events())
        self._dispatch(self._events())
        for _ in self.followed.sctp_ends():
            # Associations only take connection numbers.
            pass
        return self._drained(is_over=True)

    def _take(self, frame: Frame, whole: Frame, segment: Segment) -> Order | None:
        """Take a segment; return the order of its connection, if it may be at rest now.

        :param whole: the frame with the whole IP packet, if the segment came in fragments.
        """
        flows, flow = self._flows, segment.flow
        known, began = flows.find(flow), flows.recovery.began
        was_full = known is not None and known.half(flow).phase is Phase.FULL
        direction = flows.directions.get(flow)
        if direction is None:
            flows.take(segment)
        elif self._take_at_rest(direction, frame, whole, segment):
            return None
        events = self._events()
        connection = flows.find(flow)
        identity = connection.identity if connection else ConnectionId(_NO_NUMBER, flow)
        is_selected = self._selects is None or self._selects(identity)
        if flows.recovery.began not in (None, began):
            self._begin(*flows.recovery.began)
        if not is_selected:
            self._append(frame, is_written=False)
            self._dispatch(events)
            return None
        is_held = flows.recovery.holds(flow)
        if connection is None or (not is_held and _is_dropped(connection, segment)):
            is_left_out = (
                connection is not None and self._order(connection.identity).rewriter.opening.is_mpa
            )
            self.report.replaced += is_left_out
            self._queue.append(Slot(frame.number, frame.time_ns, None if is_left_out else frame))
            self._dispatch(events)
            return None
        order = self._order(connection.identity)
        is_fpdus = was_full and connection is known and segment.length > 0 and not is_held
        slot = self._slot(order, frame, whole, segment, is_fpdus=is_fpdus)
        cores = cores_of(connection, flows.directions.get(connection.identity.flow))
        # The SYN itself takes a sequence number.
        seq = segment.seq + 1 if segment.flags & SYN else segment.seq
        if is_held:
            order.hold(slot, seq)
            self._dispatch(events)
            return None
        order.place(slot, seq, cores[slot.direction])
        self._dispatch(events)
        order.settle(connection, cores)
        return order

    def _begin(self, connection: Connection, numbers: Iterable[int]) -> None:
        """Give the slots of held segments to the connection that begins with them.

        :param numbers: the numbers of their frames.
        """
        identity = connection.identity
        if self._selects is not None and not self._selects(identity):
            # Like copies, they stay with the connection that is over.
            return
        order, cores = self._order(identity), cores_of(connection, None)
        for slot in filter(None, map(self._queue.find, numbers)):
            if slot.connection is not None and slot.headers is not None:
                flow = self._orders[slot.connection].rewriter.identity.flows[slot.direction]
                slot.connection, slot.direction = identity.number, identity.flows.index(flow)
                order.rewriter.take_headers(slot.direction, slot.headers)
                order.place(slot, sequence_number(slot.position), cores[slot.direction])

    def _take_at_rest(
        self, direction: Direction, frame: Frame, whole: Frame, segment: Segment
    ) -> bool:
        """Take a segment of a direction on the straight path.

        Return whether that was all: the connection stays at rest, and the frame is copied.
        """
        flows, order = self._flows, self._orders.get(direction.connection.identity.number)
        before, is_next = direction.counters.fpdus, segment.seq == direction.seq
        flows.take(segment)
        number = direction.counters.fpdus - before
        if (
            order is None
            or not order.is_at_rest
            or flows.directions.get(segment.flow) is not direction
            # There may be other events than its FPDUs.
            or len(flows.shared.rows) != number
            or (segment.length and not (is_next and order.can_copy(direction, number)))
        ):
            return False
        flows.shared.rows.clear()
        slot = self._slot(order, frame, whole, segment, is_fpdus=number > 0)
        order.place_at_rest(slot, segment.seq, number)
        return True

    def _slot(
        self, order: Order, frame: Frame, whole: Frame, segment: Segment, *, is_fpdus: bool
    ) -> Slot:
        """Append the slot of a frame of a connection to the queue, and return it."""
        identity, payload = order.rewriter.identity, segment.payload
        direction = 0 if segment.flow == identity.flow else 1
        order.rewriter.take_headers(direction, whole)
        slot = Slot(
            frame.number,
            frame.time_ns,
            frame,
            b"" if is_fpdus and whole is frame else payload,
            connection=identity.number,
            direction=direction,
            length=segment.length,
            captured=len(payload),
            ack=segment.ack,
            flags=segment.flags,
            # If the frame has a trailer, some payload stays; the reframer drops it.
            headers=whole._replace(octets=whole.octets[: len(whole.octets) - len(payload)]),
            is_fpdus=is_fpdus,
        )
        self._queue.append(slot)
        return slot

    def _events(self) -> list[Event]:
        """Return the new events of the stream core, of selected connections only."""
        rows, selects = self._flows.shared.rows, self._selects
        events = [event_of(row) for row in rows]
        rows.clear()
        return events if selects is None else [each for each in events if selects(each.connection)]

    def _append(self, frame: Frame, *, is_written: bool) -> None:
        """Take a frame to copy, or to leave out because it is not selected."""
        self.report.not_selected += not is_written
        self._queue.append(Slot(frame.number, frame.time_ns, frame if is_written else None))

    def _order(self, identity: ConnectionId) -> Order:
        order = self._orders.get(identity.number)
        if order is None:
            rewriter = Rewriter(identity, self.report, self._out, self._decoder.readers)
            order = self._orders[identity.number] = Order(rewriter, self._queue)
        return order

    def _dispatch(self, events: Iterable[Event]) -> None:
        """Pass events on to the orders of their connections.

        A connection without an order was found when its frames had been written: a SYN that might
        have been a copy, at the end of the capture.
        """
        report = self.report
        for event in events:
            order = self._orders.get(event.connection.number)
            if isinstance(event, FPDURecovered):
                report.bad_crcs += event.crc == "bad"
                if order is None:
                    report.left += 1
                else:
                    order.fpdu(event)
            elif isinstance(event, StartupSeen) and order is not None:
                order.startup(event)
            elif isinstance(event, GapFound):
                report.gaps += event.reason == "limit"
            elif isinstance(event, ConnectionEnded):
                report.ended += event.ending == "limit"
                report.failed += event.ending == "failed"
                if order is not None:
                    self._end(order, event)

    def _end(self, order: Order, event: ConnectionEnded) -> None:
        """Note that a connection is over."""
        order.end()
        captured = sum(half.octets for half in event.halves)
        self._ended.append((self._queue.last, event.connection.number, captured))

    def _drained(self, *, is_over: bool = False) -> list[Written]:
        """Write the slots that need not wait; return the written frames."""
        queue, orders, ended = self._queue, self._orders, self._ended
        slots = queue.slots
        while slots:
            slot = slots[0]
            order = None if slot.connection is None else orders[slot.connection]
            if order is not None and slot.number >= order.blocked_from and not is_over:
                if queue.held <= self._limit:
                    break
                order.force(slot.number)
            queue.popleft()
            copied = self.report.copied
            is_reset = bool(slot.flags & RST)
            if is_reset:
                # No item may follow a RST.
                self._write_items(slot)
            if order is not None:
                order.rewriter.write(slot)
            elif slot.frame is not None:
                self._out.append(Written(slot.frame))
                self.report.copied += 1
            if not is_reset:
                self._write_items(slot)
            if order is not None and self.report.copied == copied:
                self.report.replaced += 1
        while ended and (not slots or ended[0][0] < slots[0].number):
            _, number, captured = ended.popleft()
            rewriter = orders.pop(number).rewriter
            if rewriter.opening.is_mpa:
                self.report.left_out += captured - rewriter.kept
        written = self._out[:]
        self._out.clear()
        return written

    def _write_items(self, slot: Slot) -> None:
        for item in slot.items:
            self._orders[item.connection].rewriter.write_item(item, slot)


def _is_dropped(connection: Connection, segment: Segment) -> bool:
    """Return whether a segment is a RST that its receiver drops."""
    return bool(segment.flags & RST) and not may_reset(connection.half(segment.flow), segment)
