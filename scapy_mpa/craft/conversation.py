# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted iWARP connection, said with verbs."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, SupportsBytes, TypeVar

from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft.captured import Captured, captured_items, captured_streams, first_followed
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint, mac_octets
from scapy_mpa.craft.enhanced import check_enhanced, enhanced_fields
from scapy_mpa.craft.given import LATEST, as_octets, flag, nanoseconds, number, pair
from scapy_mpa.craft.layout import Placed, lay_out
from scapy_mpa.craft.options import INITIATOR, LONGEST_RTT, RESPONDER, SIDES, Options, Packing
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
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.segmentation import segments_of
from scapy_mpa.craft.side import Side
from scapy_mpa.craft.truth import truth_of
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.records.record import Record
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.control_flags import RTR
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

_ISNS: Final = (1000, 5000)
_MACS: Final = ("02:00:00:00:00:01", "02:00:00:00:00:02")


class Phase(enum.Enum):
    """How far a conversation has come."""

    STREAMING = enum.auto()
    FULL = enum.auto()
    REJECTED = enum.auto()
    CLOSED = enum.auto()


_Conversation = TypeVar("_Conversation", bound="Conversation")

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


class Conversation:
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
        """What holds for all of it."""
        if vlan is not None:
            number("vlan", vlan, 0, 0xFFFF)
        self.vlan = vlan
        self.mulpdus = self.options.mulpdu_of(INITIATOR), self.options.mulpdu_of(RESPONDER)
        """MULPDU of Initiator and Responder, in octets."""
        self.script: list[Item] = [HandshakeItem()] if flag("handshake", handshake) else []
        """What happens, in order."""
        self._connect((initiator, responder))
        self._strict = flag("strict", strict)
        self._phase = Phase.STREAMING
        self._has_spoken = False
        self._terminated: frozenset[int] = frozenset()
        self._messages = 0
        self._seat(Side(self, INITIATOR), Side(self, RESPONDER))

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
        own, peers = (control_flags, ird, ord), (reply_control_flags, reply_ird, reply_ord)
        check_enhanced(own, "")
        check_enhanced(peers, "reply_")
        if rtr is not None and rtr not in tuple(RTR):
            indications = ", ".join(each.value for each in RTR)
            raise LocalProtocolError(f"rtr {quoted(rtr)} is none of {indications}")
        if self._phase in (Phase.FULL, Phase.CLOSED):
            self.refuse(
                "startup frames come before the first FPDU and before the FIN (RFC 5044 7.1.2)"
            )
        if rtr_private_data and (rejected or not self.options.has_rtr_frame):
            raise LocalProtocolError(
                "rtr_private_data are those of an Rtr Frame, which follows only a Reply that "
                "accepts, if S is set in Request and Reply (rtr-frame-proposal-2007 2, 5)"
            )
        request: dict[str, Any] = {}
        reply: dict[str, Any] = {}
        if self.options.revision == 2 or any(each is not None for each in (*own, *peers, rtr)):
            request, reply = enhanced_fields(own, peers, self.options.dialect, rtr)
        self._add_further(request, self.options.rtr_frame[INITIATOR], extension)
        self._add_further(reply, self.options.rtr_frame[RESPONDER], reply_extension)
        self._append_startup(StartupItem(INITIATOR, StartupKind.REQUEST, private_data, **request))
        self._append_startup(
            StartupItem(RESPONDER, StartupKind.REPLY, reply_private_data, rejected, **reply)
        )
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

    # -- what comes of it --------------------------------------------------------------------------

    @property
    def header_length(self) -> int:
        """Octets of the headers of each frame, TCP options not counted."""
        return self._builders[INITIATOR].header_length

    def layout(self) -> list[Placed]:
        """Return each item of the script with its octets and its place in the TCP stream.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return lay_out(self.script, self.options)

    def check(self, items: Iterable[Item]) -> None:
        """Find out whether items could be in the script.

        :raises LocalProtocolError: one of them cannot be expressed on the wire.
        """
        lay_out(items, self.options)

    @property
    def isns(self) -> tuple[int, int]:
        """The initial sequence numbers of Initiator and Responder."""
        one, two = (each.isn for each in self.endpoints)
        return _ISNS[0] if one is None else one, _ISNS[1] if two is None else two

    def segments(self) -> list[Segment]:
        """Return the TCP segments or SCTP packets, as they come where nothing is lost.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return [*self._sent()[0]]

    def frames(self, segments: Sequence[Segment] | None = None) -> list[Frame]:
        """Return Ethernet frames as a capture has them, with valid checksums.

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
        from scapy.layers.l2 import Ether
        from scapy.plist import PacketList

        packets = []
        for frame in self.frames(segments):
            packet = Ether(frame.octets)
            packet.time = frame.time_ns / SECOND
            packet.wirelen = frame.original_length
            packets.append(packet)
        listed: list[Any] = PacketList(packets, "Conversation")
        return listed

    def write(
        self,
        path: str | os.PathLike[str],
        segments: Sequence[Segment] | None = None,
        *,
        comments: Mapping[int, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """Write a capture file: pcapng if ``path`` ends so, else pcap.

        :param segments: in this order; None: :meth:`segments`.
        :param comments: of frames, by number from 1. pcapng only.
        :param comment: of the whole file. pcapng only.
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

        What cannot be known of segments that were lost, copied, reordered or cut is left out: see
        :mod:`scapy_mpa.craft.truth`, and of SCTP :mod:`scapy_mpa.craft.sctp.truth`.

        :param segments: as they were captured, in this order; None: :meth:`segments`.
        :param messages: with ``message`` records.
        :param payload: with the key ``payload`` in ``fpdu`` records.
        :param connection: the number of this connection in the capture.
        :param numbers: of the frames, where other frames lie between them; None: 1, 2, ...
        :param begin_ns: time of the first frame of the capture; None: of the first segment.
        """
        own, sent = self._sent()
        given = own if segments is None else segments
        if not given:
            return []
        ends = str(self.endpoints[0]), str(self.endpoints[1])
        numbers = range(1, len(given) + 1) if numbers is None else numbers
        clock = Clock(given[0].time_ns if begin_ns is None else begin_ns)
        for frame, segment in zip(numbers, given, strict=True):
            clock.note(frame, segment.time_ns)
        is_impaired = _untimed(given) != _untimed(own)
        setting = Setting(
            *(self.options, ends, self.isns, connection, given, numbers, clock),
            *(is_impaired, messages, payload),
        )
        return self._truth_of(sent, setting)

    def captured(self, segments: Sequence[Segment]) -> list[Captured]:
        """Return what ``segments`` have of each item: whether it is whole, and in which frames."""
        return captured_items(self.layout(), captured_streams(segments, self.isns))

    def appears(self, segments: Sequence[Segment]) -> int:
        """Return the place of the segment with which a dissector finds the connection, from 0; the
        number of segments if it does not find it."""
        return first_followed(segments)

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

    # -- for the sides ----------------------------------------------------------------------------

    def append(self, *items: Any) -> None:
        """Append items to the script: of SCTP those of :mod:`scapy_mpa.craft.sctp.script` too."""
        self.script += items
        self._has_spoken = self._has_spoken or any(
            isinstance(each, FPDUItem) and each.side == INITIATOR for each in items
        )

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
        elif message.side in self._terminated:
            self.refuse(f"the {SIDES[message.side]} has sent a Terminate (RFC 5040 5.4)")
        self._messages += 1
        self.append(*items)

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
        self._terminated |= {side}

    def refuse(self, text: str) -> None:
        """Raise an error, unless that is not wanted.

        :raises LocalProtocolError: the conversation is strict.
        """
        if self._strict:
            raise LocalProtocolError(
                f"{text}; to send it all the same, make the conversation with strict=False"
            )

    # -- inside -----------------------------------------------------------------------------------

    def _connect(self, endpoints: tuple[Endpoint, Endpoint]) -> None:
        """Have the connection be between these ends."""
        for side, given in zip(SIDES, endpoints, strict=True):
            each: object = given
            if not isinstance(each, Endpoint):
                raise LocalProtocolError(
                    f"{side} {quoted(each)} is no Endpoint; give Endpoint(address, port)"
                )
        one, other = endpoints
        if (one.octets, one.port) == (other.octets, other.port):
            # Nobody could tell the directions from each other.
            raise LocalProtocolError(
                f"both ends are {one}; give one of them another address or port"
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

    def _sent(self) -> tuple[Sequence[Segment], list[Any]]:
        """Return the segments, and the items that they hold, each with its place."""
        placed = self.layout()
        return segments_of(placed, self.isns, self.options), placed

    def _truth_of(self, sent: list[Any], setting: Setting) -> list[Record]:
        """Return the truth of items in their places."""
        return truth_of(sent, setting)

    def _frame_of(self, segment: Segment, identification: int) -> bytes:
        """Return the octets of a frame, all that were sent."""
        return self._builders[segment.side].build(
            segment.seq,
            segment.ack,
            segment.flags,
            segment.octets,
            options=segment.options,
            identification=identification,
        )

    def _append_startup(self, item: StartupItem) -> None:
        enhanced = 0 if item.control_flags is None else ENHANCED_LENGTH
        length = enhanced + len(item.private_data)
        largest = largest_pd_length(self.options.revision_of(item.side))
        if length > largest:
            self.refuse(f"Private Data of {length} octets exceed {largest} (RFC 5044 7.1.1)")
        self.append_checked(item)


def _untimed(segments: Iterable[Segment]) -> list[Segment]:
    """Return segments without when they are captured."""
    return [replace(each, time_ns=0) for each in segments]
