# SPDX-License-Identifier: GPL-2.0-or-later
"""What stacks in the field do not accept that have a dialect of their own (docs/dialects.md)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.mutations.bases import extension, padded_otherwise
from scapy_mpa.craft.mutations.edit import change_fpdu, of_each_frame
from scapy_mpa.craft.mutations.expectation import error, improper
from scapy_mpa.craft.mutations.mutation import Family, Mutation
from scapy_mpa.wire.fpdu import pad_length

__all__ = ["VENDORS"]

VENDORS: Final = (
    *of_each_frame(
        Family("erdma", extension),
        (
            "startup/{}-m-set",
            "M of the {} is set.",
            improper("erdma has no Markers"),
            {"markers": True},
        ),
        ("startup/{}-c-set", "C of the {} is set.", improper("erdma has no CRCs"), {"crc": True}),
    ),
    Mutation(
        "softuiwarp/pad/as-in-rfc5044",
        "An FPDU whose ULPDU_Length is odd has the pad of RFC 5044.",
        error(1, 3, note="the length leads to no FPDU"),
        padded_otherwise,
        change_fpdu(
            lambda item, _: item.override(pad=bytes(pad_length(len(item.ulpdu)))),
            where=lambda item: len(item.ulpdu) % 4 == 3,
        ),
    ),
)
"""Vendors, by what of theirs is broken."""
