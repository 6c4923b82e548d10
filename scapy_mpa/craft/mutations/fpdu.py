# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs with something wrong in them: lengths, pad, CRC (RFC 5044 4.1, 4.4, 8)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.mutations.edit import (
    change_fpdu,
    cut_short,
    fpdus,
    override,
    swapped,
    with_bits_wrong,
)
from scapy_mpa.craft.mutations.mutation import Change, listed
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


def _any(**fields: Any) -> Change:
    return change_fpdu(override(**fields))


def _padded(**fields: Any) -> Change:
    return change_fpdu(override(**fields), where=lambda item: _pad(item) > 0)


def _pad(item: FPDUItem) -> int:
    return pad_length(len(item.ulpdu))


def _more_octets(item: FPDUItem, rng: Random) -> int:
    return len(item.ulpdu) + _pad(item) + rng.randrange(1, 1000)


def _octets_of_pad(item: FPDUItem, rng: Random) -> int:
    return len(item.ulpdu) + rng.randint(1, _pad(item))


def _fewer_octets(item: FPDUItem, rng: Random) -> int:
    # Less than a word fewer would only make the pad longer, which no CRC tells.
    words = (HEADER_LENGTH + len(item.ulpdu) - 1) // 4
    return rng.randint(1, words * 4 - HEADER_LENGTH)


def _pad_not_zero(item: FPDUItem, rng: Random) -> bytes:
    size = _pad(item)
    return rng.randrange(1, 1 << 8 * size).to_bytes(size, "big")


def _close_or_reset(rng: Random) -> CloseItem | ResetItem:
    return rng.choice((CloseItem, ResetItem))(rng.randrange(2))


def _oversized(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU with a payload that makes its ULPDU as long as no MULPDU may be."""
    length = rng.randrange(LARGEST_MULPDU + 1, LARGEST_ULPDU_LENGTH + 1)
    return item.with_payload(rng.randbytes(length - item.header.length))


def _is_a_message(item: FPDUItem) -> bool:
    return item.header.last and not item.header.mo


FPDU: Final = listed(
    bases.plain,
    {
        "rfc5044/3/ulpdu-over-64768": change_fpdu(
            _oversized, (Opcode.SEND, Opcode.SEND_WITH_SE), _is_a_message
        ),
        "rfc5044/4.1/ulpdu-length-longer": _any(ulpdu_length=_more_octets),
        "rfc5044/4.1/ulpdu-length-counts-pad": change_fpdu(
            override(ulpdu_length=_octets_of_pad),
            where=lambda item: _pad(item) > 0 and item.header.last,
        ),
        "rfc5044/4.1/ulpdu-length-shorter": _any(ulpdu_length=_fewer_octets),
        "rfc5044/4.1/ulpdu-length-zero": _any(ulpdu_length=0),
        "rfc5044/4.1/pad-not-zero": _padded(pad=_pad_not_zero),
        "rfc5044/4.1/pad-too-long": _any(pad=lambda item, _: bytes(_pad(item) + 4)),
        "rfc5044/4.1/pad-missing": _padded(pad=b""),
        "rfc5044/4.4/crc-wrong": _any(
            crc=lambda _, rng: with_bits_wrong(1 << rng.randrange(32)),
        ),
        "rfc5044/4.4/crc-swapped": _any(crc=lambda *_: swapped),
        "rfc5044/4.4/crc-zero": _any(crc=bytes(CRC_LENGTH)),
        "rfc5044/4.4/crc-missing": _any(crc=b""),
        "rfc5044/8/closed-within-fpdu": cut_short(
            lambda given, rng: rng.choice(fpdus(given)), HEADER_LENGTH, _close_or_reset
        ),
    },
)
"""RFC 5044 4.1, 4.4 and 8."""
