# SPDX-License-Identifier: GPL-2.0-or-later
"""Terminates with something wrong in them (RFC 5040 4.8)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.mutations.bases import terminated
from scapy_mpa.craft.mutations.edit import Edit, change_fpdu, header, valued
from scapy_mpa.craft.mutations.mutation import listed
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.rdmap import TERMINATE_CONTROL_LENGTH
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.terminate import ERROR_TYPES, LAYERS, build_terminate, parse_terminate

__all__ = ["TERMINATE"]

_FIELDS: Final = (
    *("layer", "etype", "error_code", "ddp_segment_length", "ddp_header", "rdmap_header"),
    *("m", "d", "r"),
)


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


TERMINATE: Final = listed(
    terminated,
    {
        f"rfc5040/4.8/terminate-{what}": change_fpdu(edit, (Opcode.TERMINATE,))
        for what, edit in {
            "layer-undefined": _said(layer=lambda rng: rng.randrange(len(LAYERS), 16)),
            "etype-undefined": _said(etype=_undefined_etype),
            "code-undefined": _said(error_code=_undefined_code),
            "reserved-set": _said(reserved=lambda rng: rng.randrange(1, 1 << 13)),
            "control-cut": _cut_control,
            "copies-cut": _cut_copies,
            "d-without-header": _said(ddp_header=None, rdmap_header=None, r=False),
            "r-without-header": _said(rdmap_header=None),
            "m-cleared": _said(m=False),
            "trailing": _said(trailing=lambda rng: rng.randbytes(rng.randrange(1, 100))),
            "l-missing": header(last=False),
        }.items()
    },
)
"""RFC 5040 4.8."""
