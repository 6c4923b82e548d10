# SPDX-License-Identifier: GPL-2.0-or-later
"""What a conversation consists of: a list of items, each saying what happens next.

An item says what is meant; :mod:`~scapy_mpa.craft.layout` computes the rest: lengths, pads, Markers
at the offsets where they fall, CRCs, sequence numbers.  A field that is None is computed, one that
is set is sent as it is, right or wrong, with everything else still computed.  So an item is edited
with :func:`dataclasses.replace`, an FPDU also with :meth:`FPDUItem.with_header` and
:meth:`FPDUItem.override`, and what then changes on the wire is that field and what follows from it.

``side`` is 0 for the Initiator and 1 for the Responder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from scapy_mpa.craft.given import as_octets, number, whole
from scapy_mpa.craft.options import SIDES
from scapy_mpa.wire.ddp import DDPHeader, build_ddp, ddp_header_of, parse_ddp
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.rdmap import ReadRequest, parse_control, plausible
from scapy_mpa.wire.rdmap_names import message_name
from scapy_mpa.wire.shown import quoted
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


class Message(NamedTuple):
    """One RDMAP message, as it was meant: what its DDP segments have in common.  (A named tuple:
    quickly made.)"""

    number: int
    """0, 1, ... in the order of the conversation."""
    side: int
    opcode: int
    length: int
    """Octets after the DDP headers, those of all segments."""
    stag: int | None = None
    to: int | None = None
    """Of a Tagged message, where its first octet goes."""
    qn: int | None = None
    msn: int | None = None
    read: ReadRequest | None = None
    """Of an RDMA Read Request, what it says."""
    request_identifier: int | None = None
    """Of an Atomic Request."""
    answers: Message | None = None
    """Of a Response, the Request that it answers; None if it answers none."""


@dataclass(frozen=True, slots=True)
class HandshakeItem:
    """SYN, SYN/ACK and ACK (RFC 9293 3.5), with the Maximum Segment Size option."""


class _Brief:
    """Shows only those fields of a dataclass that are not as they are by default."""

    __slots__ = ()

    def __repr__(self) -> str:
        known: Any = self
        said = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(known)
            if getattr(self, each.name) != each.default
        )
        return f"{type(self).__name__}({', '.join(said)})"


def _check_field(name: str, value: object) -> None:
    """Find out whether a value may stand for a CRC: octets, or what makes them."""
    if value is not None and not callable(value):
        as_octets(name, value)


def _check_markers(value: object) -> None:
    if not isinstance(value, Mapping):
        raise LocalProtocolError(
            f"markers {quoted(value)} is no mapping; give a dict from the index of a Marker to its "
            "4 octets"
        )
    for index, octets in value.items():
        whole("the index of a Marker", index, "from 0")
        as_octets("a Marker", octets)


def _check_places(value: object) -> None:
    if not isinstance(value, tuple):
        raise LocalProtocolError(f"marker_places {quoted(value)} is no tuple of offsets")
    for place in value:
        whole("the place of a Marker", place, "from 0")


@dataclass(frozen=True, slots=True, repr=False)
class StartupItem(_Brief):
    """An MPA Request or Reply (RFC 5044 7.1.1), with enhanced data or without (RFC 6581 9), or an
    Rtr Frame (rtr-frame-proposal-2007)."""

    side: int
    kind: StartupKind
    private_data: bytes = b""
    """After any enhanced data."""
    rejected: bool = False
    """R."""
    control_flags: str | None = None
    """Letters out of ``ABCD``. Enhanced data are there if this, ``ird`` or ``ord`` is not None."""
    ird: int | None = None
    ord: int | None = None
    markers: bool | None = None
    """M; None: as the conversation's options have it."""
    crc: bool | None = None
    """C; None: as the conversation's options have it, for an Rtr Frame those of the Responder."""
    s_bit: bool | None = None
    """S; None: whether there are enhanced data."""
    reserved: int = 0
    """Res, 4 bits."""
    revision: int | None = None
    """Rev; None: as the conversation's options have it."""
    pd_length: int | None = None
    """PD_Length; None: the octets that follow."""
    key: bytes | None = None
    """16 octets; None: as ``kind`` says."""
    extension: bytes | None = None
    """Between header and Private Data; None: 8 zeros with revision 129 (erdma), else nothing."""


@dataclass(frozen=True, slots=True, repr=False)
class Overrides(_Brief):
    """What of an FPDU is sent otherwise than computed; None: as it is computed.

    :raises LocalProtocolError: a value is of another kind, or does not fit its field.
    """

    ulpdu_length: int | None = None
    """ULPDU_Length, 16 bits; computed: the octets of the ULPDU."""
    pad: bytes | None = None
    """Computed: as many zeros as RFC 5044 4.1 asks for."""
    markers: Mapping[int, bytes] | None = None
    """The 4 octets of some of its Markers, by index; the others are conforming."""
    marker_places: tuple[int, ...] | None = None
    """Where Markers begin, in octets from the FPDU's first; computed: where RFC 5044 4.3 has
    them."""
    crc: bytes | Callable[[bytes], bytes] | None = None
    """The CRC field, or what makes it of the 4 octets that are right; computed: these, or zeros if
    CRCs are off."""

    def __post_init__(self) -> None:
        if self.ulpdu_length is not None:
            number("ULPDU_Length", self.ulpdu_length, 0, 0xFFFF)
        if self.pad is not None:
            as_octets("pad", self.pad)
        if self.markers is not None:
            _check_markers(self.markers)
        if self.marker_places is not None:
            _check_places(self.marker_places)
        _check_field("crc", self.crc)


@dataclass(frozen=True, slots=True, repr=False)
class SegmentItem:
    """What carries a DDP segment, or anything else: an FPDU, or a frame."""

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
        """What follows the DDP header."""
        return self.ulpdu[self.header.length :]

    def with_header(self: _Segment, **numbers: Any) -> _Segment:
        """Return the same with other fields of its :class:`~scapy_mpa.wire.ddp.DDPHeader`.

        :raises LocalProtocolError: a number does not fit its field.
        """
        return replace(self, ulpdu=build_ddp(self.header._replace(**numbers)) + self.payload)

    def with_payload(self: _Segment, payload: bytes) -> _Segment:
        """Return this item with something else after its DDP header."""
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
    """An FPDU (RFC 5044 4.1) with a DDP segment, or anything else, in it."""

    overrides: Overrides | None = None

    def override(self, **changes: Any) -> FPDUItem:
        """Return this FPDU with fields of its :class:`Overrides` set."""
        return replace(self, overrides=replace(self.overrides or Overrides(), **changes))


@dataclass(frozen=True, slots=True, repr=False)
class IndicationItem:
    """An adaption indication (draft-williams-iwarp-ift-01 4.1)."""

    side: int
    indication: AdaptionIndication

    def __repr__(self) -> str:
        return f"<IndicationItem {SIDES[self.side]}: {self.indication}>"


@dataclass(frozen=True, slots=True, repr=False)
class FrameOverrides(_Brief):
    """What of a frame is sent otherwise than computed; None: as it is computed.

    :raises LocalProtocolError: a value is of another kind, or does not fit its field.
    """

    header_size: int | None = None
    """16 bits; computed: the octets of the DDP header."""
    payload_size: int | None = None
    """16 bits; computed: the octets after it."""
    vtag: int | None = None
    """16 bits; computed: what the receiver has announced."""
    header_crc: bytes | Callable[[bytes], bytes] | None = None
    """The header CRC, or what makes it of the right one: of 4 octets, or of none without header
    CRCs."""
    payload_crc: bytes | Callable[[bytes], bytes] | None = None
    """Likewise."""

    def __post_init__(self) -> None:
        for name in ("header_size", "payload_size", "vtag"):
            value = getattr(self, name)
            if value is not None:
                number(name, value, 0, 0xFFFF)
        _check_field("header_crc", self.header_crc)
        _check_field("payload_crc", self.payload_crc)


@dataclass(frozen=True, slots=True, repr=False)
class FrameItem(SegmentItem):
    """A frame of iWARP Framing for TCP (draft-williams-iwarp-ift-01 5.1)."""

    overrides: FrameOverrides | None = None

    def override(self, **changes: Any) -> FrameItem:
        """Return this frame with fields of its :class:`FrameOverrides` set."""
        return replace(self, overrides=replace(self.overrides or FrameOverrides(), **changes))


@dataclass(frozen=True, slots=True, repr=False)
class OctetsItem:
    """Octets of the TCP stream as they are: streaming mode, or anything at all."""

    side: int
    octets: bytes

    def __repr__(self) -> str:
        head = f"{self.octets[:16]!r}{'...' if len(self.octets) > 16 else ''}"
        return f"<OctetsItem {SIDES[self.side]}: {len(self.octets)} octets, {head}>"


@dataclass(frozen=True, slots=True)
class FlushItem:
    """What a side has said so far is sent: no TCP segment goes across this place."""

    side: int


@dataclass(frozen=True, slots=True)
class PauseItem:
    """Nothing happens for a while; what was sent is acknowledged."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class CloseItem:
    """A side sends its FIN, and the other one its own."""

    side: int
    both: bool = True
    """False: the other side merely acknowledges, and may go on."""


@dataclass(frozen=True, slots=True)
class ResetItem:
    """A side sends a RST."""

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
