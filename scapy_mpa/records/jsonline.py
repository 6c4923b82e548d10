# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as text: one JSON object a line, what ``json.loads`` makes of it is the record.

The ordinary FPDU is written elsewhere (:mod:`~scapy_mpa.records.page`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from scapy_mpa.records.record import Record, RecordedEvent, record_of
from scapy_mpa.stream.clock import Clock


def json_line(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> str:
    """Return the record of ``event`` as one line of JSON in ASCII, without the line's end.

    :param clock: of the capture.
    :param payload: see :func:`~scapy_mpa.records.record.record_of`.
    """
    return json_of(record_of(event, clock, payload=payload))


def json_of(value: Record | str) -> str:
    """Return a record, or a text, as JSON in ASCII."""
    return _encoder()(value)


@lru_cache(maxsize=1)
def _encoder() -> Callable[[Any], str]:
    # Not all who import this module write JSON, and a command is to start soon.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
