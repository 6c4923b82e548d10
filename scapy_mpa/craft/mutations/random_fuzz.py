# SPDX-License-Identifier: GPL-2.0-or-later
"""Random fuzzing: changes random fields or octets of a valid conversation.

The result breaks any number of rules, or none.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.script import FPDUItem, Item, OctetsItem, StartupItem
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.startup import (
    KEY_LENGTH,
    KEYS,
    STARTUP_HEADER_LENGTH,
    StartupKind,
    parse_startup,
)

_BASES: Final = (
    bases.plain,
    bases.marked,
    bases.without_crcs,
    bases.enhanced,
    bases.peer_to_peer,
    bases.extended,
    bases.terminated,
)
_MOST_FIELDS: Final = 3
_MOST_OCTETS: Final = 8

_BITS_OF_SEGMENT: Final = {"last": 1, "reserved": 4, "ddp_version": 2, "rsvdulp": 8}
_BITS_OF_TAGGED: Final = {**_BITS_OF_SEGMENT, "stag": 32, "to": 64}
_BITS_OF_UNTAGGED: Final = {
    **_BITS_OF_SEGMENT,
    **dict.fromkeys(("rsvdulp_word", "qn", "msn", "mo"), 32),
}
_BITS_OF_STARTUP: Final = {
    **dict.fromkeys(("markers", "crc", "rejected", "s_bit"), 1),
    **{"reserved": 4, "revision": 8, "pd_length": 16},
}


def any_conversation(rng: Random) -> Conversation:
    """Return one of the valid conversations, at random."""
    return rng.choice(_BASES)(rng)


# -- fields ----------------------------------------------------------------------------------------


def _random_fields(bits: dict[str, int], rng: Random) -> dict[str, Any]:
    """Return a few fields with random values.

    :param bits: the number of bits of each field, by name.
    """
    names = rng.sample(sorted(bits), rng.randint(1, _MOST_FIELDS))
    return {name: rng.getrandbits(bits[name]) for name in names}


def _fields_of_ulpdu(conversation: Conversation, rng: Random) -> Conversation:
    """Change fields of the DDP header of an FPDU; RsvdULP holds those of RDMAP."""
    whole = edit.fpdus(conversation, where=_has_header)
    if not whole:
        raise LocalProtocolError("no FPDU holds a whole DDP header")
    at, item = rng.choice([*whole.items()])
    bits = _BITS_OF_TAGGED if item.header.tagged else _BITS_OF_UNTAGGED
    return edit.replaced(conversation, at, item.with_header(**_random_fields(bits, rng)))


def _has_header(item: FPDUItem) -> bool:
    """Return whether an FPDU holds a whole DDP header: a captured FPDU may not."""
    return ddp_header_of(item.ulpdu) is not None


def _fields_of_startup(item: StartupItem, rng: Random) -> StartupItem:
    """Change fields of a startup frame."""
    return replace(item, **_random_fields(_BITS_OF_STARTUP, rng))


def _fields_of_fpdu(item: FPDUItem, rng: Random) -> FPDUItem:
    """Change fields of the FPDU itself; the CRC is right, unless it is changed, too."""
    chosen: dict[str, Any] = {
        "ulpdu_length": rng.randrange(1 << 16),
        "pad": rng.randbytes(rng.randrange(4)),
        "crc": rng.randbytes(4),
    }
    names = rng.sample(sorted(chosen), rng.randint(1, len(chosen)))
    return item.override(**{name: chosen[name] for name in names})


# -- octets ----------------------------------------------------------------------------------------


def _other_octets(octets: bytes, rng: Random) -> bytes:
    """Return octets after a few of them were changed, left out or inserted."""
    changed = bytearray(octets)
    for _ in range(rng.randint(1, _MOST_OCTETS)):
        at = rng.randrange(len(changed) + 1)
        how = rng.randrange(5)
        if how == 0:
            changed[at:at] = rng.randbytes(rng.randint(1, 4))
        elif how == 1:
            del changed[at : at + rng.randint(1, 4)]
        elif at < len(changed):
            changed[at] ^= 1 << rng.randrange(8) if how == 2 else rng.randrange(1, 256)
    return bytes(changed)


def _octets_of_ulpdu(item: FPDUItem, rng: Random) -> FPDUItem:
    """Change octets of a ULPDU; length, pad and CRC of the FPDU fit it."""
    return replace(item, ulpdu=_other_octets(item.ulpdu, rng))


def _octets_of_stream(conversation: Conversation, rng: Random) -> Conversation:
    """Change octets of an FPDU or a startup frame in the TCP stream; no other octet is adapted."""
    layout = conversation.layout()
    placed = rng.choice([each for each in layout if isinstance(each.item, FPDUItem | StartupItem)])
    octets = _other_octets(placed.octets, rng)
    item: Item
    if isinstance(placed.item, StartupItem):
        item = _startup_of(placed.item, octets.ljust(STARTUP_HEADER_LENGTH, b"\0"))
    else:
        assert isinstance(placed.item, FPDUItem)
        item = OctetsItem(placed.item.side, octets)
    return edit.replaced(conversation, placed.number, item)


def _octets_of_several(conversation: Conversation, rng: Random) -> Conversation:
    """Change octets of the TCP stream in several places; no other octet is adapted."""
    for _ in range(rng.randint(2, _MOST_OCTETS)):
        conversation = _octets_of_stream(conversation, rng)
    return conversation


def _until_changed(change: Change) -> Change:
    """Return a change that is repeated until an octet differs: chance may choose the old value."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        before = edit.octets_of(conversation)
        while edit.octets_of(changed := change(conversation, rng)) == before:
            pass
        return changed

    return apply


def _startup_of(before: StartupItem, octets: bytes) -> StartupItem:
    """Return a startup frame that has exactly these octets, at least 20.

    The Full Operation Phase of its side begins after it, as it did after the old startup frame.
    """
    kind = StartupKind.REPLY if before.side else StartupKind.REQUEST
    read = parse_startup(KEYS[kind] + octets[KEY_LENGTH:])
    return StartupItem(
        before.side,
        kind,
        octets[STARTUP_HEADER_LENGTH:],
        **{name: getattr(read, name) for name in _BITS_OF_STARTUP},
        key=octets[:KEY_LENGTH],
    )


MUTATIONS: Final[Table] = {
    any_conversation: {
        "fuzz/fields/startup": _until_changed(
            edit.change_item(_fields_of_startup, edit.at_random(StartupItem))
        ),
        "fuzz/fields/fpdu": _until_changed(edit.change_fpdu(_fields_of_fpdu)),
        "fuzz/fields/ulpdu": _until_changed(_fields_of_ulpdu),
        "fuzz/octets/ulpdu": _until_changed(edit.change_fpdu(_octets_of_ulpdu)),
        "fuzz/octets/stream": _until_changed(_octets_of_stream),
        "fuzz/octets/several": _until_changed(_octets_of_several),
    }
}
"""Random fuzzing; it works with any conversation."""
