# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes rows as records, one JSON object a line.

The parts that all FPDUs of a shape share are formatted once, as a pattern with places for values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scapy_mpa.records.record import (
    Record,
    RecordedEvent,
    connection_keys,
    json_of,
    record_of,
    specific_keys,
    when,
)
from scapy_mpa.records.values import carried_by, timestamp
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import SEQUENCE_MASK
from scapy_mpa.wire.rdmap import HEADER_OPCODES
from scapy_mpa.wire.rdmap_names import INVALIDATING_OPCODES

_CONVERSIONS: Final = {
    **dict.fromkeys(("seq", "offset", "qn", "msn", "mo"), "%d"),
    **dict.fromkeys(("stag", "invalidate_stag"), "0x%08x"),
    "to": "0x%x",
    "frames": "%b",
}
"""The conversions in a pattern, for values that differ between FPDUs of one shape."""
_WHEN: Final = b'"frame":%d,"time":%a'
_FOUND: Final = _WHEN + b',"timestamp":"%b"'
"""The result of :func:`~scapy_mpa.records.record.when` as JSON; encoding each is five times as
slow."""
_CAPTURED: Final = b'"captured":{' + _WHEN + b'},"captured_from":{' + _WHEN + b"}"
"""The result of :func:`~scapy_mpa.records.values.carried_by` for one frame, without ``frames``."""
_MASK: Final = 0xFFFFFFFF


class RecordPage:
    """Writes rows as JSON.

    :param clock: clock of the capture.
    :param payload: see :func:`~scapy_mpa.records.record.record_of`.
    """

    def __init__(self, clock: Clock, *, payload: bool = False) -> None:
        self._clock = clock
        self._payload = payload

    def page(self, rows: Sequence[Any]) -> bytes:
        """Return the lines of rows and events, each with its newline."""
        lines: list[bytes] = []
        clock = self._clock
        last: Any = None
        last_frames: Any = None
        found = brought_by = captured = b""
        for row in rows:
            if type(row) is not tuple or self._payload:
                lines.append(self._line_of(event_of(row)))
                continue
            frame, time_ns, direction, offset, shape, first, second, third, frames, _, _ = row
            if frame != last:
                last = frame
                found = _found(frame, time_ns, clock)
            if frames != last_frames:
                last_frames = frames
                brought_by, captured = _carried(frames, clock)
            label = direction.label
            if label is None:
                identity = direction.connection.identity
                label = _members(connection_keys(identity, direction.index))
                direction.label = label
            is_first = not offset and shape.table.from_start
            pattern = shape.first_json if is_first else shape.json
            if pattern is None:
                pattern = _pattern(row, clock)
                if is_first:
                    shape.first_json = pattern
                else:
                    shape.json = pattern
            if not pattern:
                lines.append(self._line_of(event_of(row)))
                continue
            place = offset + shape.lead
            seq = (direction.origin + place) & SEQUENCE_MASK
            if shape.kind == "message":
                name = (first, second) if shape.tagged else (second >> 32, second & _MASK)
                at = second if shape.tagged else third
                lines.append(pattern % (label, found, *name, captured, seq, brought_by, at))
                continue
            fields = [label, found, seq]
            if shape.table.from_start:
                fields.append(place)
            fields += (brought_by, captured)
            if shape.tagged:
                fields += (first, second)
            else:
                fields += (second >> 32, second & _MASK, third)
                if shape.opcode in INVALIDATING_OPCODES:
                    fields.append(first)
            lines.append(pattern % tuple(fields))
        return b"".join(lines)

    def line(self, record: Record) -> str:
        """Return the line of a record, without a newline."""
        return json_of(record)

    def _line_of(self, event: RecordedEvent) -> bytes:
        """Return the line of an event that has no pattern."""
        record = record_of(event, self._clock, payload=self._payload)
        return json_of(record).encode() + b"\n"


def _found(frame: int, time_ns: int, clock: Clock) -> bytes:
    """Return the JSON members with frame and time of a record."""
    seconds, stamp = (time_ns - clock.begin_ns) / SECOND, timestamp(time_ns)
    if stamp is None:
        return _members(when(frame, time_ns, clock))
    return _FOUND % (frame, seconds, stamp.encode())


def _carried(frames: int | tuple[int, ...], clock: Clock) -> tuple[bytes, bytes]:
    """Return the numbers of the frames that brought the octets, and members with their times."""
    if isinstance(frames, int):
        time_ns = clock.time_ns(frames)
        if time_ns is not None:
            seconds = (time_ns - clock.begin_ns) / SECOND
            return b"[%d]" % frames, _CAPTURED % (frames, seconds, frames, seconds)
        frames = (frames,)
    brought = carried_by(frames, clock)
    del brought["frames"]
    return b"[%b]" % b",".join([b"%d" % each for each in frames]), _members(brought)


def _members(record: Record) -> bytes:
    """Return the members of an object, without the braces."""
    return json_of(record)[1:-1].encode()


def _pattern(row: tuple[Any, ...], clock: Clock) -> bytes:
    """Return the pattern of the records of a shape; empty if each must be encoded by itself."""
    record = pattern_of(row, clock)
    if record is None or row[4].several:
        return b""
    # The pattern has one place for both.
    del record["captured_from"]
    text = json_of({**record, "captured": "%b"}).replace('"captured":"%b"', "%b")
    text = text.replace('"%d"', "%d").replace('"%b"', "%b")
    return b'{"type":"%b",%%b,%%b,' % row[4].kind.encode() + text[1:].encode() + b"\n"


def pattern_of(row: tuple[Any, ...], clock: Clock) -> Record | None:
    """Return the record of a row with conversions (``%d``) in place of values that differ.

    None: records of this shape differ in more, so each must be encoded by itself.
    """
    record: dict[str, Any] = specific_keys(event_of(row), clock)
    if record["opcode"] in HEADER_OPCODES and not row[4].tagged:
        return None
    for part in record.get("parts", ()):
        part |= _conversions(part)
        if record["to"] is not None:
            part["offset"] = _CONVERSIONS["to"]
    return record | _conversions(record)


def _conversions(record: Record) -> Record:
    """Return the conversions for those values of a record that differ."""
    return {name: each for name, each in _CONVERSIONS.items() if record.get(name) is not None}
