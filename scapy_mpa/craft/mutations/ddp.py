# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP segments with something wrong in them (RFC 5041)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from operator import eq
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import plain
from scapy_mpa.craft.mutations.edit import (
    change_fpdu,
    fpdu_at,
    fpdus,
    header,
    opcode_of,
    other_than,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, accept, surface, terminate
from scapy_mpa.craft.mutations.mutation import Change, Family, Mutation
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode, QueueNumber

__all__ = ["DDP"]

_mutation: Final = Family("rfc5041", plain)
_INVALID_STAG: Final = (1, 1, 0)
_OUT_OF_BOUNDS: Final = (1, 1, 1)
_TO_WRAP: Final = (1, 1, 3)
_TAGGED_VERSION: Final = (1, 1, 4)
_INVALID_QN: Final = (1, 2, 1)
_NO_BUFFER: Final = (1, 2, 2)
_MSN_RANGE: Final = (1, 2, 3)
_INVALID_MO: Final = (1, 2, 4)
_TOO_LONG: Final = (1, 2, 5)
_UNTAGGED_VERSION: Final = (1, 2, 6)

_WORD: Final = 0xFFFFFFFF
_TO_LIMIT: Final = 1 << 64


def _is_tagged(item: FPDUItem) -> bool:
    return item.header.tagged


def _is_untagged(item: FPDUItem) -> bool:
    return not item.header.tagged


def _is_alone(item: FPDUItem) -> bool:
    """Tell whether an FPDU is a whole message, with octets in it."""
    return item.header.last and item.header.mo == 0 and bool(item.payload)


def _is_in_several(item: FPDUItem) -> bool:
    """Tell whether a message has more segments than this one, the last."""
    return item.header.last and bool(item.header.mo)


def _is_not_last(item: FPDUItem) -> bool:
    return not item.header.last


def _is_within(item: FPDUItem) -> bool:
    """Tell whether an FPDU is neither the first nor the last segment of an Untagged message."""
    return not item.header.last and bool(item.header.mo)


def _versions() -> list[Mutation]:
    found = []
    for version in (0, 2, 3):
        for what, where, code in (
            ("tagged", _is_tagged, _TAGGED_VERSION),
            ("untagged", _is_untagged, _UNTAGGED_VERSION),
        ):
            found.append(
                _mutation(
                    f"4.1/dv-{version}-{what}",
                    f"DV of {'an' if what[0] == 'u' else 'a'} {what.capitalize()} segment is "
                    f"{version}, that of all others is 1.",
                    terminate(code),
                    change_fpdu(header(ddp_version=version), where=where),
                )
            )
    return found


# -- MSN -------------------------------------------------------------------------------------------


def _on_queue(msn: Callable[[int, Random], int], *, which: Callable[[int, int], bool]) -> Change:
    """Return what gives all segments of one Send of a side another MSN.

    :param which: given the MSN and the highest MSN of its queue and side, tells whether it may be
        this one.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        side = rng.randrange(2)
        known = [_msn_at(conversation, at) for at in fpdus(conversation, SEND_OPCODES, side=side)]
        chosen = rng.choice(sorted({each for each in known if which(each, max(known))}))
        wrong = msn(chosen, rng)
        return _renumbered(conversation, side, lambda each: wrong if each == chosen else each)

    return apply


def _msn_at(conversation: Conversation, at: int) -> int:
    return fpdu_at(conversation, at).header.msn or 0


def _renumbered(conversation: Conversation, side: int, msn: Callable[[int], int]) -> Conversation:
    """Give the Sends of a side other MSNs."""
    script = list(conversation.script)
    for at in fpdus(conversation, SEND_OPCODES, side=side):
        before = _msn_at(conversation, at)
        if msn(before) != before:
            script[at] = fpdu_at(conversation, at).with_header(msn=msn(before))
    return conversation.with_script(script)


def _from_zero(conversation: Conversation, rng: Random) -> Conversation:
    """Have a side count its Sends from 0."""
    return _renumbered(conversation, rng.randrange(2), lambda msn: msn - 1)


# -- MO and TO -------------------------------------------------------------------------------------


def _beyond_message(item: FPDUItem, rng: Random) -> FPDUItem:
    """Have a segment end after octet 2 to the power of 32."""
    length = len(item.payload)
    return item.with_header(mo=_WORD - rng.randrange(length))


def _wrapping(item: FPDUItem, rng: Random) -> FPDUItem:
    """Have TO and the length of the payload add up to more than 64 bits."""
    return item.with_header(to=_TO_LIMIT - rng.randrange(1, len(item.payload)))


def _without_octets(item: FPDUItem, rng: Random) -> FPDUItem:
    wild = item.with_header(stag=rng.randint(0, _WORD), to=_TO_LIMIT - 1 - rng.randrange(16))
    return wild.with_payload(b"")


def _cut_header(item: FPDUItem, rng: Random) -> FPDUItem:
    return replace(item, ulpdu=item.ulpdu[: rng.randrange(1, item.header.length)])


def _split_with_l(item: FPDUItem, rng: Random) -> list[FPDUItem]:
    """Send a message as two segments, both with L."""
    at = rng.randrange(1, len(item.payload))
    head, rest = item.payload[:at], item.payload[at:]
    return [item.with_payload(head), item.with_payload(rest).with_header(mo=at)]


def _swapped(conversation: Conversation, rng: Random) -> Conversation:
    """Send two segments of a message in the wrong order."""
    at, to = rng.choice(sorted(_segments_in_a_row(conversation)))
    script = list(conversation.script)
    script[at], script[to] = script[to], script[at]
    return conversation.with_script(script)


def _segments_in_a_row(conversation: Conversation) -> Iterator[tuple[int, int]]:
    """Yield the places of segments of Sends with those that follow them in the same message.

    What the other side sends may stand between; of a message that was captured in part, a segment
    may have no follower.
    """
    for side in (0, 1):
        for at, to in pairwise(fpdus(conversation, side=side)):
            one, other = fpdu_at(conversation, at), fpdu_at(conversation, to)
            is_one_message = opcode_of(one) == opcode_of(other) and (
                one.header.msn == other.header.msn
            )
            if opcode_of(one) in SEND_OPCODES and _is_not_last(one) and is_one_message:
                yield at, to


DDP: Final = (
    *_versions(),
    _mutation(
        "4.1/reserved-set",
        "A reserved bit of the DDP Control Field is set.",
        ACCEPT,
        change_fpdu(header(reserved=lambda _, rng: rng.randrange(1, 16))),
    ),
    _mutation(
        "4.1/l-missing",
        "L is not set in the last segment of an Untagged message.",
        accept("the message is never Delivered; nothing else tells that it was the last segment"),
        change_fpdu(header(last=False), SEND_OPCODES, _is_in_several),
    ),
    _mutation(
        "4.1/l-missing-in-single-segment",
        "L is not set in a message that is one segment.",
        accept("the message is never Delivered; nothing else tells that it was the last segment"),
        change_fpdu(header(last=False), SEND_OPCODES, _is_alone),
    ),
    _mutation(
        "4.1/l-too-early",
        "L is set in an Untagged segment that is not the last of its message.",
        terminate(_MSN_RANGE, _INVALID_MO, note="what follows belongs to a message Delivered"),
        change_fpdu(header(last=True), SEND_OPCODES, _is_not_last),
    ),
    _mutation(
        "4.1/l-twice",
        "Two segments of an Untagged message have L set.",
        terminate(_MSN_RANGE, _INVALID_MO, note="the second belongs to a message Delivered"),
        change_fpdu(
            _split_with_l, SEND_OPCODES, lambda item: _is_alone(item) and len(item.payload) > 1
        ),
    ),
    _mutation(
        "4.1/l-too-early-tagged",
        "L is set in a Tagged segment that is not the last of its message.",
        accept("the rest is a message of its own"),
        change_fpdu(header(last=True), (Opcode.WRITE,), _is_not_last),
    ),
    _mutation(
        "4.2/stag-differs-within-message",
        "A segment of an RDMA Write has another STag than the others.",
        terminate(_INVALID_STAG, note="unless that STag is valid, too"),
        change_fpdu(
            header(stag=lambda before, rng: other_than(before.stag or 0, _WORD, rng)),
            (Opcode.WRITE,),
            _is_not_last,
        ),
        is_evident=False,
    ),
    _mutation(
        "7.1/stag-invalid",
        "A Tagged message has an STag that nobody has advertised.",
        terminate(_INVALID_STAG),
        change_fpdu(
            header(stag=lambda before, rng: other_than(before.stag or 0, _WORD, rng)),
            (Opcode.WRITE,),
            lambda item: item.header.last and len(item.payload) < 1000,
        ),
        is_evident=False,
    ),
    _mutation(
        "7.1/to-out-of-bounds",
        "A Tagged message has a TO beyond its buffer.",
        terminate(_OUT_OF_BOUNDS),
        change_fpdu(
            header(to=lambda before, rng: (before.to or 0) ^ 1 << rng.randrange(56, 63)),
            (Opcode.WRITE,),
        ),
        is_evident=False,
    ),
    _mutation(
        "7.1/to-wrap",
        "TO and the octets of a Tagged segment add up to more than 64 bits.",
        terminate(_TO_WRAP, _OUT_OF_BOUNDS),
        change_fpdu(_wrapping, where=lambda item: _is_tagged(item) and len(item.payload) > 1),
    ),
    _mutation(
        "5.2/stag-of-no-octets",
        "A Tagged message without octets has an STag and a TO that mean nothing.",
        ACCEPT,
        change_fpdu(
            _without_octets,
            (Opcode.WRITE,),
            lambda item: item.header.last and len(item.payload) < 1000,
        ),
    ),
    _mutation(
        "4.3/qn-unknown",
        "QN is that of no queue.",
        terminate(_INVALID_QN),
        change_fpdu(
            header(qn=lambda before, rng: other_than(0, _WORD, rng, QueueNumber)),
            where=_is_untagged,
        ),
    ),
    _mutation(
        "4.3/msn-skipped",
        "An MSN is left out.",
        terminate(_MSN_RANGE, _NO_BUFFER, note="if there is no buffer for that MSN already"),
        _on_queue(lambda msn, _: msn + 1, which=eq),
    ),
    _mutation(
        "4.3/msn-far-ahead",
        "An MSN is beyond that of any buffer.",
        terminate(_MSN_RANGE, _NO_BUFFER),
        _on_queue(lambda msn, rng: msn + (1 << rng.randrange(20, 31)), which=eq),
    ),
    _mutation(
        "4.3/msn-repeated",
        "Two messages have the same MSN.",
        terminate(_MSN_RANGE),
        _on_queue(lambda msn, _: msn - 1, which=lambda msn, _: msn > 1),
    ),
    _mutation(
        "4.3/msn-from-zero", "The MSNs of a queue begin with 0.", terminate(_MSN_RANGE), _from_zero
    ),
    _mutation(
        "4.3/msn-differs-within-message",
        "A segment has another MSN than the others of its message.",
        terminate(_MSN_RANGE, _INVALID_MO, _NO_BUFFER),
        change_fpdu(
            header(msn=lambda before, rng: (before.msn or 0) + (1 << rng.randrange(20, 31))),
            SEND_OPCODES,
            _is_within,
        ),
    ),
    _mutation(
        "5.2/mo-gap",
        "MO leaves out octets of the message.",
        accept("the Data Sink need not notice; it may report Invalid MO"),
        change_fpdu(
            header(mo=lambda before, rng: before.mo + rng.randrange(1, 1000)),
            SEND_OPCODES,
            lambda item: bool(item.header.mo),
        ),
    ),
    _mutation(
        "5.2/mo-overlap",
        "MO repeats octets of the message.",
        accept("the Data Sink need not notice; it may report Invalid MO"),
        change_fpdu(
            header(mo=lambda before, rng: before.mo - rng.randrange(1, 1000)),
            SEND_OPCODES,
            lambda item: bool(item.header.mo),
        ),
    ),
    _mutation(
        "4.3/mo-not-zero",
        "MO of the first segment of a message is not zero.",
        accept("the Data Sink need not notice; it may report Invalid MO"),
        change_fpdu(
            header(mo=lambda _, rng: rng.randrange(1, 1000)),
            SEND_OPCODES,
            lambda item: item.header.mo == 0,
        ),
    ),
    _mutation(
        "7.1/mo-out-of-bounds",
        "MO is beyond any buffer.",
        terminate(_INVALID_MO, _TOO_LONG),
        change_fpdu(
            header(mo=lambda _, rng: rng.randrange(1 << 31, _WORD - 65536)),
            SEND_OPCODES,
        ),
        is_evident=False,
    ),
    _mutation(
        "5.2/message-too-long",
        "A message has octets after 2 to the power of 32.",
        terminate(_TOO_LONG, _INVALID_MO),
        change_fpdu(_beyond_message, SEND_OPCODES, lambda item: bool(item.payload)),
    ),
    _mutation(
        "5.3/segments-swapped",
        "Two segments of a message come in the wrong order.",
        accept("the order is only what a sender should keep"),
        _swapped,
    ),
    _mutation(
        "4.4/header-cut",
        "A ULPDU is too short for its DDP header.",
        surface("no code is defined for it"),
        change_fpdu(_cut_header),
    ),
    _mutation(
        "4.4/no-header",
        "A ULPDU has no octets.",
        surface("no code is defined for it"),
        change_fpdu(lambda item, _: replace(item, ulpdu=b"")),
    ),
)
"""RFC 5041."""
