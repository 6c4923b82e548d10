# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of iWARP Framing for TCP (draft-williams-iwarp-ift-01)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

import scapy_mpa.craft.mutations.bases as bases
import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.script import CloseItem, FrameItem, IndicationItem
from scapy_mpa.wire.crc import crc_field
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import LARGEST_SIZE, build_frame
from scapy_mpa.wire.ift_indication import (
    DOCUMENT,
    MAGIC,
    RESERVED_LENGTH,
    AdaptionIndication,
    build_indication,
    parse_indication,
)

# -- adaption indications (4, 9) -------------------------------------------------------------------

_RESERVED_FLAGS: Final = 23


def _indication(phase: int, **fields: Any) -> Change:
    """Return a change that sets fields of an indication; a callable takes it and a generator."""

    def change(item: IndicationItem, rng: Random) -> IndicationItem:
        values = edit.evaluated(fields, item.indication, rng)
        return replace(item, indication=item.indication._replace(**values))

    return edit.change_item(change, _of_phase(phase))


def _of_phase(phase: int) -> edit.Where:
    return edit.first(IndicationItem, lambda item: item.indication.ph == phase)


_phase_0, _phase_1 = _of_phase(0), _of_phase(1)


def _last_frame(conversation: Conversation, rng: Random) -> int:
    """Return the place of the last frame of the Initiator."""
    return edit.places(conversation, FrameItem, lambda item: not item.side)[-1]


def _crc_of(indication: Any) -> int:
    crc = parse_indication(build_indication(indication)).crc
    assert crc is not None
    return crc


def _crc_wrong(indication: Any, rng: Random) -> int:
    return _crc_of(indication) ^ 1 << rng.randrange(32)


def _crc_swapped(indication: Any, rng: Random) -> int:
    return int.from_bytes(_crc_of(indication).to_bytes(4, "big"), "little")


def _silent(conversation: Conversation, rng: Random) -> Conversation:
    """Leave out all items between phase 0 and the end."""
    return edit.ended(conversation, _phase_0(conversation, rng) + 1, conversation.script[-1])


def _markers(conversation: Conversation, rng: Random) -> Conversation:
    return _indication(1, rm=True)(_indication(0, sm=True)(conversation, rng), rng)


def _reserved(indication: Any, rng: Random) -> bytes:
    octets = bytearray(RESERVED_LENGTH)
    octets[rng.randrange(RESERVED_LENGTH)] = rng.randrange(1, 256)
    return bytes(octets)


_OF_EACH_PHASE: Final[dict[str, dict[str, Any]]] = {
    "4.1/phase-{}-magic-wrong": {"magic": lambda _, rng: edit.other_than(MAGIC, 0xFFFFFFFF, rng)},
    "4.2/phase-{}-version-0": {"version": 0},
    "4.2/phase-{}-version-2": {"version": 2},
    "4.2/phase-{}-bc-version-0": {"bc_version": 0},
    "4.2/phase-{}-bc-version-2": {"version": 2, "bc_version": 2},
    "4.2/phase-{}-crc-wrong": {"crc": _crc_wrong},
    "4.2/phase-{}-crc-swapped": {"crc": _crc_swapped},
    "4.2/phase-{}-reserved-flag-set": {
        "reserved_flags": lambda _, rng: 1 << rng.randrange(_RESERVED_FLAGS)
    },
    "4.2/phase-{}-reserved-not-zero": {"reserved": _reserved},
    "4.2/phase-{}-marker-interval-set": {"marker_interval": edit.between(1, 0x10000)},
    "4.2/phase-{}-ih-set": {"ih": True},
    "4.2/phase-{}-ip-set": {"ip": True},
    "4.2/phase-{}-sp-set": {"sp": True},
    "4.2/phase-{}-sm-set": {"sm": True},
    "4.2/phase-{}-rm-set": {"rm": True},
    "4.2/phase-{}-r-cleared": {"r": False},
}
"""Fields that are set in one of the two indications."""

_INDICATIONS: Final[dict[str, Change]] = {
    **{
        name.format(phase): _indication(phase, **fields)
        for name, fields in _OF_EACH_PHASE.items()
        for phase in (0, 1)
    },
    "4.2/phase-0-ph-set": _indication(0, ph=True),
    "4.2/phase-1-ph-cleared": _indication(1, ph=False),
    "4.2/phase-1-missing": edit.change_item(edit.left_out, _phase_1),
    "4.2/phase-0-unanswered": _silent,
    "4.2/phase-1-first": edit.moved_before(_phase_1, _phase_0),
    "5.1/phase-0-twice": edit.change_item(edit.twice, _phase_0),
    "4.2/phase-0-incomplete": edit.cut_short(_phase_0, 12, lambda _: CloseItem(0)),
    "6/closed-within-a-frame": edit.cut_short(_last_frame, 6, lambda _: CloseItem(0)),
    "9/markers-agreed": _markers,
}


# -- frames (4.2, 5.1, 8) --------------------------------------------------------------------------

_Announced: TypeAlias = tuple[AdaptionIndication, AdaptionIndication]
"""The indications of both sides."""


def _size(item: FrameItem) -> int:
    return ddp_header_length(item.ulpdu)


def _length(item: FrameItem) -> int:
    return len(item.ulpdu) - _size(item)


def _is_tagged(item: FrameItem) -> bool:
    """Return whether a frame is tagged: such a frame is never the last of its direction."""
    return item.header.tagged


def _has_payload(item: FrameItem) -> bool:
    return _length(item) > 0


def _has_payload_and_followers(item: FrameItem) -> bool:
    return _has_payload(item) and _is_tagged(item)


def _crc_of_all(item: FrameItem, rng: Random) -> bytes:
    """Return a CRC, for a direction without CRCs."""
    return crc_field(item.ulpdu)


def _vtag(choose: Callable[[_Announced, FrameItem, Random], int]) -> Change:
    """Return a change that sets the VTag of a frame."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        both = conversation.options.announced
        return _set(vtag=partial(choose, both))(conversation, rng)

    return apply


def _other_vtag(both: _Announced, item: FrameItem, rng: Random) -> int:
    return edit.other_than(both[1 - item.side].vtag, 0xFFFF, rng, [both[item.side].vtag])


def _padded(item: FrameItem, rng: Random) -> FrameItem:
    """Pad the payload as MPA pads a ULPDU; ``payload_size`` does not count the pad."""
    pad = bytes(4 - _length(item) % 4)
    return replace(item, ulpdu=item.ulpdu + pad).override(payload_size=_length(item))


def _is_padded(item: FrameItem) -> bool:
    return _length(item) % 4 > 0


def _in_payload(conversation: Conversation, rng: Random) -> Conversation:
    """Put a whole frame without faults into the payload of another frame.

    A receiver that gets the TCP segment with it first may take it for a real frame.
    """
    announced = conversation.options.announced

    def change(item: FrameItem, rng: Random) -> FrameItem:
        size = _size(item)
        own, peer = announced[item.side], announced[1 - item.side]
        within = build_frame(
            item.ulpdu[:size], rng.randbytes(24), peer.vtag, header_crc=own.hc, payload_crc=own.pc
        )
        at = rng.randrange(0, max(1, _length(item) - len(within)))
        head, rest = item.ulpdu[: size + at], item.ulpdu[size + at + len(within) :]
        return replace(item, ulpdu=head + within + rest)

    long = edit.at_random(FrameItem, lambda item: _length(item) >= 200)
    return edit.change_item(change, long)(conversation, rng)


def _set(where: Callable[[FrameItem], bool] = bool, **fields: Any) -> Change:
    """Return a change that overrides fields of one frame, chosen at random."""
    return edit.change_item(edit.override(**fields), edit.at_random(FrameItem, where))


_BY_CLAUSE: Final[Table] = {
    bases.framed: {
        **_INDICATIONS,
        "4.2/vtag-wrong": _vtag(_other_vtag),
        "4.2/vtag-of-sender": _vtag(lambda both, item, rng: both[item.side].vtag),
        "5.1/header-crc-wrong": _set(header_crc=edit.bit_wrong),
        "5.1/header-crc-swapped": _set(header_crc=lambda *_: edit.swapped),
        "5.1/header-crc-missing": _set(header_crc=b""),
        "5.1/payload-crc-wrong": _set(payload_crc=edit.bit_wrong),
        "5.1/payload-crc-swapped": _set(_has_payload, payload_crc=lambda *_: edit.swapped),
        "5.1/payload-crc-missing": _set(_has_payload_and_followers, payload_crc=b""),
        "5.1/header-size-longer": _set(
            _is_tagged, header_size=lambda item, rng: _size(item) + rng.randrange(5, 100)
        ),
        "5.1/header-size-shorter": _set(header_size=lambda item, rng: rng.randrange(_size(item))),
        "5.1/header-size-of-other-kind": _set(header_size=lambda item, _: 32 - _size(item)),
        "5.1/payload-size-longer": _set(
            _is_tagged, payload_size=lambda item, rng: _length(item) + rng.randrange(1, 1000)
        ),
        "5.1/payload-size-shorter": _set(
            _has_payload, payload_size=lambda item, rng: rng.randrange(_length(item))
        ),
        "5.1/payload-size-largest": _set(_is_tagged, payload_size=LARGEST_SIZE),
        "5.1/padded": edit.change_item(_padded, edit.at_random(FrameItem, _is_padded)),
    },
    bases.framed_ignoring: {
        "5.1/header-crc-wrong-ignored": _set(header_crc=edit.bit_wrong),
        "5.1/payload-crc-wrong-ignored": _set(payload_crc=edit.bit_wrong),
    },
    bases.framed_without_crcs: {
        "5.1/header-crc-unannounced": _set(_is_tagged, header_crc=_crc_of_all),
        "5.1/payload-crc-unannounced": _set(_is_tagged, payload_crc=_crc_of_all),
    },
    bases.framed_speculative: {"8/frame-in-payload": _in_payload},
}

MUTATIONS: Final[Table] = {
    base: {f"{DOCUMENT}/{name}": change for name, change in changes.items()}
    for base, changes in _BY_CLAUSE.items()
}
"""Mutations of draft-williams-iwarp-ift-01."""
