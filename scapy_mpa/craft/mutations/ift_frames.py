# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of iWARP Framing for TCP with something wrong in them (draft-williams-iwarp-ift-01 4.2,
5.1, 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import (
    framed,
    framed_ignoring,
    framed_speculative,
    framed_without_crcs,
)
from scapy_mpa.craft.mutations.edit import other_than, replaced
from scapy_mpa.craft.mutations.expectation import Action, Expectation, accept
from scapy_mpa.craft.mutations.mutation import Base, Change, Mutation
from scapy_mpa.craft.script import FrameItem
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import LARGEST_SIZE, build_frame
from scapy_mpa.wire.ift_indication import DOCUMENT

__all__ = ["IFT_FRAMES"]

_REPORTED: Final = Expectation(
    Action.CLOSE, note="the next layer is told of the error, and typically closes (7)"
)

_Edit: TypeAlias = Callable[[FrameItem, Random], FrameItem]


def _frame(edit: _Edit, where: Callable[[FrameItem], bool] | None = None) -> Change:
    """Return what puts something else in the place of one frame, chosen at random."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        at = rng.choice(
            [
                at
                for at, item in enumerate(conversation.script)
                if isinstance(item, FrameItem) and (where is None or where(item))
            ]
        )
        item: Any = conversation.script[at]
        return replaced(conversation, at, edit(item, rng))

    return apply


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


def _header_crc_wrong(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_crc=_Xor(1 << rng.randrange(32)))


def _payload_crc_wrong(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_crc=_Xor(1 << rng.randrange(32)))


class _Xor:
    """Changes bits of a CRC."""

    def __init__(self, wrong: int) -> None:
        self._wrong = wrong

    def __call__(self, right: bytes) -> bytes:
        return (int.from_bytes(right, "big") ^ self._wrong).to_bytes(4, "big")


def _swapped(right: bytes) -> bytes:
    return right[::-1]


def _header_crc_swapped(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_crc=_swapped)


def _payload_crc_swapped(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_crc=_swapped)


def _header_crc_missing(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_crc=b"")


def _payload_crc_missing(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_crc=b"")


def _crc_added(name: str) -> _Edit:
    """Return what puts a CRC where none was announced."""

    def edit(item: FrameItem, rng: Random) -> FrameItem:
        return item.override(**{name: crc_field(item.ulpdu)})

    return edit


def _payload_longer(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_size=_length(item) + rng.randrange(1, 1000))


def _payload_shorter(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_size=rng.randrange(_length(item)))


def _payload_longest(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(payload_size=LARGEST_SIZE)


def _header_longer(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_size=_size(item) + rng.randrange(5, 100))


def _header_shorter(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_size=rng.randrange(_size(item)))


def _header_of_the_other_kind(item: FrameItem, rng: Random) -> FrameItem:
    return item.override(header_size=32 - _size(item))


def _vtag(
    choose: Callable[[tuple[Any, Any], FrameItem, Random], int],
) -> Change:
    """Return what puts another VTag into a frame."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        announced = _announced(conversation)
        return _frame(lambda item, rng: item.override(vtag=choose(announced, item, rng)))(
            conversation, rng
        )

    return apply


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


def _both(section: str, what: str, breaks: str, edit: _Edit, **more: Any) -> Mutation:
    return _of_frame(section, what, breaks, _frame(edit, more.pop("where", None)), **more)


def _of_frame(
    section: str,
    what: str,
    breaks: str,
    change: Change,
    *,
    expectation: Expectation = _REPORTED,
    base: Base = framed,
) -> Mutation:
    return Mutation(f"{DOCUMENT}/{section}/{what}", breaks, expectation, base, change)


IFT_FRAMES: Final = [
    _of_frame(
        "4.2",
        "vtag-wrong",
        "A frame has a VTag that nobody has announced.",
        _vtag(
            lambda both, item, rng: other_than(
                both[1 - item.side].vtag, 0xFFFF, rng, [both[item.side].vtag]
            )
        ),
    ),
    _of_frame(
        "4.2",
        "vtag-of-sender",
        "A frame has the VTag of its own sender.",
        _vtag(lambda both, item, rng: int(both[item.side].vtag)),
    ),
    _both(
        "5.1", "header-crc-wrong", "The header CRC of a frame has a wrong bit.", _header_crc_wrong
    ),
    _both(
        "5.1",
        "header-crc-wrong-ignored",
        "A header CRC has a wrong bit, and its receiver has set IH.",
        _header_crc_wrong,
        expectation=accept("its receiver does not check header CRCs (4.2)"),
        base=framed_ignoring,
    ),
    _both(
        "5.1",
        "header-crc-swapped",
        "A header CRC has its octets in the other order.",
        _header_crc_swapped,
    ),
    _both(
        "5.1",
        "header-crc-missing",
        "A frame lacks the header CRC that was announced.",
        _header_crc_missing,
    ),
    _both(
        "5.1",
        "header-crc-unannounced",
        "A frame has a header CRC that was not announced.",
        _crc_added("header_crc"),
        base=framed_without_crcs,
        where=_is_tagged,
    ),
    _both(
        "5.1",
        "payload-crc-wrong",
        "The payload CRC of a frame has a wrong bit.",
        _payload_crc_wrong,
    ),
    _both(
        "5.1",
        "payload-crc-wrong-ignored",
        "A payload CRC has a wrong bit, and its receiver has set IP.",
        _payload_crc_wrong,
        expectation=accept("its receiver does not check payload CRCs (4.2)"),
        base=framed_ignoring,
    ),
    _both(
        "5.1",
        "payload-crc-swapped",
        "A payload CRC has its octets in the other order.",
        _payload_crc_swapped,
        where=_has_payload,
    ),
    _both(
        "5.1",
        "payload-crc-missing",
        "A frame lacks the payload CRC that was announced.",
        _payload_crc_missing,
        where=_has_payload_and_followers,
    ),
    _both(
        "5.1",
        "payload-crc-unannounced",
        "A frame has a payload CRC that was not announced.",
        _crc_added("payload_crc"),
        base=framed_without_crcs,
        where=_is_tagged,
    ),
    _both(
        "5.1",
        "header-size-longer",
        "The header_size of a frame exceeds its DDP header.",
        _header_longer,
        where=_is_tagged,
    ),
    _both(
        "5.1",
        "header-size-shorter",
        "The header_size of a frame ends within its DDP header.",
        _header_shorter,
    ),
    _both(
        "5.1",
        "header-size-of-other-kind",
        "The header_size is that of the other kind of DDP header.",
        _header_of_the_other_kind,
    ),
    _both(
        "5.1",
        "payload-size-longer",
        "The payload_size of a frame exceeds its payload.",
        _payload_longer,
        where=_is_tagged,
    ),
    _both(
        "5.1",
        "payload-size-shorter",
        "The payload_size of a frame ends within its payload.",
        _payload_shorter,
        where=_has_payload,
    ),
    _both(
        "5.1",
        "payload-size-largest",
        "The payload_size of a frame is 65535, and its payload shorter.",
        _payload_longest,
        where=_is_tagged,
    ),
    _both(
        "5.1",
        "padded",
        "A payload is padded to 4 octets, and payload_size does not say so.",
        _padded,
        where=_is_padded,
    ),
    _of_frame(
        "8",
        "frame-in-payload",
        "A payload holds a whole frame with the right VTag.",
        _in_payload,
        expectation=accept("whoever places it speculatively must place it again (8)"),
        base=framed_speculative,
    ),
]
"""In the order of the draft."""
