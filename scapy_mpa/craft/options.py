# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds for a whole conversation: what the two sides declare, and how TCP carries it."""

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

__all__ = ["INITIATOR", "LONGEST_RTT", "RESPONDER", "SIDES", "Options", "Packing"]

INITIATOR: Final = 0
RESPONDER: Final = 1
SIDES: Final = ("initiator", "responder")
"""The two sides by name."""

Packing: TypeAlias = Literal["aligned", "packed", "stream"]
"""How FPDUs lie in TCP segments: one in each; as many whole ones in each as fit (RFC 5044 5.1); or
as a TCP that knows nothing of FPDUs lets them lie."""

LONGEST_RTT: Final = 1000
"""Seconds of a round trip: more than on any path, and sums of them still fit a capture file."""

_LARGEST_MSS: Final = 65495
"""What fits an IPv4 datagram."""

SMALLEST_ULPDU_LIMIT: Final = UNTAGGED_LENGTH + ATOMIC_REQUEST_LENGTH
"""Octets of the largest ULPDU that cannot be cut up, but for a Terminate."""


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for a whole conversation; pairs are for Initiator and Responder.

    :raises LocalProtocolError: a value is out of range.
    """

    revision: int = 1
    """Rev of the startup frames, 0 to 255."""
    reply_revision: int | None = None
    """Rev of the Reply, 0 to 255; None: that of the others."""
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
    """Maximum Segment Size, in octets of TCP payload: also what is taken as EMSS."""
    mulpdu: int | None = None
    """Octets of the largest ULPDU; None: as RFC 5044 4.5 derives it from EMSS."""
    packing: Packing = "aligned"
    """How FPDUs lie in TCP segments."""
    ack_every: int = 2
    """After how many data segments the receiver acknowledges them; 0: only with its own data."""
    start_ns: int = 1_700_000_000_000_000_000
    """When the first segment is captured, in nanoseconds since the epoch."""
    rtt_ns: int = 100_000
    """Round-trip time, in nanoseconds: each change of speaker takes half of it."""
    spacing_ns: int = 1_000
    """From one segment of a side to its next, in nanoseconds."""
    ift: tuple[AdaptionIndication, AdaptionIndication] | None = None
    """What the two announce, if they speak iWARP Framing for TCP and not MPA."""
    dialect: Dialect | None = None
    """What both sides speak, where octets leave a choice; None: what the revision says."""

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("revision", self.revision, 0, 0xFF),
            ("reply_revision", self.reply_revision or 0, 0, 0xFF),
            ("ddp_version", self.ddp_version, 0, 3),
            ("rdmap_version", self.rdmap_version, 0, 3),
            ("mss", self.mss, 1, _LARGEST_MSS),
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
        """Tell whether what a side sends has Markers: whether the other one wants them."""
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
        """What the two announce in iWARP Framing for TCP.

        :raises LocalProtocolError: they speak MPA.
        """
        if self.ift is None:
            raise LocalProtocolError("frames of iWARP Framing for TCP are for an IFTConversation")
        return self.ift

    def mulpdu_of(self, side: int) -> int:
        """Return the octets of the largest ULPDU that a side sends."""
        if self.ift is not None and self.mulpdu is None:
            own = self.ift[side]
            return frame_mulpdu(self.mss, header_crc=own.hc, payload_crc=own.pc)
        return self.mulpdu or mulpdu(self.mss, markers=self.has_markers(side))
