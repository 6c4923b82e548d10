# SPDX-License-Identifier: GPL-2.0-or-later
"""What a script comes to: layout, segments, frames, files, and what is true of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.capture.build_frame import FrameBuilder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.link import ETHERNET
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft.captured import Captured, captured_items, captured_streams
from scapy_mpa.craft.layout import Placed, lay_out
from scapy_mpa.craft.options import INITIATOR, Options
from scapy_mpa.craft.script import Item
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.segmentation import segments_of
from scapy_mpa.craft.truth import truth_of
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.records.record import Record
from scapy_mpa.stream.segment import SECOND

if TYPE_CHECKING:
    from scapy_mpa.craft.side import Side

__all__ = ["Scripted"]


_ISNS: Final = (1000, 5000)


class Scripted:
    """A script between two sides, and all that can be made of it, without I/O but for a file."""

    __slots__ = ("_builders", "initiator", "options", "responder", "script", "sides")

    script: list[Item]
    """What happens, in order."""
    options: Options
    """What holds for all of it."""
    initiator: Side
    responder: Side
    sides: tuple[Side, Side]
    _builders: tuple[FrameBuilder, FrameBuilder]

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
        one, two = (side.endpoint.isn for side in self.sides)
        return _ISNS[0] if one is None else one, _ISNS[1] if two is None else two

    def segments(self) -> list[Segment]:
        """Return the TCP segments, as they come where nothing is lost.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return segments_of(self.layout(), self.isns, self.options)

    def frames(self, segments: Sequence[Segment] | None = None) -> list[Frame]:
        """Return Ethernet frames as a capture has them, with valid checksums.

        :param segments: in this order; None: :meth:`segments`.
        :raises LocalProtocolError: an item or a segment cannot be expressed on the wire.
        """
        if segments is None:
            segments = self.segments()
        made = []
        for number, segment in enumerate(segments, 1):
            octets = self._frame_of(segment, number & 0xFFFF)
            length = len(octets)
            if segment.captured is not None:
                octets = octets[: length - len(segment.octets) + segment.captured]
            made.append(Frame(number, segment.time_ns, ETHERNET, octets, length, None))
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
    ) -> list[Record]:
        """Return the records that a perfect dissector must report (``docs/records.md``).

        What cannot be told of segments that were lost, copied, reordered or cut is left out: see
        :mod:`scapy_mpa.craft.truth`, and of SCTP :mod:`scapy_mpa.craft.sctp.truth`.

        :param segments: as they were captured, in this order; None: :meth:`segments`.
        :param messages: with ``message`` records.
        :param payload: with the key ``payload`` in ``fpdu`` records.
        :param connection: the number of this connection in the capture.
        :param numbers: of the frames, where other frames lie between them; None: 1, 2, ...
        """
        own, sent = self._sent()
        given = own if segments is None else segments
        setting = self._setting(given, connection, numbers, payload)
        is_impaired = _are_impaired(given, own)
        return self._truth_of(sent, setting, is_impaired=is_impaired, messages=messages)

    def captured(self, segments: Sequence[Segment]) -> list[Captured]:
        """Return what ``segments`` have of each item: whether it is whole, and in which frames."""
        return captured_items(self.layout(), captured_streams(segments, self.isns))

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

    def _setting(
        self,
        segments: Sequence[Segment],
        connection: int,
        numbers: Sequence[int] | None,
        payload: bool,
    ) -> Setting:
        """Return what the records of the truth have in common."""
        return Setting(
            self.options,
            (str(self.initiator.endpoint), str(self.responder.endpoint)),
            self.isns,
            connection,
            segments,
            range(1, len(segments) + 1) if numbers is None else numbers,
            payload,
        )


def _are_impaired(segments: Iterable[Segment], own: Iterable[Segment]) -> bool:
    """Tell whether segments differ from a conversation's own in more than their times."""
    return list(map(_but_for_time, segments)) != list(map(_but_for_time, own))


def _but_for_time(segment: Segment) -> tuple[object, ...]:
    """Return what of a segment is not a matter of when it is captured."""
    return (
        *(segment.side, segment.seq, segment.ack, segment.flags),
        *(segment.octets, segment.options, segment.captured),
    )
