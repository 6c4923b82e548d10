# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys ``header`` and ``terminate`` of records.

``header`` is the RDMAP header of a Read Request, an Atomic Operation or Immediate Data (RFC 5040
4.4, RFC 7306 5.2, 6.2).  ``terminate`` is the error that a Terminate reports (RFC 5040 4.8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scapy_mpa.records.ddp import copied_header
from scapy_mpa.records.tables import ATOMIC_REQUEST, ATOMIC_RESPONSE, IMMEDIATE_DATA, OBJECTS, READ
from scapy_mpa.records.values import values_of
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import (
    HEADER_OPCODES,
    READ_REQUEST_LENGTH,
    parse_atomic_request,
    parse_atomic_response,
    parse_immediate_data,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import ATOMIC_OPERATIONS, Opcode
from scapy_mpa.wire.terminate import parse_terminate

_HEADERS: Final[dict[int, tuple[Callable[[bytes], Any], str]]] = {
    Opcode.READ_REQUEST: (parse_read_request, READ),
    Opcode.ATOMIC_REQUEST: (parse_atomic_request, ATOMIC_REQUEST),
    Opcode.ATOMIC_RESPONSE: (parse_atomic_response, ATOMIC_RESPONSE),
    Opcode.IMMEDIATE_DATA: (parse_immediate_data, IMMEDIATE_DATA),
    Opcode.IMMEDIATE_DATA_WITH_SE: (parse_immediate_data, IMMEDIATE_DATA),
}

_NONE: Final[dict[str, object]] = {"header": None, "terminate": None}


def fields_of(
    opcode: int | None, body: bytes, connection: ConnectionId, direction: int
) -> dict[str, object]:
    """Return the keys ``header`` and ``terminate`` of a message.

    :param body: all octets of an Untagged message that consists of an RDMAP header, else empty.
    """
    if opcode not in HEADER_OPCODES or not body:
        return _NONE
    try:
        if opcode == Opcode.TERMINATE:
            by_responder = connection.initiator == 1 - direction
            return {"header": None, "terminate": _terminate(body, by_responder)}
        parse, table = _HEADERS[opcode]
        header = parse(body)
        given = {}
        if opcode == Opcode.ATOMIC_REQUEST:
            given["operation"] = ATOMIC_OPERATIONS.get(header.atomic_operation_code)
        return {"header": values_of(table, header, given), "terminate": None}
    except RemoteProtocolError:
        return _NONE


def _terminate(body: bytes, by_responder: bool) -> dict[str, object]:
    found = parse_terminate(body, by_responder=by_responder)
    request = found.rdmap_header or b""
    is_whole = len(request) == READ_REQUEST_LENGTH
    given = {
        "code": found.error_code,
        "ddp_header": None if found.ddp_header is None else copied_header(found.ddp_header),
        "read_request": values_of(READ, parse_read_request(request)) if is_whole else None,
    }
    return values_of(OBJECTS["terminate"], found, given)
