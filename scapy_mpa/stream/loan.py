# SPDX-License-Identifier: GPL-2.0-or-later
"""Half connections in their ordinary state, on loan to a faster reader.

Nearly all segments of nearly all captures continue their direction exactly where it stands, and
hold FPDUs that are as they should be.  Such a direction needs none of the machinery for holes,
copies and damage: what counts of it fits in a :class:`Loan`.  Whoever has one brings it up to
date segment by segment, under the rules below, and gives it back at the first segment that is
anything else, which then goes through :meth:`~scapy_mpa.stream.flows.Flows.receive` as ever.

A borrower may take a segment if

* it has no flags but ACK and PSH, its payload was captured whole, and its acknowledgement number
  is not behind ``ack``;
* it has no payload, or begins at ``seq``, which it cannot unless ``takes_data`` is set;
* every FPDU that it completes is verified: CRC good, or, without CRCs, a header that makes sense;
  and its Markers agree.
"""

from __future__ import annotations

from typing import Any

from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.islands import Chunk
from scapy_mpa.stream.overlap import Recent

__all__ = ["Loan"]


class Loan:
    """What counts of a direction in which all is in order."""

    __slots__ = (
        "ack",
        "base",
        "connection",
        "crc",
        "direction",
        "end",
        "fpdus",
        "frame",
        "is_simple",
        "last",
        "lent_end",
        "markers",
        "missing",
        "origin",
        "pieces",
        "recent",
        "segments",
        "seq",
        "start",
        "tail",
        "takes_data",
        "templates",
        "time",
    )

    def __init__(self, connection: ConnectionId, direction: int, ack: int, recent: Recent) -> None:
        self.connection = connection
        self.direction = direction
        self.ack = ack
        """The last acknowledgement number that this direction has sent."""
        self.recent = recent
        """Where the octets of each segment are to be remembered."""
        self.segments = 0
        """Segments taken."""
        self.frame = 0
        """Number of the frame that brought the last one."""
        self.time: tuple[int, int] = 0, 0
        """When it was captured: seconds, and nanoseconds."""
        self.takes_data = False
        """Whether segments with payload may be taken; if not, what follows is of no account."""
        self.seq = -1
        """The 32-bit sequence number at which the next segment must begin."""
        self.end = 0
        """Position of that octet."""
        self.lent_end = 0
        """What ``end`` was when the loan was given."""
        self.start = 0
        """Position of the first FPDU that was not passed on."""
        self.last = 0
        """Position of the last one that was."""
        self.tail: list[Chunk] = []
        """Without CRCs, the octets from ``last`` up to ``start``; else nothing."""
        self.pieces: list[Chunk] = []
        """The octets from ``start`` up to ``end``."""
        self.missing = 0
        """How many octets must come before anything can be done with ``pieces``."""
        self.fpdus = 0
        """FPDUs passed on."""
        self.origin = 0
        """Position from which Markers are counted."""
        self.base: int | None = 0
        """The same if that is offset 0 of the Full Operation Phase, else None."""
        self.markers = False
        self.crc = True
        self.is_simple = False
        """Whether there are CRCs, no Markers, and no pieces."""
        self.templates: dict[bytes, Any] = {}
        """For the borrower's own use."""
