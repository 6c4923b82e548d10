# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted iWARP connection, said with verbs."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, SupportsBytes, TypeAlias, TypeVar

from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint
from scapy_mpa.craft.given import LATEST, as_octets, flag, nanoseconds, number, pair
from scapy_mpa.craft.options import (
    INITIATOR,
    LONGEST_RTT,
    RESPONDER,
    Options,
    Packing,
)
from scapy_mpa.craft.script import (
    CloseItem,
    HandshakeItem,
    Item,
    PauseItem,
    ResetItem,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.craft.scripted import Phase, Scripted
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

__all__ = ["Conversation"]

_EnhancedData: TypeAlias = tuple[str | None, int | None, int | None]
"""Control flags, IRD and ORD, None where they are computed."""

_Conversation = TypeVar("_Conversation", bound="Conversation")

_DEPTH: Final = 16
"""IRD and ORD that are asked for unless told otherwise."""
_DEEPEST: Final = 0x3FFF
"""What their 14 bits can say."""


_REVISIONS: Final[dict[Dialect | None, int]] = {
    **{dialect: traits.revision for dialect, traits in TRAITS.items()},
    **{None: 1, Dialect.SOFTUIWARP: 1, Dialect.OSC: OSC_REVISIONS[INITIATOR]},
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


def _checked(control_flags: str | None, ird: int | None, ord: int | None, name: str) -> None:
    """Find out whether enhanced data are of their kinds.

    :param name: how their names begin.
    """
    for field, depth in (("ird", ird), ("ord", ord)):
        if depth is not None:
            number(f"{name}{field}", depth, 0, _DEEPEST)
    # Which letters there are, the wire knows.
    if not isinstance(control_flags, str | None):
        raise LocalProtocolError(
            f"{name}control_flags {quoted(control_flags)} are no letters out of ABCD"
        )


def _enhanced(
    own: _EnhancedData, peers: _EnhancedData, dialect: Dialect | None, rtr: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of enhanced data in Request and Reply."""
    control_flags, ird, ord = own
    reply_flags, reply_ird, reply_ord = peers
    if control_flags is None:
        control_flags = _control_flags(dialect, rtr)
    ird, ord = _DEPTH if ird is None else ird, _DEPTH if ord is None else ord
    return {"control_flags": control_flags, "ird": ird, "ord": ord}, {
        "control_flags": control_flags if reply_flags is None else reply_flags,
        "ird": ord if reply_ird is None else reply_ird,
        "ord": ird if reply_ord is None else reply_ord,
    }


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
        options = Options(
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
        super().__init__((initiator, responder), options, vlan=vlan, strict=strict)
        self._seat(Side(self, INITIATOR), Side(self, RESPONDER))
        self.script += [HandshakeItem()] if handshake else []

    def _seat(self, initiator: Side, responder: Side) -> None:
        """Have the sides be these, each the peer of the other."""
        self.sides = self.initiator, self.responder = initiator, responder
        initiator.peer, responder.peer = responder, initiator

    def __repr__(self) -> str:
        fpdus = sum(isinstance(item, SegmentItem) for item in self.script)
        return (
            f"<{type(self).__name__} {self.endpoints[0]} > {self.endpoints[1]}, "
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
        _checked(control_flags, ird, ord, "")
        _checked(reply_control_flags, reply_ird, reply_ord, "reply_")
        if rtr is not None and rtr not in tuple(RTR):
            indications = ", ".join(each.value for each in RTR)
            raise LocalProtocolError(f"rtr {quoted(rtr)} is none of {indications}")
        if self._phase in (Phase.FULL, Phase.CLOSED):
            self.refuse(
                "startup frames come before the first FPDU and before the FIN (RFC 5044 7.1.2)"
            )
        request: dict[str, Any] = {}
        reply: dict[str, Any] = {}
        own = control_flags, ird, ord
        if self.options.revision == 2 or (*own, rtr) != (None, None, None, None):
            peers = reply_control_flags, reply_ird, reply_ord
            request, reply = _enhanced(own, peers, self.options.dialect, rtr)
        self._add_further(request, self.options.rtr_frame[INITIATOR], extension)
        self._add_further(reply, self.options.rtr_frame[RESPONDER], reply_extension)
        self._append_startup(INITIATOR, StartupKind.REQUEST, private_data, False, request)
        self._append_startup(RESPONDER, StartupKind.REPLY, reply_private_data, rejected, reply)
        self._phase = Phase.REJECTED if rejected else Phase.FULL
        if self.options.has_rtr_frame and not rejected:
            self.initiator.rtr_frame(rtr_private_data)
        if rtr is not None:
            getattr(self.initiator, RTR(rtr).value)(b"")

    def _add_further(self, fields: dict[str, Any], s_bit: bool, extension: bytes | None) -> None:
        """Add what a startup frame has beside enhanced data."""
        revision = self.options.revision
        if any(self.options.rtr_frame):
            if revision != 1:
                self.refuse("an Rtr Frame goes with revision 1 (rtr-frame-proposal-2007)")
            fields["s_bit"] = bool(fields) or s_bit
        if extension is not None:
            if len(as_octets("an extension", extension)) != extension_length(revision):
                self.refuse("an extension has 8 octets, and goes with revision 129 (erdma)")
            fields["extension"] = extension

    def begin(self) -> None:
        """Have the startup frames sent, unless they were, before a side speaks."""
        if self._phase is Phase.STREAMING:
            self.startup()

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
        made = copy(self)
        made.script = list(script)
        made._seat(*(side.copy(made) for side in self.sides))
        return made

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
        made = self.with_script(self.script)
        one, other = self.endpoints
        made._connect((initiator or one, responder or other))
        if start_time is not None:
            start_ns = nanoseconds("start_time", start_time, LATEST)
            made.options = replace(self.options, start_ns=start_ns)
        return made

    def wrapping(self: _Conversation) -> _Conversation:
        """Return the same conversation with sequence numbers that wrap (RFC 9293 3.4).

        In each direction sequence number 0 comes in the middle of what is sent.
        """
        sent = [0, 0]
        for placed in self.layout():
            if placed.octets:
                sent[getattr(placed.item, "side", INITIATOR)] = placed.end
        return self.moved(
            *(
                replace(each, isn=-1 - octets // 2 & 0xFFFFFFFF)
                for each, octets in zip(self.endpoints, sent, strict=True)
            )
        )

    # -- inside -----------------------------------------------------------------------------------

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
