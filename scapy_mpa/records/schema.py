# SPDX-License-Identifier: GPL-2.0-or-later
"""The JSON Schema of records, and their keys, for whoever asks for one by its name.

One table has both.  A field is written ``name:type``; after the type ``?`` stands for a value that
may be null, ``[]`` for a list of values, and ``{}`` for an object with a value of either direction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args

from scapy_mpa.records.record import CAPTURE, CAPTURE_END, RECORD_TYPES, VERSION
from scapy_mpa.stream.events import Cause, CrcVerdict, Ending, LocatedBy
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.interoperability import RNIC
from scapy_mpa.wire.rdmap_names import message_name

__all__ = ["KEYS", "NOT_FOLLOWED", "known_values", "schema"]

NOT_FOLLOWED: Final = "not_followed"
"""An object whose keys are reasons."""

_READ: Final = "sink_stag:stag sink_to:wide rdma_read_size:word src_stag:stag src_to:wide"
_ATOMIC_REQUEST: Final = (
    "reserved:word atomic_operation_code:octet operation:text? request_identifier:wide "
    "remote_stag:stag remote_to:wide add_or_swap_data:wide add_or_swap_mask:wide "
    "compare_data:wide compare_mask:wide"
)
_ATOMIC_RESPONSE: Final = "original_request_identifier:wide original_remote_data_value:wide"
_DDP_HEADER: Final = (
    "tagged:flag? last:flag? ddp_version:octet? rdmap_version:octet? opcode:octet? "
    "message:message? stag:stag? to:wide? qn:word? msn:word? mo:word? invalidate_stag:stag?"
)
_BROUGHT: Final = "frames:number[] captured:moment? captured_from:moment?"
_SEGMENT: Final = f"{_DDP_HEADER} payload_length:number? header:header? terminate:terminate?"
_DEPTHS: Final = "private_data:hex ird:number? ord:number? control_flags:text?"
_FOUND: Final = (
    "type:text connection:number src:text dst:text frame:number time:seconds timestamp:timestamp?"
)

_OBJECTS: Final = {
    "moment": "frame:number time:seconds?",
    "read_request": _READ,
    "part": "seq:word frames:number[] offset:place length:number",
    "terminate": (
        "layer:octet etype:octet code:octet text:text mirrored:flag ddp_segment_length:number? "
        "ddp_header:copied? read_request:read_request?"
    ),
    "copied": _DDP_HEADER,
    "end": "by:text frame:number cause:cause text:text within_message:text[] unanswered:number?{}",
}
"""Objects in records."""

_HEADERS: Final = (_READ, _ATOMIC_REQUEST, _ATOMIC_RESPONSE, "immediate_data:hex")
"""What the object ``header`` may have."""

_RECORDS: Final = {
    "capture": "type:text version:version file:text timestamp:timestamp?",
    "startup": (
        f"{_FOUND} seq:word kind:kind revision:octet markers:flag crc:flag rejected:flag "
        f"enhanced:flag pd_length:number {_DEPTHS} dialect:dialect? s:flag reserved:octet "
        f"extension:hex? {_BROUGHT}"
    ),
    "streaming": f"{_FOUND} seq:word length:number {_BROUGHT}",
    "fpdu": (
        f"{_FOUND} seq:word offset:number? ulpdu_length:number markers:number crc:verdict "
        f"located_by:located_by out_of_order:flag {_BROUGHT} {_SEGMENT}"
    ),
    "message": (
        f"{_FOUND} opcode:octet? message:message? length:number? captured_length:number "
        "fpdus:number complete:flag qn:word? msn:word? stag:stag? to:wide? missing:stretch[] "
        "cut_off:number duplicates:number overlaps:number conflicts:number messages:number "
        "answers:word? requested:flag? as_requested:flag? sink_stag:stag? sink_to:wide? "
        "rdma_read_size:word? src_stag:stag? src_to:wide? request_identifier:wide? "
        "header:header? terminate:terminate? request_frame:number? latency:seconds? "
        "captured:moment? captured_from:moment? parts:part[]"
    ),
    "gap": f"{_FOUND} seq:word? ddp_ssn:number? length:number reason:text",
    "overlap": f"{_FOUND} seq:word length:number",
    "error": f"{_FOUND} code:number? seq:word? tsn:word? text:text",
    "connection": (
        f"{_FOUND} initiator:text? responder:text? dialect:dialect? revision:octet? "
        "markers:flag?{} fpdus:number{} octets:number{} crc_bad:number{} gaps:number{} "
        "out_of_order:number{} retransmitted:number{} crc:flag? crcs:text?{} errors:number "
        "ended:ending end:end? farthest_ahead:number{} rnics:rnic[]{}? "
        "began:moment? duration:seconds? octets_per_second:seconds?{}? handshake:seconds? "
        "startup:seconds? stalls:number? longest_stall:seconds? stall_frame:number? "
        "stalled:flag{}? retransmitted_share:share?{}? "
        "peer_to_peer:flag? ird:number?{}? ord:number?{}? rtr_agreed:text[]? rtr:text? "
        "kept:flag? broken:text[]"
    ),
    "adaption_indication": (
        f"{_FOUND} seq:word version:number bc_version:number r:flag ph:octet hc:flag pc:flag "
        "ih:flag ip:flag sp:flag sm:flag rm:flag reserved_flags:number vtag:number "
        f"marker_interval:number reserved:hex crc:verdict dialect:dialect {_BROUGHT}"
    ),
    "ift_frame": (
        f"{_FOUND} seq:word offset:number? header_size:number payload_size:number vtag:number "
        "header_crc:verdict payload_crc:verdict located_by:located_by out_of_order:flag "
        f"placed:text {_BROUGHT} {_SEGMENT}"
    ),
    "session_control": (
        f"{_FOUND} stream:number tsn:word ddp_ssn:number function_code:number function:text "
        f"enhanced:flag {_DEPTHS} unordered:flag out_of_order:flag {_BROUGHT} dialect:dialect"
    ),
    "ddp_segment": (
        f"{_FOUND} stream:number tsn:word ddp_ssn:number ulpdu_length:number unordered:flag "
        f"crc:verdict out_of_order:flag {_BROUGHT} {_SEGMENT}"
    ),
    "capture_end": f"type:text file:text frames:number {NOT_FOLLOWED}:counts",
}
"""Of each type of record."""

_PAYLOAD: Final = {
    **dict.fromkeys(("streaming", "fpdu", "ift_frame", "ddp_segment"), "hex"),
    "message": "hex?",
}
"""The type of ``payload``, of records that may have it."""
_OCTETS: Final = "^([0-9a-f]{2})*$"


def _enumerated(values: Any) -> dict[str, Any]:
    return {"enum": list(values)}


_TYPES: Final[dict[str, dict[str, Any]]] = {
    "text": {"type": "string"},
    "message": {"type": "string"},
    "flag": {"type": "boolean"},
    "seconds": {"type": "number"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "number": {"type": "integer", "minimum": 0},
    "word": {"type": "integer", "minimum": 0, "maximum": (1 << 32) - 1},
    "octet": {"type": "integer", "minimum": 0, "maximum": 255},
    "wide": {"type": "string", "pattern": "^0x[0-9a-f]{1,16}$"},
    "stag": {"type": "string", "pattern": "^0x[0-9a-f]{8}$"},
    "hex": {"type": "string", "pattern": _OCTETS},
    "timestamp": {
        "type": "string",
        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$",
    },
    "version": {"const": VERSION},
    "verdict": _enumerated(get_args(CrcVerdict)),
    "located_by": _enumerated(get_args(LocatedBy)),
    "ending": _enumerated(get_args(Ending)),
    "cause": _enumerated(get_args(Cause)),
    "dialect": _enumerated(each.value for each in Dialect),
    "rnic": _enumerated(each.value for each in RNIC),
    "kind": _enumerated(("request", "reply", "rtr")),
    "counts": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
    "place": {"type": ["integer", "string"]},
    "stretch": {
        "type": "array",
        "items": {"type": ["integer", "string", "null"]},
        "minItems": 2,
        "maxItems": 2,
    },
    "header": {"$ref": "#/definitions/header"},
    **{name: {"$ref": f"#/definitions/{name}"} for name in _OBJECTS},
}


_KNOWN: Final[dict[str, list[Any]]] = {
    "flag": [True, False],
    "message": [message_name(opcode) for opcode in range(16)],
    **{name: each["enum"] for name, each in _TYPES.items() if "enum" in each},
}
"""The values of types that have few."""


def _value(text: str) -> dict[str, Any]:
    """Return the schema of a value, by its type as it is written in the tables."""
    if text.endswith("?"):
        return {"anyOf": [_value(text[:-1]), {"type": "null"}]}
    if text.endswith("[]"):
        return {"type": "array", "items": _value(text[:-2])}
    if text.endswith("{}"):
        return _object({"src": text[:-2], "dst": text[:-2]})
    return _TYPES[text]


def _object(fields: Mapping[str, str], optional: Mapping[str, str] = {}) -> dict[str, Any]:
    """Return the schema of an object.

    :param fields: the types of its keys.
    :param optional: the same, of keys that may be absent.
    """
    every = {**fields, **optional}
    return {
        "type": "object",
        "properties": {name: _value(text) for name, text in every.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _fields(text: str) -> dict[str, str]:
    """Return the types of fields by their names."""
    return dict(each.split(":", 1) for each in text.split())


def _record(kind: str) -> dict[str, Any]:
    """Return the schema of a type of record."""
    optional = {} if kind in (CAPTURE, CAPTURE_END) else {"late": "flag"}
    if kind in _PAYLOAD:
        optional["payload"] = _PAYLOAD[kind]
    found = _object(_fields(_RECORDS[kind]), optional)
    found["properties"]["type"] = {"const": kind}
    return found


def schema(kinds: Iterable[str] = tuple(_RECORDS)) -> dict[str, Any]:
    """Return the JSON Schema of a record, of draft 7.

    :param kinds: the types that it may have.
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"A record of scapy-mpa, version {VERSION}",
        "oneOf": [{"$ref": f"#/definitions/{kind}_record"} for kind in kinds],
        "definitions": {
            **{f"{kind}_record": _record(kind) for kind in kinds},
            **{name: _object(_fields(text)) for name, text in _OBJECTS.items()},
            "header": {"anyOf": [_object(_fields(text)) for text in _HEADERS]},
        },
    }


def _keys(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a type of record with their types, and after dots those of the objects in
    it."""
    for name, text in _fields(_RECORDS[kind]).items():
        yield from _keys_in(name, text)
    if kind in _PAYLOAD:
        yield "payload", _PAYLOAD[kind]


def _keys_in(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield a key with its type, and those in it if it is an object."""
    yield name, text
    bare = text.rstrip("?")
    inner = [_fields(_OBJECTS.get(bare, ""))]
    if bare == "header":
        inner = list(map(_fields, _HEADERS))
    elif bare.endswith("{}"):
        inner = [dict.fromkeys(("src", "dst"), bare[:-2])]
    # Where the object may be null, so is what would be in it.
    null = "?" if text.endswith("?") else ""
    for own in inner:
        for each, word in own.items():
            yield from _keys_in(f"{name}.{each}", word + null)


_TYPES_OF: Final = {kind: dict(_keys(kind)) for kind in _RECORDS}
KEYS: Final = {kind: frozenset(types) for kind, types in _TYPES_OF.items()}
"""Of each type of record; of objects, also with those in them, after a dot."""


def known_values(key: str, kinds: Iterable[str]) -> list[Any] | None:
    """Return all values that a key has in records of some types, None if there is no list."""
    known: dict[Any, None] = {}
    for kind in kinds:
        text = _TYPES_OF[kind].get(key, "")
        bare = text.rstrip("?[]{}")
        values = list(RECORD_TYPES) if key == "type" else _KNOWN.get(bare, [])
        if text and not values:
            return None
        known.update(dict.fromkeys([*values, None] if "?" in text else values))
    return list(known)
