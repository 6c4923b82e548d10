# SPDX-License-Identifier: GPL-2.0-or-later
"""The items of a script that only DDP over SCTP has (RFC 5043 5, 11.1).

A DDP segment is an ``FPDUItem``, as over TCP.  A field that is None is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from scapy_mpa.craft.enhanced import enhanced_octets
from scapy_mpa.craft.given import number
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import FPDUItem, Phase
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.sctp_chunks import DDP_ADAPTATION
from scapy_mpa.wire.sctp_ddp import (
    SEGMENT_PPID,
    SESSION_CONTROL_PPID,
    FunctionCode,
    SessionControl,
    build_session_control,
)

_STREAMS = 16


@dataclass(frozen=True, slots=True)
class AssociateItem:
    """INIT, INIT ACK, COOKIE ECHO and COOKIE ACK (RFC 4960 5.1)."""

    adaptations: tuple[int | None, int | None] = (DDP_ADAPTATION, DDP_ADAPTATION)
    """Adaptation Layer Indication of INIT and INIT ACK, 32 bits; None: there is none."""
    streams: tuple[tuple[int, int], tuple[int, int]] = ((_STREAMS, _STREAMS), (_STREAMS, _STREAMS))
    """Outbound and inbound streams of INIT and of INIT ACK, 16 bits each."""


@dataclass(frozen=True, slots=True)
class ControlItem:
    """A DDP Stream Session Control message (RFC 5043 5.2.3, RFC 6581 7)."""

    side: int
    function_code: int
    """16 bits."""
    private_data: bytes = b""
    """Private Data after the enhanced data, if there are any."""
    control_flags: str | None = None
    """Letters out of ``ABCD``. Enhanced data are there if this, ``ird`` or ``ord`` is not None."""
    ird: int | None = None
    ord: int | None = None

    @property
    def phase(self) -> Phase:
        """The phase after it."""
        rejects = FunctionCode.REJECT, FunctionCode.ENHANCED_REJECT
        return Phase.REJECTED if self.function_code in rejects else Phase.FULL

    @property
    def control(self) -> SessionControl:
        """The message, with 0 as its DDP-SSN.

        :raises LocalProtocolError: a number does not fit its field.
        """
        enhanced = enhanced_octets(self.control_flags, self.ird, self.ord)
        return SessionControl(0, self.function_code, enhanced + self.private_data)


@dataclass(frozen=True, slots=True)
class ChunkItem:
    """A DATA chunk; any of its fields may be wrong.

    :raises LocalProtocolError: a value is out of range.
    """

    side: int
    ppid: int
    """Payload Protocol Identifier, 32 bits."""
    body: bytes
    """The octets after the DDP-SSN."""
    ddp_ssn: int | None = None
    """16 bits; None: the next DDP-SSN."""
    has_ddp_ssn: bool = True
    """Whether the chunk has a DDP-SSN."""
    skip: int = 0
    """How many DDP-SSNs are left out before it."""
    unordered: bool = True
    """U."""
    tagged: bool = True
    """Whether the packet has the right Verification Tag."""
    checked: bool = True
    """Whether the packet has the right Checksum."""
    fragments: int | None = None
    """How many chunks it is fragmented into; None: as few as fit packets (RFC 5043 9)."""

    def __post_init__(self) -> None:
        number("side", self.side, INITIATOR, RESPONDER)
        if self.fragments is not None:
            number("fragments", self.fragments, 1, 0xFFFF)

    def override(self, **changes: Any) -> ChunkItem:
        """Return this chunk with other fields."""
        return replace(self, **changes)


CARRIED: Final = (FPDUItem, ControlItem, ChunkItem)
"""Items that a DATA chunk carries."""


def chunk_of(item: FPDUItem | ControlItem | ChunkItem) -> ChunkItem:
    """Return the DATA chunk of an item.

    :raises LocalProtocolError: a number does not fit its field, or fields of an FPDU are set.
    """
    if isinstance(item, ChunkItem):
        return item
    if isinstance(item, ControlItem):
        body = build_session_control(item.control)[2:]
        return ChunkItem(item.side, SESSION_CONTROL_PPID, body)
    if item.overrides:
        raise LocalProtocolError("a DDP Segment Chunk has no fields of an FPDU")
    return ChunkItem(item.side, SEGMENT_PPID, item.ulpdu)
