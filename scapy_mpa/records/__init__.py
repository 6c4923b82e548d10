# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: what happened on a connection, as plain dictionaries and as lines of JSON.

:func:`record_of` makes a dictionary of an event of the stream core, :func:`json_line` the same as
text; :mod:`~scapy_mpa.records.ddp` reads the headers of an FPDU for both.
"""

from scapy_mpa.records.jsonline import capture_line, json_line
from scapy_mpa.records.record import (
    CAPTURE,
    RECORD_TYPES,
    Record,
    RecordedEvent,
    capture_record,
    record_of,
    type_of,
)

__all__ = [
    "CAPTURE",
    "RECORD_TYPES",
    "Record",
    "RecordedEvent",
    "capture_line",
    "capture_record",
    "json_line",
    "record_of",
    "type_of",
]
