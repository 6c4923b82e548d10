# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP with something wrong in them (draft-williams-iwarp-ift-01 4.2,
5.1, 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final

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
    swapped,
    with_bits_wrong,
)
from scapy_mpa.craft.mutations.expectation import Action, Expectation, accept
from scapy_mpa.craft.mutations.mutation import Base, Change, Family
from scapy_mpa.craft.script import FrameItem
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import LARGEST_SIZE, build_frame
from scapy_mpa.wire.ift_indication import DOCUMENT

__all__ = ["IFT_FRAMES"]

_REPORTED: Final = Expectation(
    Action.CLOSE, note="the next layer is told of the error, and typically closes (7)"
)


def _frame(edit: Edit, where: Callable[[FrameItem], bool] = bool) -> Change:
    """Return what puts something else in the place of one frame, chosen at random."""

    def place(conversation: Conversation, rng: Random) -> int:
        frames = enumerate(conversation.script)
        return rng.choice(
            [at for at, item in frames if isinstance(item, FrameItem) and where(item)]
        )

    return change_item(edit, place)


def _announced(conversation: Conversation) -> tuple[Any, Any]:
    assert conversation.options.ift is not None
    return conversation.options.ift


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


def _vtag(choose: Callable[[tuple[Any, Any], FrameItem, Random], int]) -> Change:
    """Return what puts another VTag into a frame."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        both = _announced(conversation)
        return _frame(override(vtag=partial(choose, both)))(conversation, rng)

    return apply


def _other_vtag(both: tuple[Any, Any], item: FrameItem, rng: Random) -> int:
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
    announced = _announced(conversation)

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


def _row(
    breaks: str,
    edit: Edit,
    where: Callable[[FrameItem], bool] = bool,
    expectation: Expectation = _REPORTED,
    base: Base = framed,
) -> tuple[str, Expectation, Change, Base]:
    """Return what a mutation of one frame breaks, and how."""
    return breaks, expectation, _frame(edit, where), base


def _of_crc(
    part: str,
    where: Callable[[FrameItem], bool] = bool,
    where_missing: Callable[[FrameItem], bool] = bool,
) -> dict[str, tuple[str, Expectation, Change, Base]]:
    """Return what can be wrong with the header CRC and the payload CRC alike.

    :param where: in which frames its octets have an order.
    :param where_missing: which frames it may lack.
    """

    def of(value: Any) -> Edit:
        return override(**{f"{part}_crc": value})

    name = f"5.1/{part}-crc"
    return {
        f"{name}-wrong": _row(f"The {part} CRC of a frame has a wrong bit.", of(_bit_wrong)),
        f"{name}-wrong-ignored": _row(
            f"A {part} CRC has a wrong bit, and its receiver has set I{part[0].upper()}.",
            of(_bit_wrong),
            expectation=accept(f"its receiver does not check {part} CRCs (4.2)"),
            base=framed_ignoring,
        ),
        f"{name}-swapped": _row(
            f"A {part} CRC has its octets in the other order.", of(lambda *_: swapped), where
        ),
        f"{name}-missing": _row(
            f"A frame lacks the {part} CRC that was announced.", of(b""), where_missing
        ),
        f"{name}-unannounced": _row(
            f"A frame has a {part} CRC that was not announced.",
            of(_crc_of_all),
            _is_tagged,
            base=framed_without_crcs,
        ),
    }


_ROWS: Final = {
    "4.2/vtag-wrong": (
        "A frame has a VTag that nobody has announced.",
        *(_REPORTED, _vtag(_other_vtag), framed),
    ),
    "4.2/vtag-of-sender": (
        "A frame has the VTag of its own sender.",
        *(_REPORTED, _vtag(lambda both, item, rng: int(both[item.side].vtag)), framed),
    ),
    **_of_crc("header"),
    **_of_crc("payload", _has_payload, _has_payload_and_followers),
    "5.1/header-size-longer": _row(
        "The header_size of a frame exceeds its DDP header.",
        override(header_size=lambda item, rng: _size(item) + rng.randrange(5, 100)),
        _is_tagged,
    ),
    "5.1/header-size-shorter": _row(
        "The header_size of a frame ends within its DDP header.",
        override(header_size=lambda item, rng: rng.randrange(_size(item))),
    ),
    "5.1/header-size-of-other-kind": _row(
        "The header_size is that of the other kind of DDP header.",
        override(header_size=lambda item, _: 32 - _size(item)),
    ),
    "5.1/payload-size-longer": _row(
        "The payload_size of a frame exceeds its payload.",
        override(payload_size=lambda item, rng: _length(item) + rng.randrange(1, 1000)),
        _is_tagged,
    ),
    "5.1/payload-size-shorter": _row(
        "The payload_size of a frame ends within its payload.",
        override(payload_size=lambda item, rng: rng.randrange(_length(item))),
        _has_payload,
    ),
    "5.1/payload-size-largest": _row(
        "The payload_size of a frame is 65535, and its payload shorter.",
        override(payload_size=LARGEST_SIZE),
        _is_tagged,
    ),
    "5.1/padded": _row(
        "A payload is padded to 4 octets, and payload_size does not say so.", _padded, _is_padded
    ),
    "8/frame-in-payload": (
        "A payload holds a whole frame with the right VTag.",
        accept("whoever places it speculatively must place it again (8)"),
        *(_in_payload, framed_speculative),
    ),
}

_family: Final = Family(DOCUMENT, framed)

IFT_FRAMES: Final = [_family(name, *row) for name, row in _ROWS.items()]
"""In the order of the draft."""
