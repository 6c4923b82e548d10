# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminates with something wrong in them (RFC 5040 4.8)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.mutations.bases import terminated
from scapy_mpa.craft.mutations.edit import Edit, change_fpdu, header, valued
from scapy_mpa.craft.mutations.expectation import ACCEPT, Expectation, accept, surface
from scapy_mpa.craft.mutations.mutation import Mutation
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.rdmap import TERMINATE_CONTROL_LENGTH
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.terminate import ERROR_TYPES, LAYERS, build_terminate, parse_terminate

__all__ = ["TERMINATE"]

_FIELDS: Final = (
    *("layer", "etype", "error_code", "ddp_segment_length", "ddp_header", "rdmap_header"),
    *("m", "d", "r"),
)
_UNDEFINED: Final = "the three values are passed on; what they mean is not defined"


def _said(**fields: Any) -> Edit:
    """Return what writes a Terminate Header anew; callables are given a generator."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse_terminate(item.payload, mirrored=False)
        values = {name: getattr(now, name) for name in _FIELDS} | valued(fields, rng)
        return item.with_payload(build_terminate(**values))

    return edit


def _cut_control(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.with_payload(item.payload[: rng.randrange(TERMINATE_CONTROL_LENGTH)])


def _cut_copies(item: FPDUItem, rng: Random) -> FPDUItem:
    size = rng.randrange(TERMINATE_CONTROL_LENGTH, len(item.payload))
    return item.with_payload(item.payload[:size])


def _undefined_etype(rng: Random) -> int:
    return rng.choice([etype for etype in range(16) if (0, etype) not in ERROR_TYPES])


def _undefined_code(rng: Random) -> int:
    return rng.choice([code for code in range(256) if code not in ERROR_TYPES[0, 1].codes])


def _mutation(name: str, breaks: str, expectation: Expectation, edit: Edit) -> Mutation:
    return Mutation(
        f"rfc5040/{name}",
        breaks,
        expectation,
        terminated,
        change_fpdu(edit, (Opcode.TERMINATE,)),
    )


TERMINATE: Final = (
    _mutation(
        "4.8/terminate-layer-undefined",
        "Layer is none that is defined.",
        accept(_UNDEFINED),
        _said(layer=lambda rng: rng.randrange(len(LAYERS), 16)),
    ),
    _mutation(
        "4.8/terminate-etype-undefined",
        "EType is none that the layer defines.",
        accept(_UNDEFINED),
        _said(etype=_undefined_etype),
    ),
    _mutation(
        "4.8/terminate-code-undefined",
        "Error Code is none that the error type defines.",
        accept(_UNDEFINED),
        _said(error_code=_undefined_code),
    ),
    _mutation(
        "4.8/terminate-reserved-set",
        "A reserved bit of the Terminate Header is set.",
        ACCEPT,
        _said(reserved=lambda rng: rng.randrange(1, 1 << 13)),
    ),
    _mutation(
        "4.8/terminate-control-cut",
        "The Terminate Header is too short for its Terminate Control.",
        surface("an invalid Terminate (RFC 5040 5.4)"),
        _cut_control,
    ),
    _mutation(
        "4.8/terminate-copies-cut",
        "The headers that M, D and R promise are cut short.",
        surface("an invalid Terminate (RFC 5040 5.4)"),
        _cut_copies,
    ),
    _mutation(
        "4.8/terminate-d-without-header",
        "D is set, and no DDP header is there.",
        surface("an invalid Terminate (RFC 5040 5.4)"),
        _said(ddp_header=None, rdmap_header=None, r=False),
    ),
    _mutation(
        "4.8/terminate-r-without-header",
        "R is set, and no RDMA Read Request Header is there.",
        surface("an invalid Terminate (RFC 5040 5.4)"),
        _said(rdmap_header=None),
    ),
    _mutation(
        "4.8/terminate-m-cleared",
        "M is not set, and DDP Segment Length is there.",
        accept("D has it present anyway"),
        _said(m=False),
    ),
    _mutation(
        "4.8/terminate-trailing",
        "Octets follow the Terminate Header.",
        surface("a Terminate carries no ULP Payload (RFC 5040 4.2)"),
        _said(trailing=lambda rng: rng.randbytes(rng.randrange(1, 100))),
    ),
    _mutation(
        "4.8/terminate-l-missing",
        "L of a Terminate is not set.",
        accept("the message is never Delivered; nothing else tells that it was the last segment"),
        header(last=False),
    ),
)
"""RFC 5040 4.8."""
