# SPDX-License-Identifier: GPL-2.0-or-later
"""What records of the truth have in common: how a script is captured, and what is found of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal, NamedTuple

from scapy_mpa.craft.assemble import Assembled
from scapy_mpa.craft.captured import first_followed
from scapy_mpa.craft.layout import Detail, Placed
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import IndicationItem, OctetsItem, SegmentItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.records.record import Record, RecordedEvent, own_fields, type_of, when
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


def begun_by(side: int) -> tuple[ConnectionId, int, Literal[0], Literal[0]]:
    """Return the fields that all events begin with; a record takes only the side from them."""
    return _ANY, side, 0, 0


def without(record: Record, names: Collection[str]) -> Record:
    """Return a record without some of its keys."""
    return {name: value for name, value in record.items() if name not in names}


def ending(segments: Sequence[Segment]) -> Ending:
    """Return how a connection ends: the key ``ended`` of its record."""
    followed = segments[first_followed(segments) :]
    ends = {each.side: each.seq + len(each.octets) for each in followed if each.flags & FIN}
    # After both FINs, a RST resets only what has not arrived.
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
    """What the records of a conversation have in common."""

    options: Options
    endpoints: tuple[str, str]
    """Of Initiator and Responder."""
    isns: tuple[int, int]
    connection: int
    """Its number in the capture."""
    segments: Sequence[Segment]
    """As they were captured."""
    numbers: Sequence[int]
    """The numbers of their frames."""
    clock: Clock
    """Of the capture that has these segments."""
    is_impaired: bool
    """Whether the segments are other than the conversation's own."""
    messages: bool
    """Whether there are ``message`` records."""
    payload: bool
    """Whether ``fpdu`` records have the key ``payload``."""

    def head(self, kind: str, side: int, place: int | None) -> Record:
        """Return the keys that all records have.

        :param place: number of the segment that shows it, from 1; None if that is not known, as
            after impairments.
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
        """Return the record of what a script comes to, said as an event of the stream core.

        :param place: as for :meth:`head`.
        """
        head = self.head(type_of(event), event.direction, place)
        return {**head, **own_fields(event, self.clock, payload=self.payload)}

    def error(self, found: Found, place: int | None, code: ErrorCode, at: int = 0) -> Record:
        """Return the record of what is wrong with an item, without ``text``.

        :param at: where in the item.
        """
        head = self.head("error", found.side, place)
        return {**head, "code": int(code), "seq": self.seq(found, at), "tsn": None}

    def seq(self, found: Found, at: int = 0) -> int:
        """Return the sequence number of an octet of an item."""
        return self.number(found.side, found.placed.start + at)

    def number(self, side: int, offset: int) -> int:
        """Return the sequence number of an octet by its offset in what a side sends."""
        return self.isns[side] + 1 + offset & _WORD

    def frames(self, places: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of the frames of segments, by their places from 1."""
        return tuple(self.numbers[place - 1] for place in places)


class Found(NamedTuple):
    """An item that was captured whole, in order."""

    placed: Placed
    detail: Detail
    """What is in an FPDU, a frame or a startup frame."""
    frames: tuple[int, ...]
    place: int
    """Of the segment with which it is found: never before both startup frames are there."""
    is_sure: bool
    """Whether nothing hides where it begins."""
    located_by: LocatedBy | None
    """Of an FPDU or a frame."""

    @property
    def side(self) -> int:
        """Who sends it."""
        return side_of(self.placed)

    @property
    def is_startup(self) -> bool:
        """Whether it can be taken for a startup frame, and ends where it says."""
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
        """Whether it is an FPDU with a wrong CRC: what is after it must be looked for."""
        return isinstance(self.detail, Assembled) and self.detail.crc is False


def side_of(placed: Placed) -> int:
    """Return who sends an item that has octets."""
    item = placed.item
    assert isinstance(item, StartupItem | SegmentItem | IndicationItem | OctetsItem)
    return item.side
