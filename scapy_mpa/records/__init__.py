# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: what happened on a connection, as plain dictionaries and as lines of JSON.

:func:`record_of` makes a dictionary of an event of the stream core, :func:`json_line` the same as
text; :mod:`~scapy_mpa.records.ddp` reads the headers of an FPDU for both.
"""

from scapy_mpa.records.jsonline import json_line, json_of
from scapy_mpa.records.record import (
    Record,
    RecordedEvent,
    capture_end_record,
    capture_record,
    carried_mpa,
    record_of,
    type_of,
)
from scapy_mpa.records.tables import CAPTURE, CAPTURE_END, RECORD_TYPES

__all__ = [
    "CAPTURE",
    "CAPTURE_END",
    "RECORD_TYPES",
    "Record",
    "RecordedEvent",
    "capture_end_record",
    "capture_record",
    "carried_mpa",
    "json_line",
    "json_of",
    "record_of",
    "type_of",
]
