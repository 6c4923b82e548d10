# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of records that JSON's numbers cannot hold, or that people read in another form.

STags and what may have 64 bits are hexadecimal text: many a reader of JSON has numbers of 53 bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from time import gmtime
from typing import Any, Final

from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND

__all__ = ["carried_by", "latency", "moment", "number", "shown", "stag", "taken", "timestamp"]

_WIDE: Final = frozenset(
    (
        *("to", "sink_to", "src_to", "remote_to"),
        *("request_identifier", "original_request_identifier", "original_remote_data_value"),
        *("add_or_swap_data", "add_or_swap_mask", "compare_data", "compare_mask"),
    )
)
"""Names of fields that may have 64 bits, and of identifiers."""
_LAST_YEAR: Final = 9999
"""Of RFC 3339."""


def stag(value: int | None) -> str | None:
    """Return an STag as a record has it."""
    return None if value is None else f"0x{value:08x}"


def number(value: int | None) -> str | None:
    """Return a number that may have 64 bits as a record has it."""
    return None if value is None else f"0x{value:x}"


def shown(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return header fields as a record has them, by their names; octets are hexadecimal."""
    return {name: _shown(name, value) for name, value in fields.items()}


def taken(event: object, names: Iterable[str]) -> dict[str, Any]:
    """Return what an event, or a part of it, has by some names, as a record has it."""
    return {name: _shown(name, getattr(event, name)) for name in names}


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.value
    if name in _WIDE:
        return number(value)
    return stag(value) if name.endswith("stag") else value


def timestamp(time_ns: int) -> str | None:
    """Return nanoseconds since the epoch as RFC 3339 has it; None outside the years 1 to 9999."""
    seconds, fraction = divmod(time_ns, SECOND)
    second = _second(seconds)
    return None if second is None else f"{second}.{fraction:09d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str | None:
    try:
        year, month, day, hour, minute, second, *_ = gmtime(seconds)
    except (OverflowError, OSError, ValueError):
        return None
    date = f"{year:04}-{month:02}-{day:02}"
    return f"{date}T{hour:02}:{minute:02}:{second:02}" if 0 < year <= _LAST_YEAR else None


def moment(frame: int, clock: Clock) -> dict[str, object]:
    """Return a frame, and when it was captured: seconds since the first frame."""
    time_ns = clock.time_ns(frame)
    time = None if time_ns is None else (time_ns - clock.begin_ns) / SECOND
    return {"frame": frame, "time": time}


def carried_by(frames: Iterable[int], clock: Clock) -> dict[str, object]:
    """Return the keys of a record that say which frames brought its octets, and when."""
    there = list(frames)
    return {
        "frames": there,
        "captured": moment(max(there), clock) if there else None,
        "captured_from": moment(min(there), clock) if there else None,
    }


def latency(begin: int | None, end: int | None, clock: Clock) -> float | None:
    """Return the seconds from one frame to another one, None if they are not known."""
    if begin is None or end is None:
        return None
    times = clock.time_ns(begin), clock.time_ns(end)
    if times[0] is None or times[1] is None:
        return None
    return (times[1] - times[0]) / SECOND
