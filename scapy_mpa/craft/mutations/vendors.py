# SPDX-License-Identifier: GPL-2.0-or-later
"""What stacks in the field do not accept that have a dialect of their own (docs/dialects.md)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.mutations.bases import extension, padded_otherwise
from scapy_mpa.craft.mutations.edit import change_fpdu, change_startup
from scapy_mpa.craft.mutations.expectation import error, improper
from scapy_mpa.craft.mutations.mutation import Mutation
from scapy_mpa.wire.fpdu import pad_length
from scapy_mpa.wire.startup import StartupKind

__all__ = ["VENDORS"]

_NAMES: Final = {StartupKind.REQUEST: "Request", StartupKind.REPLY: "Reply"}


def _of_erdma() -> list[Mutation]:
    found = []
    for kind, name in _NAMES.items():
        prefix = f"erdma/startup/{name.lower()}"
        found += [
            Mutation(
                f"{prefix}-m-set",
                f"M of the {name} is set.",
                improper("erdma has no Markers"),
                extension,
                change_startup(kind, markers=True),
            ),
            Mutation(
                f"{prefix}-c-set",
                f"C of the {name} is set.",
                improper("erdma has no CRCs"),
                extension,
                change_startup(kind, crc=True),
            ),
        ]
    return found


_OF_SOFTUIWARP: Final = (
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


VENDORS: Final = (*_of_erdma(), *_OF_SOFTUIWARP)
"""Vendors, by what of theirs is broken."""
