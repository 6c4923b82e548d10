# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a connection on the straight path.

It takes the next octets, octets after a hole, and equal copies.  It takes the octets of a segment
whole, or refuses them.  Then recovery takes the connection (:mod:`~scapy_mpa.stream.handover`)
until the octets of a direction are in order again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from scapy_mpa.stream.events import ConnectionId, FPDURecovered
from scapy_mpa.stream.fpdus.candidate import header_octets
from scapy_mpa.stream.fpdus.search import fpdus_within
from scapy_mpa.stream.halves.counters import Counters
from scapy_mpa.stream.halves.extent import waits
from scapy_mpa.stream.halves.shared import Shared
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD, Chunk
from scapy_mpa.stream.octets.overlap import FRESH_OCTETS, differing_stretch
from scapy_mpa.stream.octets.scan import begins_like_key
from scapy_mpa.stream.ordinary import octets_missing, read
from scapy_mpa.stream.sequence import (
    NEAR_OCTETS,
    SEQUENCE_HALF,
    SEQUENCE_MASK,
    SEQUENCE_SPACE,
    sequence_number,
)
from scapy_mpa.stream.shapes import Shape, Shapes
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.fpdu import HEADER_LENGTH, MARKER_INTERVAL, MARKER_LENGTH, fpdu_layout
from scapy_mpa.wire.rdmap import plausible

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection


AHEAD_SEGMENTS: Final = 256
"""Segments that may wait after a hole, at most.  On the way, a segment is overtaken by fewer."""

PIECES: Final = 64
"""Segments kept of an FPDU that is not whole, at most: enough for the largest in usual segments."""

_NOTHING_AHEAD: Final[list[tuple[int, bytes, int, Shape | None]]] = []
"""No waiting segments, as in most directions; never changed."""


class OwningConnection(Protocol):
    """The connection of a direction, ordinary or handed over by recovery."""

    identity: ConnectionId
    times: Timed

    def carries_mpa(self, flow: bytes) -> bool:
        """Return whether a direction now carries MPA: octets after its startup frame."""

    def take_octets(
        self, direction: Direction, seq: int, ack: int, octets: bytes, frame: int, time_ns: int
    ) -> bool:
        """Take octets of a direction that reads no FPDUs; return False if they are refused."""


class Direction:
    """One direction of a connection.  It reads FPDUs, unless ``reads_no_fpdus`` is set.

    :param index: 0 or 1, see :mod:`scapy_mpa.stream.events`.
    :param half: the same direction in recovery; None if recovery has not seen it.
    :param origin: position of offset 0, from which Markers are counted.
    :param offset: offset of the next FPDU.
    :param ack: the highest acknowledgement number that the direction has sent, 32 bits.
    """

    __slots__ = (
        "ack",
        "ahead",
        "awaits_fpdu",
        "can_read_next",
        "connection",
        "counters",
        "frame",
        "half",
        "held",
        "index",
        "is_closed",
        "key",
        "label",
        "last_fpdu",
        "missing",
        "offset",
        "origin",
        "peer",
        "pieces",
        "pieces_length",
        "reads_no_fpdus",
        "reserved",
        "segments",
        "seq",
        "shape",
        "shapes",
        "shared",
        "startup",
        "times",
        "unproven",
    )

    peer: Direction

    def __init__(
        self,
        shared: Shared,
        connection: OwningConnection,
        index: int,
        half: HalfConnection | None,
        shapes: Shapes,
        origin: int,
        offset: int,
        ack: int,
    ) -> None:
        self.shared = shared
        self.connection = connection
        self.times = connection.times
        self.index = index
        self.half = half
        self.key = connection.identity.of_direction(index)
        self.shapes = shapes
        self.shape: Shape | None = None
        """The shape of the last FPDU before ``offset``."""
        self.origin = origin
        self.offset = offset
        self.ack = ack
        self.seq = sequence_number(origin + offset)
        """The next sequence number, 32 bits."""
        self.last_fpdu = offset
        """Without CRCs, the offset of the last FPDU."""
        self.pieces: list[Chunk] | tuple[()] = ()
        """The beginning of the FPDU at ``offset``, segment by segment."""
        self.pieces_length = 0
        """Octets of all pieces."""
        self.missing = 0
        """Octets that this FPDU lacks; only those of its header until the header is whole."""
        self.ahead: list[tuple[int, bytes, int, Shape | None]] = _NOTHING_AHEAD
        """Segments after a hole, ascending, without overlap: offset, octets, frame, and the shape
        of the last FPDU; None if their FPDUs were not found."""
        self.held = 0
        """Octets that are held, as the budget counts them."""
        self.reserved = 0
        """The part of ``held`` that is for pieces of FPDUs."""
        self.segments = 0
        """Segments taken."""
        self.counters = Counters() if half is None else half.counters
        self.awaits_fpdu = False
        """Whether it must receive an FPDU before it may send (RFC 5044 7.1.2 rule 4)."""
        self.can_read_next = False
        """Whether a segment at ``seq`` can be read without other checks."""
        self.reads_no_fpdus = False
        """Whether octets go to the connection: a startup frame, for example.  The connection
        refuses octets after a FIN.  It also refuses a first FPDU without CRCs, which recovery
        checks."""
        self.startup = b""
        """The startup frame; only in an ordinary connection."""
        self.frame = 0
        """The frame that brought it."""
        self.is_closed = False
        """Whether the FIN was captured; only in an ordinary connection."""
        self.unproven: list[Chunk] | tuple[()] = ()
        """Without CRCs, the segments that end after ``last_fpdu``: only the next header proves the
        length of that FPDU."""
        self.label: Any = None
        """The words that name this direction in the output; the writer keeps them here."""

    # -- in --------------------------------------------------------------------------------------

    def receive(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take a segment with no flags but ACK and PSH; return False if it is refused.

        :param seq: 32 bits, like ``ack``.
        :param octets: its whole payload.
        """
        if seq != self.seq and (seq - self.seq + NEAR_OCTETS) & SEQUENCE_MASK > 2 * NEAR_OCTETS:
            # It may belong to another connection.
            return False
        times = self.times
        # A segment long after the last progress may end a stall.
        stalled = self._stalled(time_ns) if time_ns >= times.late_ns else 0
        if ack != self.ack:
            newly_acked = (ack - self.ack) & SEQUENCE_MASK
            if newly_acked < SEQUENCE_HALF:
                # If nothing is missing, only captured octets of the peer can be acknowledged.
                if not newly_acked <= (self.peer.seq - self.ack) & SEQUENCE_MASK < SEQUENCE_HALF:
                    return False
                self.ack = ack
                if stalled:
                    times.end_stall(frame, time_ns, stalled)
                if time_ns > times.progress_ns:
                    times.progress_ns = time_ns
        if not octets:
            if self.awaits_fpdu and not self._keeps_startup_rules(seq, 0, ack):
                return False
        elif seq == self.seq and self.can_read_next:
            shared, offset = self.shared, self.offset
            rows, recent = shared.rows, shared.recent
            rows_before = len(rows)
            end = read(self, octets, 0, offset, frame, time_ns, frame, self.shapes, rows)
            if end == len(octets):
                self.counters.fpdus += len(rows) - rows_before
                self.shape = rows[-1][4]
                recent.order.append((self.origin + offset, octets, frame, self.key))
                recent.fresh += end
                if recent.fresh > FRESH_OCTETS:
                    recent.trim()
                self.offset = offset + end
                self.seq = (seq + end) & SEQUENCE_MASK
            elif not self._finish_read(octets, end, offset + end, rows_before, frame):
                return False
            if stalled:
                times.end_stall(frame, time_ns, stalled)
            if time_ns > times.progress_ns:
                times.progress_ns = time_ns
        else:
            copies = self.counters.retransmitted
            if not self.take(seq, ack, octets, frame, time_ns):
                return False
            if self.counters.retransmitted == copies:
                times.note_progress(frame, time_ns, stalled)
        self.segments += 1
        times.frame = frame
        times.time_ns = time_ns
        if octets and not (self.can_read_next or self.reads_no_fpdus):
            self._prepare_next()
        return True

    def _stalled(self, time_ns: int) -> int:
        """Return the ``unacknowledged`` directions if this segment may end a stall; else 0."""
        times = self.times
        if times.is_opening and not self.index:
            times.end_handshake(time_ns)
        return self.unacknowledged if times.is_late(time_ns) else 0

    @property
    def unacknowledged(self) -> int:
        """The directions with unacknowledged octets, as bits: 1 << index."""
        return self._waits_for_ack << self.index | self.peer._waits_for_ack << self.peer.index

    @property
    def _waits_for_ack(self) -> bool:
        if self.reads_no_fpdus and self.half is not None:
            # Recovery has these octets, and knows where they end.
            return waits(self.half)
        if self.half is None and not self.startup:
            # Only a SYN was captured.
            return False
        # If octets that were not captured are acknowledged, this is SEQUENCE_HALF or more.
        octets = (self.seq - self.peer.ack) & SEQUENCE_MASK
        return bool(self.ahead) or 0 < octets < SEQUENCE_HALF

    def take(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take octets that need more checks; return False if they are refused."""
        if self.reads_no_fpdus:
            return self.connection.take_octets(self, seq, ack, octets, frame, time_ns)
        if self._must_check_startup and not self._keeps_startup_rules(seq, len(octets), ack):
            return False
        if seq == self.seq and not self.ahead:
            return self._read_next(octets, frame, frame, time_ns)
        return self._take_out_of_order(seq, octets, frame, time_ns)

    def _prepare_next(self) -> None:
        """Prepare for the next segment, after one that was taken."""
        self.can_read_next = self.may_read_next
        if self.is_stuck:
            self.shared.to_recovery(self.connection)
        elif self.shared.budget.room < 0:
            self.shared.budget.make_room()

    @property
    def may_read_next(self) -> bool:
        """The value that ``can_read_next`` must have now."""
        return self.shapes.crc and not (self.pieces or self.ahead or self._must_check_startup)

    @property
    def is_stuck(self) -> bool:
        """Whether the hole is filled, but the segment after it cannot be read."""
        return bool(self.ahead) and self.ahead[0][0] == self.offset + self.pieces_length

    def begin_with(self, pieces: list[Chunk]) -> None:
        """Begin inside an FPDU.

        :param pieces: its octets so far.
        """
        octets = b"".join([piece.octets for piece in pieces])
        self.pieces, self.pieces_length = pieces, len(octets)
        self.missing = octets_missing(octets, self.offset, self.shapes) or 1
        self.seq = sequence_number(self.position)
        self._reserve()

    def _keeps_startup_rules(self, seq: int, length: int, ack: int) -> bool:
        """Return whether the first octets keep rules 3 and 4 of RFC 5044 7.1.2."""
        peer = self.peer
        received = (ack - sequence_number(peer.origin)) & SEQUENCE_MASK
        # If only a part of these FPDUs is acknowledged, the first may not be.
        if self.awaits_fpdu and 0 < peer.offset <= received < SEQUENCE_HALF:
            self.awaits_fpdu = False
        if self.awaits_fpdu:
            # The segment, or its sequence number, must not show octets: it is too early for them.
            sent = (seq + length - sequence_number(self.origin)) & SEQUENCE_MASK
            return not (self.reads_no_fpdus or 0 < sent < SEQUENCE_HALF)
        return not length or received < SEQUENCE_HALF

    @property
    def _must_check_startup(self) -> bool:
        """Whether rules 3 and 4 must be checked: the first octets come next, or must not yet."""
        return self.awaits_fpdu or self.reads_no_fpdus or self._is_at_start

    @property
    def _is_at_start(self) -> bool:
        """Whether the first octets of the Full Operation Phase come next."""
        return self.shapes.from_start and not self.offset

    def _take_out_of_order(self, seq: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take octets that do not begin at ``seq``, or that may fill a hole."""
        distance = (seq - self.seq) & SEQUENCE_MASK
        if distance >= SEQUENCE_HALF:
            return self._take_copy(SEQUENCE_SPACE - distance, octets)
        if distance:
            offset = self.offset + self.pieces_length + distance
            return self._keep_after_hole(offset, octets, frame, time_ns)
        ahead = self.ahead
        if self.offset + self.pieces_length + len(octets) > ahead[0][0]:
            return False
        if not self._read_next(octets, frame, frame, time_ns):
            return False
        self.counters.late += 1
        freed = 0
        while ahead and ahead[0][0] == self.offset + self.pieces_length:
            _, waiting, brought_by, shape = ahead[0]
            if shape is not None:
                if self.pieces_length:
                    break
                self._skip_found(waiting, brought_by, shape)
            elif not self._read_next(waiting, brought_by, frame, time_ns):
                break
            freed += len(waiting) + CHUNK_OVERHEAD
            del ahead[0]
        self.ahead = ahead or _NOTHING_AHEAD
        if freed:
            self.hold(-freed)
        return True

    def _read_next(self, octets: bytes, brought_by: int, frame: int, time_ns: int) -> bool:
        """Read octets that begin at ``seq``; return False if they are refused.

        :param brought_by: the frame that brought them.
        :param frame: the frame that filled the hole before them, or the same one.
        """
        rows, shapes, offset = self.shared.rows, self.shapes, self.offset
        rows_before, at = len(rows), 0
        if self.pieces:
            need = self.missing
            while True:
                if len(octets) < need:
                    return self._add_piece(octets, brought_by, need)
                head = b"".join([piece.octets for piece in self.pieces]) + octets[:need]
                bringers = dict.fromkeys([*[piece.frame for piece in self.pieces], brought_by])
                frames = brought_by if len(bringers) == 1 else tuple(bringers)
                if read(self, head, 0, offset, frame, time_ns, frames, shapes, rows):
                    break
                more = octets_missing(head, offset, shapes)
                if not more:
                    return False
                need += more
            at = need
            offset += len(head)
            self.counters.longest = max(self.counters.longest, len(head))
        end = read(self, octets, at, offset, frame, time_ns, brought_by, shapes, rows)
        return self._finish_read(octets, end, offset + end - at, rows_before, brought_by)

    def _finish_read(
        self, octets: bytes, end: int, offset: int, rows_before: int, brought_by: int
    ) -> bool:
        """Move on after octets that were read; return False if the rest is refused.

        :param end: index of the first octet after the whole FPDUs.
        :param offset: offset of that octet in the stream.
        :param rows_before: number of rows before these octets were read.
        """
        rows = self.shared.rows
        rest = octets[end:]
        # A startup frame may stand where an FPDU must begin.
        may_be_fpdu = rest and not begins_like_key(rest)
        missing = octets_missing(rest, offset, self.shapes) if may_be_fpdu else 0
        # Recovery checks the first FPDU if it is not whole in its segment.
        is_refused = (rest and not missing) or (len(rows) == rows_before and self._is_at_start)
        if is_refused or self._holds_fpdu(rest, offset, len(rest) + missing):
            del rows[rows_before:]
            return False
        if len(rows) > rows_before:
            self.counters.fpdus += len(rows) - rows_before
            *_, self.last_fpdu, self.shape = rows[-1][:5]
        self._remember(octets, brought_by)
        self.offset = offset
        self.pieces = [Chunk(self.origin + offset, rest, brought_by)] if rest else ()
        self.pieces_length, self.missing = len(rest), missing
        if rest:
            self.can_read_next = False
            self._reserve()
        return True

    def _holds_fpdu(self, octets: bytes, offset: int, size: int) -> bool:
        """Return whether a good FPDU lies inside an FPDU that is longer than all before it.

        Then its length may be wrong (:meth:`.Follower._ends_before`).

        :param octets: a piece of the longer FPDU, which begins at ``offset``.
        :param size: octets of that FPDU.
        """
        is_long = self.shapes.crc and size > self.counters.longest
        return is_long and bool(fpdus_within(octets, offset, self.shapes))

    def _reserve(self) -> None:
        """Count all octets of the FPDU as held.  The next FPDUs use the same reserve."""
        unproven = 0 if self.shapes.crc else self.offset - self.last_fpdu
        need = self.pieces_length + self.missing + unproven
        if need > self.reserved:
            self.hold(need - self.reserved)
            self.reserved = need

    def _remember(self, octets: bytes, brought_by: int) -> None:
        """Remember octets that were taken; call it before ``offset`` and ``pieces`` change."""
        position = self.position
        self.shared.recent.remember(self.key, position, octets, brought_by)
        self.seq = (self.seq + len(octets)) & SEQUENCE_MASK
        if not self.shapes.crc:
            begin, chunk = self.origin + self.last_fpdu, Chunk(position, octets, brought_by)
            self.unproven = [known for known in (*self.unproven, chunk) if known.end > begin]

    def _add_piece(self, octets: bytes, brought_by: int, need: int) -> bool:
        """Keep octets that do not complete an FPDU.

        :param need: octets that the FPDU lacked before these.
        """
        assert isinstance(self.pieces, list)
        at = self.offset + self.pieces_length
        if len(self.pieces) >= PIECES or self._holds_fpdu(octets, at, self.pieces_length + need):
            return False
        piece = Chunk(self.position, octets, brought_by)
        self._remember(octets, brought_by)
        self.pieces.append(piece)
        self.pieces_length += len(octets)
        self.missing = need - len(octets)
        self._reserve()
        return True

    @property
    def position(self) -> int:
        """Position of the next octet."""
        return self.origin + self.offset + self.pieces_length

    @property
    def first_missing(self) -> int | None:
        """As in :class:`~scapy_mpa.stream.halves.half.HalfConnection`."""
        return self.position if self.ahead else None

    @property
    def high(self) -> int:
        """As in :class:`~scapy_mpa.stream.halves.half.HalfConnection`."""
        if not self.ahead:
            return self.position
        offset, octets, *_ = self.ahead[-1]
        return self.origin + offset + len(octets)

    def _keep_after_hole(self, offset: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Keep a segment after a hole; return False if it is refused."""
        ahead = self.ahead
        end = offset + len(octets)
        if (
            self._is_at_start
            # The peer has acknowledged octets of the hole.
            or (self.seq - self.peer.ack) & SEQUENCE_MASK >= SEQUENCE_HALF
            or len(ahead) >= AHEAD_SEGMENTS
            or self.held + len(octets) > self.shared.budget.each
        ):
            return False
        index = len(ahead)
        while index and ahead[index - 1][0] >= end:
            index -= 1
        before, known, _, shape_before = ahead[index - 1] if index else (0, b"", 0, None)
        if before + len(known) > offset:
            is_copy = before == offset and known == octets and len(octets) > 1
            if is_copy:
                self.counters.count_copy(len(octets))
            return is_copy
        if index < len(ahead) and ahead[index][0] == end and ahead[index][3] is None:
            # FPDUs of this segment may extend into the next one, which is not read.
            return False
        is_next = before + len(known) == offset
        follows = is_next and shape_before is not None
        # After a segment that is not read, nothing shows where an FPDU begins.
        shape = None
        if follows or not is_next:
            shape = self._report_after_hole(offset, octets, frame, time_ns, follows)
        if shape is None and (self.shapes.marked or follows):
            return False
        if ahead:
            self.counters.late += index < len(ahead)
            ahead.insert(index, (offset, octets, frame, shape))
        else:
            self.ahead = [(offset, octets, frame, shape)]
            self.can_read_next = False
        self.hold(len(octets) + CHUNK_OVERHEAD)
        return True

    def _report_after_hole(
        self, offset: int, octets: bytes, frame: int, time_ns: int, follows: bool
    ) -> Shape | None:
        """Report the FPDUs of a segment after a hole; return the shape of the last one.

        None, and no report, if CRCs are off, if the segment does not consist of FPDUs, or if it may
        be part of one.

        :param follows: whether it follows a segment whose FPDUs were found.
        """
        # FPDUs and Markers are multiples of 4 octets.
        if not self.shapes.crc or offset % MARKER_LENGTH:
            return None
        rows = self.shared.rows
        shapes, by_marker, by_search = self.shared.tables.after_hole(self.shapes)
        first = len(rows)
        if read(self, octets, 0, offset, frame, time_ns, frame, shapes, rows) < len(octets):
            del rows[first:]
            return None
        if not follows:
            row = rows[first]
            has_marker = row[4].markers > 0
            # Inside the next FPDU, a payload may contain FPDUs.  Only a Marker shows which they are
            # (RFC 5044 4.3).
            if not has_marker and offset < self._end_over_hole():
                del rows[first:]
                return None
            shapes_of_first = by_marker if has_marker else by_search
            rows[first] = (*row[:4], shapes_of_first[row[4].key], *row[5:])
        found = len(rows) - first
        self.counters.fpdus += found
        self.counters.count_ahead(found, self.origin + rows[-1][3] - self.position)
        shape: Shape = rows[-1][4]
        return shape

    def _end_over_hole(self) -> int:
        """Return the offset at which the next FPDU ends; 0 if its header is not whole or makes no
        sense.

        The same rule as in ``Follower._reach_of``, for held pieces.
        """
        octets = b"".join([piece.octets for piece in self.pieces])
        phase = self.offset % MARKER_INTERVAL if self.shapes.marked else None
        header = fpdu_layout(0, phase).header
        ulpdu_length = int.from_bytes(octets[header : header + HEADER_LENGTH], "big")
        head = header_octets(octets, fpdu_layout(ulpdu_length, phase))
        if not plausible(head, ulpdu_length):
            return 0
        return self.offset + self.pieces_length + self.missing

    def _skip_found(self, octets: bytes, brought_by: int, shape: Shape) -> None:
        """Move on after a segment whose FPDUs were found when a hole was before it."""
        self._remember(octets, brought_by)
        self.offset += len(octets)
        self.shape = shape

    def _take_copy(self, back: int, octets: bytes) -> bool:
        """Take a copy of octets that are still known; return False if it is refused.

        :param back: number of octets from its first one to the next octet.
        """
        position = self.position - back
        end = position + len(octets)
        # A keep-alive probe repeats the last octet, perhaps with another value.
        if len(octets) > back or len(octets) == 1:
            return False
        known = self.shared.recent.between(position, end, self.key)
        at = position
        for start, kept, _ in sorted(known, key=lambda chunk: chunk[0]):
            if start <= at < start + len(kept):
                at = start + len(kept)
        if at < end or differing_stretch(position, octets, known) is not None:
            return False
        self.counters.count_copy(len(octets))
        return True

    # -- memory ----------------------------------------------------------------------------------

    def hold(self, more: int) -> None:
        """Count more octets as held; fewer if ``more`` is negative."""
        self.held += more
        self.shared.budget.count(self)

    def relieve(self) -> None:
        """Free held octets.  If octets wait, recovery takes the connection."""
        if self.pieces or self.ahead or self.reads_no_fpdus:
            self.shared.to_recovery(self.connection)
        else:
            self.held = self.reserved = 0


def event_of(row: Any) -> Any:
    """Return the event of a row; an event is returned unchanged."""
    if type(row) is not tuple:
        return row
    frame, time_ns, direction, offset, shape, *_, frames, octets, ack = row
    if shape.kind != Shape.kind:
        return shape.event_of(row)
    table = shape.table
    place = offset + shape.lead
    return FPDURecovered(
        direction.connection.identity,
        direction.index,
        frame,
        time_ns,
        (direction.origin + place) & SEQUENCE_MASK,
        place if table.from_start else None,
        shape.ulpdu_length,
        octets,
        offset % MARKER_INTERVAL if table.marked else None,
        shape.markers,
        "good" if table.crc else "off",
        table.located_by if offset or not table.from_start else "start",
        table.ahead,
        frames if isinstance(frames, tuple) else (frames,),
        ack,
    )


def identity_of(row: Any) -> ConnectionId:
    """Return the connection of a row or an event."""
    identity: ConnectionId = row[2].connection.identity if type(row) is tuple else row.connection
    return identity
