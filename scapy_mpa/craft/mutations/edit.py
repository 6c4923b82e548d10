# SPDX-License-Identifier: GPL-2.0-or-later
"""Building blocks of mutations: functions that choose an item of a script, and that change it."""

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
"""Takes an item; returns the item, or the sequence of items, that replaces it."""

Value: TypeAlias = Callable[..., Any]
"""A value of a field that is drawn when it is set; the last argument is the generator."""

Where: TypeAlias = Callable[[Conversation, Random], int]
"""Returns the place of an item in a script."""


def opcode_of(item: FPDUItem) -> int:
    """Return the RDMAP opcode of an FPDU."""
    return parse_control(item.header.rsvdulp).opcode


def is_message(item: FPDUItem) -> bool:
    """Return whether an FPDU holds a whole Untagged message, or ends a Tagged one."""
    return item.header.last and not item.header.mo


def places(
    conversation: Conversation, kind: type[_Item], where: Callable[[_Item], bool] = bool
) -> list[int]:
    """Return the places of items of a kind in a script.

    :param where: a condition for items; all items if it is left out.
    """
    script: list[Any] = conversation.script
    return [at for at, item in enumerate(script) if isinstance(item, kind) and where(item)]


def first(kind: type[_Item], where: Callable[[_Item], bool] = bool) -> Where:
    """Return a function that finds the first item of a kind that meets a condition."""
    return lambda conversation, _: places(conversation, kind, where)[0]


def at_random(kind: type[_Item], where: Callable[[_Item], bool] = bool) -> Where:
    """Return a function that chooses an item of a kind that meets a condition."""
    return lambda conversation, rng: rng.choice(places(conversation, kind, where))


def fpdus(
    conversation: Conversation,
    opcodes: Collection[int] | None = None,
    where: Callable[[FPDUItem], bool] = bool,
    side: int | None = None,
) -> dict[int, FPDUItem]:
    """Return FPDUs of a script by their places, in its order.

    :param opcodes: only FPDUs of these messages.
    :param where: only FPDUs that meet this condition.
    :param side: only FPDUs of this side.
    """

    def is_wanted(item: FPDUItem) -> bool:
        is_of_message = opcodes is None or opcode_of(item) in opcodes
        return side in (None, item.side) and is_of_message and where(item)

    script = enumerate(conversation.script)
    return {at: item for at, item in script if isinstance(item, FPDUItem) and is_wanted(item)}


def of_kind(kind: StartupKind) -> Where:
    """Return a function that finds the first startup frame of a kind."""
    return first(StartupItem, lambda item: item.kind is kind)


def replaced(conversation: Conversation, at: int, *items: Item, count: int = 1) -> Conversation:
    """Return a conversation in which ``items`` replace ``count`` items from place ``at`` on."""
    script = conversation.script
    return conversation.with_script([*script[:at], *items, *script[at + count :]])


def ended(conversation: Conversation, at: int, *items: Item) -> Conversation:
    """Return a conversation that ends before place ``at``, and then has these items."""
    return conversation.with_script([*conversation.script[:at], *items])


def moved(conversation: Conversation, at: int, to: int) -> Conversation:
    """Return a conversation with the item at place ``at`` moved before that at place ``to``."""
    script = list(conversation.script)
    item = script.pop(at)
    script.insert(to - (at < to), item)
    return conversation.with_script(script)


def octets_of(conversation: Conversation) -> list[bytes]:
    """Return the octets of each item in the stream."""
    return [placed.octets for placed in conversation.layout()]


def evaluated(fields: dict[str, Any], *given: Any) -> dict[str, Any]:
    """Return fields with their values; a callable is called with the other arguments."""
    return {name: value(*given) if callable(value) else value for name, value in fields.items()}


def between(low: int, high: int) -> Value:
    """Return a value for a field: a random number from ``low`` to ``high - 1``."""
    return lambda *given: given[-1].randrange(low, high)


def any_of(*values: Any) -> Value:
    """Return a value for a field: one of some values, chosen at random."""
    return lambda *given: given[-1].choice(values)


def random_octets(low: int, high: int) -> Value:
    """Return a value for a field: ``low`` to ``high - 1`` random octets."""
    return lambda *given: given[-1].randbytes(given[-1].randrange(low, high))


def change_item(edit: Edit, where: Where) -> Change:
    """Return a change that edits one item."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        at = where(conversation, rng)
        made = edit(conversation.script[at], rng)
        return replaced(conversation, at, *(made if isinstance(made, Sequence) else (made,)))

    return apply


def change_fields(where: Where, **fields: Any) -> Change:
    """Return a change that sets fields of one item; a callable takes the item and a generator."""
    return change_item(lambda item, rng: replace(item, **evaluated(fields, item, rng)), where)


def twice(item: Any, rng: Random) -> tuple[Any, Any]:
    """Return an item twice."""
    return item, item


def left_out(item: Any, rng: Random) -> tuple[()]:
    """Return no item, so that the item is left out."""
    return ()


def moved_before(where: Where, other: Where) -> Change:
    """Return a change that moves one item before another one."""
    return lambda given, rng: moved(given, where(given, rng), other(given, rng))


def cut_short(where: Where, least: int, end: Callable[[Random], CloseItem | ResetItem]) -> Change:
    """Return a change that ends a conversation in the middle of an item.

    :param least: the fewest octets of the item that are sent.
    :param end: makes the item that ends the conversation.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        last, at = end(rng), where(conversation, rng)
        item: Any = conversation.script[at]
        octets = conversation.layout()[at].octets
        part = OctetsItem(item.side, octets[: rng.randrange(least, len(octets))])
        return ended(conversation, at, part, last)

    return apply


def change_fpdu(
    edit: Edit, opcodes: Collection[int] | None = None, where: Callable[[FPDUItem], bool] = bool
) -> Change:
    """Return a change that edits one FPDU, chosen at random.

    :param opcodes: only FPDUs of these messages.
    :param where: only FPDUs that meet this condition.
    """
    return change_item(edit, lambda given, rng: rng.choice([*fpdus(given, opcodes, where)]))


def first_fpdu(edit: Edit) -> Change:
    """Return a change that edits the first FPDU."""
    return change_item(edit, first(FPDUItem))


def header(**fields: Any) -> Edit:
    """Return an edit that sets fields of the DDP header; a callable takes it and a generator."""

    return lambda item, rng: item.with_header(**evaluated(fields, item.header, rng))


def control(**fields: Any) -> Edit:
    """Return an edit that sets fields of the RDMAP control octet; a callable takes a generator."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse_control(item.header.rsvdulp)._asdict()
        return item.with_header(rsvdulp=build_control(**now | evaluated(fields, rng)))

    return edit


def rdmap_header(
    parse: Callable[[bytes], Any], build: Callable[[Any], bytes], **fields: Any
) -> Edit:
    """Return an edit that sets fields of the RDMAP header after the DDP header.

    A callable takes the old header and a generator.

    :param parse: makes a named tuple of the header's octets.
    :param build: makes octets of the named tuple.
    """

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse(item.payload)
        return item.with_payload(build(now._replace(**evaluated(fields, now, rng))))

    return edit


def override(**fields: Any) -> Edit:
    """Return an edit that overrides fields of an FPDU or a frame.

    A callable takes the item and a generator.  If the field itself is to be a callable, it returns
    that one.
    """
    return lambda item, rng: item.override(**evaluated(fields, item, rng))


def longer_payload(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU with more octets after its payload."""
    return replace(item, ulpdu=item.ulpdu + rng.randbytes(rng.randrange(1, 100)))


def cut_payload(item: FPDUItem, rng: Random) -> FPDUItem:
    """Return an FPDU without the last octets of its payload, or all of them."""
    return replace(item, ulpdu=item.ulpdu[: -rng.randint(1, len(item.payload))])


def bit_wrong(item: Any, rng: Random) -> Callable[[bytes], bytes]:
    """Return a function that inverts one bit of a CRC field, chosen at random."""
    wrong = 1 << rng.randrange(8 * CRC_LENGTH)
    return lambda right: (int.from_bytes(right, "big") ^ wrong).to_bytes(CRC_LENGTH, "big")


def swapped(right: bytes) -> bytes:
    """Return a CRC field in the wrong octet order."""
    return right[::-1]


def change_startup(kind: StartupKind, **fields: Any) -> Change:
    """Return a change that sets fields of a startup frame; a callable takes it and a generator."""
    return change_fields(of_kind(kind), **fields)


def of_each_frame(changes: Mapping[str, Any]) -> dict[str, Change]:
    """Return the same changes for the Request and for the Reply, by the names of mutations.

    :param changes: by names with ``{}`` for the frame: the fields to set, or a function that
        returns the change for a kind.
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
