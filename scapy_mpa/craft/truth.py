# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that a perfect dissector must report of a conversation.

They are the records of events that are made from the script and the layout alone, never from the
output of a dissector.

There are records of startup frames, FPDUs and messages.  If an item does not conform, or the
segments are not those of the conversation, there are only those of startup frames and FPDUs that
conform and were captured whole.  They lack the keys that depend on the order and time of segments:
``frame``, ``time``, ``timestamp``, ``located_by``, ``out_of_order`` and ``offset``.  An item
conforms if all its fields are computed; a receiver must also accept a startup frame.  Without a
startup frame, a dissector may take a direction for something else, and report none of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from scapy_mpa.craft.captured import Captured, captured_items
from scapy_mpa.craft.layout import Placed, layout_of, startup_frame
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem, OctetsItem, StartupItem
from scapy_mpa.craft.segment import Segment
from scapy_mpa.craft.truth_messages import Found, missing_responses, with_messages
from scapy_mpa.records.record import Record, RecordedEvent, record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId, FPDURecovered, LocatedBy, StartupSeen
from scapy_mpa.wire.dialect import extension_length
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.rdmap import plausible
from scapy_mpa.wire.startup import KIND_OF_KEY

_WORD: Final = 0xFFFFFFFF
_ORDERED: Final = ("frame", "time", "timestamp", "located_by", "out_of_order", "offset")
"""The keys that depend on the order and time of segments."""


class Setting(NamedTuple):
    """The capture of a conversation."""

    options: Options
    isns: tuple[int, int]
    connection: ConnectionId
    """The connection; the Initiator sends in its direction 0."""
    segments: Sequence[Segment]
    """The captured segments."""
    numbers: Sequence[int]
    """The frame numbers of the segments."""
    clock: Clock
    """The clock of the capture."""
    is_exact: bool
    """Whether the segments are those of the conversation."""


def truth_of(
    placed: Iterable[Placed], setting: Setting, *, messages: bool, payload: bool
) -> list[Record]:
    """Return the records of a conversation, in the order of a perfect dissector.

    :param messages: with ``message`` records.
    :param payload: with the key ``payload`` in ``fpdu`` records.
    """
    items = captured_items(placed, setting.segments, setting.isns)
    right = [each for each in items if each.is_whole and _conforms(each.placed, setting.options)]
    is_exact = setting.is_exact and len(right) == len(items)
    found = [*_events(right, setting)]
    events: list[RecordedEvent] = [event for _, event in found]
    if messages and is_exact:
        events = with_messages(found)
    events.sort(key=attrgetter("frame"))
    events += missing_responses(events)
    records = [record_of(event, setting.clock, payload=payload) for event in events]
    if is_exact:
        return records
    return [{key: one[key] for key in one if key not in _ORDERED} for one in records]


def _events(right: Iterable[Captured], setting: Setting) -> Iterator[Found]:
    """Yield startup frames and FPDUs with their events, in the order of the script.

    :param right: the items that conform and were captured whole.
    """
    options, isns, connection, segments, numbers, *_ = setting
    located_by: list[LocatedBy] = ["start", "start"]
    event: StartupSeen | FPDURecovered
    for each in right:
        item, (_, _, start, _, offset, phase) = each.placed.item, each.placed
        if not isinstance(item, StartupItem | FPDUItem):
            continue
        place = max(each.frames)
        head = connection, item.side, numbers[place - 1], segments[place - 1].time_ns
        frames = tuple(numbers[at - 1] for at in each.frames)
        seq = isns[item.side] + 1 + start
        if isinstance(item, StartupItem):
            startup = startup_frame(item, options)
            dialect = dialect_in_force(startup, options.dialect)
            event = StartupSeen(*head, seq & _WORD, b"", frames, startup, dialect)
            located_by[item.side] = "start"
        else:
            assert offset is not None
            layout = layout_of(item, phase, options)
            event = FPDURecovered(
                *head,
                seq + layout.header & _WORD,
                offset + layout.header,
                len(item.ulpdu),
                bytes(HEADER_LENGTH) + item.ulpdu,
                None,
                len(layout.markers),
                "good" if options.has_crcs else "off",
                located_by[item.side],
                False,
                frames,
            )
            located_by[item.side] = "length"
        yield item, event


def _conforms(placed: Placed, options: Options) -> bool:
    """Return whether nothing is wrong with an item, and it stands where it may."""
    item = placed.item
    if isinstance(item, FPDUItem):
        # Without a CRC, only a plausible header is evidence for an FPDU.
        is_evident = options.has_crcs or plausible(item.ulpdu, len(item.ulpdu))
        return item.overrides is None and not (placed.phase or 0) & 3 and is_evident
    if isinstance(item, StartupItem):
        startup = startup_frame(item, options)
        return (
            (item.key is None or KIND_OF_KEY.get(item.key) is item.kind)
            and startup.pd_length == len(startup.data)
            and len(startup.extension) == extension_length(startup.revision)
            and not startup.problems()
        )
    return isinstance(item, OctetsItem) and placed.offset is None
