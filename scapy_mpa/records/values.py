# SPDX-License-Identifier: GPL-2.0-or-later
"""Values of records that JSON's numbers cannot hold, or that people read in another form.

STags and what may have 64 bits are hexadecimal text: many a reader of JSON has numbers of 53 bits.
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
"""Of RFC 3339."""


def stag(value: int | None) -> str | None:
    """Return an STag as a record has it."""
    return None if value is None else f"0x{value:08x}"


def number(value: int | None) -> str | None:
    """Return a number that may have 64 bits as a record has it."""
    return None if value is None else f"0x{value:x}"


_FORMS: Final[dict[str, Callable[[Any], object]]] = {
    "stag": stag,
    "wide": number,
    "hex": bytes.hex,
    **dict.fromkeys(("kind", "dialect", "rnic", "rtr"), attrgetter("value")),
}
"""How values of some types are written; all others stand as they are."""


def taken(table: str, event: Any, given: Mapping[str, object] = {}) -> dict[str, Any]:
    """Return the fields of a table as a record has them.

    :param event: has those that are not given, by the same names.
    :param given: those that are as the record has them.
    """
    template, names, values_of, forms = _plan(table, event.__class__)
    found = template | dict(zip(names, values_of(event), strict=False))
    for name, form in forms:
        if name not in given and found[name] is not None:
            found[name] = form(found[name])
    found.update(given)
    return found


@cache
def _plan(table: str, kind: type) -> tuple[dict[str, Any], list[str], Any, list[tuple[str, Any]]]:
    """Return how the fields of a table are taken from events of a type, all of them in one go.

    :return: all of them, without values; those that events have; what gets their values; and how
        some of these are written.
    """
    types = fields(table)
    names = [name for name in types if hasattr(kind, name)]
    forms = [(name, form) for name in names if (form := _form(types[name])) is not None]
    # With one name twice there is always a tuple.
    return dict.fromkeys(types), names, attrgetter(*names, *names[:1]), forms


def _form(word: str) -> Callable[[Any], object] | None:
    """Return how a type is written, None if values stand as they are."""
    word = word.rstrip("?")
    form = _FORMS.get(word.rstrip("?[]{}"))
    if word.endswith("[]"):
        return lambda values: [form(each) if form else each for each in values]
    if word.endswith("{}"):
        inner = _form(word[:-2])
        return lambda pair: sides(*(inner(each) if inner else each for each in pair))
    return form


def sides(source: object, target: object) -> dict[str, object]:
    """Return an object with a value of either direction."""
    return {"src": source, "dst": target}


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


def moment(frame: int | None, clock: Clock) -> dict[str, object] | None:
    """Return a frame, and when it was captured: seconds since the first frame."""
    if frame is None:
        return None
    time_ns = clock.time_ns(frame)
    time = None if time_ns is None else (time_ns - clock.begin_ns) / SECOND
    return {"frame": frame, "time": time}


def carried_by(frames: Iterable[int], clock: Clock) -> dict[str, object]:
    """Return the keys of a record that say which frames brought its octets, and when."""
    there = list(frames)
    last, first = (max(there), min(there)) if there else (None, None)
    return {
        "frames": there,
        "captured": moment(last, clock),
        "captured_from": moment(first, clock),
    }
