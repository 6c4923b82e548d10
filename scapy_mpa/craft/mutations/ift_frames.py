# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP with something wrong in them (draft-williams-iwarp-ift-01 4.2,
5.1, 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import (
    framed,
    framed_ignoring,
    framed_speculative,
    framed_without_crcs,
)
from scapy_mpa.craft.mutations.edit import (
    Edit,
    change_item,
    other_than,
    override,
    places,
    swapped,
    with_bits_wrong,
)
from scapy_mpa.craft.mutations.mutation import Change, listed
from scapy_mpa.craft.script import FrameItem
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import LARGEST_SIZE, build_frame
from scapy_mpa.wire.ift_indication import DOCUMENT, AdaptionIndication

__all__ = ["IFT_FRAMES"]

_Announced: TypeAlias = tuple[AdaptionIndication, AdaptionIndication]
"""What both sides announce."""


def _frame(edit: Edit, where: Callable[[FrameItem], bool] = bool) -> Change:
    """Return what puts something else in the place of one frame, chosen at random."""
    return change_item(edit, lambda given, rng: rng.choice(places(given, FrameItem, where)))


def _size(item: FrameItem) -> int:
    return ddp_header_length(item.ulpdu)


def _length(item: FrameItem) -> int:
    return len(item.ulpdu) - _size(item)


def _is_tagged(item: FrameItem) -> bool:
    """Tell whether others follow, which are not the last of their direction."""
    return item.header.tagged


def _has_payload(item: FrameItem) -> bool:
    return _length(item) > 0


def _has_payload_and_followers(item: FrameItem) -> bool:
    return _has_payload(item) and _is_tagged(item)


def _bit_wrong(item: FrameItem, rng: Random) -> Callable[[bytes], bytes]:
    return with_bits_wrong(1 << rng.randrange(32))


def _crc_of_all(item: FrameItem, rng: Random) -> bytes:
    """Return a CRC where none was announced."""
    return crc_field(item.ulpdu)


def _vtag(choose: Callable[[_Announced, FrameItem, Random], int]) -> Change:
    """Return what puts another VTag into a frame."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        both = conversation.options.announced
        return _frame(override(vtag=partial(choose, both)))(conversation, rng)

    return apply


def _other_vtag(both: _Announced, item: FrameItem, rng: Random) -> int:
    return other_than(both[1 - item.side].vtag, 0xFFFF, rng, [both[item.side].vtag])


def _padded(item: FrameItem, rng: Random) -> FrameItem:
    """Pad the payload as MPA pads a ULPDU, without saying so."""
    pad = bytes(4 - _length(item) % 4)
    return replace(item, ulpdu=item.ulpdu + pad).override(payload_size=_length(item))


def _is_padded(item: FrameItem) -> bool:
    return _length(item) % 4 > 0


def _in_payload(conversation: Conversation, rng: Random) -> Conversation:
    """Put a whole frame, right in all, into the payload of a Send.

    It is cut so that the frame begins with a TCP segment: whoever gets that one first is tempted.
    """
    announced = conversation.options.announced

    def edit(item: FrameItem, rng: Random) -> FrameItem:
        size = _size(item)
        own, peer = announced[item.side], announced[1 - item.side]
        within = build_frame(
            item.ulpdu[:size],
            rng.randbytes(24),
            peer.vtag,
            header_crc=own.hc,
            payload_crc=own.pc,
        )
        at = rng.randrange(0, max(1, _length(item) - len(within)))
        head, rest = item.ulpdu[: size + at], item.ulpdu[size + at + len(within) :]
        return replace(item, ulpdu=head + within + rest)

    return _frame(edit, lambda item: _length(item) >= 200)(conversation, rng)


def _set(where: Callable[[FrameItem], bool] = bool, **fields: Any) -> Change:
    """Return what overrides fields of one frame, chosen at random."""
    return _frame(override(**fields), where)


_listed: Final = partial(listed, document=f"{DOCUMENT}/")

IFT_FRAMES: Final = (
    *_listed(
        framed,
        {
            "4.2/vtag-wrong": _vtag(_other_vtag),
            "4.2/vtag-of-sender": _vtag(lambda both, item, rng: both[item.side].vtag),
            "5.1/header-crc-wrong": _set(header_crc=_bit_wrong),
            "5.1/header-crc-swapped": _set(header_crc=lambda *_: swapped),
            "5.1/header-crc-missing": _set(header_crc=b""),
            "5.1/payload-crc-wrong": _set(payload_crc=_bit_wrong),
            "5.1/payload-crc-swapped": _set(_has_payload, payload_crc=lambda *_: swapped),
            "5.1/payload-crc-missing": _set(_has_payload_and_followers, payload_crc=b""),
            "5.1/header-size-longer": _set(
                _is_tagged, header_size=lambda item, rng: _size(item) + rng.randrange(5, 100)
            ),
            "5.1/header-size-shorter": _set(
                header_size=lambda item, rng: rng.randrange(_size(item))
            ),
            "5.1/header-size-of-other-kind": _set(header_size=lambda item, _: 32 - _size(item)),
            "5.1/payload-size-longer": _set(
                _is_tagged, payload_size=lambda item, rng: _length(item) + rng.randrange(1, 1000)
            ),
            "5.1/payload-size-shorter": _set(
                _has_payload, payload_size=lambda item, rng: rng.randrange(_length(item))
            ),
            "5.1/payload-size-largest": _set(_is_tagged, payload_size=LARGEST_SIZE),
            "5.1/padded": _frame(_padded, _is_padded),
        },
    ),
    *_listed(
        framed_ignoring,
        {
            "5.1/header-crc-wrong-ignored": _set(header_crc=_bit_wrong),
            "5.1/payload-crc-wrong-ignored": _set(payload_crc=_bit_wrong),
        },
    ),
    *_listed(
        framed_without_crcs,
        {
            "5.1/header-crc-unannounced": _set(_is_tagged, header_crc=_crc_of_all),
            "5.1/payload-crc-unannounced": _set(_is_tagged, payload_crc=_crc_of_all),
        },
    ),
    *_listed(framed_speculative, {"8/frame-in-payload": _in_payload}),
)
"""By the conversation that they start from."""
