# SPDX-License-Identifier: GPL-2.0-or-later
"""What all records of the truth share: the capture of a script, and the items found in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal, NamedTuple

from scapy_mpa.craft.assemble import Assembled
from scapy_mpa.craft.captured import first_followed
from scapy_mpa.craft.layout import Detail, Placed
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import IndicationItem, OctetsItem, SegmentItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.records.record import Record, RecordedEvent, specific_keys, type_of, when
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.events.carrier import CrcVerdict, LocatedBy
from scapy_mpa.stream.events.connection import Ending
from scapy_mpa.stream.segment import FIN, RST
from scapy_mpa.wire.dialect import extension_length
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.startup import KIND_OF_KEY, StartupFrame

VERDICTS: Final[dict[bool | None, CrcVerdict]] = {True: "good", False: "bad", None: "off"}
_ENDINGS: Final[tuple[Ending, ...]] = ("capture ended", "half closed", "closed")
_WORD: Final = 0xFFFFFFFF
_ANY: Final = ConnectionId(0, bytes(12))


def event_head(side: int) -> tuple[ConnectionId, int, Literal[0], Literal[0]]:
    """Return the first fields of an event; a record takes only the side from them."""
    return _ANY, side, 0, 0


def without(record: Record, names: Collection[str]) -> Record:
    """Return a record without some of its keys."""
    return {name: value for name, value in record.items() if name not in names}


def ending(segments: Sequence[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    followed = segments[first_followed(segments) :]
    ends = {each.side: each.seq + len(each.octets) for each in followed if each.flags & FIN}
    # After both FINs, a RST counts only if the octets of a side have not all arrived.
    arrived = {
        1 - each.side
        for each in followed
        if 1 - each.side in ends
        and not each.flags & RST
        and (each.ack - ends[1 - each.side]) & _WORD <= _WORD >> 1
    }
    if len(arrived) < 2 and any(each.flags & RST for each in followed):
        return "reset"
    return _ENDINGS[len(ends)]


class Setting(NamedTuple):
    """The capture of a conversation, and which records are wanted of it."""

    options: Options
    endpoints: tuple[str, str]
    """The endpoints of Initiator and Responder."""
    isns: tuple[int, int]
    connection: int
    """The number of the connection in the capture."""
    segments: Sequence[Segment]
    """The captured segments."""
    numbers: Sequence[int]
    """The frame numbers of the segments."""
    clock: Clock
    """The clock of the capture."""
    is_impaired: bool
    """Whether the segments differ from those of the conversation."""
    messages: bool
    """Whether there are ``message`` records."""
    payload: bool
    """Whether ``fpdu`` records have the key ``payload``."""

    def head(self, kind: str, side: int, place: int | None) -> Record:
        """Return the keys that all records have.

        :param place: number of the segment that completes the item, from 1; None if it is not
            known.
        """
        record: Record = {
            "type": kind,
            "connection": self.connection,
            "src": self.endpoints[side],
            "dst": self.endpoints[1 - side],
        }
        if place is not None and not self.is_impaired:
            record |= when(self.numbers[place - 1], self.segments[place - 1].time_ns, self.clock)
        return record

    def record(self, event: RecordedEvent, place: int | None) -> Record:
        """Return the record of an event of the stream core that the script leads to.

        :param place: as for :meth:`head`.
        """
        head = self.head(type_of(event), event.direction, place)
        return {**head, **specific_keys(event, self.clock, payload=self.payload)}

    def error(self, found: Found, place: int | None, code: ErrorCode, at: int = 0) -> Record:
        """Return the record of an error in an item, without ``text``.

        :param at: offset of the error in the item.
        """
        head = self.head("error", found.side, place)
        return {**head, "code": int(code), "seq": self.seq(found, at), "tsn": None}

    def seq(self, found: Found, at: int = 0) -> int:
        """Return the sequence number of an octet of an item."""
        return self.number(found.side, found.placed.start + at)

    def number(self, side: int, offset: int) -> int:
        """Return the sequence number of an octet by its offset in the stream of a side."""
        return self.isns[side] + 1 + offset & _WORD

    def frames(self, places: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of the frames of segments, by their places from 1."""
        return tuple(self.numbers[place - 1] for place in places)


class Found(NamedTuple):
    """An item that was captured whole, in order."""

    placed: Placed
    detail: Detail
    """The parts of an FPDU, a frame or a startup frame."""
    frames: tuple[int, ...]
    place: int
    """Number of the segment with which it is found: never before both startup frames."""
    is_sure: bool
    """Whether it is certain where the item begins."""
    located_by: LocatedBy | None
    """How an FPDU or a frame is located."""

    @property
    def side(self) -> int:
        """The side that sends it."""
        return side_of(self.placed)

    @property
    def is_startup(self) -> bool:
        """Whether its Key shows a startup frame of its kind, and its lengths are right."""
        detail, item = self.detail, self.placed.item
        return (
            isinstance(detail, StartupFrame)
            and isinstance(item, StartupItem)
            and (item.key is None or KIND_OF_KEY.get(item.key) is item.kind)
            and detail.pd_length == len(detail.data)
            and len(detail.extension) == extension_length(detail.revision)
        )

    @property
    def is_bad(self) -> bool:
        """Whether it is an FPDU with a wrong CRC: the next FPDU must be searched for."""
        return isinstance(self.detail, Assembled) and self.detail.crc is False


def side_of(placed: Placed) -> int:
    """Return the side that sends an item with octets."""
    item = placed.item
    assert isinstance(item, StartupItem | SegmentItem | IndicationItem | OctetsItem)
    return item.side
