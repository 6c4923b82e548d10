# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications with something wrong in them (draft-williams-iwarp-ift-01 4, 9)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import framed
from scapy_mpa.craft.mutations.edit import (
    Where,
    change_item,
    cut_short,
    ended,
    first,
    left_out,
    moved_before,
    other_than,
    places,
    twice,
    valued,
)
from scapy_mpa.craft.mutations.mutation import Change, listed
from scapy_mpa.craft.script import CloseItem, FrameItem, IndicationItem
from scapy_mpa.wire.ift_indication import (
    DOCUMENT,
    MAGIC,
    RESERVED_LENGTH,
    build_indication,
    parse_indication,
)

__all__ = ["IFT_INDICATIONS"]

_RESERVED_FLAGS: Final = 23


def _indication(phase: int, **fields: Any) -> Change:
    """Return what sets fields of an indication; callables are given it and a generator."""

    def edit(item: IndicationItem, rng: Random) -> IndicationItem:
        values = valued(fields, item.indication, rng)
        return replace(item, indication=item.indication._replace(**values))

    return change_item(edit, _of_phase(phase))


def _of_phase(phase: int) -> Where:
    return first(IndicationItem, lambda item: item.indication.ph == phase)


_phase_0, _phase_1 = _of_phase(0), _of_phase(1)


def _last_frame(conversation: Conversation, rng: Random) -> int:
    """Return the place of the last frame of the Initiator."""
    return places(conversation, FrameItem, lambda item: not item.side)[-1]


def _crc_of(indication: Any) -> int:
    crc = parse_indication(build_indication(indication)).crc
    assert crc is not None
    return crc


def _crc_wrong(indication: Any, rng: Random) -> int:
    return _crc_of(indication) ^ 1 << rng.randrange(32)


def _crc_swapped(indication: Any, rng: Random) -> int:
    return int.from_bytes(_crc_of(indication).to_bytes(4, "big"), "little")


def _silent(conversation: Conversation, rng: Random) -> Conversation:
    """Leave out all between phase 0 and the end."""
    return ended(conversation, _phase_0(conversation, rng) + 1, conversation.script[-1])


def _markers(conversation: Conversation, rng: Random) -> Conversation:
    return _indication(1, rm=True)(_indication(0, sm=True)(conversation, rng), rng)


def _reserved(indication: Any, rng: Random) -> bytes:
    octets = bytearray(RESERVED_LENGTH)
    octets[rng.randrange(RESERVED_LENGTH)] = rng.randrange(1, 256)
    return bytes(octets)


_OF_EACH_PHASE: Final[dict[str, dict[str, Any]]] = {
    "4.1/phase-{}-magic-wrong": {"magic": lambda _, rng: other_than(MAGIC, 0xFFFFFFFF, rng)},
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
    "4.2/phase-{}-marker-interval-set": {
        "marker_interval": lambda _, rng: rng.randrange(1, 0x10000)
    },
    "4.2/phase-{}-ih-set": {"ih": True},
    "4.2/phase-{}-ip-set": {"ip": True},
    "4.2/phase-{}-sp-set": {"sp": True},
    "4.2/phase-{}-sm-set": {"sm": True},
    "4.2/phase-{}-rm-set": {"rm": True},
    "4.2/phase-{}-r-cleared": {"r": False},
}
"""Fields that are set in one of the two indications."""

_CHANGES: Final[dict[str, Change]] = {
    **{
        name.format(phase): _indication(phase, **fields)
        for name, fields in _OF_EACH_PHASE.items()
        for phase in (0, 1)
    },
    "4.2/phase-0-ph-set": _indication(0, ph=True),
    "4.2/phase-1-ph-cleared": _indication(1, ph=False),
    "4.2/phase-1-missing": change_item(left_out, _phase_1),
    "4.2/phase-0-unanswered": _silent,
    "4.2/phase-1-first": moved_before(_phase_1, _phase_0),
    "5.1/phase-0-twice": change_item(twice, _phase_0),
    "4.2/phase-0-incomplete": cut_short(_phase_0, 12, lambda _: CloseItem(0)),
    "6/closed-within-a-frame": cut_short(_last_frame, 6, lambda _: CloseItem(0)),
    "9/markers-agreed": _markers,
}

IFT_INDICATIONS: Final = listed(framed, _CHANGES, f"{DOCUMENT}/")
"""In the order of the draft."""
