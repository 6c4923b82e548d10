# SPDX-License-Identifier: GPL-2.0-or-later
"""How mutations are written: which item of a script is taken, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change
from scapy_mpa.craft.script import CloseItem, FPDUItem, Item, OctetsItem, ResetItem, StartupItem
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.rdmap import parse_control
from scapy_mpa.wire.startup import StartupKind

__all__ = [
    "Edit",
    "change_fpdu",
    "change_item",
    "change_startup",
    "cut_payload",
    "cut_short",
    "first_fpdu",
    "fpdu_at",
    "fpdus",
    "header",
    "longer_payload",
    "moved",
    "of_each_frame",
    "of_kind",
    "opcode_of",
    "other_than",
    "override",
    "replaced",
    "startup_at",
    "swapped",
    "valued",
    "with_bits_wrong",
]

Edit: TypeAlias = Callable[[Any, Random], Any]
"""Makes of an item what stands in its place: an item, or a sequence of them."""


def opcode_of(item: FPDUItem) -> int:
    """Return the RDMAP opcode of an FPDU."""
    return parse_control(item.header.rsvdulp).opcode


def fpdus(
    conversation: Conversation,
    opcodes: Collection[int] | None = None,
    where: Callable[[FPDUItem], bool] | None = None,
    side: int | None = None,
) -> list[int]:
    """Return the places of FPDUs in a script.

    :param opcodes: only of these messages.
    :param where: only those of which this is true.
    :param side: only of this side.
    """
    return [
        number
        for number, item in enumerate(conversation.script)
        if isinstance(item, FPDUItem)
        and (side is None or item.side == side)
        and (opcodes is None or opcode_of(item) in opcodes)
        and (where is None or where(item))
    ]


def fpdu_at(conversation: Conversation, at: int) -> FPDUItem:
    """Return the FPDU at a place in a script."""
    item = conversation.script[at]
    assert isinstance(item, FPDUItem)
    return item


def startup_at(conversation: Conversation, kind: StartupKind) -> int:
    """Return the place of a startup frame in a script."""
    return next(
        number
        for number, item in enumerate(conversation.script)
        if isinstance(item, StartupItem) and item.kind is kind
    )


def replaced(
    conversation: Conversation, at: int, *items: Item, end: int | None = None
) -> Conversation:
    """Return a conversation with other items from place ``at`` up to ``end``; None: at ``at``."""
    script = conversation.script
    return conversation.with_script(
        [*script[:at], *items, *script[at + 1 if end is None else end :]]
    )


def moved(conversation: Conversation, at: int, to: int) -> Conversation:
    """Return a conversation in which the item at a place stands before the one at another."""
    script = list(conversation.script)
    item = script.pop(at)
    script.insert(to - (at < to), item)
    return conversation.with_script(script)


def valued(fields: dict[str, Any], *given: Any) -> dict[str, Any]:
    """Return fields with their values; callables are given the arguments."""
    return {name: value(*given) if callable(value) else value for name, value in fields.items()}


def change_item(edit: Edit, places: Callable[[Conversation, Random], int]) -> Change:
    """Return what puts something else in the place of one item.

    :param places: tells which.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        at = places(conversation, rng)
        made = edit(conversation.script[at], rng)
        return replaced(conversation, at, *(made if isinstance(made, Sequence) else (made,)))

    return apply


def cut_short(
    conversation: Conversation, at: int, least: int, end: CloseItem | ResetItem, rng: Random
) -> Conversation:
    """Return a conversation that ends in the midst of an item.

    :param least: octets of the item that are left.
    """
    item: Any = conversation.script[at]
    octets = conversation.layout()[at].octets
    part = OctetsItem(item.side, octets[: rng.randrange(least, len(octets))])
    return replaced(conversation, at, part, end, end=len(conversation.script))


def change_fpdu(
    edit: Edit,
    opcodes: Collection[int] | None = None,
    where: Callable[[FPDUItem], bool] | None = None,
) -> Change:
    """Return what puts something else in the place of one FPDU, chosen at random.

    :param opcodes: of these messages only.
    :param where: of those only of which this is true.
    """
    return change_item(edit, lambda given, rng: rng.choice(fpdus(given, opcodes, where)))


def first_fpdu(edit: Edit) -> Change:
    """Return what puts something else in the place of the first FPDU."""
    return change_item(edit, lambda given, _: fpdus(given)[0])


def header(**fields: Any) -> Edit:
    """Return what sets fields of the DDP header; callables are given the header and a generator."""

    return lambda item, rng: item.with_header(**valued(fields, item.header, rng))


def override(**fields: Any) -> Edit:
    """Return what overrides fields of an FPDU or a frame; callables are given it and a generator.

    Where the field may itself be a callable, the callable returns that.
    """
    return lambda item, rng: item.override(**valued(fields, item, rng))


def longer_payload(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU with more octets after its payload."""
    return replace(item, ulpdu=item.ulpdu + rng.randbytes(rng.randrange(1, 100)))


def cut_payload(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU without the last octets of its payload, or all of them."""
    return replace(item, ulpdu=item.ulpdu[: -rng.randint(1, len(item.payload))])


def with_bits_wrong(wrong: int) -> Callable[[bytes], bytes]:
    """Return what inverts bits of a CRC field, octets in network order."""
    return lambda right: (int.from_bytes(right, "big") ^ wrong).to_bytes(CRC_LENGTH, "big")


def swapped(right: bytes) -> bytes:
    """Return a CRC field in the wrong octet order."""
    return right[::-1]


def of_kind(kind: StartupKind) -> Callable[[Conversation, Random], int]:
    """Return what tells the place of a startup frame."""
    return lambda conversation, _: startup_at(conversation, kind)


def change_startup(kind: StartupKind, **fields: Any) -> Change:
    """Return what sets fields of a startup frame; callables are given the item and a generator."""
    return change_item(lambda item, rng: replace(item, **valued(fields, item, rng)), of_kind(kind))


def of_each_frame(changes: Mapping[str, Any]) -> dict[str, Change]:
    """Return changes of the Request, and the same of the Reply, by the names of mutations.

    :param changes: by names with ``{}`` for the frame: the fields that are set, or what makes the
        change for a kind.
    """
    return {
        name.format(kind.name.lower()): change(kind)
        if callable(change)
        else change_startup(kind, **change)
        for kind in (StartupKind.REQUEST, StartupKind.REPLY)
        for name, change in changes.items()
    }


def other_than(value: int, most: int, rng: Random, taken: Iterable[int] = ()) -> int:
    """Return a random number from 0 to ``most`` that is not ``value``, nor any of ``taken``."""
    wrong = {value, *taken}
    while (chosen := rng.randint(0, most)) in wrong:
        pass
    return chosen
