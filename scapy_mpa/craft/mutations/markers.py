# SPDX-License-Identifier: GPL-2.0-or-later
"""Markers with something wrong (RFC 5044 4.2, 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.layout import Placed, assembled, manner_of
from scapy_mpa.craft.mutations.bases import marked, marked_without_crcs
from scapy_mpa.craft.mutations.edit import replaced
from scapy_mpa.craft.mutations.expectation import ACCEPT, error
from scapy_mpa.craft.mutations.mutation import Change, Family
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.fpdu import MARKER_LENGTH, strip_markers

__all__ = ["MARKERS", "Marked", "marked_fpdus", "reserved"]

_mutation: Final = Family("rfc5044", marked)

_FPDUPTR_AT: Final = 2


class Marked:
    """An FPDU of which the places of Markers are known, and what it is made of."""

    def __init__(self, placed: Placed, options: Options) -> None:
        assert isinstance(placed.item, FPDUItem) and placed.offset is not None
        self.item = placed.item
        self.at = placed.number
        self.offset = placed.offset
        manner = manner_of(placed.phase, options)
        self.layout = manner.layout(len(self.item.ulpdu), placed.phase)
        self.places = self.layout.markers
        self.markers = [manner.marker(place, self.layout.header) for place in self.places]
        self._assemble = partial(assembled, placed, options)

    @property
    def octets(self) -> bytes:
        """The FPDU as it lies in the stream."""
        return self._assemble().octets

    def with_fpduptr(self, index: int, fpduptr: int) -> FPDUItem:
        """Return the FPDU with one Marker pointing elsewhere."""
        return self.item.override(markers={index: self.pointing(index, fpduptr)})

    def pointing(self, index: int, fpduptr: int) -> bytes:
        """Return a Marker with another FPDUPTR."""
        return self.markers[index][:_FPDUPTR_AT] + (fpduptr & 0xFFFF).to_bytes(2, "big")


_Edit = Callable[[Marked, Random], FPDUItem]


def marked_fpdus(conversation: Conversation) -> list[Marked]:
    """Return the FPDUs of a conversation, in its order."""
    return [
        Marked(placed, conversation.options)
        for placed in conversation.layout()
        if isinstance(placed.item, FPDUItem)
    ]


def _change(edit: _Edit, fewest: int = 1, leading: bool | None = None) -> Change:
    """Return what changes one FPDU with Markers.

    :param fewest: how many it must have.
    :param leading: whether one must stand right before it, or must not.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        # The first FPDU of a direction is the matter of mutations of its own.
        chosen = [
            fpdu
            for fpdu in marked_fpdus(conversation)
            if len(fpdu.places) >= fewest
            and leading in (None, fpdu.layout.header > 0)
            and fpdu.offset
        ]
        fpdu = rng.choice(chosen)
        return replaced(conversation, fpdu.at, edit(fpdu, rng))

    return apply


def _change_first(edit: _Edit) -> Change:
    """Return what changes the first FPDU of the Full Operation Phase of a direction."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        side = rng.randrange(2)
        fpdu = next(each for each in marked_fpdus(conversation) if each.item.side == side)
        return replaced(conversation, fpdu.at, edit(fpdu, rng))

    return apply


def _elsewhere(right: int, rng: Random) -> int:
    """Return another FPDUPTR: a multiple of 4, as far as an FPDU may reach."""
    while (wrong := 4 * rng.randrange(0x4000)) == right:
        pass
    return wrong


def _fpduptr(marker: bytes) -> int:
    return int.from_bytes(marker[_FPDUPTR_AT:], "big")


def _one_points_elsewhere(fpdu: Marked, rng: Random) -> FPDUItem:
    index = rng.randrange(len(fpdu.markers))
    return fpdu.with_fpduptr(index, _elsewhere(_fpduptr(fpdu.markers[index]), rng))


def _all_point_elsewhere(fpdu: Marked, rng: Random) -> FPDUItem:
    by = 4 * rng.choice([*range(-8, 0), *range(1, 9)])
    return fpdu.item.override(
        markers={
            index: fpdu.pointing(index, _fpduptr(marker) + by)
            for index, marker in enumerate(fpdu.markers)
        }
    )


def _first_not_zero(fpdu: Marked, rng: Random) -> FPDUItem:
    return fpdu.with_fpduptr(0, _elsewhere(0, rng))


def _points_to_marker(fpdu: Marked, rng: Random) -> FPDUItem:
    """Have the second Marker point to the leading one, not to the ULPDU_Length after it."""
    return fpdu.with_fpduptr(1, _fpduptr(fpdu.markers[1]) + MARKER_LENGTH)


def reserved(fpdu: Marked, rng: Random) -> FPDUItem:
    """Have RESERVED of a Marker not be zero."""
    index = rng.randrange(len(fpdu.markers))
    wrong = rng.randrange(1, 1 << 16).to_bytes(2, "big")
    return fpdu.item.override(markers={index: wrong + fpdu.markers[index][_FPDUPTR_AT:]})


def _low_bits(fpdu: Marked, rng: Random) -> FPDUItem:
    index = rng.randrange(len(fpdu.markers))
    return fpdu.with_fpduptr(index, _fpduptr(fpdu.markers[index]) | rng.randrange(1, 4))


def _missing(fpdu: Marked, rng: Random) -> FPDUItem:
    index = rng.randrange(len(fpdu.places))
    places = [
        place - MARKER_LENGTH if at > index else place
        for at, place in enumerate(fpdu.places)
        if at != index
    ]
    return fpdu.item.override(marker_places=tuple(places))


def _misplaced(fpdu: Marked, rng: Random) -> FPDUItem:
    index = rng.randrange(1 if fpdu.layout.header else 0, len(fpdu.places))
    last = len(fpdu.octets) - CRC_LENGTH - MARKER_LENGTH
    ways = [
        place
        for by in (-8, -4, 4, 8)
        if MARKER_LENGTH <= (place := fpdu.places[index] + by) <= last
    ]
    places = list(fpdu.places)
    places[index] = rng.choice(ways)
    return fpdu.item.override(marker_places=tuple(places))


def _extra(fpdu: Marked, rng: Random) -> FPDUItem:
    """Put a Marker into the FPDU where none must be."""
    index = rng.randrange(1 if fpdu.layout.header else 0, len(fpdu.places) + 1)
    low = fpdu.places[index - 1] + MARKER_LENGTH if index else 4
    high = fpdu.places[index] if index < len(fpdu.places) else len(fpdu.octets) - CRC_LENGTH
    at = rng.randrange(low, high, 4) if low < high else low
    behind = [place + MARKER_LENGTH for place in fpdu.places[index:]]
    return fpdu.item.override(marker_places=(*fpdu.places[:index], at, *behind))


def _not_in_crc(fpdu: Marked, rng: Random) -> FPDUItem:
    body = strip_markers(fpdu.octets, fpdu.places)[:-CRC_LENGTH]
    return fpdu.item.override(crc=crc_field(body))


MARKERS: Final = (
    _mutation(
        "4.2/marker-reserved-set", "RESERVED of a Marker is not zero.", ACCEPT, _change(reserved)
    ),
    _mutation(
        "4.2/fpduptr-low-bits-set",
        "One of the two low bits of an FPDUPTR is set.",
        ACCEPT,
        _change(_low_bits),
    ),
    _mutation(
        "4.3/fpduptr-not-pointing",
        "A Marker does not point to the ULPDU_Length field of the FPDU that it is in.",
        error(3),
        _change(_one_points_elsewhere),
    ),
    _mutation(
        "4.3/fpduptr-not-pointing-without-crcs",
        "A Marker points elsewhere than to its FPDU, and CRCs are off.",
        error(3),
        _change(_one_points_elsewhere),
        marked_without_crcs,
    ),
    _mutation(
        "4.3/fpduptr-all-not-pointing",
        "All Markers of an FPDU point to the same wrong place.",
        error(3),
        _change(_all_point_elsewhere, fewest=2, leading=False),
    ),
    _mutation(
        "4.3/fpduptr-of-leading-marker",
        "A Marker between two FPDUs has an FPDUPTR that is not zero.",
        error(3),
        _change(_first_not_zero, leading=True),
    ),
    _mutation(
        "4.3/fpduptr-to-leading-marker",
        "A Marker points to the Marker before the FPDU, not to its ULPDU_Length field.",
        error(3),
        _change(_points_to_marker, fewest=2, leading=True),
    ),
    _mutation(
        "7.1.2/rule-7-first-marker-not-zero",
        "The first Marker of the Full Operation Phase has an FPDUPTR that is not zero.",
        error(3),
        _change_first(_first_not_zero),
    ),
    _mutation(
        "7.1.2/rule-7-first-marker-missing",
        "The first FPDU of the Full Operation Phase has no Marker before it.",
        error(1, 2),
        _change_first(
            lambda fpdu, _: fpdu.item.override(
                marker_places=tuple(place - MARKER_LENGTH for place in fpdu.places[1:])
            )
        ),
    ),
    _mutation("4.3/marker-missing", "An FPDU lacks a Marker.", error(1, 2), _change(_missing)),
    _mutation(
        "4.3/marker-misplaced",
        "A Marker stands 4 or 8 octets beside its place, and the CRC covers it there.",
        error(3),
        _change(_misplaced, leading=False),
    ),
    _mutation(
        "4.3/marker-too-many", "There is a Marker where none must be.", error(1, 2), _change(_extra)
    ),
    _mutation(
        "4.3/marker-not-in-crc",
        "The CRC of an FPDU does not include its Markers.",
        error(2),
        _change(_not_in_crc),
    ),
)
"""RFC 5044 4.2 and 4.3."""
