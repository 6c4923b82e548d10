# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of FPDUs: Markers, lengths, pad, CRC (RFC 5044 4, 8)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.layout import Placed, format_of
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.options import Options
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.wire.crc import CRC_LENGTH, crc_field
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    LARGEST_MULPDU,
    LARGEST_ULPDU_LENGTH,
    MARKER_LENGTH,
    marker_octets,
    pad_length,
    strip_markers,
)
from scapy_mpa.wire.rdmap_names import Opcode

# -- Markers (4.2, 4.3) ----------------------------------------------------------------------------

_FPDUPTR_AT: Final = 2


class Marked:
    """An FPDU with its Markers, its layout and its place in the script."""

    def __init__(self, placed: Placed, options: Options) -> None:
        assert isinstance(placed.item, FPDUItem) and placed.offset is not None
        self.item = placed.item
        self.at = placed.number
        self.offset = placed.offset
        form = format_of(placed.phase, options)
        self.layout = form.layout(len(self.item.ulpdu), placed.phase)
        self.places = self.layout.markers
        header = self.layout.header
        self.markers = [marker_octets(place, header, form.order) for place in self.places]
        self.octets = placed.octets
        """Its octets in the stream."""

    def with_fpduptr(self, index: int, fpduptr: int) -> FPDUItem:
        """Return the FPDU with another FPDUPTR in one Marker."""
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


def _is_marked(fpdu: Marked) -> bool:
    """Return whether an FPDU has Markers and is not the first of a direction.

    The first one has mutations of its own.
    """
    return bool(fpdu.places and fpdu.offset)


def _has_inner(fpdu: Marked) -> bool:
    """Return whether an FPDU has Markers, but no leading one."""
    return _is_marked(fpdu) and not fpdu.layout.header


def _has_two_inner(fpdu: Marked) -> bool:
    return _has_inner(fpdu) and len(fpdu.places) > 1


def _is_first(fpdu: Marked) -> bool:
    """Return whether an FPDU is the first of the Full Operation Phase of a direction."""
    return not fpdu.offset


def _change(change: _Edit, where: Callable[[Marked], bool] = _is_marked) -> Change:
    """Return a change of one FPDU that meets a condition."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        fpdu = rng.choice([each for each in marked_fpdus(conversation) if where(each)])
        return edit.replaced(conversation, fpdu.at, change(fpdu, rng))

    return apply


def _elsewhere(right: int, rng: Random) -> int:
    """Return another FPDUPTR: a multiple of 4, up to the length of the longest FPDU."""
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


def _reserved(fpdu: Marked, rng: Random) -> FPDUItem:
    """Set RESERVED of a Marker to another number than zero."""
    index = rng.randrange(len(fpdu.markers))
    wrong = rng.randrange(1, 1 << 16).to_bytes(2, "big")
    return fpdu.item.override(markers={index: wrong + fpdu.markers[index][_FPDUPTR_AT:]})


def _low_bits(fpdu: Marked, rng: Random) -> FPDUItem:
    index = rng.randrange(len(fpdu.markers))
    return fpdu.with_fpduptr(index, _fpduptr(fpdu.markers[index]) | rng.randrange(1, 4))


def _without(fpdu: Marked, index: int) -> FPDUItem:
    """Leave out a Marker."""
    after = [place - MARKER_LENGTH for place in fpdu.places[index + 1 :]]
    return fpdu.item.override(marker_places=(*fpdu.places[:index], *after))


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
    """Insert a Marker where there must be none."""
    index = rng.randrange(1 if fpdu.layout.header else 0, len(fpdu.places) + 1)
    low = fpdu.places[index - 1] + MARKER_LENGTH if index else 4
    high = fpdu.places[index] if index < len(fpdu.places) else len(fpdu.octets) - CRC_LENGTH
    at = rng.randrange(low, high, 4) if low < high else low
    after = [place + MARKER_LENGTH for place in fpdu.places[index:]]
    return fpdu.item.override(marker_places=(*fpdu.places[:index], at, *after))


def _not_in_crc(fpdu: Marked, rng: Random) -> FPDUItem:
    body = strip_markers(fpdu.octets, fpdu.places)[:-CRC_LENGTH]
    return fpdu.item.override(crc=crc_field(body))


# -- lengths, pad, CRC (4.1, 4.4, 8) ---------------------------------------------------------------


def _any_fpdu(**fields: Any) -> Change:
    return edit.change_fpdu(edit.override(**fields))


def _padded_fpdu(**fields: Any) -> Change:
    return edit.change_fpdu(edit.override(**fields), where=lambda item: _pad(item) > 0)


def _pad(item: FPDUItem) -> int:
    return pad_length(len(item.ulpdu))


def _more_octets(item: FPDUItem, rng: Random) -> int:
    return len(item.ulpdu) + _pad(item) + rng.randrange(1, 1000)


def _octets_of_pad(item: FPDUItem, rng: Random) -> int:
    return len(item.ulpdu) + rng.randint(1, _pad(item))


def _fewer_octets(item: FPDUItem, rng: Random) -> int:
    # Up to 3 octets fewer would only make the pad longer, and the CRC would still be right.
    words = (HEADER_LENGTH + len(item.ulpdu) - 1) // 4
    return rng.randint(1, words * 4 - HEADER_LENGTH)


def _pad_not_zero(item: FPDUItem, rng: Random) -> bytes:
    size = _pad(item)
    return rng.randrange(1, 1 << 8 * size).to_bytes(size, "big")


def _close_or_reset(rng: Random) -> CloseItem | ResetItem:
    return rng.choice((CloseItem, ResetItem))(rng.randrange(2))


def _oversized(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU whose ULPDU is longer than the largest MULPDU."""
    length = rng.randrange(LARGEST_MULPDU + 1, LARGEST_ULPDU_LENGTH + 1)
    return item.with_payload(rng.randbytes(length - item.header.length))


MUTATIONS: Final[Table] = {
    bases.marked: {
        "rfc5044/4.2/marker-reserved-set": _change(_reserved),
        "rfc5044/4.2/fpduptr-low-bits-set": _change(_low_bits),
        "rfc5044/4.3/fpduptr-not-pointing": _change(_one_points_elsewhere),
        "rfc5044/4.3/fpduptr-all-not-pointing": _change(_all_point_elsewhere, _has_two_inner),
        "rfc5044/7.1.2/rule-7-first-marker-not-zero": _change(_first_not_zero, _is_first),
        "rfc5044/7.1.2/rule-7-first-marker-missing": _change(
            lambda fpdu, _: _without(fpdu, 0), _is_first
        ),
        "rfc5044/4.3/marker-missing": _change(
            lambda fpdu, rng: _without(fpdu, rng.randrange(len(fpdu.places)))
        ),
        "rfc5044/4.3/marker-misplaced": _change(_misplaced, _has_inner),
        "rfc5044/4.3/marker-too-many": _change(_extra),
        "rfc5044/4.3/marker-not-in-crc": _change(_not_in_crc),
    },
    bases.marked_without_crcs: {
        "rfc5044/4.3/fpduptr-not-pointing-without-crcs": _change(_one_points_elsewhere)
    },
    bases.plain: {
        "rfc5044/3/ulpdu-over-64768": edit.change_fpdu(
            _oversized, (Opcode.SEND, Opcode.SEND_WITH_SE), edit.is_message
        ),
        "rfc5044/4.1/ulpdu-length-longer": _any_fpdu(ulpdu_length=_more_octets),
        "rfc5044/4.1/ulpdu-length-counts-pad": edit.change_fpdu(
            edit.override(ulpdu_length=_octets_of_pad),
            where=lambda item: _pad(item) > 0 and item.header.last,
        ),
        "rfc5044/4.1/ulpdu-length-shorter": _any_fpdu(ulpdu_length=_fewer_octets),
        "rfc5044/4.1/ulpdu-length-zero": _any_fpdu(ulpdu_length=0),
        "rfc5044/4.1/pad-not-zero": _padded_fpdu(pad=_pad_not_zero),
        "rfc5044/4.1/pad-too-long": _any_fpdu(pad=lambda item, _: bytes(_pad(item) + 4)),
        "rfc5044/4.1/pad-missing": _padded_fpdu(pad=b""),
        "rfc5044/4.4/crc-wrong": _any_fpdu(crc=edit.bit_wrong),
        "rfc5044/4.4/crc-swapped": _any_fpdu(crc=lambda *_: edit.swapped),
        "rfc5044/4.4/crc-zero": _any_fpdu(crc=bytes(CRC_LENGTH)),
        "rfc5044/4.4/crc-missing": _any_fpdu(crc=b""),
        "rfc5044/8/closed-within-fpdu": edit.cut_short(
            edit.at_random(FPDUItem), HEADER_LENGTH, _close_or_reset
        ),
    },
}
"""Mutations of RFC 5044 4 and 8."""
