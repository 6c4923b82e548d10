# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction in order: it takes the next octets, octets after a hole, and equal copies.

It takes a segment whole, or refuses it.  Of a refused segment it notes at most what the segment
acknowledges.  A direction that refuses one goes to recovery (:mod:`~scapy_mpa.stream.handover`)
until all is in order again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from scapy_mpa.stream.budget import Budget
from scapy_mpa.stream.events import ConnectionId, FPDURecovered
from scapy_mpa.stream.halves.extent import waits
from scapy_mpa.stream.octets.chunk import CHUNK_OVERHEAD, Chunk
from scapy_mpa.stream.octets.overlap import FRESH_OCTETS, RecentOctets, differing_stretch
from scapy_mpa.stream.octets.past import PAST_OCTETS
from scapy_mpa.stream.octets.scan import begins_like_key
from scapy_mpa.stream.ordinary import octets_missing, read
from scapy_mpa.stream.sequence import SEQUENCE_HALF, SEQUENCE_MASK, SEQUENCE_SPACE, sequence_number
from scapy_mpa.stream.shapes import Kind, Shape, Shapes, ShapeTables
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.half import HalfConnection


AHEAD_SEGMENTS: Final = 256
"""Segments that may wait after a hole: more than overtake another on the way."""

AHEAD_OCTETS: Final = 1 << 20
"""How far from the first octet that is not read they may end, in octets."""

PIECES: Final = 64
"""Segments of an FPDU that is not whole yet: enough for the largest one in usual segments."""

_NONE: Final[list[tuple[int, bytes, int, bool]]] = []
"""What waits in most directions; never added to."""

_NEAR: Final = PAST_OCTETS // 2
"""Octets from where a direction stands at which a segment may lie: one farther off may be of
another connection."""


class Carried(Protocol):
    """A connection."""

    identity: ConnectionId
    frame: int
    """The frame that brought its last segment."""
    time_ns: int
    times: Timed

    def carries_mpa(self, flow: bytes) -> bool:
        """Tell whether what a direction carries now is MPA: octets after its startup frame."""

    def take_octets(
        self, direction: Direction, seq: int, ack: int, octets: bytes, frame: int, time_ns: int
    ) -> bool:
        """Take octets of a direction that takes none; return False if they are refused."""


class Shared:
    """What all directions of a capture share.

    :param to_recovery: gives a connection to recovery.
    """

    __slots__ = ("budget", "recent", "rows", "tables", "to_recovery", "unread_shapes")

    def __init__(
        self, budget: Budget, recent: RecentOctets, to_recovery: Callable[[Any], object]
    ) -> None:
        self.budget = budget
        self.recent = recent
        self.tables = ShapeTables()
        self.unread_shapes = self.tables[Kind(crc=True, marked=False, from_start=True)]
        """Shapes of a direction that takes no FPDUs."""
        self.to_recovery = to_recovery
        self.rows: list[Any] = []
        """What was found: rows of FPDUs, and events of anything else, in order."""


class Direction:
    """A direction of a connection that is in Full Operation.

    :param index: 0 or 1, see :mod:`scapy_mpa.stream.events`.
    :param half: the same direction for recovery; None if recovery has not seen it.  Octets are
        remembered under this, or under the direction itself.
    :param origin: position of offset 0, from which Markers are counted.
    :param offset: where the next FPDU begins.
    :param ack: the highest acknowledgement number that it has sent, 32 bits.
    """

    __slots__ = (
        "ack",
        "ahead",
        "awaits",
        "brought_by",
        "can_read_next",
        "connection",
        "copied",
        "copies",
        "early",
        "farthest",
        "fpdus",
        "half",
        "have",
        "held",
        "index",
        "is_closed",
        "label",
        "last",
        "missing",
        "offset",
        "origin",
        "peer",
        "pieces",
        "reserved",
        "segments",
        "seq",
        "settled",
        "shape",
        "shapes",
        "shared",
        "startup",
        "tail",
        "takes_no_octets",
    )

    peer: Direction

    def __init__(
        self,
        shared: Shared,
        connection: Carried,
        index: int,
        half: HalfConnection | None,
        shapes: Shapes,
        origin: int,
        offset: int,
        ack: int,
    ) -> None:
        self.shared = shared
        self.connection = connection
        self.index = index
        self.half = half
        self.shapes = shapes
        self.shape: Shape | None = None
        """That of the FPDU that lies farthest, of those found."""
        self.origin = origin
        self.offset = offset
        self.ack = ack
        self.seq = sequence_number(origin + offset)
        """The 32-bit sequence number at which it goes on."""
        self.last = offset
        """Without CRCs, where the last FPDU begins."""
        self.pieces: list[tuple[bytes, int]] | tuple[()] = ()
        """The beginning of an FPDU from ``offset`` on: octets, and the frame that brought them."""
        self.have = 0
        """Octets of them."""
        self.missing = 0
        """Octets that the FPDU lacks, as far as is known."""
        self.ahead: list[tuple[int, bytes, int, bool]] = _NONE
        """Segments after a hole, ascending: offset, octets, frame, and whether their FPDUs were
        found; none overlaps another."""
        self.held = 0
        """Octets that count as held."""
        self.reserved = 0
        """Octets of them for the pieces of an FPDU."""
        self.settled = True
        """Whether all that was captured before the next octet is read or reported."""
        self.segments = 0
        """Segments taken."""
        self.early = 0
        """FPDUs that were read after a hole."""
        self.farthest = 0
        """Octets from the first one not read to the farthest such FPDU, at most."""
        self.fpdus = 0
        """FPDUs found."""
        self.copies = 0
        """Segments that brought octets captured before."""
        self.copied = 0
        """Their octets."""
        self.awaits = False
        """Whether it must not send before it has received an FPDU (RFC 5044 7.1.2 rule 4)."""
        self.can_read_next = False
        """Whether a segment that begins at ``seq`` can be read with no other check."""
        self.takes_no_octets = False
        """Whether its connection is asked to take octets: a startup frame, say.  It refuses them
        after a FIN, and before the first FPDU without CRCs, which recovery checks."""
        self.startup = b""
        """Of an ordinary connection, its startup frame."""
        self.brought_by = 0
        """The frame that brought it, until the peer's was captured, too."""
        self.is_closed = False
        """Of such a one, whether its FIN was captured."""
        self.tail: list[Chunk] | tuple[()] = ()
        """Without CRCs, the segments that reach beyond ``last``: no length is proven yet there."""
        self.label: Any = None
        """For who writes the FPDUs."""

    # -- in --------------------------------------------------------------------------------------

    def receive(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take a segment with no flags but ACK and PSH; return False if it is refused.

        :param seq: 32 bits, like ``ack``.
        :param octets: all that it carries.
        """
        if seq != self.seq and (seq - self.seq + _NEAR) & SEQUENCE_MASK > 2 * _NEAR:
            return False
        connection = self.connection
        times = connection.times
        # Whose octets were waited for, of a segment that comes long after the last progress.
        waiting = self._late(time_ns) if time_ns >= times.late_ns else 0
        if ack != self.ack:
            more = (ack - self.ack) & SEQUENCE_MASK
            if more < SEQUENCE_HALF:
                # No more can be acknowledged than was captured of the peer, if nothing is missing.
                if not more <= (self.peer.seq - self.ack) & SEQUENCE_MASK < SEQUENCE_HALF:
                    return False
                self.ack = ack
                if waiting:
                    times.end_stall(frame, time_ns, waiting)
                if time_ns > times.moved_ns:
                    times.moved_ns = time_ns
        if not octets:
            if self.awaits and not self._keeps_startup_rules(seq, 0, ack):
                return False
        elif self.can_read_next and seq == self.seq:
            shared, offset = self.shared, self.offset
            rows, recent = shared.rows, shared.recent
            before = len(rows)
            end = read(self, octets, 0, offset, frame, time_ns, frame, self.shapes, rows)
            if end == len(octets):
                self.fpdus += len(rows) - before
                recent.order.append((self.origin + offset, octets, frame, self.half or self))
                recent.fresh += end
                if recent.fresh > FRESH_OCTETS:
                    recent.trim()
                self.offset = offset + end
                self.seq = (seq + end) & SEQUENCE_MASK
            elif not self._finish_read(octets, end, offset + end, before, frame):
                return False
            if waiting:
                times.end_stall(frame, time_ns, waiting)
            if time_ns > times.moved_ns:
                times.moved_ns = time_ns
        else:
            copies = self.copies
            if not self.take(seq, ack, octets, frame, time_ns):
                return False
            if self.copies == copies:
                if waiting:
                    times.end_stall(frame, time_ns, waiting)
                times.move(time_ns)
        self.segments += 1
        connection.frame = frame
        connection.time_ns = time_ns
        if octets and not (self.can_read_next or self.takes_no_octets):
            self._look_ahead()
        return True

    def _late(self, time_ns: int) -> int:
        """Return whose octets were waited for, if a segment comes late; else 0."""
        times = self.connection.times
        if times.is_opening and not self.index:
            times.end_handshake(time_ns)
        return self.waiting if times.is_late(time_ns) else 0

    @property
    def waiting(self) -> int:
        """Which directions have octets that were not acknowledged: 1 << index, or both."""
        return self._waits << self.index | self.peer._waits << self.peer.index

    @property
    def _waits(self) -> bool:
        if self.takes_no_octets and self.half is not None:
            # Recovery has its octets, and knows up to where they reach.
            return waits(self.half)
        if self.half is None and not self.startup:
            # It has sent no more than a SYN.
            return False
        # Octets that were not captured may be acknowledged, too.
        unacknowledged = (self.seq - self.peer.ack) & SEQUENCE_MASK
        return bool(self.ahead) or 0 < unacknowledged < SEQUENCE_HALF

    def take(self, seq: int, ack: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take octets that need more checks; return False if they are refused."""
        if self.takes_no_octets:
            return self.connection.take_octets(self, seq, ack, octets, frame, time_ns)
        if self._must_check_startup and not self._keeps_startup_rules(seq, len(octets), ack):
            return False
        if seq == self.seq and not self.ahead:
            return self._append(octets, frame, frame, time_ns)
        return self._take_out_of_order(seq, octets, frame, time_ns)

    def _look_ahead(self) -> None:
        """See what the next segment will meet, after one that was taken."""
        self.can_read_next = self.may_read_next
        if self.is_stuck:
            self.shared.to_recovery(self.connection)
        elif self.shared.budget.room < 0:
            self.shared.budget.make_room()

    @property
    def may_read_next(self) -> bool:
        """What ``can_read_next`` must be."""
        return self.shapes.crc and not (self.pieces or self.ahead or self._must_check_startup)

    @property
    def is_stuck(self) -> bool:
        """Whether the hole is filled, and what waited after it cannot be read."""
        ahead = self.ahead
        return bool(ahead) and ahead[0][0] == self.offset + self.have

    def begin_with(self, pieces: list[tuple[bytes, int]]) -> None:
        """Begin in the midst of an FPDU.

        :param pieces: its octets so far, and the frame that brought each.
        """
        octets = b"".join([each for each, _ in pieces])
        self.pieces, self.have = pieces, len(octets)
        self.missing = octets_missing(octets, self.offset, self.shapes) or 1
        self.seq = sequence_number(self.position)
        self._reserve()

    def _keeps_startup_rules(self, seq: int, length: int, ack: int) -> bool:
        """Tell whether its first octets keep rules 3 and 4 of RFC 5044 7.1.2."""
        peer = self.peer
        received = (ack - sequence_number(peer.origin)) & SEQUENCE_MASK
        # What acknowledges part of them may not acknowledge the first FPDU.
        if self.awaits and 0 < peer.offset <= received < SEQUENCE_HALF:
            self.awaits = False
        if self.awaits:
            # It shows nothing of octets that it must not have sent yet.
            sent = (seq + length - sequence_number(self.origin)) & SEQUENCE_MASK
            return not (self.takes_no_octets or 0 < sent < SEQUENCE_HALF)
        return not length or (not self.takes_no_octets and received < SEQUENCE_HALF)

    @property
    def _must_check_startup(self) -> bool:
        """Whether these rules must be checked: its first octets come next, or must not come yet."""
        return self.awaits or self.takes_no_octets or self._begins

    @property
    def _begins(self) -> bool:
        """Whether the first octets of the Full Operation Phase come next."""
        return self.shapes.from_start and not self.offset

    def _take_out_of_order(self, seq: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Take octets that do not begin at ``seq``, or that may fill a hole."""
        ahead = (seq - self.seq) & SEQUENCE_MASK
        if ahead >= SEQUENCE_HALF:
            return self._repeats(SEQUENCE_SPACE - ahead, octets)
        if ahead:
            return self._keep(self.offset + self.have + ahead, octets, frame, time_ns)
        waiting, farthest = self.ahead, self.shape
        if self.offset + self.have + len(octets) > waiting[0][0]:
            return False
        if not self._append(octets, frame, frame, time_ns):
            return False
        freed = 0
        while waiting and waiting[0][0] == self.offset + self.have:
            _, waited, brought_by, is_found = waiting[0]
            if is_found:
                if self.have:
                    break
                self._pass_by(waited, brought_by)
                self.shape = farthest
            elif not self._append(waited, brought_by, frame, time_ns):
                break
            freed += len(waited) + CHUNK_OVERHEAD
            del waiting[0]
        if any([is_found for _, _, _, is_found in waiting]):
            self.shape = farthest
        self.ahead = waiting or _NONE
        if freed:
            self.hold(-freed)
        return True

    def _append(self, octets: bytes, brought_by: int, frame: int, time_ns: int) -> bool:
        """Read octets that begin at ``seq``; return False if they are refused.

        :param brought_by: the frame that brought them.
        :param frame: the frame that filled the hole before them, or the same one.
        """
        rows, shapes, offset = self.shared.rows, self.shapes, self.offset
        before, at = len(rows), 0
        if self.pieces:
            need = self.missing
            while True:
                if len(octets) < need:
                    return self._add_piece(octets, brought_by, need)
                head = b"".join([each for each, _ in self.pieces]) + octets[:need]
                frames = dict.fromkeys([*[each for _, each in self.pieces], brought_by])
                brought = brought_by if len(frames) == 1 else tuple(frames)
                if read(self, head, 0, offset, frame, time_ns, brought, shapes, rows):
                    break
                more = octets_missing(head, offset, shapes)
                if not more:
                    return False
                need += more
            at = need
            offset += len(head)
        end = read(self, octets, at, offset, frame, time_ns, brought_by, shapes, rows)
        return self._finish_read(octets, end, offset + end - at, before, brought_by)

    def _finish_read(
        self, octets: bytes, end: int, offset: int, before: int, brought_by: int
    ) -> bool:
        """Move on over octets that were read; return False if the rest is refused.

        :param end: up to where they are whole FPDUs.
        :param offset: where that lies in the stream.
        :param before: how many rows there were before they were read.
        """
        rows = self.shared.rows
        rest = octets[end:]
        # A startup frame may stand where an FPDU must begin.
        is_lacking = rest and not begins_like_key(rest)
        missing = octets_missing(rest, offset, self.shapes) if is_lacking else 0
        # The first FPDU must be whole in its segment: it is looked at more closely.
        if (rest and not missing) or (len(rows) == before and self._begins):
            del rows[before:]
            return False
        if len(rows) > before:
            self.fpdus += len(rows) - before
            self.last = rows[-1][3]
        self._note_taken(octets, brought_by)
        self.offset = offset
        self.pieces = [(rest, brought_by)] if rest else ()
        self.have, self.missing = len(rest), missing
        if rest:
            self.can_read_next = False
            self._reserve()
        return True

    def _reserve(self) -> None:
        """Count all that the FPDU will take, and keep that for the next ones: there are many."""
        need = self.have + self.missing + (0 if self.shapes.crc else self.offset - self.last)
        if need > self.reserved:
            self.hold(need - self.reserved)
            self.reserved = need

    def _note_taken(self, octets: bytes, brought_by: int) -> None:
        """Take note of octets that were taken, before ``offset`` and ``pieces`` are changed."""
        position = self.position
        self.shared.recent.remember(self.half or self, position, octets, brought_by)
        self.seq = (self.seq + len(octets)) & SEQUENCE_MASK
        if not self.shapes.crc:
            begin, chunk = self.origin + self.last, Chunk(position, octets, brought_by)
            self.tail = [each for each in (*self.tail, chunk) if each.end > begin]

    def _add_piece(self, octets: bytes, brought_by: int, need: int) -> bool:
        """Keep octets that do not complete an FPDU.

        :param need: how many it lacks with all that was captured before.
        """
        assert isinstance(self.pieces, list)
        if len(self.pieces) >= PIECES:
            return False
        self._note_taken(octets, brought_by)
        self.pieces.append((octets, brought_by))
        self.have += len(octets)
        self.missing = need - len(octets)
        self._reserve()
        return True

    @property
    def position(self) -> int:
        """Position of the octet with which it goes on."""
        return self.origin + self.offset + self.have

    @property
    def first_missing(self) -> int | None:
        """As of :class:`~scapy_mpa.stream.halves.half.HalfConnection`."""
        return self.position if self.ahead else None

    @property
    def high(self) -> int:
        """As of :class:`~scapy_mpa.stream.halves.half.HalfConnection`."""
        if not self.ahead:
            return self.position
        offset, octets, *_ = self.ahead[-1]
        return self.origin + offset + len(octets)

    def _keep(self, offset: int, octets: bytes, frame: int, time_ns: int) -> bool:
        """Keep a segment that lies after a hole; tell whether that is possible."""
        ahead = self.ahead
        end = offset + len(octets)
        if (
            self._begins
            # The peer has what lies in the hole.
            or (self.seq - self.peer.ack) & SEQUENCE_MASK >= SEQUENCE_HALF
            or len(ahead) >= AHEAD_SEGMENTS
            or end - self.offset > AHEAD_OCTETS
            or self.held + len(octets) > self.shared.budget.each
        ):
            return False
        index = len(ahead)
        while index and ahead[index - 1][0] >= end:
            index -= 1
        if index:
            before, known, _, _ = ahead[index - 1]
            if before + len(known) > offset:
                is_copy = before == offset and known == octets and len(octets) > 1
                if is_copy:
                    self._count_copy(octets)
                return is_copy
        if index < len(ahead) and ahead[index][0] == end and not ahead[index][3]:
            # Lengths may lead into it from here.
            return False
        last = ahead[index - 1] if index else (0, b"", 0, False)
        is_next = last[0] + len(last[1]) == offset
        follows = is_next and last[3]
        farthest = self.shape
        # What goes on after octets that are not read shows nothing.
        is_found = (follows or not is_next) and self._place(
            offset, octets, frame, time_ns, follows=follows
        )
        if not is_found and (self.shapes.marked or follows):
            return False
        if not is_found or any([each[3] for each in ahead[index:]]):
            self.shape = farthest
        if ahead:
            ahead.insert(index, (offset, octets, frame, is_found))
        else:
            self.ahead = [(offset, octets, frame, is_found)]
            self.can_read_next = False
        self.hold(len(octets) + CHUNK_OVERHEAD)
        return True

    def _place(
        self, offset: int, octets: bytes, frame: int, time_ns: int, *, follows: bool
    ) -> bool:
        """Find the FPDUs of a segment after a hole; tell whether it holds nothing else.

        If there are Markers, these must prove where FPDUs begin (RFC 5044 4.3).

        :param follows: whether it goes on where FPDUs end that were found so.
        """
        # FPDUs and Markers are multiples of 4 octets.
        if not self.shapes.crc or offset % MARKER_LENGTH:
            return False
        # Without Markers, a payload that holds FPDUs may be cut up like that.
        if not self.shapes.marked and offset < self.offset + self.have + self.missing:
            return False
        rows = self.shared.rows
        of_first, shapes = self.shared.tables.after_hole(self.shapes)
        before = len(rows)
        end = read(self, octets, 0, offset, frame, time_ns, frame, shapes, rows)
        if end < len(octets) or not (follows or rows[before][4].markers or not self.shapes.marked):
            del rows[before:]
            return False
        if not follows:
            first = rows[before]
            rows[before] = (*first[:4], of_first[first[4].key], *first[5:])
        self.early += len(rows) - before
        self.farthest = max(self.farthest, rows[-1][3] - self.offset - self.have)
        self.fpdus += len(rows) - before
        return True

    def _pass_by(self, octets: bytes, brought_by: int) -> None:
        """Go on after FPDUs that were found before their turn."""
        self._note_taken(octets, brought_by)
        self.offset += len(octets)

    def _repeats(self, back: int, octets: bytes) -> bool:
        """Take a segment if all of it is known and the same; tell whether it is.

        :param back: how many octets before the next one it begins.
        """
        position = self.position - back
        end = position + len(octets)
        # A keep-alive probe repeats the last octet, and need not repeat it rightly.
        if len(octets) > back or len(octets) == 1:
            return False
        known = self.shared.recent.between(position, end, self.half or self)
        at = position
        for start, kept, _ in sorted(known, key=lambda each: each[0]):
            if start <= at < start + len(kept):
                at = start + len(kept)
        if at < end or differing_stretch(position, octets, known) is not None:
            return False
        self._count_copy(octets)
        return True

    def _count_copy(self, octets: bytes) -> None:
        self.copies += 1
        self.copied += len(octets)

    # -- memory ----------------------------------------------------------------------------------

    def hold(self, more: int) -> None:
        """Count octets that are held from now on, or no more."""
        self.held += more
        self.shared.budget.count(self)

    def relieve(self) -> None:
        """Free what is held.  If octets wait, recovery takes the connection over."""
        if self.pieces or self.ahead or self.takes_no_octets:
            self.shared.to_recovery(self.connection)
        else:
            self.held = self.reserved = 0


def event_of(row: Any) -> Any:
    """Return a row as an event; an event as it is."""
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
        direction.settled and not table.ahead,
    )


def identity_of(row: Any) -> ConnectionId:
    """Return the connection of a row, or of an event."""
    identity: ConnectionId = row[2].connection.identity if type(row) is tuple else row.connection
    return identity
