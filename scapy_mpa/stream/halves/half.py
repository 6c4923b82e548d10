# SPDX-License-Identifier: GPL-2.0-or-later
"""One direction of a TCP connection: segments in, and what its parts make of them.

A half connection is in streaming mode at first, where a startup frame is looked for.  Once its
own startup frame was seen it holds what follows, until the peer's startup frame has said
whether there are Markers and CRCs.  Then its octets are FPDUs.
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
from scapy_mpa.stream.fpdus.softuiwarp import pads_otherwise
from scapy_mpa.stream.halves.early import Early
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.chunk import Chunk, weight_of
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.stream.octets.islands import Islands
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.sequence import SEQUENCE_WINDOW, compact, sequence_number, unwrap
from scapy_mpa.wire.ddp import LAST
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode

if TYPE_CHECKING:
    from scapy_mpa.stream.budget import Budget
    from scapy_mpa.stream.fpdus.sink import Handover
    from scapy_mpa.stream.halves.common import Common
    from scapy_mpa.stream.halves.other import OtherFraming
    from scapy_mpa.stream.halves.reader import FrameReader, Reader
    from scapy_mpa.stream.purse import Purse


class Owner(Protocol):
    """The connection: it answers for the peer, and for the startup of both."""

    common: Common
    """What all connections have in common."""
    identity: ConnectionId
    """Number and flow."""
    segments: int
    """Segments received so far."""
    frame: int
    """The frame that brought the last of them."""
    time_ns: int
    """When that was captured, in nanoseconds since the epoch."""
    errors: int
    """Errors reported so far."""
    lingers: bool
    """Whether it is known to be over, and late copies are waited for."""
    halves: tuple[HalfConnection, HalfConnection]
    """By direction."""
    met_key: tuple[HalfConnection, int] | None
    """Where a startup frame stands that was met where an FPDU must begin."""
    other: OtherFraming | None
    """What is known of another framing that it may speak."""

    @property
    def was_reset(self) -> bool:
        """Whether a RST was captured, and nothing after it shows that its receiver dropped it."""

    def relieve(self, half: HalfConnection) -> None:
        """Have a half connection hold fewer octets, if that is possible."""

    def on_startup(self, half: HalfConnection, island: Island, found: FoundStartup) -> None:
        """Take a startup frame, and the island that holds it."""

    def must_wait(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Tell whether a startup frame must wait for what was sent before it."""

    def reads_before(self, half: HalfConnection, island: Island, found: FoundStartup) -> bool:
        """Read FPDUs before a startup frame in streaming mode; tell whether there are some."""

    def on_refuted(self, half: HalfConnection) -> None:
        """Learn that a startup frame was none, by what follows it."""

    def ends_startup(self, half: HalfConnection, position: int) -> bool:
        """Tell whether the last startup frame of a direction ends at a position."""

    def on_unknown(self, half: HalfConnection, *, must_decide: bool) -> None:
        """Find out what a half connection carries whose startup frames were not captured.

        :param must_decide: with what is there, as if nothing more came.  May be asked for more than
            once: also where octets have become many, or memory short.
        """

    def on_fpdu(self, half: HalfConnection, event: FPDURecovered, ulpdu: bytes) -> None:
        """Take an FPDU that was found.

        :param ulpdu: as far as a receiver takes it for what it is.
        """


class HalfConnection:
    """One direction of a TCP connection.

    :param direction: 0 or 1, see :mod:`scapy_mpa.stream.events`.
    :param owner: who gets what is found.
    """

    __slots__ = (
        "acknowledged",
        "begin",
        "crc_bad",
        "cut_below",
        "differs",
        "direction",
        "early",
        "early_ack",
        "farthest_ahead",
        "fin",
        "fpdus",
        "gaps",
        "held",
        "high",
        "islands",
        "noted",
        "octets",
        "open_at",
        "out_of_order",
        "owner",
        "passed",
        "phase",
        "reached",
        "reader",
        "retransmitted",
        "retransmitted_octets",
        "streamed",
        "unsearched",
        "without_crcs",
    )

    reader: Reader
    """What reads its octets."""

    def __init__(self, direction: int, owner: Owner) -> None:
        self.direction = direction
        self.owner = owner
        self.islands = Islands()
        """The octets that were captured."""
        self.phase = Phase.STREAMING
        self.held = 0
        """Octets held in memory."""
        self.high: int | None = None
        """The highest position seen, around which sequence numbers are placed."""
        self.begin: int | None = None
        """Where the octets begin, if the SYN was captured."""
        self.acknowledged: int | None = None
        """What the peer has acknowledged."""
        self.fin: int | None = None
        """Where the FIN stands, if it was captured."""
        self.cut_below = 0
        """Below this position nobody knows any more what the snap length cut off in streaming
        mode; 0 if it cut off nothing there."""
        self.streamed = 0
        """Position up to which octets of streaming mode were reported."""
        self.open_at: tuple[int, bool] = 0, False
        """Where the FPDU ends that lies farthest, of those found, and whether its message is to go
        on after it."""
        self.reached = 0
        """Up to where the FPDU reaches that the last hole cut off, by what it says."""
        self.differs = False
        """Whether copies of its octets differed."""
        self.noted: tuple[tuple[int, int], ...] = ()
        """While a hole is open, how many segments of the connection had been received, and what was
        acknowledged then."""
        self.passed = 0
        """Holes below this position were acknowledged long enough ago to be closed."""
        self.early_ack: int | None = None
        """What the peer had acknowledged before anything of the direction was captured: a sequence
        number."""
        self.early: Early | None = None
        """What may yet be captured of streaming mode, if FPDUs are read already."""
        self.without_crcs: object = None
        """Octets in which no FPDU has a good CRC, and what was known when they were searched."""
        self.unsearched = False
        """Whether it was not searched for FPDUs to the end, and is counted as such."""
        # As HalfSummary explains them.
        self.fpdus = self.octets = self.crc_bad = self.gaps = 0
        self.out_of_order = self.farthest_ahead = 0
        self.retransmitted = self.retransmitted_octets = 0

    @property
    def budget(self) -> Budget:
        """What all half connections together may hold."""
        return self.owner.common.budget

    @property
    def purse(self) -> Purse:
        """What may be searched for FPDUs in all half connections together."""
        return self.owner.common.purse

    def fill_purse(self, octets: int) -> None:
        """Have new octets of this direction pay for searches."""
        self.purse.fill(octets)
        if self.phase is Phase.FULL:
            self.purse.fill_more(octets)

    @property
    def framing(self) -> Framing | InOrder | None:
        """What finds its FPDUs, once it carries some."""
        reader = self.reader
        return reader if isinstance(reader, (Framing, InOrder)) else None

    @property
    def other(self) -> FrameReader | None:
        """What finds the frames of another framing, if it carries these."""
        return cast("FrameReader", self.reader) if self.phase is Phase.OTHER else None

    # -- in ----------------------------------------------------------------------------------

    def advance(self, island: Island) -> None:
        """See what can be made of an island that has grown."""
        if island.open_left and not self.islands.lies_beyond(island):
            island.open_left = False
        self.reader.advance(island)

    def acknowledge(self, ack: int) -> None:
        """Take an acknowledgement number that the peer has sent."""
        if self.high is None:
            early = self.early_ack
            self.early_ack = ack if early is None else max(early, unwrap(ack, early))
            return
        high = self.high
        position = unwrap(ack, high)
        # What lies before the SYN is of no octets of this connection.
        known = self.acknowledged or (self.begin or 0) - 1
        if abs(position - high) < SEQUENCE_WINDOW and position > known:
            # Mostly as one object: all that was sent was received.
            self.acknowledged = high if position == high else compact(position)

    @property
    def acknowledged_number(self) -> int | None:
        """What the peer has acknowledged, as a sequence number, None if nothing."""
        known = self.early_ack if self.acknowledged is None else self.acknowledged
        return None if known is None else sequence_number(known)

    @property
    def progress(self) -> tuple[int | None, ...]:
        """What changes with octets that are no copies, with a FIN, and with what is acknowledged
        newly."""
        return self.high, self.octets, self.fin, self.acknowledged

    # -- startup frames ----------------------------------------------------------------------

    def may_begin_at(self, island: Island, position: int) -> bool:
        """Tell whether a startup frame may stand where one seems to, by what lies before it.

        Where octets before it are missing, it may be part of an FPDU's payload.
        """
        if self.begin is None:
            return position == island.start and not self.islands.lies_beyond(island)
        return island.start == self.begin

    def may_be_startup(self, island: Island, found: FoundStartup) -> bool:
        """Tell whether what seems to be a startup frame is one, by what lies before it.

        After missing octets, a payload that holds a Key may read as a frame; but that hardly fills
        its segments.  A sender waits before and after a startup frame, so the frame does.
        """
        return self.may_begin_at(island, found.position) or island.fills_segments(
            found.position, found.end
        )

    # -- what is reported ----------------------------------------------------------------------

    def head(self, position: int) -> tuple[ConnectionId, int, int, int, int]:
        """Return what most events begin with.

        :param position: of what they report.
        """
        owner = self.owner
        seq = sequence_number(position)
        return owner.identity, self.direction, owner.frame, owner.time_ns, seq

    def found(self, island: Island, fpdu: Candidate, located_by: LocatedBy) -> None:
        """Count an FPDU and report it."""
        # Framing finds it, so there is some.
        framing, islands, layout = self.framing, self.islands, fpdu.layout
        assert framing is not None
        self.fpdus += 1
        if fpdu.crc == "bad":
            self.crc_bad += 1
        is_ahead = islands.is_ahead(island, fpdu.start)
        if is_ahead:
            self.count_ahead(1, fpdu.start - islands.delivery_point(island))
        header = fpdu.start + layout.header
        event = framing.recovered(
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
            self.owner.halves[1 - self.direction].acknowledged_number,
            islands.is_settled_before(fpdu.start),
        )
        ulpdu = event.ulpdu if event.is_acceptable else b""
        self.note_end(fpdu.end, is_last=not ulpdu or bool(ulpdu[0] & LAST))
        self.owner.on_fpdu(self, event, ulpdu)

    def meets_startup(self, position: int) -> None:
        """Take note of a startup frame that stands where an FPDU must begin."""
        self.owner.met_key = self, position

    def note_end(self, end: int, *, is_last: bool) -> None:
        """Take an FPDU that ends at a position, and may be the last of its message."""
        if end > self.open_at[0]:
            self.open_at = end, not is_last

    def count_ahead(self, fpdus: int, distance: int) -> None:
        """Count FPDUs out of order, the farthest of them so many octets before its turn."""
        self.out_of_order += fpdus
        self.farthest_ahead = max(self.farthest_ahead, distance)

    def count_copies(self, segments: int, octets: int) -> None:
        """Count segments that brought octets captured before, and those octets."""
        self.retransmitted += segments
        self.retransmitted_octets += octets

    def wrong(self, code: ErrorCode | None, position: int, text: str) -> None:
        """Count an error and report it."""
        self.owner.errors += 1
        # Its code comes before its place.
        identity, direction, frame, time_ns, seq = self.head(position)
        self.owner.common.emit(ErrorFound(identity, direction, frame, time_ns, code, seq, text))

    def ends_at(self, position: int) -> bool:
        """Tell whether a FIN stands after the octets up to a position."""
        return self.fin == position

    def reaches(self, end: int) -> None:
        """Take note of up to where an FPDU reaches of which octets will never be there; 0: none."""
        self.reached = end

    def before(self, island: Island) -> Island | None:
        """Return the island before another one, if it is still held."""
        items = self.islands.items
        index = items.index(island)
        return items[index - 1] if index else None

    def after(self, position: int) -> Island | None:
        """Return the first island that lies after a position."""
        return next((each for each in self.islands.items if each.start >= position), None)

    def unfinished(self, position: int, length: int) -> None:
        """Report an FPDU that the end of the connection cut short."""
        how = self.how_it_ended(position + length)
        if how is not None:
            text = f"the connection was {how} {length} octets into an FPDU (RFC 5044 8)"
            self.wrong(ErrorCode.CONNECTION_LOST, position, text)

    def hand_to_softuiwarp(self, island: Island, run: Run, *, final: bool) -> Handover:
        """Have a run read on as SoftUiWARP's, if it is seen by now to be so."""
        # Framing asks, so there is some.
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
        """Report a stretch in which the snap length left no way to go on."""
        self.report_gap(start, end, "snap length")

    def release(self, island: Island, start: int, end: int) -> None:
        """Give up octets whose work is done, or of which none will come."""
        if island.runs and start < island.runs[0].start:
            # A late segment before them can no longer be read on into them.
            island.has_hole = True
        self.let_go(island, start, end)

    def let_go(self, island: Island, start: int, end: int) -> None:
        """Let go of octets, but keep them for comparison for a while."""
        # What the snap length cut off reads as zeros, which are not to be remembered.
        cut = island.captured(start, end) if island.absent else ()
        is_streaming = self.phase in (Phase.STREAMING, Phase.HELD)
        if cut and is_streaming and not island.is_captured(start, end):
            self.cut_below = max(end, self.cut_below)
        known = {chunk.position: chunk for chunk in cut}
        for chunk in island.release(start, end):
            self.held -= weight_of(chunk)
            self.owner.common.recent.remember(self, *known.get(chunk.position, chunk))

    def hold_again(self, island: Island, chunks: Sequence[Chunk]) -> None:
        """Hold octets that were let go of, back to back, after all others that are held."""
        for chunk in chunks:
            island.put_back(chunk)
            self.held += weight_of(chunk)
        if chunks:
            last = chunks[-1]
            end = last.position + len(last.octets)
            self.owner.common.recent.forget(self, chunks[0].position, end)

    def report_gap(self, start: int, end: int, reason: GapReason) -> None:
        """Report a hole that will stay."""
        # Without a SYN nobody knows what came before the first octets.
        if 0 < start < end:
            self.gaps += 1
            event = GapFound(*self.head(start), length=end - start, reason=reason)
            self.owner.common.emit(event)

    def relieve(self) -> None:
        """Hold fewer octets, if that is possible."""
        self.owner.relieve(self)

    # -- how it stands -----------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect | None:
        """Whose FPDUs it carries, None if they are laid out as RFC 5044 4 has it."""
        reader = self.reader
        return reader.dialect if isinstance(reader, InOrder) else None

    @property
    def first_missing(self) -> int | None:
        """Position of the first octet that is waited for although later ones were captured, None if
        there is none such."""
        return None if self.islands.after_open_hole() is None else self.islands.front_end()

    # -- the end -----------------------------------------------------------------------------

    def how_it_ended(self, end: int) -> str | None:
        """Return how the connection ended after the octets up to ``end``; None if not there."""
        items = self.islands.items
        if not items or items[-1].end != end:
            return None
        if self.fin == end:
            return "closed"
        # An acknowledgement may count a FIN that was not captured.
        is_all = self.acknowledged is None or self.acknowledged <= end + 1
        return "reset" if self.owner.was_reset and is_all else None

    def leave(self) -> None:
        """Let go of the connection, which is over: no cycle must keep the two alive."""
        del self.owner, self.reader

    def summary(self) -> HalfSummary:
        """Return what was counted."""
        other = self.other
        reading = self.framing or other
        return HalfSummary(
            markers=None if reading is None else reading.markers,
            fpdus=self.fpdus,
            octets=self.octets,
            crc_bad=self.crc_bad,
            gaps=self.gaps,
            out_of_order=self.out_of_order,
            retransmitted=self.retransmitted,
            farthest_ahead=self.farthest_ahead,
            crcs=None if other is None else other.crcs,
            retransmitted_octets=self.retransmitted_octets,
        )
