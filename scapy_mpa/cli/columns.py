# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints records in columns that fit a terminal.

::

    frame  seconds since the first frame  #connection direction  the record

A separate line before the first record of a connection names its endpoints.  Text for which a line
has no room goes on in the next line.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any, Final

from scapy_mpa.cli.lines import coloured
from scapy_mpa.cli.output import text_of
from scapy_mpa.cli.words import WORDS, header_words, unusual_facts
from scapy_mpa.records.record import record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.direction import event_of

_INDENT: Final = 25
"""Characters of a line before the text of a record."""
_LEAST: Final = 40
"""Characters for the text of a record, at least, even on a narrow terminal."""
_SHORT: Final = {"RDMA ": "", " with": "", " and": "", "Invalidate": "Inv"}
"""Abbreviations in names of messages, which are too long for a column."""
_KNOWN: Final = 4096
"""Connections whose endpoints were printed; so many are remembered, at most."""


class Columns:
    """Makes the lines of one capture.

    :param clock: the clock of the capture.
    :param width: characters in a line.
    :param colour: print records in colour that are no ordinary FPDUs.
    """

    def __init__(self, clock: Clock, width: int, *, colour: bool = False) -> None:
        self._clock = clock
        self._room = max(_LEAST, width - _INDENT)
        self._colour = colour
        self._first: dict[int, str] = {}
        """The endpoint that is named first, by number of the connection."""

    def page(self, rows: Iterable[Any]) -> bytes:
        """Return the lines of rows and events, each with a newline."""
        return text_of(self.line(record_of(event_of(row), self._clock)) for row in rows)

    def line(self, record: dict[str, Any]) -> str:
        """Return the lines of a record, without the last newline."""
        lines = []
        number, source = record["connection"], record["src"]
        if number not in self._first:
            if len(self._first) >= _KNOWN:
                self._first.clear()
            self._first[number] = source
            lines.append(f"{'':18} #{number:<2} {source} > {record['dst']}")
        arrow = ">" if source == self._first[number] else "<"
        if record["type"] == "connection":
            arrow = "-"
        head = f"{record['frame']:6d} {record['time']:11.6f} #{number:<2} {arrow}"
        late = ", late" * ("late" in record)
        what = _what(record) + late
        first, *more = wrap(what, self._room, break_on_hyphens=False)
        lines.append(f"{head:<{_INDENT}}{first}")
        lines += [f"{'':{_INDENT}}{each}" for each in more]
        text = "\n".join(lines)
        return coloured(record, text) if self._colour else text


def _what(record: dict[str, Any]) -> str:
    """Return the text of a record; an FPDU with a whole header in columns, without seq."""
    if record["type"] != "fpdu" or (record["to"] is None and record["mo"] is None):
        return WORDS[record["type"]](record)
    name = record["message"] or "DDP segment"
    for word, short in _SHORT.items():
        name = name.replace(word, short)
    if record["tagged"]:
        buffer, place, part = record["stag"], record["to"], ""
    else:
        buffer, place, part = f"qn {record['qn']}", f"msn {record['msn']}", header_words(record)
        if record["mo"]:
            place += f" mo {record['mo']}"
    last = "L" if record["last"] else " "
    # Startup frames and the end of the connection show already that CRCs are off.
    crc = "good" if record["crc"] == "off" else record["crc"]
    unusual = unusual_facts(crc, record["located_by"], ahead=record["out_of_order"])
    row = f"{name:<15} {buffer:<10} {place:<14} {record['payload_length']:>5} {last}"
    return f"{row}{part} {unusual.removeprefix(', ')}".rstrip()
