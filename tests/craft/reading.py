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
from scapy_mpa.records.page import RecordPage
from scapy_mpa.records.record import TIMING_KEYS
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
    """All records, with messages and payload, made of events, without what is only measured."""
    reading = Reading(open_capture(io.BytesIO(file_of(frames))), dialect=dialect)
    messages = Messages(payload=True)
    lines = []
    for batch in reading.batches():
        for event in batch:
            found = [event, *messages.take(event)]
            lines += [json_line(each, reading.clock, payload=True) for each in found]
    return [untimed(json.loads(line)) for line in lines]


def as_told(found: list[Record], wanted: list[Record]) -> list[Record]:
    """What was found, without who ended a connection where the truth leaves that out."""
    told = {each["connection"] for each in wanted if "end" in each}
    return [
        {key: each[key] for key in each if key != "end" or each["connection"] in told}
        for each in found
    ]


def printed(frames: Iterable[Frame], dialect: Dialect | None = None) -> list[Record]:
    """The records, without messages, payload and what is only measured, as ``dissect --json``
    prints them."""
    reading = Reading(open_capture(io.BytesIO(file_of(frames))), dialect=dialect)
    page = RecordPage(reading.clock).page
    text = b"".join([page(rows) for rows in reading.rows()])
    return [untimed(json.loads(line)) for line in text.splitlines()]


def untimed(record: Record) -> Record:
    """A record without the times that no truth tells."""
    return {key: value for key, value in record.items() if key not in TIMING_KEYS}
