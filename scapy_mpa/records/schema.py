# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema of records, and the keys of each type of record."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, get_args

from scapy_mpa.records import tables
from scapy_mpa.stream.events import Cause, CrcVerdict, Ending, GapReason, LocatedBy
from scapy_mpa.wire.control_flags import RTR
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.interoperability import RNIC
from scapy_mpa.wire.rdmap_names import ATOMIC_OPERATIONS, message_name
from scapy_mpa.wire.sctp_ddp import FUNCTION_NAMES

_OCTETS: Final = "^([0-9a-f]{2})*$"
_ENDPOINT: Final = ":[0-9]{1,5}$"
_ROLES: Final = "initiator|responder"


def _enumerated(values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


_TYPES: Final[dict[str, dict[str, Any]]] = {
    **{name: {"type": "string"} for name in ("text", "message")},
    "flag": {"type": "boolean"},
    "seconds": {"type": "number"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "number": {"type": "integer", "minimum": 0},
    "word": {"type": "integer", "minimum": 0, "maximum": (1 << 32) - 1},
    "octet": {"type": "integer", "minimum": 0, "maximum": 255},
    "wide": {"type": "string", "pattern": "^0x[0-9a-f]{1,16}$"},
    "stag": {"type": "string", "pattern": "^0x[0-9a-f]{8}$"},
    "hex": {"type": "string", "pattern": _OCTETS},
    "endpoint": {"type": "string", "pattern": _ENDPOINT},
    "side": {"type": "string", "pattern": f"^({_ROLES})$|{_ENDPOINT}"},
    "ender": {"type": "string", "pattern": f"^({_ROLES}|capture|limit)$|{_ENDPOINT}"},
    "function": {
        "type": "string",
        "pattern": f"^({'|'.join(FUNCTION_NAMES.values())}|function code [0-9]{{1,5}})$",
    },
    "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$"},
    "version": {"const": tables.VERSION},
    "verdict": _enumerated(get_args(CrcVerdict)),
    "located_by": _enumerated(get_args(LocatedBy)),
    "ending": _enumerated(get_args(Ending)),
    "cause": _enumerated(get_args(Cause)),
    "reason": _enumerated(get_args(GapReason)),
    "rtr": _enumerated(each.value for each in RTR),
    "operation": _enumerated(ATOMIC_OPERATIONS.values()),
    "dialect": _enumerated(each.value for each in Dialect),
    "rnic": _enumerated(each.value for each in RNIC),
    "kind": _enumerated(("request", "reply", "rtr")),
    "placed": _enumerated(("in order", "speculative")),
    "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
    "place": {"type": ["integer", "string"]},
    "stretch": {
        "type": "array",
        "items": {"type": ["integer", "string", "null"]},
        "minItems": 2,
        "maxItems": 2,
    },
    "header": {"$ref": "#/definitions/header"},
    **{name: {"$ref": f"#/definitions/{name}"} for name in tables.OBJECTS},
}


_KNOWN: Final[dict[str, list[Any]]] = {
    "flag": [True, False],
    "message": [message_name(opcode) for opcode in range(16)],
    **{name: each["enum"] for name, each in _TYPES.items() if "enum" in each},
}
"""All values of the types that have few values."""
_FORMS: Final = {
    "wide": "0x1f",
    "stag": "0x0000001f",
    "hex": "001f",
    "endpoint": "10.0.0.1:4000",
    **dict.fromkeys(("side", "ender"), "responder or 10.0.0.1:4000"),
    "function": ", ".join(FUNCTION_NAMES.values()),
    "timestamp": "2026-01-31T12:00:00.000000000Z",
}
"""Examples of the types whose values have a form."""
_NUMBERS: Final = frozenset(
    name for name, each in _TYPES.items() if each.get("type") in ("integer", "number")
)


def _value(text: str) -> dict[str, Any]:
    """Return the schema of a value.

    :param text: its type, as in :mod:`~scapy_mpa.records.tables`.
    """
    if text.endswith("?"):
        return {"anyOf": [_value(text[:-1]), {"type": "null"}]}
    if text.endswith("[]"):
        return {"type": "array", "items": _value(text[:-2])}
    if text.endswith("{}"):
        return _object({"src": text[:-2], "dst": text[:-2]})
    return _TYPES[text]


def _object(types: Mapping[str, str], optional: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the schema of an object.

    :param types: types of its keys.
    :param optional: types of keys that may be absent.
    """
    every = {**types, **optional}
    return {
        "type": "object",
        "properties": {name: _value(text) for name, text in every.items()},
        "required": list(types),
        "additionalProperties": False,
    }


def _record(kind: str) -> dict[str, Any]:
    """Return the schema of a type of record."""
    optional = {} if kind in (tables.CAPTURE, tables.CAPTURE_END) else {"late": "flag"}
    if kind in tables.PAYLOAD:
        optional["payload"] = tables.PAYLOAD[kind]
    found = _object(tables.fields(tables.RECORDS[kind]), optional)
    found["properties"]["type"] = {"const": kind}
    return found


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 7) of a record."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A record of scapy-mpa, version {tables.VERSION}",
        "oneOf": [{"$ref": f"#/definitions/{kind}_record"} for kind in tables.RECORDS],
        "definitions": {
            **{f"{kind}_record": _record(kind) for kind in tables.RECORDS},
            **{name: _object(tables.fields(text)) for name, text in tables.OBJECTS.items()},
            "header": {"anyOf": [_object(tables.fields(text)) for text in tables.HEADERS]},
        },
    }


def _keys(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a type of record with their types; ``object.key`` is a key inside an
    object."""
    for name, text in tables.fields(tables.RECORDS[kind]).items():
        yield from _keys_in(name, text)
    if kind in tables.PAYLOAD:
        yield "payload", tables.PAYLOAD[kind]


def _keys_in(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield a key with its type; if it is an object, or a list of them, the keys inside as well."""
    yield name, text
    bare = text.rstrip("?")
    inner = [tables.fields(tables.OBJECTS.get(bare.removesuffix("[]"), ""))]
    if bare == "header":
        inner = list(map(tables.fields, tables.HEADERS))
    elif bare.endswith("{}"):
        inner = [dict.fromkeys(("src", "dst"), bare[:-2])]
    # If the object may be null, the values inside it may be null, too.
    null = "?" if text.endswith("?") else ""
    for types in inner:
        for key, text_of_key in types.items():
            yield from _keys_in(f"{name}.{key}", text_of_key + null)


_TYPES_OF: Final = {kind: dict(_keys(kind)) for kind in tables.RECORDS}
KEYS: Final = {kind: frozenset(types) for kind, types in _TYPES_OF.items()}
"""The keys of each type of record; ``object.key`` is a key inside an object."""


def known_values(key: str, kinds: Collection[str]) -> list[Any] | None:
    """Return all values that a key may have in records of some types, None if it is not limited."""
    known: dict[Any, None] = {}
    # In the order of RECORD_TYPES, because ``kinds`` is often a set.
    for kind in filter(kinds.__contains__, tables.RECORD_TYPES):
        text = _TYPES_OF[kind].get(key, "")
        values = list(tables.RECORD_TYPES) if key == "type" else _KNOWN.get(_name_of(text), [])
        if text and not values:
            return None
        known.update(dict.fromkeys([*values, None] if "?" in text else values))
    return list(known)


def form_of(
    key: str, kinds: Collection[str], value: object, text: str, *, is_ordered: bool
) -> str | None:
    """Return an example of the values of a key in records of some types.

    None if there may be such a value, or if the values have no form.

    :param value: what ``text`` means: a number, a boolean, None, or the text itself.
    :param is_ordered: values may be less or greater, so the beginning of one will do.
    """
    types = {_TYPES_OF[kind][key] for kind in kinds if key in _TYPES_OF[kind]}
    if not types or any(_may_be(each, value, text, is_ordered=is_ordered) for each in types):
        return None
    return " or ".join(sorted({_FORMS[_name_of(each)] for each in types}))


def _name_of(type_: str) -> str:
    """Return the name of a type of the tables, without marks."""
    return type_.rstrip("?[]{}")


def _may_be(type_: str, value: object, text: str, *, is_ordered: bool) -> bool:
    """Return whether a type of the tables has such a value, or has no form."""
    name = _name_of(type_)
    if name not in _FORMS:
        return True
    if value is None and not is_ordered:
        return "?" in type_
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A number is compared with the number that these mean.
    if is_number and name in ("wide", "stag"):
        return True
    # The beginning of a value is one that some end of the example completes.
    ends = [_FORMS[name][at:] for at in range(len(_FORMS[name]))] if is_ordered else []
    return any(re.search(_TYPES[name]["pattern"], text + end) for end in ("", *ends))


def has_numbers(key: str, kinds: Collection[str]) -> bool:
    """Return whether all values of a key in records of some types are numbers or null."""
    texts = [_TYPES_OF[kind][key] for kind in kinds if key in _TYPES_OF[kind]]
    return all(_name_of(text) in _NUMBERS for text in texts)
