# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of iWARP Framing for TCP (draft-williams-iwarp-ift-01): indications and frames."""

from typing import Literal, NamedTuple

from scapy_mpa.stream.events.carrier import CrcVerdict, LocatedBy, Place
from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, FrameHeader, FrameLayout, frame_layout
from scapy_mpa.wire.ift_indication import AdaptionIndication


class AdaptionIndicationSeen(NamedTuple):
    """An adaption indication is complete (draft-williams-iwarp-ift-01 4)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its first octet."""
    octets: bytes
    frames: tuple[int, ...]
    indication: AdaptionIndication

    @property
    def crc(self) -> CrcVerdict:
        """Whether its CRC matches the octets before it."""
        return "good" if self.indication.crc_is_good() else "bad"


class IFTFrameRecovered(NamedTuple):
    """A frame of iWARP Framing for TCP is whole, and its position in the stream is known.

    The first fields are those of :class:`~scapy_mpa.stream.events.mpa.FPDURecovered`.
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its header_size field."""
    offset: int
    """Octets from the end of the adaption indication to that field."""
    header: FrameHeader
    octets: bytes
    """The frame as in the stream, with CRCs, but without an end that the snap length cut off."""
    carries_rdmap: bool
    """Whether the connection is in RDMA mode."""
    header_crc: CrcVerdict
    """``off`` if there is none."""
    payload_crc: CrcVerdict
    """``off`` if there is none."""
    located_by: LocatedBy
    out_of_order: bool
    """Whether a receiver may have placed it speculatively, before a hole was filled (section 8)."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, in the order of the stream."""
    faults: str = ""
    """The bad CRCs that its receiver checks: ``h``, ``p``, both or none."""

    @property
    def placed(self) -> Literal["in order", "speculative"]:
        """How a receiver may have placed it (section 8)."""
        return "speculative" if self.out_of_order else "in order"

    @property
    def crcs(self) -> str:
        """Which CRCs it has: ``h``, ``p``, both or none."""
        header = "" if self.header_crc == "off" else "h"
        return header if self.payload_crc == "off" else f"{header}p"

    @property
    def layout(self) -> FrameLayout:
        """The positions of its parts."""
        crcs = self.crcs
        return frame_layout(self.header, header_crc="h" in crcs, payload_crc="p" in crcs)

    @property
    def length(self) -> int:
        """Octets of the frame by its header, with CRCs."""
        return self.layout.length

    @property
    def place(self) -> Place:
        """Where it is in its direction."""
        return self.seq, self.offset, 0, self.length

    @property
    def ulpdu(self) -> bytes:
        """DDP header and payload, as far as they were captured."""
        layout, octets = self.layout, self.octets
        payload = octets[layout.payload : layout.payload_end]
        return octets[FRAME_HEADER_LENGTH : layout.header_end] + payload

    @property
    def ulpdu_length(self) -> int:
        """Octets of DDP header and payload."""
        return self.header.header_size + self.header.payload_size

    @property
    def crc(self) -> CrcVerdict:
        """The worse of the verdicts of both CRCs."""
        verdicts = self.header_crc, self.payload_crc
        for verdict in ("bad", "unknown", "good"):
            if verdict in verdicts:
                return verdict
        return "off"

    @property
    def is_acceptable(self) -> bool:
        """Whether a receiver accepts its DDP segment."""
        first = self.octets[FRAME_HEADER_LENGTH : FRAME_HEADER_LENGTH + 1]
        return (
            not self.faults and bool(first) and ddp_header_length(first) == self.header.header_size
        )
