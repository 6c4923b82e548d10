# SPDX-License-Identifier: GPL-2.0-or-later
"""What this project's dissector says of frames, on both of its ways."""

from __future__ import annotations

import io
from collections.abc import Iterable

from scapy_mpa.capture import Frame
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.records.record import TIMING_KEYS
from scapy_mpa.wire.dialect import Dialect
from tests.recovery import reading
from tests.recovery.reading import Record


def file_of(frames: Iterable[Frame]) -> bytes:
    """A pcapng file."""
    file = io.BytesIO()
    writer = PcapngWriter(file)
    for frame in frames:
        writer.write(frame)
    return file.getvalue()


def plain(frames: Iterable[Frame], dialect: Dialect | None = None) -> list[Record]:
    """All records, with messages and payload, made of events, without what is only measured."""
    found = reading.plain(file_of(frames), messages=True, dialect=dialect)
    return [untimed(each) for each in found]


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
    return [untimed(each) for each in reading.printed(file_of(frames), dialect=dialect)]


def untimed(record: Record) -> Record:
    """A record without the times that no truth tells."""
    return {key: value for key, value in record.items() if key not in TIMING_KEYS}
