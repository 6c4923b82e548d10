# SPDX-License-Identifier: GPL-2.0-or-later
"""What all records of the truth share: the capture of a script, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple

from scapy_mpa.craft.options import Options
from scapy_mpa.craft.segment import Segment
from scapy_mpa.records.record import Record, RecordedEvent, specific_keys, type_of, when
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId

_WORD: Final = 0xFFFFFFFF
_ANY: Final = ConnectionId(0, bytes(12))
_ORDERED: Final = frozenset({"located_by", "out_of_order", "offset"})
"""The keys that depend on the order of segments, besides those of the time."""


def event_head(side: int) -> tuple[ConnectionId, int, Literal[0], Literal[0]]:
    """Return the first fields of an event; a record takes only the side from them."""
    return _ANY, side, 0, 0


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
    is_exact: bool
    """Whether the segments are those of the conversation, and nothing in it is wrong."""
    messages: bool
    """Whether there are ``message`` records."""
    payload: bool
    """Whether ``fpdu`` records have the key ``payload``."""

    def record(self, event: RecordedEvent, place: int) -> Record:
        """Return the record of an event of the stream core that the script leads to.

        :param place: number of the segment that completes the item, from 1.
        """
        side = event.direction
        record: Record = {
            "type": type_of(event),
            "connection": self.connection,
            "src": self.endpoints[side],
            "dst": self.endpoints[1 - side],
        }
        specific = specific_keys(event, self.clock, payload=self.payload)
        if self.is_exact:
            record |= when(self.numbers[place - 1], self.segments[place - 1].time_ns, self.clock)
            return record | specific
        return record | {key: specific[key] for key in specific if key not in _ORDERED}

    def number(self, side: int, offset: int) -> int:
        """Return the sequence number of an octet by its offset in the stream of a side."""
        return self.isns[side] + 1 + offset & _WORD

    def frames(self, places: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of the frames of segments, by their places from 1."""
        return tuple(self.numbers[place - 1] for place in places)
