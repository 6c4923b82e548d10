# SPDX-License-Identifier: GPL-2.0-or-later
"""The records that this project's dissector makes of frames, on both of its ways."""

import io
from collections.abc import Iterable

from scapy_mpa.capture import Frame
from scapy_mpa.capture.write_pcapng import PcapngWriter
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
    """All records, made of events, with messages and payload."""
    return reading.plain(file_of(frames), messages=True, dialect=dialect)


def known(found: Iterable[Record]) -> list[Record]:
    """The records found that the truth has."""
    return [each for each in found if each["type"] not in ("streaming", "connection")]


def printed(frames: Iterable[Frame], dialect: Dialect | None = None) -> list[Record]:
    """The records as ``dissect --json`` prints them, without messages and payload."""
    return reading.printed(file_of(frames), dialect=dialect)
