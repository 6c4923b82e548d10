# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts values for records: those that JSON numbers cannot hold, or that users read otherwise.

STags and numbers of up to 64 bits become hexadecimal text, because many JSON readers have numbers
of 53 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from time import gmtime
from typing import Any, Final

from scapy_mpa.records.tables import fields
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.segment import SECOND

_LAST_YEAR: Final = 9999
"""The last year of RFC 3339."""


def stag(value: int | None) -> str | None:
    """Return an STag as text for a record."""
    return None if value is None else f"0x{value:08x}"


def number(value: int | None) -> str | None:
    """Return a number of up to 64 bits as text for a record."""
    return None if value is None else f"0x{value:x}"


_FORMS: Final[dict[str, Callable[[Any], object]]] = {
    "stag": stag,
    "wide": number,
    "hex": bytes.hex,
    **dict.fromkeys(("kind", "dialect", "rnic", "rtr"), attrgetter("value")),
}
"""Functions that convert values of some types; all other values are not changed."""


def values_of(table: str, event: Any, given: Mapping[str, object] = {}) -> dict[str, Any]:
    """Return the fields of a table, with values for a record.

    :param event: the values, in attributes with the names of the fields.
    :param given: values that are used instead, without conversion.
    """
    template, names, get, forms = _plan(table, event.__class__)
    found = template | dict(zip(names, get(event), strict=False))
    for name, form in forms:
        if name not in given and found[name] is not None:
            found[name] = form(found[name])
    found.update(given)
    return found


@cache
def _plan(table: str, kind: type) -> tuple[dict[str, Any], list[str], Any, list[tuple[str, Any]]]:
    """Return how the fields of a table are taken from events of a type, all at once.

    :return: all fields, with None; the names of the fields that events have; the function that
        gets their values; and the fields to convert, with their functions.
    """
    types = fields(table)
    names = [name for name in types if hasattr(kind, name)]
    forms = [(name, form) for name in names if (form := _form(types[name])) is not None]
    # The first name comes twice, so that the result is always a tuple.
    return dict.fromkeys(types), names, attrgetter(*names, *names[:1]), forms


def _form(word: str) -> Callable[[Any], object] | None:
    """Return the function that converts values of a type, None if they are not changed."""
    word = word.rstrip("?")
    form = _FORMS.get(word.rstrip("?[]{}"))
    if word.endswith("[]"):
        return lambda values: [form(each) if form else each for each in values]
    if word.endswith("{}"):
        inner = _form(word[:-2])
        return lambda pair: sides(*(inner(each) if inner else each for each in pair))
    return form


def sides(source: object, target: object) -> dict[str, object]:
    """Return an object with a value for each direction."""
    return {"src": source, "dst": target}


def timestamp(time_ns: int) -> str | None:
    """Return nanoseconds since the epoch in the form of RFC 3339; None outside years 1 to 9999."""
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


def moment(frame: int | None, clock: Clock) -> dict[str, object] | None:
    """Return a frame, and when it was captured: seconds since the first frame."""
    if frame is None:
        return None
    time_ns = clock.time_ns(frame)
    time = None if time_ns is None else (time_ns - clock.begin_ns) / SECOND
    return {"frame": frame, "time": time}


def carried_by(frames: Iterable[int], clock: Clock) -> dict[str, object]:
    """Return the keys of a record with the frames that brought its octets, and their times."""
    numbers = list(frames)
    last, first = (max(numbers), min(numbers)) if numbers else (None, None)
    return {
        "frames": numbers,
        "captured": moment(last, clock),
        "captured_from": moment(first, clock),
    }
