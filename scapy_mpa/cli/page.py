# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows as lines to be read, a few hundred FPDUs at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scapy_mpa.cli.lines import Lines, fpdu_pattern
from scapy_mpa.records import record_of
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import SEQUENCE_SPACE
from scapy_mpa.stream.shapes import Shape

__all__ = ["LinePage"]

_MASK: Final = 0xFFFFFFFF


class LinePage:
    """Writes rows as lines.

    :param lines: how lines look.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def page(self, rows: Sequence[Any]) -> bytes:
        """Return the lines of rows and events, each with its end."""
        patterns: list[bytes] = []
        fields: list[Any] = []
        lines, clock = self._lines, self._lines.clock
        begin_ns = clock.begin_ns
        last, head = -1, b""
        for row in rows:
            if type(row) is not tuple:
                patterns.append(b"%b\n")
                fields.append(lines.line(record_of(row, clock)).encode())
                continue
            frame, time_ns, direction, offset, shape, first, second, third, _, _, _ = row
            pattern = shape.line
            if pattern is None:
                pattern = shape.line = _pattern(shape)
            if not pattern:
                patterns.append(b"%b\n")
                fields.append(lines.line(record_of(event_of(row), clock)).encode())
                continue
            if frame != last:
                last = frame
                label = direction.label
                if label is None or len(label) != lines.width:
                    connection = direction.connection.identity
                    label = lines.label(connection, direction.index).encode()
                    direction.label = label
                head = b"%6d %11.6f %b" % (frame, (time_ns - begin_ns) / SECOND, label)
            patterns.append(pattern)
            seq = (direction.origin + offset + shape.lead) % SEQUENCE_SPACE
            if shape.tagged:
                fields += (head, first, second, seq)
            else:
                fields += (head, second >> 32, second & _MASK, third, seq)
        return b"".join(patterns) % tuple(fields)


def _pattern(shape: Shape) -> bytes:
    """Return the pattern of a shape's lines; empty if each must be seen as a whole."""
    table = shape.table
    crc: CrcVerdict = "good" if table.crc else "off"
    pattern = fpdu_pattern(shape.control, shape.payload, crc, table.located_by, ahead=table.ahead)
    return b"" if pattern is None else b"%b  " + pattern.encode() + b"\n"
