# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs with something wrong in them: lengths, pad, CRC (RFC 5044 4.1, 4.4, 8)."""

from __future__ import annotations

import zlib
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import plain
from scapy_mpa.craft.mutations.edit import (
    change_fpdu,
    cut_short,
    fpdus,
    override,
    swapped,
    with_bits_wrong,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, error, surface
from scapy_mpa.craft.mutations.mutation import Change, Family
from scapy_mpa.craft.script import CloseItem, FPDUItem, ResetItem
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    LARGEST_MULPDU,
    LARGEST_ULPDU_LENGTH,
    pad_length,
)
from scapy_mpa.wire.rdmap_names import Opcode

__all__ = ["FPDU"]

_mutation: Final = Family("rfc5044", plain)


def _pad(item: FPDUItem) -> int:
    return pad_length(len(item.ulpdu))


def _has_pad(item: FPDUItem) -> bool:
    return _pad(item) > 0


def _fewer_octets(item: FPDUItem, rng: Random) -> int:
    # Less than a word fewer would only make the pad longer, which no CRC tells.
    words = (HEADER_LENGTH + len(item.ulpdu) - 1) // 4
    return rng.randint(1, words * 4 - HEADER_LENGTH)


def _swapped_length(item: FPDUItem, rng: Random) -> int:
    return int.from_bytes(len(item.ulpdu).to_bytes(HEADER_LENGTH, "little"), "big")


def _pad_not_zero(item: FPDUItem, rng: Random) -> bytes:
    size = _pad(item)
    return rng.randrange(1, 1 << 8 * size).to_bytes(size, "big")


def _crc32(item: FPDUItem, rng: Random) -> bytes:
    body = b"".join((len(item.ulpdu).to_bytes(HEADER_LENGTH, "big"), item.ulpdu, bytes(_pad(item))))
    return zlib.crc32(body).to_bytes(CRC_LENGTH, "little")


def _ended_within(end: type[CloseItem] | type[ResetItem]) -> Change:
    """Return what ends the connection in the midst of an FPDU."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        ending = end(rng.randrange(2))
        return cut_short(conversation, rng.choice(fpdus(conversation)), HEADER_LENGTH, ending, rng)

    return apply


def _oversized(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU with a payload that makes its ULPDU as long as no MULPDU may be."""
    length = rng.randrange(LARGEST_MULPDU + 1, LARGEST_ULPDU_LENGTH + 1)
    return item.with_payload(rng.randbytes(length - item.header.length))


def _is_a_message(item: FPDUItem) -> bool:
    return item.header.last and not item.header.mo


FPDU: Final = (
    _mutation(
        "3/ulpdu-over-64768",
        "A ULPDU is longer than MULPDU may be.",
        surface("no code is defined for it"),
        change_fpdu(_oversized, (Opcode.SEND, Opcode.SEND_WITH_SE), _is_a_message),
    ),
    _mutation(
        "4.1/ulpdu-length-longer",
        "ULPDU_Length says more octets than the ULPDU has.",
        error(1, 2),
        change_fpdu(
            override(
                ulpdu_length=lambda item, rng: len(item.ulpdu) + _pad(item) + rng.randrange(1, 1000)
            )
        ),
    ),
    _mutation(
        "4.1/ulpdu-length-counts-pad",
        "ULPDU_Length counts octets of the pad; nothing but DDP can tell.",
        ACCEPT,
        change_fpdu(
            override(ulpdu_length=lambda item, rng: len(item.ulpdu) + rng.randint(1, _pad(item))),
            where=lambda item: _pad(item) > 0 and item.header.last,
        ),
    ),
    _mutation(
        "4.1/ulpdu-length-shorter",
        "ULPDU_Length says fewer octets than the ULPDU has.",
        error(2),
        change_fpdu(override(ulpdu_length=_fewer_octets)),
    ),
    _mutation(
        "4.1/ulpdu-length-zero",
        "ULPDU_Length is zero, and a ULPDU follows.",
        error(2),
        change_fpdu(override(ulpdu_length=0)),
    ),
    _mutation(
        "4.1/ulpdu-length-65535",
        "ULPDU_Length is 65535, and the ULPDU is shorter.",
        error(1, 2),
        change_fpdu(override(ulpdu_length=LARGEST_ULPDU_LENGTH)),
    ),
    _mutation(
        "4.1/ulpdu-length-swapped",
        "ULPDU_Length is in the wrong octet order.",
        error(1, 2),
        change_fpdu(
            override(ulpdu_length=_swapped_length), where=lambda item: len(item.ulpdu) % 257 != 0
        ),
    ),
    _mutation(
        "4.1/pad-not-zero",
        "The pad is not zero, and the CRC covers it as it is.",
        ACCEPT,
        change_fpdu(override(pad=_pad_not_zero), where=_has_pad),
    ),
    _mutation(
        "4.1/pad-too-long",
        "The pad has 4 octets too many.",
        error(2),
        change_fpdu(override(pad=lambda item, _: bytes(_pad(item) + 4))),
    ),
    _mutation(
        "4.1/pad-missing",
        "There is no pad where one must be: the FPDU is no multiple of 4 octets.",
        error(1, 2),
        change_fpdu(override(pad=b""), where=_has_pad),
    ),
    _mutation(
        "4.4/crc-wrong",
        "A bit of the CRC is wrong.",
        error(2),
        change_fpdu(override(crc=lambda _, rng: with_bits_wrong(1 << rng.randrange(32)))),
    ),
    _mutation(
        "4.4/crc-swapped",
        "The CRC is in the wrong octet order.",
        error(2),
        change_fpdu(override(crc=lambda *_: swapped)),
    ),
    _mutation(
        "4.4/crc-not-inverted",
        "The CRC lacks the complement at its end.",
        error(2),
        change_fpdu(override(crc=lambda *_: with_bits_wrong(0xFFFFFFFF))),
    ),
    _mutation(
        "4.4/crc-zero",
        "The CRC field is zero, as if CRCs were off.",
        error(2),
        change_fpdu(override(crc=bytes(CRC_LENGTH))),
    ),
    _mutation(
        "4.4/crc-of-another-polynomial",
        "The CRC is the CRC32 of Ethernet, not CRC32c.",
        error(2),
        change_fpdu(override(crc=_crc32)),
    ),
    _mutation(
        "4.4/crc-missing",
        "The FPDU has no CRC field.",
        error(1, 2),
        change_fpdu(override(crc=b"")),
    ),
    _mutation(
        "8/closed-within-fpdu",
        "The connection is closed in the midst of an FPDU.",
        error(1),
        _ended_within(CloseItem),
    ),
    _mutation(
        "8/reset-within-fpdu",
        "The connection is reset in the midst of an FPDU.",
        error(1),
        _ended_within(ResetItem),
    ),
)
"""RFC 5044 4.1, 4.4 and 8."""
