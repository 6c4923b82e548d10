# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as text: one JSON object a line, what ``json.loads`` makes of it is the record.

The ordinary FPDU is written elsewhere (:mod:`~scapy_mpa.records.page`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from scapy_mpa.records.record import Record


def json_of(value: Record | str) -> str:
    """Return a record, or a text, as JSON in ASCII."""
    return _encoder()(value)


@lru_cache(maxsize=1)
def _encoder() -> Callable[[Any], str]:
    # Not all who import this module write JSON, and a command is to start soon.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
