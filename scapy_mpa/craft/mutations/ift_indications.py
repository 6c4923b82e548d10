# SPDX-License-Identifier: GPL-2.0-or-later
"""Adaption indications with something wrong in them (draft-williams-iwarp-ift-01 4, 9)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import framed
from scapy_mpa.craft.mutations.edit import (
    change_item,
    cut_short,
    moved,
    other_than,
    replaced,
    valued,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, Action, Expectation, accept, error
from scapy_mpa.craft.mutations.mutation import Change, Family, Mutation
from scapy_mpa.craft.script import CloseItem, FrameItem, IndicationItem
from scapy_mpa.wire.ift_indication import (
    DOCUMENT,
    MAGIC,
    RESERVED_LENGTH,
    build_indication,
    parse_indication,
)

__all__ = ["IFT_INDICATIONS"]

_family: Final = Family(DOCUMENT, framed)

_RESERVED_FLAGS: Final = 23
_CLOSED: Final = Expectation(Action.CLOSE)
_BY_POLICY: Final = accept("a side that does not want it aborts the connection")


def _indication(phase: int, **fields: Any) -> Change:
    """Return what sets fields of an indication; callables are given it and a generator."""

    def edit(item: IndicationItem, rng: Random) -> IndicationItem:
        values = valued(fields, item.indication, rng)
        return replace(item, indication=item.indication._replace(**values))

    return change_item(edit, lambda conversation, _: _at(conversation, phase))


def _at(conversation: Conversation, phase: int) -> int:
    return next(
        at
        for at, item in enumerate(conversation.script)
        if isinstance(item, IndicationItem) and item.indication.ph == phase
    )


def _last_frame(conversation: Conversation) -> int:
    """Return the place of the last frame of the Initiator."""
    items = enumerate(conversation.script)
    return max(at for at, item in items if isinstance(item, FrameItem) and not item.side)


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
    return replaced(conversation, _at(conversation, 0) + 1, end=len(conversation.script) - 1)


def _markers(conversation: Conversation, rng: Random) -> Conversation:
    return _indication(1, rm=True)(_indication(0, sm=True)(conversation, rng), rng)


def _unanswered(conversation: Conversation, rng: Random) -> Conversation:
    return replaced(conversation, _at(conversation, 1))


def _reserved(indication: Any, rng: Random) -> bytes:
    octets = bytearray(RESERVED_LENGTH)
    octets[rng.randrange(RESERVED_LENGTH)] = rng.randrange(1, 256)
    return bytes(octets)


_Row: TypeAlias = tuple[str, str, Expectation, dict[str, Any]]
"""``clause/what``, what is wrong, what a receiver does, and the fields of the indication."""

_OF_EACH_PHASE: Final[tuple[_Row, ...]] = (
    (
        "4.1/magic-wrong",
        "The magic number of {} is another one.",
        *(_CLOSED, {"magic": lambda _, rng: other_than(MAGIC, 0xFFFFFFFF, rng)}),
    ),
    ("4.2/version-0", "The version of {} is 0.", _CLOSED, {"version": 0}),
    ("4.2/version-2", "The version of {} is 2, and its BC version 1.", ACCEPT, {"version": 2}),
    ("4.2/bc-version-0", "The BC version of {} is 0.", _CLOSED, {"bc_version": 0}),
    (
        "4.2/bc-version-2",
        "Version and BC version of {} are 2.",
        *(_CLOSED, {"version": 2, "bc_version": 2}),
    ),
    ("4.2/crc-wrong", "The CRC of {} has a wrong bit.", _CLOSED, {"crc": _crc_wrong}),
    (
        "4.2/crc-swapped",
        "The CRC of {} has its octets in the other order.",
        *(_CLOSED, {"crc": _crc_swapped}),
    ),
    (
        "4.2/reserved-flag-set",
        "A reserved flag of {} is set.",
        *(ACCEPT, {"reserved_flags": lambda _, rng: 1 << rng.randrange(_RESERVED_FLAGS)}),
    ),
    (
        "4.2/reserved-not-zero",
        "A reserved octet of {} is not zero.",
        *(ACCEPT, {"reserved": _reserved}),
    ),
    (
        "4.2/marker-interval-set",
        "There is a marker interval in {}, and there are no markers.",
        *(ACCEPT, {"marker_interval": lambda _, rng: rng.randrange(1, 0x10000)}),
    ),
    ("4.2/ih-set", "The sender of {} ignores header CRCs.", _BY_POLICY, {"ih": True}),
    ("4.2/ip-set", "The sender of {} ignores payload CRCs.", _BY_POLICY, {"ip": True}),
    ("4.2/sp-set", "The sender of {} allows speculative placement.", ACCEPT, {"sp": True}),
    ("4.2/sm-set", "The sender of {} is willing to send markers.", ACCEPT, {"sm": True}),
    ("4.2/rm-set", "The sender of {} wishes to receive markers.", ACCEPT, {"rm": True}),
    (
        "4.2/r-cleared",
        "The sender of {} asks for DDP mode, the other one for RDMA mode.",
        *(_CLOSED, {"r": False}),
    ),
)


def _of_phase(phase: int, row: _Row) -> Mutation:
    """Return a mutation of one of the two indications."""
    name, breaks, expectation, fields = row
    section, _, what = name.partition("/")
    change = _indication(phase, **fields)
    return _family(
        f"{section}/phase-{phase}-{what}", breaks.format(f"phase {phase}"), expectation, change
    )


IFT_INDICATIONS: Final = [
    *(_of_phase(phase, row) for row in _OF_EACH_PHASE for phase in (0, 1)),
    _of_phase(0, ("4.2/ph-set", "Both indications are phase 1.", _CLOSED, {"ph": True})),
    _of_phase(1, ("4.2/ph-cleared", "Both indications are phase 0.", _CLOSED, {"ph": False})),
    _family(
        "4.2/phase-1-missing", "Frames follow where phase 0 must be answered.", _CLOSED, _unanswered
    ),
    _family(
        "4.2/phase-0-unanswered",
        "Nothing at all answers phase 0 before the connection is closed.",
        _CLOSED,
        _silent,
    ),
    _family(
        "4.2/phase-1-first",
        "Phase 1 comes before phase 0.",
        _CLOSED,
        lambda given, _: moved(given, _at(given, 1), _at(given, 0)),
    ),
    _family(
        "5.1/phase-0-twice",
        "Phase 0 comes twice.",
        _CLOSED,
        change_item(lambda item, _: (item, item), lambda given, _: _at(given, 0)),
    ),
    _family(
        "4.2/phase-0-incomplete",
        "The connection ends in the midst of phase 0.",
        error(1, note="or a timeout comes first"),
        lambda given, rng: cut_short(given, _at(given, 0), 12, CloseItem(0), rng),
    ),
    _family(
        "6/closed-within-a-frame",
        "The connection ends in the midst of a frame.",
        _CLOSED,
        lambda given, rng: cut_short(given, _last_frame(given), 6, CloseItem(0), rng),
    ),
    _family(
        "9/markers-agreed",
        "Markers are agreed on, which are not defined.",
        Expectation(Action.CLOSE, note="nobody knows what they look like"),
        _markers,
    ),
]
"""In the order of the draft."""
