# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks the rules of the Ohio Supercomputer Center's software iWARP (docs/dialects.md)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import drifting, lacking_crcs
from scapy_mpa.craft.mutations.edit import change_fpdu, override, replaced, with_bits_wrong
from scapy_mpa.craft.mutations.expectation import ACCEPT, error
from scapy_mpa.craft.mutations.markers import Marked, marked_fpdus, reserved
from scapy_mpa.craft.mutations.mutation import Change, Family
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH, marker_octets, marker_places

__all__ = ["OSC"]

_mutation: Final = Family("osc", drifting)
_WORD: Final = 0xFFFFFFFF


def _change(edit: Callable[[Marked, Random], FPDUItem | None]) -> Change:
    """Return what changes one FPDU of those of which the change can be made."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        changed = [(fpdu.at, edit(fpdu, rng)) for fpdu in marked_fpdus(conversation)]
        at, item = rng.choice([(at, item) for at, item in changed if item is not None])
        return replaced(conversation, at, item)

    return apply


def _in_network_order(fpdu: Marked, rng: Random) -> FPDUItem | None:
    layout = fpdu.layout
    # Of two octets that are the same, as those of 0 are, the order is no matter.
    pointing = [n for n, marker in enumerate(fpdu.markers) if marker[2] != marker[3]]
    if not pointing:
        return None
    chosen = rng.choice(pointing)
    return fpdu.item.override(
        markers={chosen: marker_octets(layout.markers[chosen], layout.header)}
    )


def _not_drifting(fpdu: Marked, rng: Random) -> FPDUItem | None:
    layout = fpdu.layout
    length = layout.length - MARKER_LENGTH * len(layout.markers)
    places = marker_places(length, fpdu.offset % MARKER_INTERVAL)
    is_moved = len(places) == len(layout.markers) and places != layout.markers
    if not is_moved or layout.header or 0 in places:
        return None
    return fpdu.item.override(marker_places=places)


OSC: Final = (
    _mutation(
        "marker/fpduptr-in-network-order",
        "An FPDUPTR has its most significant octet first.",
        error(3),
        _change(_in_network_order),
    ),
    _mutation(
        "marker/reserved-set",
        "RESERVED of a Marker is not zero.",
        ACCEPT,
        _change(lambda fpdu, rng: reserved(fpdu, rng) if fpdu.markers else None),
    ),
    _mutation(
        "marker/misplaced-as-in-rfc5044",
        "The Markers of an FPDU are where a count that includes CRC fields has them.",
        error(3),
        _change(_not_drifting),
    ),
    _mutation(
        "crc/wrong",
        "The CRC of an FPDU is wrong.",
        error(2),
        change_fpdu(override(crc=lambda _, rng: with_bits_wrong(rng.randint(1, _WORD)))),
    ),
    _mutation(
        "crc/field-with-crcs-off",
        "An FPDU has a CRC field though CRCs are off.",
        error(1, 3, note="the length leads to no FPDU"),
        change_fpdu(lambda item, _: item.override(crc=bytes)),
        base=lacking_crcs,
    ),
)
"""The Ohio Supercomputer Center's software iWARP, by what of it is broken."""
