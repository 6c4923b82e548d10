# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record says of an RDMAP header after the DDP header: Requests, Atomics, Immediate Data
(RFC 5040 4.4, RFC 7306 5.2, 6.2), and the error that a Terminate reports (RFC 5040 4.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scapy_mpa.records.ddp import copied_header
from scapy_mpa.stream.events import DDPCarrier
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, parse_ddp
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import (
    READ_REQUEST_LENGTH,
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
    parse_immediate_data,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import ATOMIC_OPERATIONS, Opcode
from scapy_mpa.wire.terminate import parse_terminate

__all__ = ["TERMINATE_KEYS", "WITH_HEADER", "header_fields"]

_PARSERS: Final[dict[int, Callable[[bytes], Any]]] = {
    Opcode.READ_REQUEST: parse_read_request,
    Opcode.ATOMIC_REQUEST: parse_atomic_request,
    Opcode.ATOMIC_RESPONSE: parse_atomic_response,
    Opcode.IMMEDIATE_DATA: parse_immediate_data,
    Opcode.IMMEDIATE_DATA_WITH_SE: parse_immediate_data,
}

WITH_HEADER: Final = frozenset({*_PARSERS, Opcode.TERMINATE})
"""Opcodes of Untagged messages that are an RDMAP header."""


TERMINATE_KEYS: Final = (
    *("layer", "etype", "code", "text", "mirrored"),
    *("ddp_segment_length", "ddp_header", "read_request"),
)
"""Of the object that is the value of ``terminate``."""


def header_fields(carrier: DDPCarrier) -> dict[str, object]:
    """Return the keys ``header`` and ``terminate``, None in all other messages.

    ``header`` is None, too, if the DDP segment is not just the whole header.
    """
    ulpdu = carrier.ulpdu
    none: dict[str, object] = {"header": None, "terminate": None}
    if len(ulpdu) < UNTAGGED_LENGTH:
        return none
    ddp = parse_ddp(ulpdu)
    opcode = parse_control(ddp.rsvdulp).opcode
    if ddp.tagged or opcode not in WITH_HEADER:
        return none
    body = ulpdu[UNTAGGED_LENGTH:]
    try:
        if opcode == Opcode.TERMINATE:
            by_responder = carrier.connection.initiator == 1 - carrier.direction
            return {"header": None, "terminate": _terminate(body, by_responder)}
        return {"header": _shown(_PARSERS[opcode](body)._asdict()), "terminate": None}
    except RemoteProtocolError:
        return none


def _shown(fields: dict[str, Any]) -> dict[str, object]:
    """Return fields of a header as JSON has them."""
    if "atomic_operation_code" in fields:
        fields["operation"] = ATOMIC_OPERATIONS.get(fields["atomic_operation_code"])
    return {
        name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()
    }


def _terminate(body: bytes, by_responder: bool) -> dict[str, object]:
    found = parse_terminate(body, by_responder=by_responder)
    request = found.rdmap_header or b""
    is_whole = len(request) == READ_REQUEST_LENGTH
    values = (
        *(found.layer, found.etype, found.error_code, found.text, found.mirrored),
        found.ddp_segment_length,
        None if found.ddp_header is None else copied_header(found.ddp_header),
        parse_read_request(request)._asdict() if is_whole else None,
    )
    return dict(zip(TERMINATE_KEYS, values, strict=True))
