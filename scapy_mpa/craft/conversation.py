# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted iWARP connection, made with verbs such as ``send``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal, SupportsBytes, TypeVar

from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft.captured import Captured, captured_items
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint, mac_octets
from scapy_mpa.craft.enhanced import enhanced_fields
from scapy_mpa.craft.given import LATEST, as_octets, flag, nanoseconds, number, pair
from scapy_mpa.craft.layout import Placed, lay_out, startup_frame
from scapy_mpa.craft.options import INITIATOR, LONGEST_RTT, RESPONDER, SIDES, Options, Packing
from scapy_mpa.craft.script import (
    CloseItem,
    FPDUItem,
    FrameItem,
    HandshakeItem,
    Item,
    Message,
    PauseItem,
    Phase,
    ResetItem,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.segmentation import segments_of
from scapy_mpa.craft.side import Side
from scapy_mpa.craft.truth import Setting, truth_of
from scapy_mpa.records.record import Record
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.startup.steps import reply_problems
from scapy_mpa.wire.control_flags import RTR, meaning_of
from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect, extension_length
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.fpdu import LARGEST_MULPDU
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupKind, build_enhanced

_ISNS: Final = (1000, 5000)
_MACS: Final = ("02:00:00:00:00:01", "02:00:00:00:00:02")


_Conversation = TypeVar("_Conversation", bound="Conversation")

_REVISIONS: Final[dict[Dialect | None, int]] = {
    **{dialect: traits.revision for dialect, traits in TRAITS.items()},
    **{None: 1, Dialect.SOFTUIWARP: 1, Dialect.OSC: OSC_REVISIONS[INITIATOR]},
}
"""Rev by dialect; in osc, that of the Request."""


_OTHER_CLASSES: Final = {
    Dialect.DRAFT_IFT_01: "IFTConversation",
    Dialect.RFC5043: "SctpConversation",
}
"""The classes of conversations without startup frames of MPA."""


def _revision_of(dialect: Dialect | None) -> int:
    if dialect in _OTHER_CLASSES:
        text = f"a conversation in the dialect {dialect.value} is an {_OTHER_CLASSES[dialect]}"
        raise LocalProtocolError(text)
    return _REVISIONS[dialect]


class Conversation:
    """A scripted iWARP connection, without I/O.

    >>> conversation = Conversation(markers=True)
    >>> conversation.initiator.send(b"hello")
    >>> conversation.write("hello.pcapng")          # doctest: +SKIP

    If :meth:`startup` was not called, the first message or FPDU is preceded by startup frames with
    the options below.

    :param initiator: the end that opens the TCP connection and sends the Request.
    :param responder: the other end.
    :param revision: Rev of both startup frames; None: that of the dialect, which in osc is 0 in the
        Request and 1 in the Reply.
    :param reply_revision: Rev of the Reply, if it is another one (RFC 5044 C.2, RFC 6581 10).  Only
        with revision 2 does a startup frame have enhanced data.
    :param dialect: the dialect of both sides, by its name in
        :class:`~scapy_mpa.wire.dialect.Dialect`; None: that of the revision, or RFC 5044 without a
        revision.
    :param markers: M of Initiator and Responder, or of both: whether a side wants Markers in what
        it *receives* (RFC 5044 7.1.1).
    :param crc: C of Initiator and Responder, or of both; CRCs are on if either is set.  None: both,
        but neither in erdma nor in SoftUiWARP, which have no CRCs.
    :param rtr_frame: S of Initiator and Responder, or of both, in revision 1: the Initiator
        announces an Rtr Frame, the Responder awaits it.  If S is set in both, the Rtr Frame follows
        the Reply (rtr-frame-proposal-2007).  None: both in that dialect, neither in any other.
    :param mss: Maximum Segment Size, octets; also EMSS.
    :param mulpdu: octets of the longest ULPDU; None: as RFC 5044 4.5 derives it from EMSS.
    :param packing: ``aligned``: each FPDU has a segment of its own; ``packed``: a
        segment has as many whole FPDUs as fit (RFC 5044 5.1); ``stream``: segments are full,
        wherever FPDUs begin and end.
    :param vlan: tag control information of an IEEE 802.1Q tag, 16 bits; None: no tag.
    :param ack_every: after how many data segments the receiver acknowledges them; 0: only with its
        own data.
    :param start_time: time of the first segment, in seconds since the epoch: up to the year 2554,
        or up to 2106 to write a pcap file.
    :param rtt: round-trip time, 0 to 1000 seconds.
    :param ddp_version: DV; None: 0 if the Reply has revision 0 (RFC 5044 C.1), but in osc, else 1.
    :param rdmap_version: RV; None: 0 if the Reply has revision 0, but in osc, else 1.
    :param handshake: begin with SYN, SYN/ACK and ACK.
    :param strict: verbs refuse what a conforming peer must not do.
    :raises LocalProtocolError: a value is out of range, or both ends are the same.
    """

    _is_mpa: ClassVar = True
    """Whether the Responder waits for the Initiator's first FPDU (RFC 5044 7.1.2 rule 4), and a
    ULPDU has 64768 octets at most (RFC 5044 3)."""

    def __init__(
        self,
        initiator: Endpoint = USUAL_INITIATOR,
        responder: Endpoint = USUAL_RESPONDER,
        *,
        revision: int | None = None,
        reply_revision: int | None = None,
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
        chosen = dialect_named(dialect)
        usual = _revision_of(chosen)
        if chosen is Dialect.OSC and revision is None and reply_revision is None:
            reply_revision = OSC_REVISIONS[RESPONDER]
        revision = usual if revision is None else revision
        agreed = revision if reply_revision is None else reply_revision
        version = 1 if agreed or chosen is Dialect.OSC else 0
        if crc is None:
            crc = chosen not in (Dialect.ERDMA, Dialect.SOFTUIWARP)
        if chosen is Dialect.SOFTUIWARP and any(pair("crc", crc)):
            raise LocalProtocolError("there are no CRCs in the dialect softuiwarp")
        if rtr_frame is None:
            rtr_frame = chosen is Dialect.RTR_PROPOSAL_2007 and revision == usual
        self.options = Options(
            revision=revision,
            reply_revision=reply_revision,
            markers=pair("markers", markers),
            crc=pair("crc", crc),
            rtr_frame=pair("rtr_frame", rtr_frame),
            ddp_version=version if ddp_version is None else ddp_version,
            rdmap_version=version if rdmap_version is None else rdmap_version,
            mss=mss,
            mulpdu=mulpdu,
            packing=packing,
            ack_every=ack_every,
            start_ns=nanoseconds("start_time", start_time, LATEST),
            rtt_ns=nanoseconds("rtt", rtt, LONGEST_RTT),
            dialect=chosen,
        )
        """The options of the whole conversation."""
        if vlan is not None:
            number("vlan", vlan, 0, 0xFFFF)
        self.vlan = vlan
        self.mulpdus = self.options.mulpdu_of(INITIATOR), self.options.mulpdu_of(RESPONDER)
        """MULPDU of Initiator and Responder, in octets."""
        self.script: list[Item] = [HandshakeItem()] if flag("handshake", handshake) else []
        """The items, in the order in which they happen."""
        self._connect((initiator, responder))
        self._strict = flag("strict", strict)
        self.messages = 0
        """Number of messages so far."""
        self._set_sides(Side(self, INITIATOR), Side(self, RESPONDER))

    def _set_sides(self, initiator: Side, responder: Side) -> None:
        """Set the two sides, and make each the peer of the other."""
        self.sides = self.initiator, self.responder = initiator, responder
        initiator.peer, responder.peer = responder, initiator

    def __repr__(self) -> str:
        fpdus = sum(isinstance(item, SegmentItem) for item in self.script)
        return (
            f"<{type(self).__name__} {self.endpoints[0]} > {self.endpoints[1]}, "
            f"{self.messages} messages in {fpdus} FPDUs, {self._phase.name.lower()}>"
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

        For a delayed startup, send streaming mode octets first, with
        :meth:`~scapy_mpa.craft.side.Side.octets`.  Enhanced data go with revision 2, which
        always has them.  The arguments from ``ird`` to ``rtr``, but ``rejected``, belong to them.

        :param private_data: Private Data of the Request, up to 512 octets with enhanced data;
            octets or a layer.
        :param reply_private_data: Private Data of the Reply.
        :param extension: extension of the Request, 8 octets; only with revision 129 (erdma); None:
            zeros.
        :param reply_extension: extension of the Reply.
        :param ird: IRD of the Request, 14 bits.
        :param ord: ORD of the Request, 14 bits.
        :param control_flags: control flags of the Request, letters out of ``ABCD``; None: those
            that ``rtr`` needs, in the dialect of the conversation.
        :param reply_ird: IRD of the Reply; None: the Request's ``ord``.
        :param reply_ord: ORD of the Reply; None: the Request's ``ird``.
        :param reply_control_flags: control flags of the Reply; None: as in the Request.
        :param rejected: the Reply rejects; the connection is in streaming mode again.
        :param rtr: the zero-length message that the Initiator sends first (RFC 6581 9.2).
        :param rtr_private_data: Private Data of the Rtr Frame.
        :raises LocalProtocolError: a value is not allowed, or a conforming peer must not do this
            now.
        """
        private_data = as_octets("private_data", private_data)
        reply_private_data = as_octets("reply_private_data", reply_private_data)
        rtr_private_data = as_octets("rtr_private_data", rtr_private_data)
        own, peers = (control_flags, ird, ord), (reply_control_flags, reply_ird, reply_ord)
        if rtr is not None and rtr not in tuple(RTR):
            indications = ", ".join(each.value for each in RTR)
            raise LocalProtocolError(f"rtr {quoted(rtr)} is none of {indications}")
        if self._phase in (Phase.FULL, Phase.CLOSED):
            self.refuse(
                "startup frames come before the first FPDU and before the FIN (RFC 5044 7.1.2)"
            )
        if flag("rejected", rejected) and rtr is not None:
            self.refuse("an RTR indication follows only a Reply that accepts (RFC 6581 9.2)")
        if rtr_private_data and (rejected or not self.options.has_rtr_frame):
            raise LocalProtocolError(
                "an Rtr Frame with Private Data follows only a Reply that accepts, if S is set in "
                "Request and Reply (rtr-frame-proposal-2007 2, 5)"
            )
        request, reply = enhanced_fields(own, peers, self.options.dialect, rtr)
        request = self._fields_of(INITIATOR, request, (*own, rtr), extension)
        reply = self._fields_of(RESPONDER, reply, peers, reply_extension)
        items = [
            StartupItem(INITIATOR, StartupKind.REQUEST, private_data, **request),
            StartupItem(RESPONDER, StartupKind.REPLY, reply_private_data, rejected, **reply),
        ]
        if self.options.has_rtr_frame and not rejected:
            items.append(StartupItem(INITIATOR, StartupKind.RTR, rtr_private_data))
        self.append_checked(*map(self._checked_startup, items))
        if rtr is not None:
            getattr(self.initiator, RTR(rtr).value)(b"")

    def _fields_of(
        self, side: int, enhanced: dict[str, Any], given: Iterable[object], extension: bytes | None
    ) -> dict[str, Any]:
        """Return the fields of a startup frame: enhanced data, S and the extension.

        :param enhanced: the fields of enhanced data.
        :param given: values for them; if all are None, only revision 2 has enhanced data.
        """
        revision, fields = self.options.revision_of(side), {}
        if revision == 2 or any(each is not None for each in given):
            fields = enhanced
            # What is no flag at all is another error.
            build_enhanced(**fields)
            meaning = meaning_of(self.options.dialect)
            fault = meaning.fault(fields["control_flags"], ("Request", "Reply")[side])
            if fault is not None:
                self.refuse(f"{fault} ({meaning.clause})")
        if any(self.options.rtr_frame):
            if revision != 1:
                self.refuse("an Rtr Frame goes with revision 1 (rtr-frame-proposal-2007)")
            fields["s_bit"] = bool(fields) or self.options.rtr_frame[side]
        if extension is not None:
            if len(as_octets("an extension", extension)) != extension_length(revision):
                self.refuse("an extension has 8 octets, and goes with revision 129 (erdma)")
            fields["extension"] = extension
        return fields

    def pause(self, seconds: float) -> None:
        """Let time go by, after all octets were acknowledged.

        :param seconds: from 0.
        :raises LocalProtocolError: it is not a time, or longer than a capture file can hold.
        """
        self.append(PauseItem(nanoseconds("a pause", seconds, LATEST)))

    def close(self, side: int = INITIATOR, *, both: bool = True) -> None:
        """Close the TCP connection.

        :param side: the side that sends its FIN first: 0 the Initiator, 1 the Responder.
        :param both: False: its peer sends no FIN.
        """
        number("side", side, INITIATOR, RESPONDER)
        self.append(CloseItem(side, flag("both", both)))

    def reset(self, side: int = INITIATOR) -> None:
        """Send a RST.

        :param side: its sender: 0 the Initiator, 1 the Responder.
        """
        number("side", side, INITIATOR, RESPONDER)
        self.append(ResetItem(side))

    # -- segments, frames, truth -------------------------------------------------------------------

    @property
    def header_length(self) -> int:
        """Octets of the headers of each frame, without TCP options."""
        return self._builders[INITIATOR].header_length

    def layout(self) -> list[Placed]:
        """Return each item of the script with its octets and its place in the TCP stream.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return lay_out(self.script, self.options)

    def check(self, items: Iterable[Item]) -> None:
        """Check that items could be in the script.

        :raises LocalProtocolError: one of them cannot be expressed on the wire.
        """
        try:
            self._express(items)
        except LocalProtocolError as error:
            # The caller knows the item, and does not need its place in the script.
            raise LocalProtocolError(str(error.__cause__ or error)) from error

    @property
    def isns(self) -> tuple[int, int]:
        """The initial sequence numbers of Initiator and Responder."""
        first, second = (each.isn for each in self.endpoints)
        return _ISNS[0] if first is None else first, _ISNS[1] if second is None else second

    def segments(self) -> list[Segment]:
        """Return the TCP segments, in order and without loss.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return segments_of(self.layout(), self.isns, self.options)

    def frames(self, segments: Sequence[Segment] | None = None) -> list[Frame]:
        """Return the Ethernet frames of segments, with valid checksums.

        :param segments: in this order; None: :meth:`segments`.
        :raises LocalProtocolError: an item or a segment cannot be expressed on the wire.
        """
        if segments is None:
            segments = self.segments()
        made = []
        for place, segment in enumerate(segments, 1):
            octets = self._frame_of(segment, place & 0xFFFF)
            length = len(octets)
            if segment.captured is not None:
                octets = octets[: length - len(segment.octets) + segment.captured]
            made.append(Frame(place, segment.time_ns, ETHERNET, octets, length, None))
        return made

    def packets(self, segments: Sequence[Segment] | None = None) -> list[Any]:
        """Return the frames as Scapy packets, with their times.

        :param segments: in this order; None: :meth:`segments`.
        """
        return packets_of(self.frames(segments), type(self).__name__)

    def write(
        self,
        path: str | os.PathLike[str],
        segments: Sequence[Segment] | None = None,
        *,
        comments: Mapping[int, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """Write a capture file: pcapng if ``path`` ends in ``.pcapng``, else pcap.

        :param segments: in this order; None: :meth:`segments`.
        :param comments: comments of frames, by frame number from 1. pcapng only.
        :param comment: a comment of the whole file. pcapng only.
        :raises OSError: the file cannot be written.
        """
        write_frames(path, self.frames(segments), comments=comments, comment=comment)

    def truth(
        self,
        segments: Sequence[Segment] | None = None,
        *,
        messages: bool = False,
        payload: bool = False,
        connection: int = 0,
        numbers: Sequence[int] | None = None,
        begin_ns: int | None = None,
    ) -> list[Record]:
        """Return the records that a perfect dissector must report (``docs/records.md``).

        If an item of the script is wrong, or segments were lost, copied, reordered or cut, there
        are only records of what conforms and was captured whole: see :mod:`scapy_mpa.craft.truth`.

        :param segments: the captured segments, in this order; None: :meth:`segments`.
        :param messages: with ``message`` records.
        :param payload: with the key ``payload`` in ``fpdu`` records.
        :param connection: the number of this connection in the capture.
        :param numbers: the numbers of the frames, if the capture has other frames, too; None: 1, 2,
            ...
        :param begin_ns: time of the first frame of the capture; None: that of the first segment.
        """
        placed = self.layout()
        own = segments_of(placed, self.isns, self.options)
        given = own if segments is None else segments
        if not given:
            return []
        numbers = range(1, len(given) + 1) if numbers is None else numbers
        clock = Clock(given[0].time_ns if begin_ns is None else begin_ns)
        for frame, segment in zip(numbers, given, strict=True):
            clock.note(frame, segment.time_ns)
        is_exact = _untimed(given) == _untimed(own)
        identity = ConnectionId(connection, self._builders[INITIATOR].flow)
        setting = Setting(self.options, self.isns, identity, given, numbers, clock, is_exact)
        return truth_of(placed, setting, messages=messages, payload=payload)

    def captured(self, segments: Sequence[Segment]) -> list[Captured]:
        """Return for each item whether ``segments`` hold all of it, and in which frames."""
        return captured_items(self.layout(), segments, self.isns)

    # -- changed conversations --------------------------------------------------------------------

    def with_script(self: _Conversation, script: Iterable[Item]) -> _Conversation:
        """Return this conversation with another script, such as one with an item replaced."""
        made = copy(self)
        made.script = list(script)
        made._set_sides(*(side.copy(made) for side in self.sides))
        return made

    def moved(
        self: _Conversation,
        initiator: Endpoint | None = None,
        responder: Endpoint | None = None,
        *,
        start_time: float | None = None,
    ) -> _Conversation:
        """Return this conversation between other endpoints, or at another time.

        :param initiator: None: the endpoint stays.
        :param responder: None: the endpoint stays.
        :param start_time: time of the first segment, seconds since the epoch; None: it stays.
        :raises LocalProtocolError: one address is IPv4 and the other IPv6, both ends are the same,
            or a capture file cannot hold the time.
        """
        made = self.with_script(self.script)
        first, second = self.endpoints
        made._connect((initiator or first, responder or second))
        if start_time is not None:
            start_ns = nanoseconds("start_time", start_time, LATEST)
            made.options = replace(self.options, start_ns=start_ns)
        return made

    def wrapping(self: _Conversation) -> _Conversation:
        """Return this conversation with sequence numbers that wrap (RFC 9293 3.4).

        In each direction, sequence number 0 is in the middle of the stream.
        """
        first, second = (
            replace(each, isn=-(used // 2) & 0xFFFFFFFF)
            for each, used in zip(self.endpoints, self._numbers_used(), strict=True)
        )
        return self.moved(first, second)

    # -- for the sides ----------------------------------------------------------------------------

    def append(self, *items: Any) -> None:
        """Append items to the script; for SCTP also those of
        :mod:`scapy_mpa.craft.sctp.script`."""
        self.script += items

    def append_checked(self, *items: Any) -> None:
        """Append items, if all of them can be expressed on the wire.

        :raises LocalProtocolError: one of them cannot.
        """
        self.check(items)
        self.append(*items)

    def begin(self) -> None:
        """Send the startup frames before a verb of a side, unless they were sent."""
        if self._phase is Phase.STREAMING:
            self.startup()

    def add(self, message: Message, items: Sequence[FPDUItem | FrameItem]) -> None:
        """Append the items of a message.

        :raises LocalProtocolError: its side must not send one now, and the conversation is strict.
        """
        # With revision 2, a Terminate reports any error (RFC 6581 9.3).
        must_wait = self._is_mpa and not (
            message.opcode == Opcode.TERMINATE and self.options.revision_of(RESPONDER) == 2
        )
        if self._phase is Phase.REJECTED:
            self.refuse(
                "the Responder has rejected: send octets of streaming mode, or do another startup "
                "(RFC 5044 7.1.2 rule 3)"
            )
        elif self._phase is Phase.CLOSED:
            self.refuse("the TCP connection is closed")
        elif message.side == RESPONDER and must_wait and not self._is_freed():
            self.refuse(
                "the Responder sends nothing before it has received an FPDU: let the Initiator "
                "speak first (RFC 5044 7.1.2 rule 4)"
            )
        elif self._has_terminated(message.side):
            self.refuse(f"the {SIDES[message.side]} has sent a Terminate (RFC 5040 5.4)")
        elif self._is_mpa and len(items[0].ulpdu) > LARGEST_MULPDU:
            self.refuse(
                f"a ULPDU of {len(items[0].ulpdu)} octets, {LARGEST_MULPDU} at most are "
                "allowed (RFC 5044 3): give a smaller mulpdu"
            )
        self.messages += 1
        self.append(*items)

    def add_rtr_frame(self, item: StartupItem) -> None:
        """Append an Rtr Frame; the Responder may send after it (rtr-frame-proposal-2007 2)."""
        if not self.options.has_rtr_frame or self._phase is not Phase.FULL:
            self.refuse(
                "an Rtr Frame follows a Reply that accepts, if S is set in Request and Reply "
                "(rtr-frame-proposal-2007 2, 5)"
            )
        if self._is_freed():
            self.refuse("an Rtr Frame comes before the first FPDU (rtr-frame-proposal-2007 2)")
        self.append_checked(self._checked_startup(item))

    def refuse(self, text: str) -> None:
        """Raise an error if the conversation is strict.

        :raises LocalProtocolError: it is.
        """
        if self._strict:
            raise LocalProtocolError(
                f"{text}; to send it all the same, make the conversation with strict=False"
            )

    # -- inside -----------------------------------------------------------------------------------

    # What was sent is looked up in the script, since a caller may change that.  Each search ends at
    # the latest message of the side, so that it stays short in a long script.

    @property
    def _phase(self) -> Phase:
        """The phase at the end of the script: that of the last item which tells one."""
        phases = (getattr(each, "phase", None) for each in reversed(self.script))
        return next((each for each in phases if each is not None), Phase.STREAMING)

    def _is_freed(self) -> bool:
        """Return whether the Responder may send: it has done so, or has received what it awaits."""
        return any(
            each.side == INITIATOR or each.message is not None
            if isinstance(each, SegmentItem)
            else isinstance(each, StartupItem) and each.kind is StartupKind.RTR
            for each in reversed(self.script)
        )

    def _has_terminated(self, side: int) -> bool:
        """Return whether the last message of a side is a Terminate."""
        sent = (
            each.message.opcode == Opcode.TERMINATE
            for each in reversed(self.script)
            if isinstance(each, SegmentItem) and each.message is not None and each.side == side
        )
        return next(sent, False)

    def _connect(self, endpoints: tuple[Endpoint, Endpoint]) -> None:
        """Set the two ends of the connection."""
        for end in endpoints:
            if not isinstance(end, Endpoint):
                raise TypeError(f"{quoted(end)} is no Endpoint; give Endpoint('10.0.0.1', 4000)")
        first, second = endpoints
        if (first.octets, first.port) == (second.octets, second.port):
            # The two directions could not be distinguished.
            raise LocalProtocolError(
                f"both ends are {first}; give one of them another address or port"
            )
        macs = [mac_octets(each.mac or mac) for each, mac in zip(endpoints, _MACS, strict=True)]
        self.endpoints = endpoints
        self._builders = tuple(
            FrameBuilder(
                (macs[side], macs[1 - side]),
                (endpoints[side].octets, endpoints[1 - side].octets),
                (endpoints[side].port, endpoints[1 - side].port),
                self.vlan,
            )
            for side in (INITIATOR, RESPONDER)
        )

    def _express(self, items: Iterable[Any]) -> object:
        """Make the octets of items."""
        return lay_out(items, self.options)

    def _numbers_used(self) -> list[int]:
        """Return how many sequence numbers each side uses, with those of SYN and FIN."""
        used = [2, 2]
        for placed in self.layout():
            used[getattr(placed.item, "side", INITIATOR)] += len(placed.octets)
        return used

    def _frame_of(self, segment: Segment, identification: int) -> bytes:
        """Return the octets of a frame as sent, without a cut."""
        return self._builders[segment.side].build(
            segment.seq,
            segment.ack,
            segment.flags,
            segment.octets,
            options=segment.options,
            identification=identification,
        )

    def _checked_startup(self, item: StartupItem) -> Any:
        """Return the item for a startup frame; refuse one that a receiver must not accept."""
        if item.control_flags is not None and self.options.revision_of(item.side) != 2:
            self.refuse("IRD, ORD, control flags and RTR go with revision 2 (RFC 6581 6)")
        frame, revision = startup_frame(item, self.options), self.options.revision
        problems = frame.problems()
        if item.kind is StartupKind.REPLY and (revision, frame.revision) != OSC_REVISIONS:
            problems += reply_problems(frame._replace(revision=revision), frame)
        for problem in problems:
            self.refuse(problem)
        return item


def packets_of(frames: Iterable[Frame], name: str) -> list[Any]:
    """Return frames as a packet list of Scapy, with their times."""
    from scapy.layers.l2 import Ether
    from scapy.plist import PacketList

    packets = []
    for frame in frames:
        packet = Ether(frame.octets)
        packet.time = frame.time_ns / SECOND
        packet.wirelen = frame.original_length
        packets.append(packet)
    listed: list[Any] = PacketList(packets, name)
    return listed


def _untimed(segments: Iterable[Segment]) -> list[Segment]:
    """Return segments without their times."""
    return [replace(each, time_ns=0) for each in segments]
