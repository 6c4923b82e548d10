# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of DDP over SCTP (RFC 5043): segments, session control, and missing chunks."""

from typing import Final, NamedTuple

from scapy_mpa.stream.events.carrier import CrcVerdict, Place
from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.stream.events.faults import GapFound
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.sctp_ddp import DDP_SSN_LENGTH, SessionControl

_CHUNK_PLACE: Final = 1 << 16
"""Octets of a direction for which a DATA chunk counts.  No chunk can carry more, so the content of
a hole is never underestimated.  Half the space of sequence numbers then is 32768 chunks, and RFC
5043 10 allows as many under way."""


def _chunk_place(serial: int) -> int:
    """Return the position of a chunk: 0 for the first one after the first control message."""
    return (serial - 1) * _CHUNK_PLACE


class SctpConnectionId(ConnectionId):
    """The DDP Stream Session of an SCTP association to which an event belongs (RFC 5043 6).

    :param stream: SCTP Stream Identifier, the same in both directions; None for an association in
        which no session was seen.
    """

    __slots__ = ("stream",)

    def __init__(self, number: int, flow: bytes, stream: int | None) -> None:
        super().__init__(number, flow)
        self.stream = stream

    def _values(self) -> tuple[int | bytes | None, ...]:
        return *super()._values(), self.stream


class DDPSegmentRecovered(NamedTuple):
    """A DDP Segment Chunk is whole (RFC 5043 5.2.2)."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """TSN of its DATA chunk; of the first one if it was fragmented."""
    stream: int
    serial: int
    """Its DDP-SSN, which does not wrap here."""
    begun: bool
    """Whether ``serial`` counts from the beginning of the session."""
    ulpdu_length: int
    """Octets of the DDP segment."""
    octets: bytes
    """The user data with DDP-SSN, as far as they were captured."""
    unordered: bool
    crc: CrcVerdict
    """CRC of the SCTP packet: good, or unknown if it cannot be checked."""
    out_of_order: bool
    """Whether it was captured before an earlier TSN of its direction."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, ascending by TSN."""

    @property
    def ddp_ssn(self) -> int:
        """DDP-SSN, 16 bits."""
        return self.serial & 0xFFFF

    @property
    def ulpdu(self) -> bytes:
        """The DDP segment, as far as it was captured."""
        return self.octets[DDP_SSN_LENGTH:]

    @property
    def place(self) -> Place:
        """Where it is in its direction."""
        at = _chunk_place(self.serial)
        return sequence_number(at), at if self.begun else None, 0, _CHUNK_PLACE

    @property
    def carries_rdmap(self) -> bool:
        """True: all DDP Segment Chunks carry RDMAP."""
        return True

    @property
    def is_acceptable(self) -> bool:
        """True: packets that SCTP must discard are not reported."""
        return True


class SessionControlSeen(NamedTuple):
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
    pd_length: int
    """Octets of enhanced data and Private Data in the message as it was sent."""
    unordered: bool
    out_of_order: bool
    frames: tuple[int, ...]
    control: SessionControl
    dialect: Dialect = Dialect.RFC5043
    """The dialect that defines the control flags of an enhanced message."""


class ChunksMissing(GapFound):
    """DDP-SSNs that no captured DATA chunk has, and that are not waited for any more.

    ``seq`` is the first of them, and ``length`` is their number.
    """

    __slots__ = ()

    @property
    def place(self) -> tuple[int, int]:
        """Its sequence number and its length, both in octets."""
        end = _chunk_place(self.serial + self.length)
        at = min(end, max(0, _chunk_place(self.serial)))
        return sequence_number(at), end - at
