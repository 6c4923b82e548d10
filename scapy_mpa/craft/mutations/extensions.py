# SPDX-License-Identifier: GPL-2.0-or-later
"""Atomics and Immediate Data with something wrong in them (RFC 7306)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.mutations.bases import extended
from scapy_mpa.craft.mutations.edit import change_fpdu, cut_payload, longer_payload
from scapy_mpa.craft.mutations.expectation import ACCEPT, surface, terminate
from scapy_mpa.craft.mutations.mutation import Family, Mutation
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
from scapy_mpa.wire.rdmap_names import MESSAGE_NAMES, AtomicOperation, Opcode, QueueNumber

__all__ = ["EXTENSIONS"]

_INVALID_VERSION: Final = (0, 2, 5)
_UNEXPECTED_OPCODE: Final = (0, 2, 6)
_CATASTROPHIC: Final = (0, 2, 7)
_INVALID_QN: Final = (1, 2, 1)
_NO_BUFFER: Final = (1, 2, 2)
_MSN_RANGE: Final = (1, 2, 3)

_mutation: Final = Family("rfc7306", extended)

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


def _lengths() -> list[Mutation]:
    """Return each message with too many octets and with too few."""
    return [
        _mutation(
            f"{clause}-{what}",
            f"{MESSAGE_NAMES[opcodes[0]]} has {words} octets.",
            surface("no code is defined for it"),
            change_fpdu(edit, opcodes),
        )
        for clause, opcodes in (
            ("6.3/immediate-data", _IMMEDIATE),
            ("5.2.1/atomic-request", _REQUEST),
            ("5.2.2/atomic-response", _RESPONSE),
        )
        for what, words, edit in (
            ("longer", "too many", longer_payload),
            ("shorter", "too few", cut_payload),
        )
    ]


def _queues() -> list[Mutation]:
    return [
        _mutation(
            f"4.1/{MESSAGE_NAMES[opcode].lower().replace(' ', '-')}-on-queue-{int(qn)}",
            f"{MESSAGE_NAMES[opcode]} comes on queue {int(qn)}.",
            terminate(_UNEXPECTED_OPCODE, _INVALID_QN, _NO_BUFFER, _MSN_RANGE),
            on_queue(qn, opcode),
        )
        for opcode, qn in (
            (Opcode.IMMEDIATE_DATA, QueueNumber.READ_REQUEST),
            (Opcode.ATOMIC_REQUEST, QueueNumber.SEND),
            (Opcode.ATOMIC_RESPONSE, QueueNumber.READ_REQUEST),
        )
    ]


EXTENSIONS: Final = (
    _mutation(
        "4.1/rv-0",
        "RV of a message of RFC 7306 is 0.",
        terminate(_INVALID_VERSION, _UNEXPECTED_OPCODE),
        change_fpdu(_version, _ALL),
    ),
    *_queues(),
    *_lengths(),
    _mutation(
        "5.2.1/atomic-operation-undefined",
        "Atomic Operation Code is none that is defined.",
        surface("rule 4; no code is defined for it"),
        change_fpdu(_undefined_operation, _REQUEST),
    ),
    _mutation(
        "5.2.1/atomic-request-reserved-set",
        "A bit that is not used of an Atomic Request is set.",
        ACCEPT,
        change_fpdu(_reserved, _REQUEST),
    ),
    _mutation(
        "8.2/atomic-request-not-aligned",
        "An Atomic Request has a Remote Tagged Offset that is no multiple of 8.",
        terminate(_CATASTROPHIC),
        change_fpdu(_not_aligned, _REQUEST),
    ),
    _mutation(
        "5.2.2/atomic-response-unrequested",
        "An Atomic Response has an identifier that no Request had.",
        surface("rule 7; no code is defined for it"),
        change_fpdu(_other_identifier, _RESPONSE),
    ),
)
"""RFC 7306."""
