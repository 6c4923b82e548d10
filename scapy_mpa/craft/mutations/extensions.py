# SPDX-License-Identifier: GPL-2.0-or-later
"""Atomics and Immediate Data with something wrong in them (RFC 7306)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.mutations.edit import change_fpdu, cut_payload, longer_payload
from scapy_mpa.craft.mutations.mutation import listed
from scapy_mpa.craft.mutations.rdmap import on_queue
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.rdmap import (
    build_atomic_request,
    build_atomic_response,
    build_control,
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
)
from scapy_mpa.wire.rdmap_names import AtomicOperation, Opcode, QueueNumber

__all__ = ["EXTENSIONS"]

_REQUEST: Final = (Opcode.ATOMIC_REQUEST,)
_RESPONSE: Final = (Opcode.ATOMIC_RESPONSE,)
_IMMEDIATE: Final = (Opcode.IMMEDIATE_DATA, Opcode.IMMEDIATE_DATA_WITH_SE)
_ALL: Final = (*_IMMEDIATE, *_REQUEST, *_RESPONSE)
_ATOMIC_SIZE: Final = 8


def _version(item: FPDUItem, rng: Random) -> FPDUItem:
    opcode = parse_control(item.header.rsvdulp).opcode
    return item.with_header(rsvdulp=build_control(opcode, 0))


def _request(item: FPDUItem, **fields: Any) -> FPDUItem:
    request = parse_atomic_request(item.payload)._replace(**fields)
    return item.with_payload(build_atomic_request(request))


def _undefined_operation(item: FPDUItem, rng: Random) -> FPDUItem:
    undefined = sorted(set(range(16)) - set(AtomicOperation))
    return _request(item, atomic_operation_code=rng.choice(undefined))


def _reserved(item: FPDUItem, rng: Random) -> FPDUItem:
    return _request(item, reserved=rng.randrange(1, 1 << 28))


def _not_aligned(item: FPDUItem, rng: Random) -> FPDUItem:
    remote_to = parse_atomic_request(item.payload).remote_to
    return _request(item, remote_to=remote_to + rng.randrange(1, _ATOMIC_SIZE))


def _other_identifier(item: FPDUItem, rng: Random) -> FPDUItem:
    response = parse_atomic_response(item.payload)
    wrong = response.original_request_identifier ^ 1 << rng.randrange(8, 32)
    return item.with_payload(
        build_atomic_response(response._replace(original_request_identifier=wrong))
    )


EXTENSIONS: Final = listed(
    bases.extended,
    {
        "rfc7306/4.1/rv-0": change_fpdu(_version, _ALL),
        "rfc7306/4.1/immediate-data-on-queue-1": on_queue(
            QueueNumber.READ_REQUEST, Opcode.IMMEDIATE_DATA
        ),
        "rfc7306/4.1/atomic-request-on-queue-0": on_queue(QueueNumber.SEND, Opcode.ATOMIC_REQUEST),
        "rfc7306/4.1/atomic-response-on-queue-1": on_queue(
            QueueNumber.READ_REQUEST, Opcode.ATOMIC_RESPONSE
        ),
        "rfc7306/6.3/immediate-data-longer": change_fpdu(longer_payload, _IMMEDIATE),
        "rfc7306/6.3/immediate-data-shorter": change_fpdu(cut_payload, _IMMEDIATE),
        "rfc7306/5.2.1/atomic-request-longer": change_fpdu(longer_payload, _REQUEST),
        "rfc7306/5.2.1/atomic-request-shorter": change_fpdu(cut_payload, _REQUEST),
        "rfc7306/5.2.1/atomic-operation-undefined": change_fpdu(_undefined_operation, _REQUEST),
        "rfc7306/5.2.1/atomic-request-reserved-set": change_fpdu(_reserved, _REQUEST),
        "rfc7306/8.2/atomic-request-not-aligned": change_fpdu(_not_aligned, _REQUEST),
        "rfc7306/5.2.2/atomic-response-longer": change_fpdu(longer_payload, _RESPONSE),
        "rfc7306/5.2.2/atomic-response-shorter": change_fpdu(cut_payload, _RESPONSE),
        "rfc7306/5.2.2/atomic-response-unrequested": change_fpdu(_other_identifier, _RESPONSE),
    },
)
"""RFC 7306."""
