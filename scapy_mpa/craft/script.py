# SPDX-License-Identifier: GPL-2.0-or-later
"""The items of a conversation's script, in the order in which they happen.

An item holds what is meant.  :mod:`~scapy_mpa.craft.layout` computes the rest: lengths, pads, the
places of Markers, CRCs, sequence numbers.  A field that is None is computed.  A field that is set
is sent as it is, right or wrong, and all others are still computed.  So an item can be edited with
:func:`dataclasses.replace`, an FPDU also with :meth:`FPDUItem.with_header` and
:meth:`FPDUItem.override`.  On the wire, only that field changes, and the fields computed from it.

``side`` is 0 for the Initiator and 1 for the Responder.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from scapy_mpa.craft.given import number
from scapy_mpa.craft.options import SIDES
from scapy_mpa.wire.ddp import DDPHeader, build_ddp, ddp_header_of, parse_ddp
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.rdmap import ReadRequest, parse_control, plausible
from scapy_mpa.wire.rdmap_names import message_name
from scapy_mpa.wire.startup import StartupKind

__all__ = [
    "CloseItem",
    "FPDUItem",
    "FlushItem",
    "FrameItem",
    "FrameOverrides",
    "HandshakeItem",
    "IndicationItem",
    "Item",
    "Message",
    "OctetsItem",
    "Overrides",
    "PauseItem",
    "ResetItem",
    "SegmentItem",
    "StartupItem",
]

_Segment = TypeVar("_Segment", bound="SegmentItem")


class Phase(enum.Enum):
    """The phase that a conversation is in after an item, for those items that tell it."""

    STREAMING = enum.auto()
    FULL = enum.auto()
    REJECTED = enum.auto()
    CLOSED = enum.auto()


class Message(NamedTuple):
    """One RDMAP message as it is meant: the fields that all its DDP segments share.

    A named tuple, since these are made fast.
    """

    number: int
    """0, 1, ... in the order of the conversation."""
    side: int
    opcode: int
    length: int
    """Octets after the DDP headers of all its segments."""
    stag: int | None = None
    to: int | None = None
    """Tagged Offset of the first octet of a Tagged message."""
    qn: int | None = None
    msn: int | None = None
    read: ReadRequest | None = None
    """The header of an RDMA Read Request."""
    request_identifier: int | None = None
    """Request Identifier of an Atomic Request."""
    answers: Message | None = None
    """The Request that a Response answers; None if it answers none."""


@dataclass(frozen=True, slots=True)
class HandshakeItem:
    """SYN, SYN/ACK and ACK (RFC 9293 3.5), with the Maximum Segment Size option."""


class _ShortRepr:
    """Leaves out of the repr of a dataclass all fields that have their defaults."""

    __slots__ = ()

    def __repr__(self) -> str:
        known: Any = self
        shown = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(known)
            if getattr(self, each.name) != each.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True, repr=False)
class StartupItem(_ShortRepr):
    """An MPA Request or Reply (RFC 5044 7.1.1), with enhanced data or without (RFC 6581 9), or an
    Rtr Frame (rtr-frame-proposal-2007)."""

    side: int
    kind: StartupKind
    private_data: bytes = b""
    """Private Data after the enhanced data, if there are any."""
    rejected: bool = False
    """R."""
    control_flags: str | None = None
    """Letters out of ``ABCD``. Enhanced data are there if this, ``ird`` or ``ord`` is not None."""
    ird: int | None = None
    ord: int | None = None
    markers: bool | None = None
    """M; None: that of the conversation's options."""
    crc: bool | None = None
    """C; None: that of the conversation's options; an Rtr Frame has the C of the Responder."""
    s_bit: bool | None = None
    """S; None: whether there are enhanced data."""
    reserved: int = 0
    """Res, 4 bits."""
    revision: int | None = None
    """Rev; None: that of the conversation's options."""
    pd_length: int | None = None
    """PD_Length; None: the octets that follow."""
    key: bytes | None = None
    """Key, 16 octets; None: that of ``kind``."""
    extension: bytes | None = None
    """Octets between header and Private Data; None: 8 zeros with revision 129 (erdma), else
    none."""

    @property
    def phase(self) -> Phase:
        """The phase after it."""
        return Phase.REJECTED if self.rejected else Phase.FULL


@dataclass(frozen=True, slots=True, repr=False)
class Overrides(_ShortRepr):
    """Fields of an FPDU that are sent as given; None: the field is computed.

    :raises LocalProtocolError: a number does not fit its field.  Octets and places are checked when
        the FPDU is made.
    """

    ulpdu_length: int | None = None
    """ULPDU_Length, 16 bits; computed: the octets of the ULPDU."""
    pad: bytes | None = None
    """Computed: as many zeros as RFC 5044 4.1 requires."""
    markers: Mapping[int, bytes] | None = None
    """The 4 octets of some of its Markers, by index; the other Markers conform."""
    marker_places: tuple[int, ...] | None = None
    """Offsets of the Markers from the FPDU's first octet, in order, each before the end of the CRC;
    computed: those of RFC 5044 4.3."""
    crc: bytes | Callable[[bytes], bytes] | None = None
    """The CRC field, or a function that takes the right one and returns it; computed: the right
    one, or zeros if CRCs are off."""

    def __post_init__(self) -> None:
        if self.ulpdu_length is not None:
            number("ULPDU_Length", self.ulpdu_length, 0, 0xFFFF)


@dataclass(frozen=True, slots=True, repr=False)
class SegmentItem:
    """An FPDU, or a frame of iWARP Framing for TCP.  It carries a DDP segment, or any octets."""

    phase: ClassVar = Phase.FULL
    side: int
    ulpdu: bytes
    message: Message | None = None
    """The message that its DDP segment belongs to."""

    @property
    def header(self) -> DDPHeader:
        """The DDP header.

        :raises RemoteProtocolError: the ULPDU is too short for one.
        """
        return parse_ddp(self.ulpdu)

    @property
    def payload(self) -> bytes:
        """The octets after the DDP header."""
        return self.ulpdu[self.header.length :]

    def with_header(self: _Segment, **numbers: Any) -> _Segment:
        """Return this item with other fields in its :class:`~scapy_mpa.wire.ddp.DDPHeader`.

        :raises LocalProtocolError: a number does not fit its field.
        """
        return replace(self, ulpdu=build_ddp(self.header._replace(**numbers)) + self.payload)

    def with_payload(self: _Segment, payload: bytes) -> _Segment:
        """Return this item with other octets after its DDP header."""
        return replace(self, ulpdu=self.ulpdu[: self.header.length] + payload)

    def __repr__(self) -> str:
        what = f"ULPDU of {len(self.ulpdu)} octets"
        header = ddp_header_of(self.ulpdu)
        is_known = self.message is not None or plausible(self.ulpdu, len(self.ulpdu))
        if header is not None and is_known:
            name = message_name(parse_control(header.rsvdulp).opcode)
            where = (
                f"STag {header.stag or 0:#x} TO {header.to or 0:#x}"
                if header.tagged
                else f"QN {header.qn} MSN {header.msn} MO {header.mo}"
            )
            last = " last" if header.last else ""
            what = f"{name}, {where}{last}, {len(self.payload)} octets"
        overrides = getattr(self, "overrides", None)
        overridden = "" if overrides is None else f", {overrides!r}"
        return f"<{type(self).__name__} {SIDES[self.side]}: {what}{overridden}>"


@dataclass(frozen=True, slots=True, repr=False)
class FPDUItem(SegmentItem):
    """An FPDU (RFC 5044 4.1) with a DDP segment, or any octets, in it."""

    overrides: Overrides | None = None

    def override(self, **changes: Any) -> FPDUItem:
        """Return this FPDU with fields of its :class:`Overrides` set."""
        return replace(self, overrides=replace(self.overrides or Overrides(), **changes))


@dataclass(frozen=True, slots=True, repr=False)
class IndicationItem:
    """An adaption indication (draft-williams-iwarp-ift-01 4.1)."""

    phase: ClassVar = Phase.FULL
    side: int
    indication: AdaptionIndication

    def __repr__(self) -> str:
        return f"<IndicationItem {SIDES[self.side]}: {self.indication}>"


@dataclass(frozen=True, slots=True, repr=False)
class FrameOverrides(_ShortRepr):
    """Fields of a frame that are sent as given; None: the field is computed.

    :raises LocalProtocolError: a number does not fit its field.
    """

    header_size: int | None = None
    """16 bits; computed: the octets of the DDP header."""
    payload_size: int | None = None
    """16 bits; computed: the octets after the DDP header."""
    vtag: int | None = None
    """16 bits; computed: the VTag that the receiver has announced."""
    header_crc: bytes | Callable[[bytes], bytes] | None = None
    """The header CRC, or a function that takes the right one and returns it.  The right one has 4
    octets, or none without header CRCs."""
    payload_crc: bytes | Callable[[bytes], bytes] | None = None
    """The payload CRC, in the same way."""

    def __post_init__(self) -> None:
        for name in ("header_size", "payload_size", "vtag"):
            value = getattr(self, name)
            if value is not None:
                number(name, value, 0, 0xFFFF)


@dataclass(frozen=True, slots=True, repr=False)
class FrameItem(SegmentItem):
    """A frame of iWARP Framing for TCP (draft-williams-iwarp-ift-01 5.1)."""

    overrides: FrameOverrides | None = None

    def override(self, **changes: Any) -> FrameItem:
        """Return this frame with fields of its :class:`FrameOverrides` set."""
        return replace(self, overrides=replace(self.overrides or FrameOverrides(), **changes))


@dataclass(frozen=True, slots=True, repr=False)
class OctetsItem:
    """Any octets of the TCP stream, such as those of streaming mode."""

    side: int
    octets: bytes

    def __repr__(self) -> str:
        head = f"{self.octets[:16]!r}{'...' if len(self.octets) > 16 else ''}"
        return f"<OctetsItem {SIDES[self.side]}: {len(self.octets)} octets, {head}>"


@dataclass(frozen=True, slots=True)
class FlushItem:
    """A side sends all its octets so far: no TCP segment extends across this place."""

    side: int


@dataclass(frozen=True, slots=True)
class PauseItem:
    """A time without segments, after all octets were acknowledged."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class CloseItem:
    """A side sends its FIN, and its peer sends one, too."""

    phase: ClassVar = Phase.CLOSED
    side: int
    both: bool = True
    """False: the peer only acknowledges the FIN, and may go on."""


@dataclass(frozen=True, slots=True)
class ResetItem:
    """A side sends a RST."""

    phase: ClassVar = Phase.CLOSED
    side: int


Item: TypeAlias = (
    HandshakeItem
    | StartupItem
    | FPDUItem
    | IndicationItem
    | FrameItem
    | OctetsItem
    | FlushItem
    | PauseItem
    | CloseItem
    | ResetItem
)
