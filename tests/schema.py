# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks every record that a test makes against the schema."""

from collections.abc import Callable
from functools import cache
from typing import Any

import fastjsonschema

from scapy_mpa.records import record as records
from scapy_mpa.records.record import Record, RecordedEvent, type_of, when
from scapy_mpa.records.schema import schema
from scapy_mpa.stream.clock import Clock


@cache
def validator(kind: str) -> Callable[[Record], Any]:
    """Return a function that raises ``JsonSchemaException`` for a record that breaks the schema."""
    alone = {"oneOf": [{"$ref": f"#/definitions/{kind}_record"}]}
    found: Callable[[Record], Any] = fastjsonschema.compile({**schema(), **alone})
    return found


def check_records() -> None:
    """From now on, check each record against the schema when it is made."""
    make = records.specific_keys

    def specific_keys(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
        specific, kind = make(event, clock, payload=payload), type_of(event)
        head = {"type": kind, "connection": 0, "src": ":1", "dst": ":2", **when(1, 0, clock)}
        validator(kind)({**head, **specific})
        return specific

    records.specific_keys = specific_keys
