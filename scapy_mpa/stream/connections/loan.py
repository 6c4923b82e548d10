# SPDX-License-Identifier: GPL-2.0-or-later
"""Half connections in their ordinary state, on loan to a faster reader.

Nearly all segments of nearly all captures continue their direction exactly where it stands, or
come a little early or once too often, and hold FPDUs that are as they should be.  Such a direction
needs none of the machinery for lasting holes and for damage: what counts of it fits in a
:class:`Loan`.  Whoever has one brings it up to date segment by segment, under the rules below, and
gives it back at the first segment that is anything else, which then goes through
:meth:`~scapy_mpa.stream.flows.Flows.receive` as ever.

A borrower may take a segment if

* it has no flags but ACK and PSH, its payload was captured whole, and it acknowledges nothing
  that lies behind the peer's ``seq``;
* it has no payload, or begins at ``seq``, which it cannot unless ``takes_data`` is set;
* there are no more than ``LENT_PIECES`` of them in ``pieces``;
* every FPDU that it completes is verified: CRC good, or, without CRCs, a header that makes sense;
  and its Markers agree;
* where ``awaits`` is set, it is in turn (:meth:`Loan.is_in_turn`).

The first FPDU of a direction (``begins_phase``) must be whole in its segment.

Without Markers it may also take a segment

* that lies beyond a hole, by keeping it in ``early`` until the hole is filled: nothing can be said
  of it before, as long as the peer does not acknowledge it;
* that repeats octets from ``begin`` on, all of which it still knows, and which are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.stream.sequence import SEQUENCE_SPACE, sequence_number, unwrap

if TYPE_CHECKING:
    from scapy_mpa.stream.connections.connection import Connection
    from scapy_mpa.stream.events import ConnectionId
    from scapy_mpa.stream.halves.half import HalfConnection

__all__ = ["EARLY_OCTETS", "EARLY_SEGMENTS", "LENT_PIECES", "NOTHING_WAITS", "Loan", "Waiting"]

LENT_PIECES: Final = 64
"""Segments of an FPDU that is not whole yet, which go to and fro with a loan: enough for the
largest FPDU in segments of usual size."""

EARLY_SEGMENTS: Final = 256
"""Segments that a borrower may keep for a direction: more than overtake another on the way."""

EARLY_OCTETS: Final = 1 << 20
"""Octets of them."""

Chunks: TypeAlias = list[Chunk] | tuple[()]


class Waiting:
    """What a borrower holds of a direction: the octets of an FPDU that is not whole, and what lies
    beyond a hole."""

    __slots__ = (
        "early",
        "early_end",
        "early_held",
        "held",
        "last",
        "missing",
        "pieces",
        "tail",
    )

    def __init__(self) -> None:
        self.last = 0
        """Without CRCs, where the last FPDU begins."""
        self.tail: Chunks = ()
        """Without CRCs, the segments that reach behind there, whole, for where they begin and end
        is evidence; else nothing."""
        self.pieces: Chunks = ()
        """The octets up to ``end`` of an FPDU that is not whole."""
        self.missing = 0
        """How many octets must come before anything can be done with ``pieces``."""
        self.early: list[tuple[int, bytes, int]] | tuple[()] = ()
        """Segments beyond a hole, ascending: position, octets, frame; they do not overlap."""
        # For the borrower's own use; where the last early segment ends saves looking it up, as does
        # what is held of the early ones, and in all.
        self.early_end = 0
        self.early_held = 0
        self.held = 0


NOTHING_WAITS: Final = Waiting()
"""What nearly all loans have at any time; nothing is changed there."""


class _Ordinary:
    """What an ordinary segment is held against, and changes.

    The slots of a base class come first in memory, so that of a thousand loans in turn no more than
    these have to come from farther away than the nearest caches.
    """

    __slots__ = (
        "ack",
        "begins",
        "connection",
        "fragment",
        "label",
        "lap",
        "markers",
        "owner",
        "peer",
        "quick_seq",
        "segments",
        "seq",
        "singles",
    )


class Loan(_Ordinary):
    """What counts of a direction in which all is in order.

    :param owner: whose it is, and as whose the octets of each segment are to be remembered.
    :param connection: its connection, which keeps number and time of the last frame.
    :param ack: the last acknowledgement number that this direction has sent, 32 bits.
    """

    __slots__ = ("awaits", "begin", "crc", "fpdus", "from_start", "startup", "waiting")

    def __init__(self, owner: HalfConnection, connection: Connection, ack: int) -> None:
        self.peer: Loan
        """The loan of the other direction, as long as it lasts."""
        self.ack = ack
        self.owner = owner
        self.connection = connection
        self.segments = 0
        """Segments taken."""
        self.seq = 0
        """The 32-bit sequence number at which the next segment must begin.  If no data may be
        taken, what the peer has acknowledged plus ``SEQUENCE_SPACE``, so that no segment does; what
        follows is of no account then."""
        self.lap = 0
        """The position of sequence number 0 in the lap of ``seq``."""
        self.begin = 0
        """Position of the first octet that may be repeated."""
        self.waiting = NOTHING_WAITS
        """What is held; what is to be goes to ``holding``."""
        self.fpdus = 0
        """FPDUs passed on."""
        self.startup = 0
        """How many octets ``origin`` lies behind ``begin``: those of the startup frame, mostly.  Of
        very many loans that takes less than where it lies."""
        self.from_start = True
        """Whether ``origin`` is offset 0 of the Full Operation Phase."""
        self.markers = False
        """Whether the direction has Markers."""
        self.crc = True
        """Whether its CRCs are to be checked."""
        self.awaits = False
        """Whether nothing may be sent before an FPDU of the peer was received (RFC 5044 7.1.2 rule
        4)."""
        # For the borrower's own use.
        self.quick_seq = -1
        self.singles = 0
        self.begins = -1
        self.fragment = -1
        self.label: Any = b""

    @classmethod
    def none(cls) -> Loan:
        """Return what stands for a loan where there is none; nothing may be done with it."""
        return cls(cast("HalfConnection", None), cast("Connection", None), 0)

    @property
    def end(self) -> int:
        """Position of the octet that ``seq`` stands for."""
        return self.lap + self.seq

    def move(self, end: int) -> None:
        """Let the direction stand at another position."""
        seq = self.seq = sequence_number(end)
        if self.lap != end - seq:
            self.lap = end - seq

    @property
    def origin(self) -> int:
        """Position from which Markers are counted."""
        return self.begin + self.startup

    @property
    def base(self) -> int | None:
        """The same if that is offset 0 of the Full Operation Phase, else None."""
        return self.begin + self.startup if self.from_start else None

    @property
    def holding(self) -> Waiting:
        """Where to note what is held."""
        if self.waiting is NOTHING_WAITS:
            self.waiting = Waiting()
        return self.waiting

    def took(self, ack: int, number: int, seconds: int, fraction: int) -> None:
        """Take note of a segment that was taken.

        :param ack: its acknowledgement number.
        :param number: its frame, and when that was captured.
        """
        self.ack = ack
        self.segments += 1
        self.connection.take_stamp((number, seconds, fraction))

    @property
    def takes_data(self) -> bool:
        """Whether segments with payload may be taken."""
        return self.seq < SEQUENCE_SPACE

    @property
    def begins_phase(self) -> bool:
        """Whether the next FPDU is the first of the Full Operation Phase."""
        return self.end == self.base

    def is_in_turn(self, seq: int, length: int, ack: int) -> bool:
        """Tell whether a segment may be sent where ``awaits`` is set, which it may reset.

        It may if it acknowledges an FPDU of the peer, and from then on all may; or if neither it
        nor anything before it can have been an FPDU.

        :param seq: 32 bits.
        :param length: octets of payload.
        :param ack: its own acknowledgement number, 32 bits.
        """
        if self._acknowledges_fpdus(ack):
            self.awaits = False
            return True
        origin = self.origin
        return self.takes_data and unwrap(seq, origin) + length <= origin

    def follows_reply(self, ack: int) -> bool:
        """Tell whether an acknowledgement number says that the peer's startup frame has arrived, as
        it must before the Initiator's first FPDU (RFC 5044 7.1.2 rule 3).

        :param ack: 32 bits.
        """
        peer = self.peer
        base = peer.base
        return peer.takes_data and base is not None and unwrap(ack, base) >= base

    def _acknowledges_fpdus(self, ack: int) -> bool:
        """Tell whether an acknowledgement number says that an FPDU of the peer has arrived."""
        peer = self.peer
        base = peer.base
        if not peer.takes_data or base is None or peer.begins_phase:
            return False
        return unwrap(ack, base) > base

    @property
    def flow(self) -> bytes:
        """The flow of this direction."""
        connection = self.connection
        return connection.reverse if self.owner.direction else connection.identity.flow

    @property
    def identity(self) -> ConnectionId:
        """What tells the connection from others."""
        return self.connection.identity

    @property
    def direction(self) -> int:
        """Which of its directions this is."""
        return self.owner.direction
