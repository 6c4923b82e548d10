# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as lines for people to read.

::

    frame  seconds since the first frame  #connection sender > receiver  what it is

A line is made from a record.  An ordinary FPDU has no record: a pattern is filled from its row.  A
plain end of a connection has a pattern, too.  The words of equal startup frames are made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from scapy_mpa.cli.words import WORDS
from scapy_mpa.records.page import pattern_of
from scapy_mpa.records.record import (
    connection_keys,
    record_of,
    specific_keys,
    startup_fields,
    type_of,
)
from scapy_mpa.records.values import sides
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import SEQUENCE_MASK
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import StartupFrame

_CACHED_ENDS: Final = 1024
_NUMBER: Final = "\0"
"""Stands for a number while a pattern is made."""
_WORD: Final = 0xFFFFFFFF
_HEAD: Final = "%6d %11.6f %s"
"""The beginning of a line, for text and for octets: frame, seconds since the first frame, and
connection."""

_COLOURS: Final = {
    **dict.fromkeys(("startup", "adaption_indication", "session_control", "streaming"), "green"),
    "gap": "yellow",
    "overlap": "yellow",
    "error": "red",
    "connection": "cyan",
}


class Lines:
    """Makes the lines of one capture.

    :param clock: the clock of the capture.
    :param colour: colour all lines but those of ordinary FPDUs.
    """

    def __init__(self, clock: Clock, *, colour: bool = False) -> None:
        self.clock = clock
        self._colour = colour
        self.width = 0
        """Characters of the longest label so far."""
        # The patterns of plain ends, by everything but the numbers.
        self._ends: dict[tuple[Any, ...], str] = {}

    def line(self, record: dict[str, Any]) -> str:
        """Return the line of a record, without a newline."""
        return self._text(record, WORDS[record["type"]](record) + ", late" * ("late" in record))

    def _text(self, record: dict[str, Any], words: str) -> str:
        """Return a line, without a newline.

        :param record: its type, connection, frame and time are enough, and what shows the colour.
        """
        between = "-" if record["type"] == "connection" else ">"
        label = self._label(record["connection"], record["src"], record["dst"], between)
        line = f"{_HEAD % (record['frame'], record['time'], label)}  {words}"
        return coloured(record, line) if self._colour else line

    def _label(self, number: int, source: str, target: str, between: str = ">") -> str:
        """Return the number and the endpoints of a connection."""
        text = f"#{number:<2} {source} {between} {target}"
        self.width = max(self.width, len(text))
        return text.ljust(self.width)

    def page(self, rows: Sequence[Any]) -> bytes:
        """Return the lines of rows and events, each with a newline."""
        lines: list[bytes] = []
        begin_ns = self.clock.begin_ns
        last, head, head_of = -1, b"", _HEAD.encode()
        for row in rows:
            if type(row) is not tuple:
                lines.append(self._line_of(row))
                continue
            frame, time_ns, direction, offset, shape, first, second, third, _, content, _ = row
            pattern = shape.line
            if not pattern:
                if pattern is None:
                    pattern = shape.line = _pattern(row, self.clock)
                if not pattern:
                    lines.append(self._line_of(event_of(row)))
                    continue
            if frame != last:
                last = frame
                label = direction.label
                if label is None or len(label) != self.width:
                    connection, source = direction.connection.identity, direction.index
                    ends = connection.endpoints[source], connection.endpoints[1 - source]
                    label = direction.label = self._label(connection.number, *ends).encode()
                head = head_of % (frame, (time_ns - begin_ns) / SECOND, label)
            fields: tuple[Any, ...]
            if shape.kind == "fpdu":
                seq = (direction.origin + offset + shape.lead) & SEQUENCE_MASK
                if shape.tagged:
                    fields = head, first, second, seq
                else:
                    fields = head, second >> 32, second & _WORD, third, seq
            else:
                if shape.several:
                    _, _, _, _, _, first, second, *_ = content[0]
                name, number = (first, second) if shape.tagged else (second >> 32, second & _WORD)
                fields = head, name, number
                if shape.several:
                    fields += sum([each[4].payload for each in content]), len(content)
            lines.append(pattern % fields)
        return b"".join(lines)

    def _line_of(self, event: Any) -> bytes:
        """Return the line of an event that has no pattern of a shape."""
        kind = type_of(event)
        if kind == "startup":
            words = _startup_words(event.startup, event.dialect)
        elif kind == "connection" and _is_plain(event):
            words = self._end_words(event)
        else:
            return self.line(record_of(event, self.clock)).encode() + b"\n"
        # A line shows no timestamp, which takes long to make.
        record = {
            "type": kind,
            **connection_keys(event.connection, event.direction),
            "frame": event.frame,
            "time": (event.time_ns - self.clock.begin_ns) / SECOND,
        }
        return self._text(record, words).encode() + b"\n"

    def _end_words(self, event: ConnectionEnded) -> str:
        """Return the words for a plain end: most plain ends differ only in numbers."""
        assert event.end is not None
        first, second = event.halves[::-1] if event.direction else event.halves
        startup = event.dialect, event.revision, event.crc, event.rnics, event.negotiated
        key = event.end.text, *startup, first.markers, second.markers
        pattern = self._ends.get(key)
        if pattern is None:
            if len(self._ends) >= _CACHED_ENDS:
                self._ends.clear()
            numbers = dict.fromkeys(("fpdus", "octets"), sides(_NUMBER, _NUMBER))
            words = WORDS["connection"](specific_keys(event, self.clock) | numbers)
            pattern = self._ends[key] = words.replace("%", "%%").replace(_NUMBER, "%d")
        return pattern % (first.fpdus, second.fpdus, first.octets, second.octets)


def _is_plain(event: ConnectionEnded) -> bool:
    """Return whether a connection had a startup, and nothing unusual needs to be reported."""
    first, second = event.halves
    # After its octets, a summary has only items that are unusual if they are not 0.
    is_odd = event.errors or event.timing is None or event.timing.stalls
    return event.revision is not None and not (is_odd or any(first[3:]) or any(second[3:]))


@lru_cache(maxsize=1024)
def _startup_words(startup: StartupFrame, dialect: Dialect | None) -> str:
    """Return the words for a startup frame: many are the same."""
    return WORDS["startup"](startup_fields(startup, dialect))


def _pattern(row: tuple[Any, ...], clock: Clock) -> bytes:
    """Return the pattern of the lines of a shape; empty if each line needs its own record."""
    record = pattern_of(row, clock)
    if record is None or record.get("invalidate_stag") is not None:
        return b""
    if row[4].several:
        record |= dict.fromkeys(("captured_length", "fpdus"), "%d")
    return b"%b  " + WORDS[row[4].kind](record).encode() + b"\n"


def coloured(record: dict[str, Any], line: str) -> str:
    """Return the line of a record in colour, unless it is an ordinary FPDU."""
    kind = record["type"]
    colour = _COLOURS.get(kind)
    if record.get("crc") == "bad" or record.get("terminate"):
        colour = "red"
    elif kind == "message" and not record["complete"]:
        colour = "yellow"
    if colour is None:
        return line
    import click

    return click.style(line, fg=colour)
