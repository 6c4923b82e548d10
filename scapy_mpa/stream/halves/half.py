# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a TCP connection: its state, and what it reports.

A half connection begins in streaming mode, and looks for its startup frame.  It holds the octets
after that until the peer's startup frame shows whether there are Markers and CRCs.  Then its octets
are FPDUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from scapy_mpa.stream.events import (
    ConnectionId,
    ErrorFound,
    FPDURecovered,
    GapFound,
    GapReason,
    HalfSummary,
    LocatedBy,
)
from scapy_mpa.stream.fpdus.candidate import Candidate
from scapy_mpa.stream.fpdus.framing import Framing
from scapy_mpa.stream.fpdus.in_order import InOrder
from scapy_mpa.stream.fpdus.search import fpdus_within
from scapy_mpa.stream.fpdus.softuiwarp import pads_otherwise
from scapy_mpa.stream.halves.counters import Counters
from scapy_mpa.stream.halves.early import EarlyOctets
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.chunk import Chunk, weight_of
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, compact, sequence_number, unwrap
from scapy_mpa.stream.shapes import Kind
from scapy_mpa.wire.ddp import LAST
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode

if TYPE_CHECKING:
    from scapy_mpa.stream.budget import Budget
    from scapy_mpa.stream.fpdus.sink import Handover
    from scapy_mpa.stream.halves.other import OtherFraming
    from scapy_mpa.stream.halves.reader import FrameReader, Reader
    from scapy_mpa.stream.halves.shared import Shared
    from scapy_mpa.stream.purse import Purse
    from scapy_mpa.stream.timed import Timed


class Owner(Protocol):
    """The connection, as its half connections see it."""

    shared: Shared
    """Shared by all connections."""
    identity: ConnectionId
    """Number and flow."""
    segments: int
    """Segments received so far."""
    times: Timed
    """The times of the connection, and the frame of its last segment."""
    errors: int
    """Errors reported so far."""
    lingers: bool
    """Whether the connection is over, and waits for late copies."""
    halves: tuple[HalfConnection, HalfConnection]
    """Its half connections, by direction."""
    met_key: tuple[HalfConnection, int] | None
    """Direction and position of a startup frame that stands where an FPDU must begin."""
    other: OtherFraming | None
    """State of another framing that the connection may speak."""

    @property
    def was_reset(self) -> bool:
        """Whether a RST was captured, and nothing after it shows that its receiver dropped it."""

    def relieve(self, half: HalfConnection) -> None:
        """Make a half connection hold fewer octets, if that is possible."""

    def on_startup(self, half: HalfConnection, island: Island, found: FoundStartup) -> None:
        """Take a startup frame, and the island that holds it."""

    def must_wait(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Return whether a startup frame must wait for octets that were sent before it."""

    def reads_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs before a startup frame in streaming mode; return whether there are any."""

    def on_refuted(self, half: HalfConnection) -> None:
        """Forget a startup frame: the octets after it show that it was none."""

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """Return whether the last startup frame of a direction ends at a position."""

    def on_unknown(self, half: HalfConnection, *, must_decide: bool, at_once: bool) -> None:
        """Find out what a half connection carries if its startup frames were not captured.

        :param must_decide: decide as if nothing more came.  This may happen more than once: also
            when there are many octets, or little memory.
        :param at_once: a decision cannot wait for the next segment.
        """

    def on_fpdu(self, half: HalfConnection, event: FPDURecovered, ulpdu: bytes) -> None:
        """Take an FPDU that was found.

        :param ulpdu: its ULPDU; empty if a receiver does not accept the FPDU.
        """


class HalfConnection:
    """One direction of a TCP connection.

    :param direction: 0 or 1, see :mod:`scapy_mpa.stream.events`.
    :param owner: the connection.
    """

    reader: Reader
    """Reads its octets."""

    def __init__(self, direction: int, owner: Owner) -> None:
        self.direction = direction
        self.owner = owner
        self.islands = Islands()
        """The octets that were captured."""
        self.phase = Phase.STREAMING
        self.held = 0
        """Octets held in memory."""
        self.high: int | None = None
        """The highest position seen.  A sequence number becomes the position nearest to it."""
        self.begin: int | None = None
        """Position of the first octet, if the SYN was captured."""
        self.acknowledged: int | None = None
        """Position up to which the peer has acknowledged octets."""
        self.fin: int | None = None
        """Position of the FIN, if it was captured."""
        self.is_cut = False
        """Whether the snap length cut off octets before FPDUs began."""
        self.streamed = 0
        """Position up to which octets of streaming mode were reported."""
        self.open_at: tuple[int, bool] = 0, False
        """Where the last FPDU of the stream found so far ends, and whether its message goes on."""
        self.reached = 0
        """Where the FPDU that the last hole cut off must end, by its ULPDU_Length; 0 if none."""
        self.acks: tuple[tuple[int, int], ...] = ()
        """While a hole is open, the last acknowledgements: for each, the number of segments of the
        connection so far, and the acknowledged position."""
        self.closed_to = 0
        """Holes below this position were acknowledged long enough ago to be closed."""
        self.early_acks: tuple[int, int] | None = None
        """The first and the highest sequence number that the peer acknowledged before anything of
        the direction was captured."""
        self.early: EarlyOctets | None = None
        """Holes of streaming mode that may still be filled, though FPDUs are read already."""
        self.without_crcs: object = None
        """Octets that hold no FPDU with a good CRC, and what was known when they were searched."""
        self.unsearched = False
        """Whether a search for FPDUs was cut short, and was counted as such."""
        self.octets = 0
        """Octets captured, each counted once."""
        self.counters = Counters()

    @property
    def peer(self) -> HalfConnection:
        """The other direction of the connection."""
        return self.owner.halves[1 - self.direction]

    @property
    def key(self) -> int:
        """The owner of its octets in :class:`~scapy_mpa.stream.octets.overlap.RecentOctets`."""
        return self.owner.identity.of_direction(self.direction)

    @property
    def budget(self) -> Budget:
        """Bounds the octets that all half connections together hold."""
        return self.owner.shared.budget

    @property
    def purse(self) -> Purse:
        """Pays for the searches for FPDUs in all half connections."""
        return self.owner.shared.purse

    def fill_purse(self, octets: int) -> None:
        """Fill the purse for new octets of this direction."""
        self.purse.fill(octets)
        if self.phase is Phase.FULL:
            self.purse.fill_more(octets)

    @property
    def framing(self) -> Framing | InOrder | None:
        """The reader of its FPDUs; None before it carries FPDUs."""
        reader = self.reader
        return reader if isinstance(reader, (Framing, InOrder)) else None

    @property
    def other(self) -> FrameReader | None:
        """The reader of frames of another framing; None if it carries none."""
        return cast("FrameReader", self.reader) if self.phase is Phase.OTHER else None

    # -- in ----------------------------------------------------------------------------------

    def advance(self, island: Island) -> None:
        """Read on in an island that has grown."""
        if island.open_left and not self.islands.lies_beyond(island):
            island.open_left = False
        self.reader.advance(island)

    def acknowledge(self, ack: int) -> None:
        """Take an acknowledgement number that the peer has sent."""
        if self.high is None:
            first, highest = self.early_acks or (ack, ack)
            self.early_acks = first, max(highest, unwrap(ack, highest))
            return
        high = self.high
        position = unwrap(ack, high)
        # A number before the SYN acknowledges nothing of this connection.
        known = self.acknowledged or (self.begin or 0) - 1
        if abs(position - high) < SEQUENCE_WINDOW and position > known:
            # Mostly both positions are equal.  Then one object serves for both, which saves memory.
            self.acknowledged = high if position == high else compact(position)

    @property
    def acknowledged_number(self) -> int | None:
        """The sequence number that the peer has acknowledged; None if it acknowledged nothing."""
        known = self.acknowledged
        if known is None and self.early_acks is not None:
            _, known = self.early_acks
        return None if known is None else sequence_number(known)

    @property
    def progress(self) -> tuple[int | None, ...]:
        """Values that change with new octets, with a FIN, and with a new acknowledgement."""
        return self.high, self.octets, self.fin, self.acknowledged

    # -- startup frames ----------------------------------------------------------------------

    def may_begin_at(self, island: Island, position: int) -> bool:
        """Return whether a startup frame may begin at a position, by the octets before it.

        If octets before it are missing, it may be part of an FPDU's payload.
        """
        if self.begin is None:
            return position == island.start and not self.islands.lies_beyond(island)
        return island.start == self.begin

    def may_be_startup(self, island: Island, found: FoundStartup) -> bool:
        """Return whether a seeming startup frame is one, by the octets before it.

        After missing octets, a payload that holds a Key may look like a startup frame.  But it
        hardly fills its segments.  A true one does: its sender waits before and after it.
        """
        return self.may_begin_at(island, found.position) or island.fills_segments(
            found.position, found.end
        )

    # -- what is reported ----------------------------------------------------------------------

    def head(self, position: int) -> tuple[ConnectionId, int, int, int, int]:
        """Return the first fields of most events.

        :param position: where the reported octets begin.
        """
        owner = self.owner
        seq = sequence_number(position)
        return owner.identity, self.direction, owner.times.frame, owner.times.time_ns, seq

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Count an FPDU and report it."""
        # Framing is the caller, so there is one.
        framing, islands, layout = self.framing, self.islands, fpdu.layout
        assert framing is not None
        self.counters.fpdus += 1
        if fpdu.crc == "bad":
            self.counters.crc_bad += 1
        is_ahead = islands.is_ahead(island, fpdu.start)
        read_to = islands.read_to(island) if is_ahead else None
        if is_ahead:
            self.counters.count_ahead(1, fpdu.start - islands.delivery_point(island))
        header = fpdu.start + layout.header
        event = FPDURecovered(
            *self.head(header),
            header - framing.origin if framing.from_start else None,
            fpdu.ulpdu_length,
            fpdu.octets,
            layout.phase,
            len(layout.markers),
            fpdu.crc,
            located_by,
            is_ahead,
            island.frames(fpdu.start, fpdu.end),
            self.peer.acknowledged_number,
            framing.form,
            None if read_to is None else sequence_number(read_to),
        )
        if fpdu.sound and len(event.frames) > 1:
            self.counters.longest = max(self.counters.longest, fpdu.end - fpdu.start)
        ulpdu = event.ulpdu if event.is_acceptable else b""
        self.note_end(fpdu.end, is_last=not ulpdu or bool(ulpdu[0] & LAST))
        self.owner.on_fpdu(self, event, ulpdu)

    @property
    def longest(self) -> int:
        """Octets of the longest verified FPDU that several segments brought."""
        return self.counters.longest

    def fpdus_within(self, octets: bytes, offset: int) -> list[int]:
        """Return the first places in octets at which whole and sound FPDUs begin."""
        framing = self.framing
        assert framing is not None
        kind = Kind(framing.crc, framing.markers, framing.from_start)
        return fpdus_within(octets, offset, self.owner.shared.tables[kind])

    def meets_startup(self, position: int) -> None:
        """Take note of a startup frame that stands where an FPDU must begin."""
        self.owner.met_key = self, position

    def note_end(self, end: int, *, is_last: bool) -> None:
        """Note where an FPDU ends, and whether it is the last of its message."""
        if end > self.open_at[0]:
            self.open_at = end, not is_last

    def wrong(self, code: ErrorCode | None, position: int, text: str) -> None:
        """Count an error and report it."""
        self.owner.errors += 1
        # ErrorFound has the code before the sequence number.
        identity, direction, frame, time_ns, seq = self.head(position)
        event = ErrorFound(identity, direction, frame, time_ns, code, seq, text)
        self.owner.shared.rows.append(event)

    def ends_at(self, position: int) -> bool:
        """Return whether the FIN stands at a position."""
        return self.fin == position

    def reaches(self, end: int) -> None:
        """Note where the FPDU that the last hole cut off must end; 0 if there is none."""
        self.reached = end

    def before(self, island: Island) -> Island | None:
        """Return the island before another one, if it is still held."""
        items = self.islands.items
        index = items.index(island)
        return items[index - 1] if index else None

    def after(self, position: int) -> Island | None:
        """Return the first island that starts at or after a position."""
        return next((island for island in self.islands.items if island.start >= position), None)

    def unfinished(self, position: int, length: int) -> None:
        """Report an FPDU that the end of the connection cut short."""
        how = self.how_it_ended(position + length)
        if how is not None:
            text = f"the connection was {how} {length} octets into an FPDU (RFC 5044 8)"
            self.wrong(ErrorCode.CONNECTION_LOST, position, text)

    def hand_to_softuiwarp(self, island: Island, run: Run, *, final: bool) -> Handover:
        """Read a run on as SoftUiWARP's, if its pads show that by now."""
        # Framing is the caller, so there is one.
        standard = self.framing
        assert standard is not None
        end = pads_otherwise(island, run.last, run.end, final=final)
        if end is None:
            return "undecided"
        if not end:
            return "refused"
        self.reader = framing = InOrder(
            self, standard.origin, Dialect.SOFTUIWARP, markers=False, crc=False
        )
        framing.go_on(island, run, end)
        return "done"

    def cut_off(self, start: int, end: int) -> None:
        """Report octets that cannot be read, since the snap length cut off some of them."""
        self.report_gap(start, end, "snap length")

    def release(self, island: Island, start: int, end: int) -> None:
        """Let go of octets that need not be read any more."""
        if island.runs and start < island.runs[0].start:
            # FPDUs of a late segment before these octets cannot continue in them any more.
            island.has_hole = True
        self.let_go(island, start, end)

    def let_go(self, island: Island, start: int, end: int) -> None:
        """Let go of octets, but keep them for comparison for a while."""
        # Octets that the snap length cut off read as zeros, which must not be remembered.
        cut = island.captured(start, end) if island.absent else ()
        known = {chunk.position: chunk for chunk in cut}
        for chunk in island.release(start, end):
            self.held -= weight_of(chunk)
            self.owner.shared.recent.remember(self.key, *known.get(chunk.position, chunk))

    def hold_again(self, island: Island, chunks: Sequence[Chunk]) -> None:
        """Hold octets again that were let go of: back to back, after all held octets."""
        for chunk in chunks:
            island.put_back(chunk)
            self.held += weight_of(chunk)
        if chunks:
            last = chunks[-1]
            end = last.position + len(last.octets)
            self.owner.shared.recent.forget(self.key, chunks[0].position, end)

    def report_gap(self, start: int, end: int, reason: GapReason) -> None:
        """Report a hole that will not be filled."""
        # Without a SYN, ``start`` is 0: the octets before the first captured one are unknown.
        if 0 < start < end:
            self.counters.gaps += 1
            event = GapFound(*self.head(start), length=end - start, reason=reason)
            self.owner.shared.rows.append(event)

    def relieve(self) -> None:
        """Hold fewer octets, if that is possible."""
        self.owner.relieve(self)

    # -- state -------------------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of its FPDUs; None if their layout is that of RFC 5044 4."""
        reader = self.reader
        return reader.dialect if isinstance(reader, InOrder) else None

    @property
    def first_missing(self) -> int | None:
        """Position of the first octet in an open hole; None if no hole is open."""
        return None if self.islands.after_open_hole() is None else self.islands.front_end()

    # -- the end -----------------------------------------------------------------------------

    def how_it_ended(self, end: int) -> str | None:
        """Return how the connection ended, if it ended at position ``end``; else None."""
        items = self.islands.items
        if not items or items[-1].end != end:
            return None
        if self.fin == end:
            return "closed"
        # An acknowledgement may count a FIN that was not captured.
        is_all = self.acknowledged is None or self.acknowledged <= end + 1
        return "reset" if self.owner.was_reset and is_all else None

    def leave(self) -> None:
        """Drop the references to the connection, which is over.  A cycle would keep both alive."""
        del self.owner, self.reader

    def summary(self) -> HalfSummary:
        """Return the totals of the direction."""
        other = self.other
        reading = self.framing or other
        return self.counters.summary(
            self.octets,
            markers=None if reading is None else reading.markers,
            crcs=None if other is None else other.crcs,
        )
