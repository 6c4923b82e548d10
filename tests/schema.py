# SPDX-License-Identifier: GPL-2.0-or-later
"""Every record that any test makes is checked against the schema."""

from __future__ import annotations

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
    """Raises ``JsonSchemaException`` for a record of a type that the schema does not allow."""
    alone = {"oneOf": [{"$ref": f"#/definitions/{kind}_record"}]}
    found: Callable[[Record], Any] = fastjsonschema.compile({**schema(), **alone})
    return found


def check_records() -> None:
    """Check all records against the schema from now on, when they are made."""
    make = records.own_fields

    def own_fields(event: RecordedEvent, clock: Clock, *, payload: bool = False) -> Record:
        own, kind = make(event, clock, payload=payload), type_of(event)
        head = {"type": kind, "connection": 0, "src": "", "dst": "", **when(1, 0, clock)}
        validator(kind)({**head, **own})
        return own

    records.own_fields = own_fields
