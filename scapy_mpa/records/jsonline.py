# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a record as a line of JSON, from which ``json.loads`` makes the record again.

Ordinary FPDUs are written by :mod:`~scapy_mpa.records.page`.
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
    # Imported late: a command must start soon, and not every command writes JSON.
    import json

    return json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
