# SPDX-License-Identifier: GPL-2.0-or-later
"""What this project's dissector says of frames, on both of its ways."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records import json_line
from scapy_mpa.records.jsonline import JSONTemplates
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.messages import Messages
from scapy_mpa.wire.dialect import Dialect

Record = dict[str, Any]


def file_of(frames: Iterable[Frame]) -> bytes:
    """A pcapng file."""
    file = io.BytesIO()
    writer = PcapngWriter(file)
    for frame in frames:
        writer.write(frame)
    return file.getvalue()


def plain(frames: Iterable[Frame], dialect: Dialect | None = None) -> list[Record]:
    """All records, with messages and payload, by the plain way."""
    reading = Reading(open_capture(io.BytesIO(file_of(frames))), dialect=dialect)
    messages = Messages()
    lines = []
    for batch in reading.batches():
        for event in batch:
            lines.append(json_line(event, payload=True))
            lines += [json_line(message) for message in messages.take(event)]
    return [json.loads(line) for line in lines]


def inlined(frames: Iterable[Frame], dialect: Dialect | None = None) -> list[Record]:
    """The records, without messages and payload, by the inlined way where it can be taken."""

    def lines_of(events: list[Event]) -> list[str]:
        return [json_line(event) for event in events]

    reading = Reading(open_capture(io.BytesIO(file_of(frames))), dialect=dialect)
    text = b"".join(reading.lines(JSONTemplates(), lines_of))
    return [json.loads(line) for line in text.splitlines()]
