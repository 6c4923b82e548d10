# SPDX-License-Identifier: GPL-2.0-or-later
"""What DDP over SCTP brings (RFC 5043): segments, session control, and what of them is missing."""

from typing import Final, NamedTuple

from scapy_mpa.stream.events.carrier import CrcVerdict, Place
from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.stream.events.faults import GapFound
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.sctp_ddp import DDP_SSN_LENGTH, SessionControl

_CHUNK_PLACE: Final = 1 << 16
"""How much of a direction a DATA chunk stands for, in octets: more than any can carry, so that what
a hole may have held is not thought too little.  Half the space of sequence numbers is then 32768
chunks, as many as RFC 5043 10 lets be under way."""


def _chunk_place(serial: int) -> int:
    """Return where the chunk with a DDP-SSN lies: the first control message is before them all."""
    return (serial - 1) * _CHUNK_PLACE


class SctpConnectionId(ConnectionId):
    """Which DDP Stream Session of an SCTP association an event belongs to (RFC 5043 6).

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
        return self.octets[DDP_SSN_LENGTH:]

    @property
    def place(self) -> Place:
        """Where it lies in its direction."""
        at = _chunk_place(self.serial)
        return sequence_number(at), at if self.begun else None, 0, _CHUNK_PLACE

    @property
    def settled(self) -> bool:
        """False: missing chunks show that."""
        return False

    @property
    def carries_rdmap(self) -> bool:
        """True: there is nothing else in DDP Segment Chunks."""
        return True

    @property
    def is_acceptable(self) -> bool:
        """True: nothing is reported of packets that SCTP must discard."""
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
    """Octets of enhanced data and Private Data that were sent."""
    unordered: bool
    out_of_order: bool
    frames: tuple[int, ...]
    control: SessionControl
    dialect: Dialect = Dialect.RFC5043
    """Whose meaning the control flags have of an enhanced message."""


class ChunksMissing(GapFound):
    """DDP-SSNs that no captured DATA chunk has and that are not waited for any longer.

    ``seq`` is the first of them, and ``length`` says how many there are.
    """

    __slots__ = ()

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins, as a sequence number, and its length, both in octets."""
        end = _chunk_place(self.serial + self.length)
        at = min(end, max(0, _chunk_place(self.serial)))
        return sequence_number(at), end - at
