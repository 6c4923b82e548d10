# SPDX-License-Identifier: GPL-2.0-or-later
"""What stacks in the field do not accept that have a dialect of their own (docs/dialects.md)."""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.mutations.bases import extension
from scapy_mpa.craft.mutations.edit import change_startup
from scapy_mpa.craft.mutations.expectation import improper
from scapy_mpa.craft.mutations.mutation import Mutation
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


VENDORS: Final = tuple(_of_erdma())
"""Vendors, by what of theirs is broken."""
