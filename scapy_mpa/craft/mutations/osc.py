# SPDX-License-Identifier: GPL-2.0-or-later
"""What breaks the rules of the Ohio Supercomputer Center's software iWARP (docs/dialects.md)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import drifting, lacking_crcs
from scapy_mpa.craft.mutations.edit import change_fpdu, fpdu_at, fpdus, replaced
from scapy_mpa.craft.mutations.expectation import ACCEPT, error
from scapy_mpa.craft.mutations.mutation import Change, Family
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH, marker_octets, marker_places
from scapy_mpa.wire.osc import fpdu_layout
from scapy_mpa.wire.osc import marker_octets as osc_marker

__all__ = ["OSC"]

_mutation: Final = Family("osc", drifting)
_WORD: Final = 0xFFFFFFFF

_Edit = Callable[[FPDUItem, int, int, Random], FPDUItem | None]
"""Makes another of an FPDU with its phase and its offset, None if that cannot be."""


def _change(edit: _Edit) -> Change:
    """Return what changes one FPDU of those of which the change can be made."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        placed = conversation.layout()
        changed = []
        for at in fpdus(conversation):
            phase, offset = placed[at].phase, placed[at].offset
            assert phase is not None and offset is not None
            other = edit(fpdu_at(conversation, at), phase, offset, rng)
            if other is not None:
                changed.append((at, other))
        at, item = rng.choice(changed)
        return replaced(conversation, at, item)

    return apply


def _in_network_order(item: FPDUItem, phase: int, offset: int, rng: Random) -> FPDUItem | None:
    layout = fpdu_layout(len(item.ulpdu), phase, crc=True)
    # Of two octets that are the same, as those of 0 are, the order is no matter.
    pointing = [n for n, fpduptr in enumerate(layout.fpduptrs) if fpduptr >> 8 != fpduptr & 0xFF]
    if not pointing:
        return None
    chosen = rng.choice(pointing)
    return item.override(markers={chosen: marker_octets(layout.markers[chosen], layout.header)})


def _reserved(item: FPDUItem, phase: int, offset: int, rng: Random) -> FPDUItem | None:
    layout = fpdu_layout(len(item.ulpdu), phase, crc=True)
    if not layout.markers:
        return None
    chosen = rng.randrange(len(layout.markers))
    right = osc_marker(layout.markers[chosen], layout.header)
    wrong = rng.randrange(1, 1 << 16).to_bytes(2, "big")
    return item.override(markers={chosen: wrong + right[2:]})


def _not_drifting(item: FPDUItem, phase: int, offset: int, rng: Random) -> FPDUItem | None:
    layout = fpdu_layout(len(item.ulpdu), phase, crc=True)
    length = layout.length - MARKER_LENGTH * len(layout.markers)
    places = marker_places(length, offset % MARKER_INTERVAL)
    is_moved = len(places) == len(layout.markers) and places != layout.markers
    if not is_moved or layout.header or 0 in places:
        return None
    return item.override(marker_places=places)


def _wrong_crc(item: FPDUItem, rng: Random) -> FPDUItem:
    by = rng.randint(1, _WORD).to_bytes(CRC_LENGTH, "big")
    return item.override(
        crc=lambda right: bytes(one ^ other for one, other in zip(right, by, strict=True))
    )


OSC: Final = (
    _mutation(
        "marker/fpduptr-in-network-order",
        "An FPDUPTR has its most significant octet first.",
        error(3),
        _change(_in_network_order),
    ),
    _mutation(
        "marker/reserved-set", "RESERVED of a Marker is not zero.", ACCEPT, _change(_reserved)
    ),
    _mutation(
        "marker/misplaced-as-in-rfc5044",
        "The Markers of an FPDU are where a count that includes CRC fields has them.",
        error(3),
        _change(_not_drifting),
    ),
    _mutation("crc/wrong", "The CRC of an FPDU is wrong.", error(2), change_fpdu(_wrong_crc)),
    _mutation(
        "crc/field-with-crcs-off",
        "An FPDU has a CRC field though CRCs are off.",
        error(1, 3, note="the length leads to no FPDU"),
        change_fpdu(lambda item, _: item.override(crc=bytes)),
        base=lacking_crcs,
    ),
)
"""The Ohio Supercomputer Center's software iWARP, by what of it is broken."""
