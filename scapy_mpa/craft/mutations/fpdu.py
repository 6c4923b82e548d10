# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs with something wrong in them: lengths, pad, CRC (RFC 5044 4.1, 4.4, 8)."""

from __future__ import annotations

import zlib
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.layout import assembled
from scapy_mpa.craft.mutations.bases import plain
from scapy_mpa.craft.mutations.edit import change_fpdu, fpdu_at, fpdus, replaced
from scapy_mpa.craft.mutations.expectation import ACCEPT, error
from scapy_mpa.craft.mutations.mutation import Mutation
from scapy_mpa.craft.script import CloseItem, FPDUItem, OctetsItem, ResetItem
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import HEADER_LENGTH, LARGEST_ULPDU_LENGTH, pad_length

__all__ = ["FPDU"]


def _pad(item: FPDUItem) -> int:
    return pad_length(len(item.ulpdu))


def _longer(item: FPDUItem, rng: Random) -> FPDUItem:
    length = len(item.ulpdu)
    return item.override(ulpdu_length=length + _pad(item) + rng.randrange(1, 1000))


def _into_pad(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.override(ulpdu_length=len(item.ulpdu) + rng.randint(1, _pad(item)))


def _shorter(item: FPDUItem, rng: Random) -> FPDUItem:
    # Less than a word fewer would only make the pad longer, which no CRC tells.
    words = (HEADER_LENGTH + len(item.ulpdu) - 1) // 4
    return item.override(ulpdu_length=rng.randint(1, words * 4 - HEADER_LENGTH))


def _longest(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.override(ulpdu_length=LARGEST_ULPDU_LENGTH)


def _nothing(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.override(ulpdu_length=0)


def _swapped_length(item: FPDUItem, rng: Random) -> FPDUItem:
    swapped = len(item.ulpdu).to_bytes(HEADER_LENGTH, "little")
    return item.override(ulpdu_length=int.from_bytes(swapped, "big"))


def _pad_not_zero(item: FPDUItem, rng: Random) -> FPDUItem:
    size = _pad(item)
    return item.override(pad=rng.randrange(1, 1 << 8 * size).to_bytes(size, "big"))


def _pad_too_long(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.override(pad=bytes(_pad(item) + 4))


def _without_pad(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.override(pad=b"")


def _bit_wrong(item: FPDUItem, rng: Random) -> FPDUItem:
    wrong = 1 << rng.randrange(32)
    return item.override(crc=_Xor(wrong))


class _Xor:
    """Changes bits of a CRC field."""

    def __init__(self, wrong: int) -> None:
        self._wrong = wrong

    def __call__(self, right: bytes) -> bytes:
        return (int.from_bytes(right, "big") ^ self._wrong).to_bytes(CRC_LENGTH, "big")


def _swapped(right: bytes) -> bytes:
    return right[::-1]


def _crc32(item: FPDUItem, rng: Random) -> FPDUItem:
    body = b"".join((len(item.ulpdu).to_bytes(HEADER_LENGTH, "big"), item.ulpdu, bytes(_pad(item))))
    return item.override(crc=zlib.crc32(body).to_bytes(CRC_LENGTH, "little"))


def _within_fpdu(
    conversation: Conversation, rng: Random, end: CloseItem | ResetItem
) -> Conversation:
    """End the connection in the midst of an FPDU."""
    at = rng.choice(fpdus(conversation))
    item = fpdu_at(conversation, at)
    octets = assembled(conversation.layout()[at], conversation.options).octets
    part = OctetsItem(item.side, octets[: rng.randrange(HEADER_LENGTH, len(octets))])
    return replaced(conversation, at, part, end, end=len(conversation.script))


def _closed_within(conversation: Conversation, rng: Random) -> Conversation:
    return _within_fpdu(conversation, rng, CloseItem(rng.randrange(2)))


def _reset_within(conversation: Conversation, rng: Random) -> Conversation:
    return _within_fpdu(conversation, rng, ResetItem(rng.randrange(2)))


FPDU: Final = (
    Mutation(
        "rfc5044/4.1/ulpdu-length-longer",
        "ULPDU_Length says more octets than the ULPDU has.",
        error(1, 2),
        plain,
        change_fpdu(_longer),
    ),
    Mutation(
        "rfc5044/4.1/ulpdu-length-counts-pad",
        "ULPDU_Length counts octets of the pad; nothing but DDP can tell.",
        ACCEPT,
        plain,
        change_fpdu(_into_pad, where=lambda item: _pad(item) > 0 and item.header.last),
    ),
    Mutation(
        "rfc5044/4.1/ulpdu-length-shorter",
        "ULPDU_Length says fewer octets than the ULPDU has.",
        error(2),
        plain,
        change_fpdu(_shorter),
    ),
    Mutation(
        "rfc5044/4.1/ulpdu-length-zero",
        "ULPDU_Length is zero, and a ULPDU follows.",
        error(2),
        plain,
        change_fpdu(_nothing),
    ),
    Mutation(
        "rfc5044/4.1/ulpdu-length-65535",
        "ULPDU_Length is 65535, and the ULPDU is shorter.",
        error(1, 2),
        plain,
        change_fpdu(_longest),
    ),
    Mutation(
        "rfc5044/4.1/ulpdu-length-swapped",
        "ULPDU_Length is in the wrong octet order.",
        error(1, 2),
        plain,
        change_fpdu(_swapped_length, where=lambda item: len(item.ulpdu) % 257 != 0),
    ),
    Mutation(
        "rfc5044/4.1/pad-not-zero",
        "The pad is not zero, and the CRC covers it as it is.",
        ACCEPT,
        plain,
        change_fpdu(_pad_not_zero, where=lambda item: _pad(item) > 0),
    ),
    Mutation(
        "rfc5044/4.1/pad-too-long",
        "The pad has 4 octets too many.",
        error(2),
        plain,
        change_fpdu(_pad_too_long),
    ),
    Mutation(
        "rfc5044/4.1/pad-missing",
        "There is no pad where one must be: the FPDU is no multiple of 4 octets.",
        error(1, 2),
        plain,
        change_fpdu(_without_pad, where=lambda item: _pad(item) > 0),
    ),
    Mutation(
        "rfc5044/4.4/crc-wrong",
        "A bit of the CRC is wrong.",
        error(2),
        plain,
        change_fpdu(_bit_wrong),
    ),
    Mutation(
        "rfc5044/4.4/crc-swapped",
        "The CRC is in the wrong octet order.",
        error(2),
        plain,
        change_fpdu(lambda item, _: item.override(crc=_swapped)),
    ),
    Mutation(
        "rfc5044/4.4/crc-not-inverted",
        "The CRC lacks the complement at its end.",
        error(2),
        plain,
        change_fpdu(lambda item, _: item.override(crc=_Xor(0xFFFFFFFF))),
    ),
    Mutation(
        "rfc5044/4.4/crc-zero",
        "The CRC field is zero, as if CRCs were off.",
        error(2),
        plain,
        change_fpdu(lambda item, _: item.override(crc=bytes(CRC_LENGTH))),
    ),
    Mutation(
        "rfc5044/4.4/crc-of-another-polynomial",
        "The CRC is the CRC32 of Ethernet, not CRC32c.",
        error(2),
        plain,
        change_fpdu(_crc32),
    ),
    Mutation(
        "rfc5044/4.4/crc-missing",
        "The FPDU has no CRC field.",
        error(1, 2),
        plain,
        change_fpdu(lambda item, _: item.override(crc=b"")),
    ),
    Mutation(
        "rfc5044/8/closed-within-fpdu",
        "The connection is closed in the midst of an FPDU.",
        error(1),
        plain,
        _closed_within,
    ),
    Mutation(
        "rfc5044/8/reset-within-fpdu",
        "The connection is reset in the midst of an FPDU.",
        error(1),
        plain,
        _reset_within,
    ),
)
"""RFC 5044 4.1, 4.4 and 8."""
