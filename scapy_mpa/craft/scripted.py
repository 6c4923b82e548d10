# SPDX-License-Identifier: GPL-2.0-or-later
"""A script: who may say what, and layout, segments, frames, files and truth that come of it."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft.captured import Captured, captured_items, captured_streams
from scapy_mpa.craft.endpoint import Endpoint, mac_octets
from scapy_mpa.craft.given import number
from scapy_mpa.craft.layout import Placed, lay_out
from scapy_mpa.craft.options import INITIATOR, RESPONDER, SIDES, Options
from scapy_mpa.craft.script import FPDUItem, FrameItem, Item, Message, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.segmentation import segments_of
from scapy_mpa.craft.truth import truth_of
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.records.record import Record
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["Phase", "Scripted"]


_ISNS: Final = (1000, 5000)
_MACS: Final = ("02:00:00:00:00:01", "02:00:00:00:00:02")


class Phase(enum.Enum):
    """How far a conversation has come."""

    STREAMING = enum.auto()
    FULL = enum.auto()
    REJECTED = enum.auto()
    CLOSED = enum.auto()


class Scripted:
    """A script between two ends: who may say what, and all that can be made of it.

    :param endpoints: of Initiator and Responder.
    :param vlan: tag control information of an IEEE 802.1Q tag, 16 bits; None: no tag.
    :param strict: refuse what a conforming peer must not do.
    :raises LocalProtocolError: a value is out of range, or both ends are the same.
    """

    def __init__(
        self,
        endpoints: tuple[Endpoint, Endpoint],
        options: Options,
        *,
        vlan: int | None,
        strict: bool,
    ) -> None:
        if vlan is not None:
            number("vlan", vlan, 0, 0xFFFF)
        self.vlan = vlan
        self.options = options
        """What holds for all of it."""
        self.mulpdus = options.mulpdu_of(INITIATOR), options.mulpdu_of(RESPONDER)
        """MULPDU of Initiator and Responder, in octets."""
        self.script: list[Item] = []
        """What happens, in order."""
        self._connect(endpoints)
        self._strict = strict
        self._phase = Phase.STREAMING
        self._has_spoken = False
        self._terminated: frozenset[int] = frozenset()
        self._messages = 0

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
        setting = Setting(self.options, ends, self.isns, connection, given, numbers, payload, clock)
        is_impaired = _untimed(given) != _untimed(own)
        return self._truth_of(sent, setting, is_impaired=is_impaired, messages=messages)

    def captured(self, segments: Sequence[Segment]) -> list[Captured]:
        """Return what ``segments`` have of each item: whether it is whole, and in which frames."""
        return captured_items(self.layout(), captured_streams(segments, self.isns))

    # -- for the sides ----------------------------------------------------------------------------

    def append(self, *items: Any) -> None:
        """Append items to the script: of SCTP those of :mod:`scapy_mpa.craft.sctp.script` too."""
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
        """Say what comes before the first message; each kind of conversation has its own."""
        raise NotImplementedError

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

    def _sent(self) -> tuple[Sequence[Segment], list[Any]]:
        """Return the segments, and the items in their places of which they are made."""
        placed = self.layout()
        return segments_of(placed, self.isns, self.options), placed

    def _truth_of(
        self, sent: list[Any], setting: Setting, *, is_impaired: bool, messages: bool
    ) -> list[Record]:
        """Return the truth of items in their places."""
        return truth_of(sent, setting, is_impaired=is_impaired, messages=messages)

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


def _untimed(segments: Iterable[Segment]) -> list[Segment]:
    """Return segments without when they are captured."""
    return [replace(each, time_ns=0) for each in segments]
