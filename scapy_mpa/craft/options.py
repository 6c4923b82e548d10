# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of a conversation: what the two sides declare, and how TCP carries it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from scapy_mpa.craft.given import LATEST, number
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH, mulpdu
from scapy_mpa.wire.ift_frame import mulpdu as frame_mulpdu
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.rdmap import ATOMIC_REQUEST_LENGTH
from scapy_mpa.wire.shown import quoted

__all__ = ["INITIATOR", "LARGEST_MSS", "LONGEST_RTT", "RESPONDER", "SIDES", "Options", "Packing"]

INITIATOR: Final = 0
RESPONDER: Final = 1
SIDES: Final = ("initiator", "responder")
"""The two sides by name."""

Packing: TypeAlias = Literal["aligned", "packed", "stream"]
"""How FPDUs lie in TCP segments: one in each; as many whole ones in each as fit (RFC 5044 5.1); or
across segments, as with a TCP that does not know FPDUs."""

LONGEST_RTT: Final = 1000
"""The longest round trip, in seconds: longer than any real one.  Sums still fit a capture file."""

LARGEST_MSS: Final = 65495
"""Octets of TCP payload that fit an IPv4 datagram."""

SMALLEST_ULPDU_LIMIT: Final = UNTAGGED_LENGTH + ATOMIC_REQUEST_LENGTH
"""Octets of the longest ULPDU that cannot be cut into segments, except a Terminate."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a conversation; pairs are for Initiator and Responder.

    :raises LocalProtocolError: a value is out of range.
    """

    revision: int = 1
    """Rev of the startup frames, 0 to 255."""
    reply_revision: int | None = None
    """Rev of the Reply, 0 to 255; None: ``revision``."""
    markers: tuple[bool, bool] = (False, False)
    """M: whether a side wants Markers in what it *receives* (RFC 5044 7.1.1)."""
    crc: tuple[bool, bool] = (True, True)
    """C: whether a side wants CRCs; they are on if either does (RFC 5044 7.1.1)."""
    rtr_frame: tuple[bool, bool] = (False, False)
    """S with revision 1: whether the Initiator announces an Rtr Frame, and the Responder awaits one
    (rtr-frame-proposal-2007 2)."""
    ddp_version: int = 1
    """DV of every DDP segment, 0 to 3."""
    rdmap_version: int = 1
    """RV of every DDP segment, 0 to 3."""
    mss: int = 1460
    """Maximum Segment Size, in octets of TCP payload; also EMSS."""
    mulpdu: int | None = None
    """Octets of the longest ULPDU; None: as RFC 5044 4.5 derives it from EMSS."""
    packing: Packing = "aligned"
    """How FPDUs lie in TCP segments."""
    ack_every: int = 2
    """After how many data segments the receiver acknowledges them; 0: only with its own data."""
    start_ns: int = 1_700_000_000_000_000_000
    """Time of the first segment, in nanoseconds since the epoch."""
    rtt_ns: int = 100_000
    """Round-trip time, in nanoseconds: half of it passes when the sender changes."""
    spacing_ns: int = 1_000
    """Time between two segments of a side, in nanoseconds."""
    ift: tuple[AdaptionIndication, AdaptionIndication] | None = None
    """The adaption indications of both sides with iWARP Framing for TCP; None: MPA."""
    dialect: Dialect | None = None
    """The dialect of both sides, where octets leave a choice; None: that of the revision."""

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("revision", self.revision, 0, 0xFF),
            ("reply_revision", self.revision_of(RESPONDER), 0, 0xFF),
            ("ddp_version", self.ddp_version, 0, 3),
            ("rdmap_version", self.rdmap_version, 0, 3),
            ("mss", self.mss, 1, LARGEST_MSS),
            ("ack_every", self.ack_every, 0, 1 << 16),
            ("start_ns", self.start_ns, 0, LATEST * SECOND),
            ("rtt_ns", self.rtt_ns, 0, LONGEST_RTT * SECOND),
        ):
            number(name, value, low, high)
        if self.packing not in get_args(Packing):
            raise LocalProtocolError(
                f"packing {quoted(self.packing)} is none of {', '.join(get_args(Packing))}"
            )
        least = f"{SMALLEST_ULPDU_LIMIT} (an Atomic Request, which is one segment)"
        if self.mulpdu is not None:
            number("MULPDU", self.mulpdu, SMALLEST_ULPDU_LIMIT, LARGEST_ULPDU_LENGTH, least=least)

    def revision_of(self, side: int) -> int:
        """Return Rev of the startup frames of a side."""
        own = self.reply_revision if side == RESPONDER else None
        return self.revision if own is None else own

    def has_markers(self, side: int) -> bool:
        """Return whether a side sends Markers, because its peer wants them."""
        return self.markers[1 - side]

    @property
    def has_crcs(self) -> bool:
        """Whether CRCs are on."""
        return any(self.crc)

    @property
    def has_rtr_frame(self) -> bool:
        """Whether an Rtr Frame follows the Reply (rtr-frame-proposal-2007 2, 5)."""
        return all(self.rtr_frame)

    @property
    def announced(self) -> tuple[AdaptionIndication, AdaptionIndication]:
        """The adaption indications of both sides.

        :raises LocalProtocolError: the conversation is MPA.
        """
        if self.ift is None:
            raise LocalProtocolError("frames of iWARP Framing for TCP are for an IFTConversation")
        return self.ift

    def mulpdu_of(self, side: int) -> int:
        """Return the octets of the longest ULPDU that a side sends."""
        if self.ift is not None and self.mulpdu is None:
            own = self.ift[side]
            return frame_mulpdu(self.mss, header_crc=own.hc, payload_crc=own.pc)
        return self.mulpdu or mulpdu(self.mss, markers=self.has_markers(side))
