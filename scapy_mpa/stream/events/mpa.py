# SPDX-License-Identifier: GPL-2.0-or-later
"""What MPA brings: startup frames and FPDUs."""

from typing import NamedTuple

from scapy_mpa.stream.events.carrier import CrcVerdict, LocatedBy, Place
from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire import osc, softuiwarp
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import HEADER_LENGTH, fpdu_layout, strip_markers
from scapy_mpa.wire.startup import StartupFrame


class StartupSeen(NamedTuple):
    """A startup frame is complete, or will stay as incomplete as it is."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its first octet."""
    octets: bytes
    """As far as they were captured."""
    frames: tuple[int, ...]
    startup: StartupFrame
    dialect: Dialect | None
    lacking: int = 0
    """Octets of its Private Data that are in no segment that was captured."""


class StreamingSeen(NamedTuple):
    """Octets of streaming mode, before a startup frame or after the last one, and no FPDUs."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of the first octet."""
    length: int
    octets: bytes
    """What was captured of them up to the first that the snap length cut off."""
    frames: tuple[int, ...]


class FPDURecovered(NamedTuple):
    """An FPDU is whole."""

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
    acknowledged: int | None = None
    """The acknowledgement number of its sender by then; None if there was none, or if it is not
    known."""
    settled: bool = False
    """Whether nothing that lies before it in its direction will be reported any more: all octets
    there were captured, or given up as a gap."""

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

    It begins where the one before it ends, and they are reported in order.  Wherever that one is to
    end by RFC 5044, as it was reported before SoftUiWARP was recognised, nothing lies between them.
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
        layout = osc.fpdu_layout(self.ulpdu_length, self.phase, crc=False)
        return self.seq, self.offset, layout.header, layout.length
