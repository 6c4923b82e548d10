# SPDX-License-Identifier: GPL-2.0-or-later
"""How mutations are written: which item of a script is taken, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias, TypeVar

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change
from scapy_mpa.craft.script import CloseItem, FPDUItem, Item, OctetsItem, ResetItem, StartupItem
from scapy_mpa.wire.crc import CRC_LENGTH
from scapy_mpa.wire.rdmap import build_control, parse_control
from scapy_mpa.wire.startup import StartupKind

_Item = TypeVar("_Item")

Edit: TypeAlias = Callable[[Any, Random], Any]
"""Makes of an item what stands in its place: an item, or a sequence of them."""

Where: TypeAlias = Callable[[Conversation, Random], int]
"""Tells the place of an item in a script."""


def opcode_of(item: FPDUItem) -> int:
    """Return the RDMAP opcode of an FPDU."""
    return parse_control(item.header.rsvdulp).opcode


def places(
    conversation: Conversation, kind: type[_Item], where: Callable[[_Item], bool] = bool
) -> list[int]:
    """Return the places of items of a kind in a script.

    :param where: tells which of them count; all if it is left out.
    """
    script: list[Any] = conversation.script
    return [at for at, item in enumerate(script) if isinstance(item, kind) and where(item)]


def first(kind: type[_Item], where: Callable[[_Item], bool] = bool) -> Where:
    """Return what finds the first item of a kind that meets a condition."""
    return lambda conversation, _: places(conversation, kind, where)[0]


def fpdus(
    conversation: Conversation,
    opcodes: Collection[int] | None = None,
    where: Callable[[FPDUItem], bool] = bool,
    side: int | None = None,
) -> dict[int, FPDUItem]:
    """Return FPDUs of a script by their places, in its order.

    :param opcodes: only of these messages.
    :param where: only those for which this is true.
    :param side: only of this side.
    """

    def is_wanted(item: FPDUItem) -> bool:
        is_of_message = opcodes is None or opcode_of(item) in opcodes
        return side in (None, item.side) and is_of_message and where(item)

    script = enumerate(conversation.script)
    return {at: item for at, item in script if isinstance(item, FPDUItem) and is_wanted(item)}


def of_kind(kind: StartupKind) -> Where:
    """Return what tells the place of a startup frame."""
    return first(StartupItem, lambda item: item.kind is kind)


def replaced(conversation: Conversation, at: int, *items: Item, count: int = 1) -> Conversation:
    """Return a conversation with other items in the place of so many from ``at`` on."""
    script = conversation.script
    return conversation.with_script([*script[:at], *items, *script[at + count :]])


def ended(conversation: Conversation, at: int, *items: Item) -> Conversation:
    """Return a conversation up to place ``at``, and these items after that."""
    return conversation.with_script([*conversation.script[:at], *items])


def moved(conversation: Conversation, at: int, to: int) -> Conversation:
    """Return a conversation in which the item at a place stands before the one at another."""
    script = list(conversation.script)
    item = script.pop(at)
    script.insert(to - (at < to), item)
    return conversation.with_script(script)


def octets_of(conversation: Conversation) -> list[bytes]:
    """Return what each item puts into the stream."""
    return [placed.octets for placed in conversation.layout()]


def valued(fields: dict[str, Any], *given: Any) -> dict[str, Any]:
    """Return fields with their values; callables are given the arguments."""
    return {name: value(*given) if callable(value) else value for name, value in fields.items()}


def change_item(edit: Edit, where: Where) -> Change:
    """Return what puts something else in the place of one item."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        at = where(conversation, rng)
        made = edit(conversation.script[at], rng)
        return replaced(conversation, at, *(made if isinstance(made, Sequence) else (made,)))

    return apply


def change_fields(where: Where, **fields: Any) -> Change:
    """Return what sets fields of one item; callables are given it and a generator."""
    return change_item(lambda item, rng: replace(item, **valued(fields, item, rng)), where)


def twice(item: Any, rng: Random) -> tuple[Any, Any]:
    """Return an item two times."""
    return item, item


def left_out(item: Any, rng: Random) -> tuple[()]:
    """Return nothing in the place of an item."""
    return ()


def moved_before(where: Where, other: Where) -> Change:
    """Return what sends one item before another one."""
    return lambda given, rng: moved(given, where(given, rng), other(given, rng))


def cut_short(where: Where, least: int, end: Callable[[Random], CloseItem | ResetItem]) -> Change:
    """Return what ends a conversation in the midst of an item.

    :param least: octets of the item that are left.
    :param end: makes what ends it.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        last, at = end(rng), where(conversation, rng)
        item: Any = conversation.script[at]
        octets = conversation.layout()[at].octets
        part = OctetsItem(item.side, octets[: rng.randrange(least, len(octets))])
        return ended(conversation, at, part, last)

    return apply


def change_fpdu(
    edit: Edit,
    opcodes: Collection[int] | None = None,
    where: Callable[[FPDUItem], bool] = bool,
) -> Change:
    """Return what puts something else in the place of one FPDU, chosen at random.

    :param opcodes: of these messages only.
    :param where: only those for which this is true.
    """
    return change_item(edit, lambda given, rng: rng.choice([*fpdus(given, opcodes, where)]))


def first_fpdu(edit: Edit) -> Change:
    """Return what puts something else in the place of the first FPDU."""
    return change_item(edit, first(FPDUItem))


def header(**fields: Any) -> Edit:
    """Return what sets fields of the DDP header; callables are given the header and a generator."""

    return lambda item, rng: item.with_header(**valued(fields, item.header, rng))


def control(**fields: Any) -> Edit:
    """Return what sets fields of the RDMAP control octet; callables are given a generator."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse_control(item.header.rsvdulp)._asdict()
        return item.with_header(rsvdulp=build_control(**now | valued(fields, rng)))

    return edit


def rdmap_header(
    parse: Callable[[bytes], Any], build: Callable[[Any], bytes], **fields: Any
) -> Edit:
    """Return what sets fields of what follows the DDP header; callables are given it as it was and
    a generator.

    :param parse: makes a named tuple of its octets.
    :param build: makes octets of that.
    """

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse(item.payload)
        return item.with_payload(build(now._replace(**valued(fields, now, rng))))

    return edit


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


def bit_wrong(item: Any, rng: Random) -> Callable[[bytes], bytes]:
    """Return what inverts a bit of a CRC field."""
    wrong = 1 << rng.randrange(8 * CRC_LENGTH)
    return lambda right: (int.from_bytes(right, "big") ^ wrong).to_bytes(CRC_LENGTH, "big")


def swapped(right: bytes) -> bytes:
    """Return a CRC field in the wrong octet order."""
    return right[::-1]


def change_startup(kind: StartupKind, **fields: Any) -> Change:
    """Return what sets fields of a startup frame; callables are given the item and a generator."""
    return change_fields(of_kind(kind), **fields)


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
