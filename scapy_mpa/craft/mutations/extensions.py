# SPDX-License-Identifier: GPL-2.0-or-later
"""Atomics and Immediate Data with something wrong in them (RFC 7306)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.mutations.edit import (
    change_fpdu,
    control,
    cut_payload,
    longer_payload,
    rdmap_header,
)
from scapy_mpa.craft.mutations.mutation import Change, listed
from scapy_mpa.craft.mutations.rdmap import on_queue
from scapy_mpa.wire.rdmap import (
    AtomicRequest,
    build_atomic_request,
    build_atomic_response,
    parse_atomic_request,
    parse_atomic_response,
)
from scapy_mpa.wire.rdmap_names import AtomicOperation, Opcode, QueueNumber

__all__ = ["EXTENSIONS"]

_REQUEST: Final = (Opcode.ATOMIC_REQUEST,)
_RESPONSE: Final = (Opcode.ATOMIC_RESPONSE,)
_IMMEDIATE: Final = (Opcode.IMMEDIATE_DATA, Opcode.IMMEDIATE_DATA_WITH_SE)
_ALL: Final = (*_IMMEDIATE, *_REQUEST, *_RESPONSE)
_ATOMIC_SIZE: Final = 8


def _request(**fields: Any) -> Change:
    """Return what sets fields of an Atomic Request; callables are given it and a generator."""
    return change_fpdu(rdmap_header(parse_atomic_request, build_atomic_request, **fields), _REQUEST)


def _undefined(request: AtomicRequest, rng: Random) -> int:
    return rng.choice(sorted(set(range(16)) - set(AtomicOperation)))


def _reserved(request: AtomicRequest, rng: Random) -> int:
    return rng.randrange(1, 1 << 28)


def _not_aligned(request: AtomicRequest, rng: Random) -> int:
    return request.remote_to + rng.randrange(1, _ATOMIC_SIZE)


_other_identifier: Final = rdmap_header(
    parse_atomic_response,
    build_atomic_response,
    original_request_identifier=lambda response, rng: (
        response.original_request_identifier ^ 1 << rng.randrange(8, 32)
    ),
)


EXTENSIONS: Final = listed(
    bases.extended,
    {
        "rfc7306/4.1/rv-0": change_fpdu(control(rdmap_version=0), _ALL),
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
        "rfc7306/5.2.1/atomic-operation-undefined": _request(atomic_operation_code=_undefined),
        "rfc7306/5.2.1/atomic-request-reserved-set": _request(reserved=_reserved),
        "rfc7306/8.2/atomic-request-not-aligned": _request(remote_to=_not_aligned),
        "rfc7306/5.2.2/atomic-response-longer": change_fpdu(longer_payload, _RESPONSE),
        "rfc7306/5.2.2/atomic-response-shorter": change_fpdu(cut_payload, _RESPONSE),
        "rfc7306/5.2.2/atomic-response-unrequested": change_fpdu(_other_identifier, _RESPONSE),
    },
)
"""RFC 7306."""
