# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted iWARP connection, said with verbs."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, SupportsBytes, TypeVar

from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint, mac_octets
from scapy_mpa.craft.given import LATEST, as_octets, flag, nanoseconds, number, pair
from scapy_mpa.craft.options import (
    INITIATOR,
    LONGEST_RTT,
    RESPONDER,
    SIDES,
    Options,
    Packing,
)
from scapy_mpa.craft.script import (
    CloseItem,
    FPDUItem,
    FrameItem,
    HandshakeItem,
    Item,
    Message,
    PauseItem,
    ResetItem,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.craft.scripted import Scripted
from scapy_mpa.craft.side import Side
from scapy_mpa.wire.control_flags import RTR, rtr_flags
from scapy_mpa.wire.dialect import (
    OSC_REVISIONS,
    TRAITS,
    Dialect,
    extension_length,
    largest_pd_length,
)
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import ENHANCED_LENGTH, StartupKind

__all__ = ["Conversation", "Phase"]

_Conversation = TypeVar("_Conversation", bound="Conversation")

_MACS: Final = ("02:00:00:00:00:01", "02:00:00:00:00:02")

_DEPTH: Final = 16
"""IRD and ORD that are asked for unless told otherwise."""
_DEEPEST: Final = 0x3FFF
"""What their 14 bits can say."""


_REVISIONS: Final = {
    None: 1,
    Dialect.RFC5044: 1,
    Dialect.DRAFT_MPA_01: 0,
    Dialect.RTR_PROPOSAL_2007: 1,
    Dialect.RFC6581: 2,
    Dialect.DRAFT_PEER_CONNECT_01: 2,
    Dialect.SOFTUIWARP: 1,
    Dialect.ERDMA: TRAITS[Dialect.ERDMA].revision,
    Dialect.OSC: OSC_REVISIONS[INITIATOR],
}
"""Rev of the dialects in which there are conversations: of the Request, if the Reply has another.
"""


_OTHER_CLASSES: Final = {
    Dialect.DRAFT_IFT_01: "IFTConversation",
    Dialect.RFC5043: "SctpConversation",
}
"""What conversations without startup frames of MPA are."""


def _revision_of(dialect: Dialect | None) -> int:
    if dialect in _OTHER_CLASSES:
        text = f"a conversation in the dialect {dialect.value} is an {_OTHER_CLASSES[dialect]}"
        raise LocalProtocolError(text)
    return _REVISIONS[dialect]


def _control_flags(dialect: Dialect | None, rtr: str | None) -> str:
    """Return the control flags of a Request.

    The draft has one set for all that the Initiator is able to, which is no request.
    """
    if rtr is not None:
        return rtr_flags(dialect, RTR(rtr))
    return rtr_flags(dialect, *RTR) if dialect is Dialect.DRAFT_PEER_CONNECT_01 else ""


def _check_flags(name: str, value: object) -> None:
    """Find out whether control flags are a text; which letters there are, the wire knows."""
    if not isinstance(value, str | None):
        raise LocalProtocolError(f"{name} {quoted(value)} are no letters out of ABCD")


class Phase(enum.Enum):
    """How far a conversation has come."""

    STREAMING = enum.auto()
    FULL = enum.auto()
    REJECTED = enum.auto()
    CLOSED = enum.auto()


class Conversation(Scripted):
    """A scripted iWARP connection, without I/O.

    >>> conversation = Conversation(markers=True)
    >>> conversation.initiator.send(b"hello")
    >>> conversation.write("hello.pcapng")          # doctest: +SKIP

    Whoever speaks first without having called :meth:`startup` has the startup frames sent as the
    options say.

    :param initiator: who opens the TCP connection and sends the Request.
    :param responder: the other end.
    :param revision: Rev of both startup frames; None: that of the dialect, which in osc is 0 in the
        Request and 1 in the Reply.
    :param dialect: what both sides speak, by its name in
        :class:`~scapy_mpa.wire.dialect.Dialect`; None: what the revision says, without one RFC
        5044.
    :param markers: M of Initiator and Responder, or of both: whether a side wants Markers in what
        it *receives* (RFC 5044 7.1.1).
    :param crc: C of Initiator and Responder, or of both; CRCs are on if either is set.  None: both,
        but neither in erdma nor in SoftUiWARP, which have no CRCs.
    :param rtr_frame: S of Initiator and Responder, or of both, in revision 1: whether an Rtr Frame
        is announced, and awaited.  If it is both, it follows the Reply (rtr-frame-proposal-2007).
        None: both in that dialect, neither in any other.
    :param mss: Maximum Segment Size, octets; also EMSS.
    :param mulpdu: octets of the largest ULPDU; None: as RFC 5044 4.5 derives it from EMSS.
    :param packing: ``aligned``: an FPDU in each segment; ``packed``: as many whole ones in each as
        fit (RFC 5044 5.1); ``stream``: segments are filled, FPDUs lie as they will.
    :param vlan: tag control information of an IEEE 802.1Q tag, 16 bits; None: no tag.
    :param ack_every: after how many data segments the receiver acknowledges them; 0: only with its
        own data.
    :param start_time: of the first segment, seconds since the epoch, from 0 to 2554, where pcapng
        files need another offset; pcap files tell them up to 2106.
    :param rtt: round-trip time, 0 to 1000 seconds.
    :param ddp_version: DV; None: 0 with revision 0 (RFC 5044 C.1), but in osc, else 1.
    :param rdmap_version: RV; None: likewise.
    :param handshake: begin with SYN, SYN/ACK and ACK.
    :param strict: have verbs refuse what a conforming peer must not do.
    :raises LocalProtocolError: a value is out of range, or both ends are the same.
    """

    __slots__ = (
        "_has_spoken",
        "_messages",
        "_phase",
        "_strict",
        "_terminated",
        "mulpdus",
        "vlan",
    )

    def __init__(
        self,
        initiator: Endpoint = USUAL_INITIATOR,
        responder: Endpoint = USUAL_RESPONDER,
        *,
        revision: int | None = None,
        dialect: str | Dialect | None = None,
        markers: bool | tuple[bool, bool] = False,
        crc: bool | tuple[bool, bool] | None = None,
        rtr_frame: bool | tuple[bool, bool] | None = None,
        mss: int = 1460,
        mulpdu: int | None = None,
        packing: Packing = "aligned",
        vlan: int | None = None,
        ack_every: int = 2,
        start_time: float = 1_700_000_000,
        rtt: float = 100e-6,
        ddp_version: int | None = None,
        rdmap_version: int | None = None,
        handshake: bool = True,
        strict: bool = True,
    ) -> None:
        spoken = dialect_named(dialect)
        usual = _revision_of(spoken)
        reply_revision = None
        if revision is None:
            revision = usual
            reply_revision = OSC_REVISIONS[RESPONDER] if spoken is Dialect.OSC else None
        oldest = 1 if revision or spoken is Dialect.OSC else 0
        if crc is None:
            crc = spoken not in (Dialect.ERDMA, Dialect.SOFTUIWARP)
        if spoken is Dialect.SOFTUIWARP and any(pair("crc", crc)):
            raise LocalProtocolError("there are no CRCs in the dialect softuiwarp")
        if rtr_frame is None:
            rtr_frame = spoken is Dialect.RTR_PROPOSAL_2007 and revision == usual
        self.options = Options(
            revision=revision,
            reply_revision=reply_revision,
            markers=pair("markers", markers),
            crc=pair("crc", crc),
            rtr_frame=pair("rtr_frame", rtr_frame),
            ddp_version=oldest if ddp_version is None else ddp_version,
            rdmap_version=oldest if rdmap_version is None else rdmap_version,
            mss=mss,
            mulpdu=mulpdu,
            packing=packing,
            ack_every=ack_every,
            start_ns=nanoseconds("start_time", start_time, LATEST),
            rtt_ns=nanoseconds("rtt", rtt, LONGEST_RTT),
            dialect=spoken,
        )
        self.mulpdus = self.options.mulpdu_of(INITIATOR), self.options.mulpdu_of(RESPONDER)
        """MULPDU of Initiator and Responder, in octets."""
        if vlan is not None:
            number("vlan", vlan, 0, 0xFFFF)
        self.vlan = vlan
        self.initiator = Side(self, INITIATOR, initiator)
        self.responder = Side(self, RESPONDER, responder)
        self.sides = self.initiator, self.responder
        self._builders = self._builder(INITIATOR), self._builder(RESPONDER)
        self.script = [HandshakeItem()] if handshake else []
        self._strict = strict
        self._phase = Phase.STREAMING
        self._has_spoken = False
        self._terminated = [False, False]
        self._messages = 0

    def __repr__(self) -> str:
        fpdus = sum(isinstance(item, SegmentItem) for item in self.script)
        return (
            f"<{type(self).__name__} {self.initiator.endpoint} > {self.responder.endpoint}, "
            f"{self._messages} messages in {fpdus} FPDUs, {self._phase.name.lower()}>"
        )

    # -- verbs of both ----------------------------------------------------------------------------

    def startup(
        self,
        private_data: bytes | SupportsBytes = b"",
        reply_private_data: bytes | SupportsBytes = b"",
        *,
        extension: bytes | None = None,
        reply_extension: bytes | None = None,
        ird: int | None = None,
        ord: int | None = None,
        control_flags: str | None = None,
        reply_ird: int | None = None,
        reply_ord: int | None = None,
        reply_control_flags: str | None = None,
        rejected: bool = False,
        rtr: Literal["send", "write", "read"] | None = None,
        rtr_private_data: bytes = b"",
    ) -> None:
        """Exchange Request and Reply (RFC 5044 7.1, RFC 6581 9), and the Rtr Frame if one is due.

        For a delayed startup, let the sides say :meth:`~scapy_mpa.craft.side.Side.octets` first.
        Revision 2 brings enhanced data with it.

        :param private_data: of the Request, up to 512 octets, enhanced data included; octets or a
            layer.
        :param reply_private_data: of the Reply.
        :param extension: of the Request, 8 octets; only with revision 129 (erdma); None: zeros.
        :param reply_extension: of the Reply.
        :param ird: of the Request, 14 bits.
        :param ord: of the Request, 14 bits.
        :param control_flags: of the Request, letters out of ``ABCD``; None: as ``rtr`` asks for,
            in the dialect of the conversation.
        :param reply_ird: None: the Request's ``ord``.
        :param reply_ord: None: the Request's ``ird``.
        :param reply_control_flags: None: as in the Request.
        :param rejected: the Responder says no; the connection is in streaming mode again.
        :param rtr: have the Initiator send this zero-length message first (RFC 6581 9.2).
        :param rtr_private_data: of the Rtr Frame.
        :raises LocalProtocolError: a value is none of those, or a conforming peer must not do that.
        """
        private_data = as_octets("private_data", private_data)
        reply_private_data = as_octets("reply_private_data", reply_private_data)
        rtr_private_data = as_octets("rtr_private_data", rtr_private_data)
        rejected = flag("rejected", rejected)
        for name, depth in (
            *(("ird", ird), ("ord", ord)),
            *(("reply_ird", reply_ird), ("reply_ord", reply_ord)),
        ):
            if depth is not None:
                number(name, depth, 0, _DEEPEST)
        for name, flags in (
            ("control_flags", control_flags),
            ("reply_control_flags", reply_control_flags),
        ):
            _check_flags(name, flags)
        if rtr is not None and rtr not in tuple(RTR):
            indications = ", ".join(each.value for each in RTR)
            raise LocalProtocolError(f"rtr {quoted(rtr)} is none of {indications}")
        if self._phase in (Phase.FULL, Phase.CLOSED):
            self.refuse(
                "startup frames come before the first FPDU and before the FIN (RFC 5044 7.1.2)"
            )
        is_enhanced = self.options.revision == 2 or not (
            ird is None and ord is None and control_flags is None and rtr is None
        )
        request = reply = {}
        if is_enhanced:
            if control_flags is None:
                control_flags = _control_flags(self.options.dialect, rtr)
            request = {
                "control_flags": control_flags,
                "ird": _DEPTH if ird is None else ird,
                "ord": _DEPTH if ord is None else ord,
            }
            reply = {
                "control_flags": (
                    control_flags if reply_control_flags is None else reply_control_flags
                ),
                "ird": request["ord"] if reply_ird is None else reply_ird,
                "ord": request["ird"] if reply_ord is None else reply_ord,
            }
        if any(self.options.rtr_frame):
            if self.options.revision != 1:
                self.refuse("an Rtr Frame goes with revision 1 (rtr-frame-proposal-2007)")
            s_bits = [bool(request) or each for each in self.options.rtr_frame]
            request, reply = (
                {**fields, "s_bit": s} for fields, s in zip((request, reply), s_bits, strict=True)
            )
        for each in (extension, reply_extension):
            if each is not None and len(as_octets("an extension", each)) != extension_length(
                self.options.revision
            ):
                self.refuse("an extension has 8 octets, and goes with revision 129 (erdma)")
        request, reply = (
            fields if each is None else {**fields, "extension": each}
            for fields, each in ((request, extension), (reply, reply_extension))
        )
        self._append_startup(INITIATOR, StartupKind.REQUEST, private_data, False, request)
        self._append_startup(RESPONDER, StartupKind.REPLY, reply_private_data, rejected, reply)
        self._phase = Phase.REJECTED if rejected else Phase.FULL
        if self.options.has_rtr_frame and not rejected:
            self.initiator.rtr_frame(rtr_private_data)
        if rtr == "send":
            self.initiator.send(b"")
        elif rtr == "write":
            self.initiator.write(b"")
        elif rtr == "read":
            self.initiator.read(b"")

    def pause(self, seconds: float) -> None:
        """Let time go by; what was sent is acknowledged.

        :param seconds: from 0.
        :raises LocalProtocolError: it is no such time, or longer than any capture file can tell.
        """
        self.append(PauseItem(nanoseconds("a pause", seconds, LATEST)))

    def close(self, side: int = INITIATOR, *, both: bool = True) -> None:
        """Close the TCP connection.

        :param side: who sends its FIN first: 0 the Initiator, 1 the Responder.
        :param both: False: the other side does not.
        """
        number("side", side, INITIATOR, RESPONDER)
        self.append(CloseItem(side, flag("both", both)))
        self._phase = Phase.CLOSED

    def reset(self, side: int = INITIATOR) -> None:
        """Send a RST.

        :param side: who: 0 the Initiator, 1 the Responder.
        """
        number("side", side, INITIATOR, RESPONDER)
        self.append(ResetItem(side))
        self._phase = Phase.CLOSED

    # -- the same otherwise -----------------------------------------------------------------------

    def with_script(self: _Conversation, script: Iterable[Item]) -> _Conversation:
        """Return the same conversation with another script, say one with an item replaced."""
        copy = object.__new__(type(self))
        for name in (*Scripted.__slots__, *Conversation.__slots__):
            setattr(copy, name, getattr(self, name))
        copy.script = list(script)
        copy.initiator, copy.responder = (side.copy(copy) for side in self.sides)
        copy.sides = copy.initiator, copy.responder
        copy._terminated = list(self._terminated)
        return copy

    def moved(
        self: _Conversation,
        initiator: Endpoint | None = None,
        responder: Endpoint | None = None,
        *,
        start_time: float | None = None,
    ) -> _Conversation:
        """Return the same conversation between other endpoints, or at another time.

        :param initiator: None: as it is.
        :param responder: None: as it is.
        :param start_time: of the first segment, seconds since the epoch; None: as it is.
        :raises LocalProtocolError: one address is IPv4 and the other one IPv6, both ends are the
            same, or the time is none that a capture file can tell.
        """
        copy = self.with_script(self.script)
        copy.initiator.endpoint = initiator or copy.initiator.endpoint
        copy.responder.endpoint = responder or copy.responder.endpoint
        copy._builders = copy._builder(INITIATOR), copy._builder(RESPONDER)
        if start_time is not None:
            copy.options = replace(
                self.options, start_ns=nanoseconds("start_time", start_time, LATEST)
            )
        return copy

    def wrapping(self: _Conversation) -> _Conversation:
        """Return the same conversation with sequence numbers that wrap (RFC 9293 3.4).

        In each direction sequence number 0 comes in the middle of what is sent.
        """
        sent = [0, 0]
        for placed in self.layout():
            if placed.octets:
                sent[getattr(placed.item, "side", INITIATOR)] = placed.end
        initiator, responder = (
            replace(side.endpoint, isn=-1 - sent[side.index] // 2 & 0xFFFFFFFF)
            for side in self.sides
        )
        return self.moved(initiator, responder)

    # -- for the sides ----------------------------------------------------------------------------

    def append(self, *items: Item) -> None:
        """Append items to the script."""
        self.script += items

    def append_checked(self, item: Any) -> None:
        """Append an item, if it can be expressed on the wire.

        :raises LocalProtocolError: it cannot.
        """
        try:
            self.check([item])
        except LocalProtocolError as error:
            # Which item of a script it would be is nothing to whoever has said it.
            raise LocalProtocolError(str(error.__cause__ or error)) from error
        self.append(item)

    def begin(self) -> None:
        """Have the startup frames sent, unless they were, before a side speaks."""
        if self._phase is Phase.STREAMING:
            self.startup()

    @property
    def next_number(self) -> int:
        """The number of the next message."""
        return self._messages

    def say(self, message: Message, items: Sequence[FPDUItem | FrameItem]) -> None:
        """Append a message, unless its side must not send one."""
        if self._phase is Phase.REJECTED:
            self.refuse(
                "the Responder has rejected: send octets(), or call startup() again "
                "(RFC 5044 7.1.2 rule 3)"
            )
        elif self._phase is Phase.CLOSED:
            self.refuse("the TCP connection is closed")
        elif message.side == RESPONDER and not self._has_spoken:
            self.refuse(
                "the Responder sends nothing before it has received an FPDU: let the Initiator "
                "speak first (RFC 5044 7.1.2 rule 4)"
            )
        elif self._terminated[message.side]:
            self.refuse(f"the {SIDES[message.side]} has sent a Terminate (RFC 5040 5.4)")
        self._has_spoken = True
        self._messages += 1
        self.script += items

    def add_rtr_frame(self, item: StartupItem) -> None:
        """Append an Rtr Frame: whoever has it may speak (rtr-frame-proposal-2007 2)."""
        if not self.options.has_rtr_frame or self._phase is not Phase.FULL:
            self.refuse(
                "an Rtr Frame follows a Reply that accepts, if S is set in Request and Reply "
                "(rtr-frame-proposal-2007 2, 5)"
            )
        if self._has_spoken:
            self.refuse("an Rtr Frame comes before the first FPDU (rtr-frame-proposal-2007 2)")
        self.append_checked(item)
        self._has_spoken = True

    def terminated(self, side: int) -> None:
        """Take note that a side has sent a Terminate."""
        self._terminated[side] = True

    def refuse(self, text: str) -> None:
        """Raise an error, unless that is not wanted.

        :raises LocalProtocolError: the conversation is strict.
        """
        if self._strict:
            raise LocalProtocolError(
                f"{text}; to send it all the same, make the conversation with strict=False"
            )

    def _append_startup(
        self,
        side: int,
        kind: StartupKind,
        private_data: bytes,
        rejected: bool,
        fields: dict[str, Any],
    ) -> None:
        length = len(private_data) + (ENHANCED_LENGTH if "control_flags" in fields else 0)
        largest = largest_pd_length(self.options.revision_of(side))
        if length > largest:
            self.refuse(f"Private Data of {length} octets exceed {largest} (RFC 5044 7.1.1)")
        self.append_checked(StartupItem(side, kind, private_data, rejected, **fields))

    def _builder(self, side: int) -> FrameBuilder:
        for each in self.sides:
            given: object = each.endpoint
            if not isinstance(given, Endpoint):
                raise LocalProtocolError(
                    f"{SIDES[each.index]} {quoted(given)} is no Endpoint; give "
                    "Endpoint(address, port)"
                )
        source, target = self.sides[side].endpoint, self.sides[1 - side].endpoint
        if (source.octets, source.port) == (target.octets, target.port):
            # Nobody could tell the directions from each other.
            raise LocalProtocolError(
                f"both ends are {source}; give one of them another address or port"
            )
        return FrameBuilder(
            (mac_octets(source.mac or _MACS[side]), mac_octets(target.mac or _MACS[1 - side])),
            (source.octets, target.octets),
            (source.port, target.port),
            self.vlan,
        )
