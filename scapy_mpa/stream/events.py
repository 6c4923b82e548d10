# SPDX-License-Identifier: GPL-2.0-or-later
"""What the stream core reports, each event named for what happened.

``direction`` is 0 for what the sender of the connection's first captured segment sent, else 1.
``frame`` and ``time_ns`` are those of the captured frame that completed the event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from scapy_mpa.stream.segment import flow_endpoints, reverse_flow
from scapy_mpa.wire import softuiwarp
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout, strip_markers
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    FrameHeader,
    FrameLayout,
    ddp_header_length,
    frame_layout,
)
from scapy_mpa.wire.interoperability import Kinds
from scapy_mpa.wire.rdmap import ReadRequest
from scapy_mpa.wire.startup import StartupFrame

if TYPE_CHECKING:
    from scapy_mpa.wire.control_flags import RTR
    from scapy_mpa.wire.ift_indication import AdaptionIndication
    from scapy_mpa.wire.sctp_ddp import SessionControl

__all__ = [
    "CARRIERS",
    "AdaptionIndicationSeen",
    "Carrier",
    "ChunksMissing",
    "ConnectionEnded",
    "ConnectionId",
    "CrcVerdict",
    "DDPCarrier",
    "DDPSegmentRecovered",
    "Ending",
    "ErrorFound",
    "Event",
    "FPDURecovered",
    "FPDUWithoutCRC",
    "GapFound",
    "GapReason",
    "HalfSummary",
    "IFTFrameRecovered",
    "LocatedBy",
    "MessageRecovered",
    "Negotiated",
    "OverlapDiffers",
    "Place",
    "Placed",
    "SctpConnectionId",
    "SessionControlSeen",
    "SoftUiWARPRecovered",
    "StartupSeen",
]

CrcVerdict: TypeAlias = Literal["good", "bad", "off", "unknown"]
LocatedBy: TypeAlias = Literal["start", "length", "marker", "search"]
Placed: TypeAlias = Literal["in order", "speculative"]
GapReason: TypeAlias = Literal[
    "acknowledged", "connection ended", "capture ended", "limit", "snap length"
]
Ending: TypeAlias = Literal[
    "closed", "reset", "half closed", "reused", "idle", "limit", "capture ended"
]


@dataclass(frozen=True, slots=True)
class ConnectionId:
    """Which TCP connection an event belongs to."""

    number: int
    """0, 1, ... in order of appearance."""
    flow: bytes
    """The flow of direction 0 (:class:`~scapy_mpa.stream.segment.Segment`)."""

    @property
    def endpoints(self) -> tuple[str, str]:
        """The senders of direction 0 and 1, such as ``10.0.0.1:4000``."""
        return flow_endpoints(self.flow)

    @property
    def flows(self) -> tuple[bytes, bytes]:
        """The flows of direction 0 and 1."""
        return self.flow, reverse_flow(self.flow)


@dataclass(frozen=True, slots=True)
class SctpConnectionId(ConnectionId):
    """Which DDP Stream Session of an SCTP association an event belongs to (RFC 5043 6)."""

    stream: int | None
    """SCTP Stream Identifier, the same in both directions; None for an association in which no
    session was seen."""


Place: TypeAlias = tuple[int, int | None, int, int]
"""Where a carrier of a DDP segment lies in its direction, all in octets: a 32-bit sequence number;
the same as an offset from the beginning, None if that is unknown; how far before it the carrier
begins; and how long the carrier is."""


class DDPCarrier(Protocol):
    """What an event has that brings a DDP segment, whatever carried it: for messages, for checks.

    One that does not carry RDMAP is none of theirs.  One that is not acceptable holds its place in
    the stream, but what is in it does not count.
    """

    @property
    def connection(self) -> ConnectionId: ...
    @property
    def direction(self) -> int: ...
    @property
    def frame(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def octets(self) -> bytes: ...
    @property
    def ulpdu(self) -> bytes: ...
    @property
    def ulpdu_length(self) -> int: ...
    @property
    def phase(self) -> int | None: ...
    @property
    def crc(self) -> CrcVerdict: ...
    @property
    def out_of_order(self) -> bool: ...
    @property
    def frames(self) -> tuple[int, ...]: ...
    @property
    def place(self) -> Place: ...
    @property
    def carries_rdmap(self) -> bool: ...
    @property
    def is_acceptable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class StartupSeen:
    """A startup frame is complete, or will stay as incomplete as it is."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its first octet."""
    octets: bytes
    frames: tuple[int, ...]
    startup: StartupFrame
    dialect: Dialect | None


class FPDURecovered(NamedTuple):
    """An FPDU is whole.  (A named tuple: this one event is made a million times.)"""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its ULPDU_Length field."""
    offset: int | None
    """Offset of that field in the Full Operation Phase, None if the beginning is unknown."""
    ulpdu_length: int
    octets: bytes
    """The FPDU as it lay in the stream, Markers and CRC included; what a snap length cut off
    is missing from its end."""
    phase: int | None
    """Offset of its first octet modulo 512, None without Markers.  In osc, whose count of Markers
    skips CRC fields, that of its first octet less 4 octets for each FPDU before it."""
    markers: int
    """How many Markers it contains."""
    crc: CrcVerdict
    located_by: LocatedBy
    out_of_order: bool
    """Found before all earlier octets of its direction were captured."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, ascending by place in the stream."""

    @property
    def ulpdu(self) -> bytes:
        """The ULPDU, as far as it was captured."""
        layout = fpdu_layout(self.ulpdu_length, self.phase)
        body = strip_markers(self.octets, layout.markers)
        return body[HEADER_LENGTH : HEADER_LENGTH + self.ulpdu_length]

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
        layout = fpdu_layout(self.ulpdu_length, self.phase)
        return self.seq, self.offset, layout.header, layout.length

    @property
    def carries_rdmap(self) -> bool:
        """True: there is nothing else in FPDUs."""
        return True

    @property
    def is_acceptable(self) -> bool:
        """Whether a receiver takes its DDP segment for what it is."""
        return self.crc != "bad"

    @property
    def dialect(self) -> Dialect | None:
        """Whose layout it has, None if that of RFC 5044 4.1."""
        return None


class SoftUiWARPRecovered(FPDURecovered):
    """An FPDU of SoftUiWARP is whole.

    It begins where the one before it ends, and they are told of in order: wherever that one, told
    of when SoftUiWARP was not recognised yet, is to end by RFC 5044, nothing lies between them.
    """

    __slots__ = ()

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
        return self.seq, self.offset, 0, softuiwarp.fpdu_length(self.ulpdu_length)

    @property
    def dialect(self) -> Dialect:
        """SoftUiWARP."""
        return Dialect.SOFTUIWARP


class FPDUWithoutCRC(FPDURecovered):
    """An FPDU that has no CRC field is whole: CRCs are off, and osc is spoken."""

    __slots__ = ()

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
        # Hardly any capture has some, and a command is to start soon.
        from scapy_mpa.wire import osc

        layout = osc.fpdu_layout(self.ulpdu_length, self.phase, crc=False)
        return self.seq, self.offset, layout.header, layout.length


_CHUNK_PLACE: Final = 1 << 16
"""How much of a direction a DATA chunk stands for, in octets: more than any can carry, so that what
a hole may have held is not thought too little.  Half the space of sequence numbers is then 32768
chunks, as many as RFC 5043 10 lets be under way."""
_SEQUENCE_NUMBERS: Final = (1 << 32) - 1


def _chunk_place(serial: int) -> int:
    """Return where the chunk with a DDP-SSN lies: the first control message is before them all."""
    return (serial - 1) * _CHUNK_PLACE


class DDPSegmentRecovered(NamedTuple):
    """A DDP Segment Chunk is whole (RFC 5043 5.2.2)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """TSN of its DATA chunk, of the first one if it was fragmented."""
    stream: int
    serial: int
    """Its DDP-SSN, counted on where that wraps."""
    begun: bool
    """Whether ``serial`` counts from the beginning of the session."""
    ulpdu_length: int
    """Octets of the DDP segment."""
    octets: bytes
    """The user data, DDP-SSN included, as far as they were captured."""
    unordered: bool
    crc: CrcVerdict
    """Of the SCTP packet: good, or unknown if it cannot be checked."""
    out_of_order: bool
    """Found before all earlier DDP-SSNs of its direction were captured."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, ascending by TSN."""

    @property
    def ddp_ssn(self) -> int:
        """DDP-SSN, 16 bits."""
        return self.serial & 0xFFFF

    @property
    def phase(self) -> None:
        """There are no Markers in SCTP."""
        return

    @property
    def ulpdu(self) -> bytes:
        """The DDP segment, as far as it was captured."""
        # Hardly any capture has some, and a command is to start soon.
        from scapy_mpa.wire.sctp_ddp import DDP_SSN_LENGTH

        return self.octets[DDP_SSN_LENGTH:]

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
        at = _chunk_place(self.serial)
        return at & _SEQUENCE_NUMBERS, at if self.begun else None, 0, _CHUNK_PLACE

    @property
    def carries_rdmap(self) -> bool:
        """True: there is nothing else in DDP Segment Chunks."""
        return True

    @property
    def is_acceptable(self) -> bool:
        """True: nothing is told of packets that SCTP must discard."""
        return True


@dataclass(frozen=True, slots=True)
class SessionControlSeen:
    """A DDP Stream Session Control message is whole (RFC 5043 5.2.3)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """TSN of its DATA chunk."""
    stream: int
    octets: bytes
    """The user data, as far as they were captured."""
    unordered: bool
    out_of_order: bool
    frames: tuple[int, ...]
    control: SessionControl
    dialect: Dialect = Dialect.RFC5043
    """Whose meaning the control flags have of an enhanced message."""


@dataclass(frozen=True, slots=True)
class AdaptionIndicationSeen:
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


class IFTFrameRecovered(NamedTuple):
    """A frame of iWARP Framing for TCP is whole, and its place in the stream is known.

    (A named tuple, the first fields those of :class:`FPDURecovered`.)
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its header_size field."""
    offset: int | None
    """Octets from the end of the adaption indication to that field, None if that was not
    captured."""
    header: FrameHeader
    octets: bytes
    """The frame as it lay in the stream, CRCs included; what a snap length cut off is missing from
    its end."""
    rdma: bool | None
    """Whether the connection is in RDMA mode; None if that is not agreed on, or not known."""
    header_crc: CrcVerdict
    """``off`` if there is none."""
    payload_crc: CrcVerdict
    """``off`` if there is none."""
    located_by: LocatedBy
    out_of_order: bool
    """Placed speculatively."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, ascending by place in the stream."""
    placed: Placed
    confirmed: bool | None
    """Of one placed speculatively, whether the in-order pass has found it at its place; None if it
    never came there, and of one placed in order."""
    faults: str = ""
    """The CRCs that are bad and that its receiver checks: ``h``, ``p``, both or none."""

    @property
    def crcs(self) -> str:
        """Which CRCs it has: ``h``, ``p``, both or none."""
        header = "" if self.header_crc == "off" else "h"
        return header if self.payload_crc == "off" else f"{header}p"

    @property
    def layout(self) -> FrameLayout:
        """Where its parts lie."""
        crcs = self.crcs
        return frame_layout(self.header, header_crc="h" in crcs, payload_crc="p" in crcs)

    @property
    def length(self) -> int:
        """Octets that it claims, CRCs included."""
        return self.layout.length

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
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
    def phase(self) -> None:
        """None: there are no Markers."""
        return None

    @property
    def crc(self) -> CrcVerdict:
        """What is to be said of both CRCs: the worse of the two verdicts."""
        verdicts = self.header_crc, self.payload_crc
        for verdict in ("bad", "unknown", "good"):
            if verdict in verdicts:
                return verdict
        return "off"

    @property
    def carries_rdmap(self) -> bool:
        """Whether the connection is in RDMA mode, and the frame was not taken back."""
        return bool(self.rdma) and self.confirmed is not False

    @property
    def is_acceptable(self) -> bool:
        """Whether a receiver takes its DDP segment for what it is."""
        first = self.octets[FRAME_HEADER_LENGTH : FRAME_HEADER_LENGTH + 1]
        return (
            not self.faults
            and bool(first)
            and ddp_header_length(first[0]) == self.header.header_size
        )


Carrier: TypeAlias = FPDURecovered | IFTFrameRecovered | DDPSegmentRecovered
"""Every event that is a :class:`DDPCarrier`."""

CARRIERS: Final = (FPDURecovered, IFTFrameRecovered, DDPSegmentRecovered)
"""The same, for ``isinstance``, which is quicker with a tuple."""


class MessageRecovered(NamedTuple):
    """An RDMAP message is whole, or will stay as incomplete as it is.  (A named tuple, too.)

    Also stands for messages of which nothing was captured but which are known to be missing:
    then ``fpdus`` is 0.
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    opcode: int | None
    """None if nothing of the message was captured that tells."""
    length: int
    """Octets of ULP payload that were recovered, headers of RDMAP messages included."""
    fpdus: int
    """How many DDP segments brought them."""
    complete: bool
    """Whether every octet from the first to the last is there, and no segment denies it."""
    qn: int | None
    msn: int | None
    """Queue and Message Sequence Number, for an Untagged message."""
    stag: int | None
    to: int | None
    """Data Sink STag and the lowest Tagged Offset, for a Tagged message."""
    seq: int | None
    """Sequence number of the ULPDU_Length field of its first FPDU, None if there is none."""
    size: int | None = None
    """Octets of the whole message, None while its beginning or its end is not known."""
    missing: tuple[tuple[int | None, int | None], ...] = ()
    """Stretches that no segment brought, at most 64, ascending: MO or TO, and octets.  The first
    is None before a beginning that is not known, the second up to an end that is not known."""
    cut_off: int = 0
    """Octets that segments brought and the snap length cut off."""
    duplicates: int = 0
    """Segments of which every octet had been there, with the same QN and MSN or in the same
    Tagged message."""
    overlaps: int = 0
    """Segments of which only some octets had been there."""
    conflicts: int = 0
    """Segments that deny what others say of the message's end: a Last flag at another place, or
    octets behind the Last segment."""
    messages: int = 1
    """How many messages with consecutive MSNs this stands for: 1, or more of those missing."""
    answers: int | None = None
    """Of a Response, MSN of the Request that it answers, None if that is not known."""
    requested: bool | None = None
    """Of a Response, whether a captured Request asked for it; None if that cannot be told."""
    as_requested: bool | None = None
    """Of an RDMA Read Response, whether ``size`` is what the Request asked for."""
    read_request: ReadRequest | None = None
    """The header of an RDMA Read Request, in the Request and in the Response to it."""
    request_identifier: int | None = None
    """Of an Atomic Request and of an Atomic Response (RFC 7306 5.2)."""


@dataclass(frozen=True, slots=True)
class GapFound:
    """Octets that were sent but never captured and will not be waited for any longer; with reason
    ``limit``, also octets that were given up before they could be made use of."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    length: int
    reason: GapReason

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins, as a sequence number, and its length, both in octets."""
        return self.seq, self.length


@dataclass(frozen=True, slots=True)
class ChunksMissing(GapFound):
    """DDP-SSNs that no captured DATA chunk has and that are not waited for any longer.

    ``seq`` is the first of them, and ``length`` says how many there are.
    """

    serial: int
    """The first of them, counted on where DDP-SSNs wrap."""

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins, as a sequence number, and its length, both in octets."""
        end = _chunk_place(self.serial + self.length)
        at = min(end, max(0, _chunk_place(self.serial)))
        return at & _SEQUENCE_NUMBERS, end - at


@dataclass(frozen=True, slots=True)
class OverlapDiffers:
    """Octets came twice and differ; the first captured stay (RFC 5044 A.3)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of the first octet that differs."""
    length: int
    """Octets from there to the last one that differs."""


@dataclass(frozen=True, slots=True)
class ErrorFound:
    """Something that a receiver must report: MPA (RFC 5044 section 8), or DDP and RDMAP."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    code: ErrorCode | None
    """MPA's, None if it is an error of DDP or RDMAP."""
    seq: int
    text: str


@dataclass(frozen=True, slots=True)
class HalfSummary:
    """What one direction carried."""

    markers: bool | None
    """Whether this direction has Markers, None if it is not known."""
    fpdus: int
    octets: int
    """TCP payload octets captured, each counted once."""
    crc_bad: int
    gaps: int
    out_of_order: int
    """FPDUs found before all earlier octets of the direction were captured: what RFC 5044 calls
    Placement ahead of Delivery."""
    retransmitted: int
    """Segments that brought octets captured before."""
    farthest_ahead: int
    """How many octets before the first octet of such an FPDU Delivery stood at most: the largest
    distance from the first octet not captured by then; 0 if there was no such FPDU."""
    crcs: str | None = None
    """Of iWARP Framing for TCP, which CRCs its frames have: ``h``, ``p``, both or none."""


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What a Request and its Reply with enhanced data came to (RFC 6581 9); pairs are for Initiator
    and Responder."""

    peer_to_peer: bool | None
    """Whether the connection is one of peers, None if nothing says so."""
    ird: tuple[int | None, int | None]
    """IRD of each, None if it is left to the ULP or not told."""
    ord: tuple[int | None, int | None]
    """ORD of each, likewise."""
    rtr_agreed: tuple[RTR, ...] | None
    """The RTR indications that will do, None if none is called for."""
    rtr: RTR | None
    """Which one the Initiator's first FPDU is, None if it is none, or not known, or not called
    for."""
    kept: bool | None
    """Whether both sides kept to what was negotiated and to how, as far as startup frames and
    first FPDUs tell; None if these were not captured."""
    broken: tuple[str, ...]
    """The rules that were broken, each with its clause."""


@dataclass(frozen=True, slots=True)
class ConnectionEnded:
    """A TCP connection is over, or the capture is."""

    connection: ConnectionId
    direction: int
    """The direction in which the Initiator sends, 0 if there is none."""
    frame: int
    time_ns: int
    initiator: str | None
    responder: str | None
    dialect: Dialect | None
    revision: int | None
    crc: bool | None
    rejected: bool
    halves: tuple[HalfSummary, HalfSummary]
    """Direction 0 and direction 1."""
    errors: int
    ending: Ending
    rnics: Kinds | None = None
    """What the startup frames tell of both sides (RFC 5044 C), None if nothing."""
    negotiated: Negotiated | None = None
    """None if there were no enhanced data, or no Reply that accepts."""


Event: TypeAlias = (
    StartupSeen
    | FPDURecovered
    | GapFound
    | OverlapDiffers
    | ErrorFound
    | ConnectionEnded
    | AdaptionIndicationSeen
    | IFTFrameRecovered
    | SessionControlSeen
    | DDPSegmentRecovered
)
