# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of MPA: startup frames and FPDUs."""

from typing import NamedTuple

from scapy_mpa.stream.events.carrier import CrcVerdict, LocatedBy, Place
from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import HEADER_LENGTH, SOFTUIWARP, STANDARD, FPDUFormat, strip_markers
from scapy_mpa.wire.startup import StartupFrame


class StartupSeen(NamedTuple):
    """A startup frame is complete, or will stay incomplete."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of its first octet."""
    octets: bytes
    """Its octets, as far as they were captured."""
    frames: tuple[int, ...]
    startup: StartupFrame
    dialect: Dialect | None
    lacking: int = 0
    """Octets of its Private Data that no captured segment holds."""


class StreamingSeen(NamedTuple):
    """Octets of streaming mode, before a startup frame or after the last one; no FPDUs."""

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    seq: int
    """Sequence number of the first octet."""
    length: int
    octets: bytes
    """The octets up to the first one that the snap length cut off."""
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
    """The FPDU as in the stream, with Markers and CRC, but without an end that the snap length cut
    off."""
    phase: int | None
    """Offset of its first octet modulo 512, None without Markers.  In osc, Markers are counted
    without CRC fields, so 4 octets for each FPDU before it are subtracted from the offset."""
    markers: int
    """Number of its Markers."""
    crc: CrcVerdict
    located_by: LocatedBy
    out_of_order: bool
    """Whether it was found before all earlier octets of its direction were captured."""
    frames: tuple[int, ...]
    """The captured frames that brought its octets, in the order of the stream."""
    acknowledged: int | None = None
    """The acknowledgement number that its sender had sent by then; None if there was none, or if it
    is not known."""
    form: FPDUFormat = STANDARD
    """How it is laid out."""
    read_to: int | None = None
    """If it is out of order, the sequence number before which only late copies bring more FPDUs;
    None if no hole before it was closed."""

    @property
    def ulpdu(self) -> bytes:
        """The ULPDU, as far as it was captured."""
        body = self.octets
        if self.phase is not None:
            layout = self.form.layout(self.ulpdu_length, self.phase)
            body = strip_markers(body, layout.markers)
        return body[HEADER_LENGTH : HEADER_LENGTH + self.ulpdu_length]

    @property
    def place(self) -> Place:
        """Where it is in its direction."""
        layout = self.form.layout(self.ulpdu_length, self.phase)
        return self.seq, self.offset, layout.header, layout.length

    @property
    def carries_rdmap(self) -> bool:
        """True: all FPDUs carry RDMAP."""
        return True

    @property
    def is_acceptable(self) -> bool:
        """Whether a receiver accepts its DDP segment."""
        return self.crc != "bad"

    @property
    def dialect(self) -> Dialect | None:
        """SoftUiWARP if it has the layout of that, else None."""
        return Dialect.SOFTUIWARP if self.form is SOFTUIWARP else None
