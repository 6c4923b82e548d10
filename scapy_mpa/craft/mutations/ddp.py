# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of DDP segments (RFC 5041)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from operator import eq
from random import Random
from typing import Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import change_fpdu, fpdus, header, opcode_of, other_than
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode, QueueNumber

_WRITES: Final = (Opcode.WRITE,)
_WORD: Final = 0xFFFFFFFF
_TO_LIMIT: Final = 1 << 64


def _is_untagged(item: FPDUItem) -> bool:
    return not item.header.tagged


def _has_mo(item: FPDUItem) -> bool:
    return bool(item.header.mo)


def _is_short(item: FPDUItem) -> bool:
    """Return whether an FPDU is the last of its message, and short."""
    return item.header.last and len(item.payload) < 1000


def _is_not_last(item: FPDUItem) -> bool:
    return not item.header.last


def _is_within(item: FPDUItem) -> bool:
    """Return whether an FPDU is neither the first nor the last segment of an Untagged message."""
    return _is_not_last(item) and _has_mo(item)


_wrong_version: Final = header(ddp_version=lambda _, rng: rng.choice((0, 2, 3)))


def _other_stag(before: DDPHeader, rng: Random) -> int:
    return other_than(before.stag or 0, _WORD, rng)


def _far_away(before: DDPHeader, rng: Random) -> int:
    return (before.to or 0) ^ 1 << rng.randrange(56, 63)


# -- MSN -------------------------------------------------------------------------------------------


def _send_with(by: int, which: Callable[[int, int], bool]) -> Change:
    """Return a change that gives all segments of one Send another MSN.

    :param by: the difference from the right MSN.
    :param which: takes the MSN of a Send and the highest MSN of its queue and side; returns whether
        this Send may be changed.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        both = []
        for side in (0, 1):
            sends = fpdus(conversation, SEND_OPCODES, side=side)
            msns = sorted({item.header.msn or 0 for item in sends.values()})
            both.append((sends, [msn for msn in msns if which(msn, msns[-1])]))
        # Only a side with such a Send can be chosen.
        sends, possible = rng.choice([each for each in both if each[1]])
        chosen = rng.choice(possible)
        script = list(conversation.script)
        for at, item in sends.items():
            if (item.header.msn or 0) == chosen:
                script[at] = item.with_header(msn=(chosen + by) & _WORD)
        return conversation.with_script(script)

    return apply


# -- MO and TO -------------------------------------------------------------------------------------


def _beyond_message(item: FPDUItem, rng: Random) -> FPDUItem:
    """Set MO so that the message has more than 2^32 - 1 octets."""
    return item.with_header(mo=_WORD - rng.randrange(len(item.payload)))


def _wrapping(item: FPDUItem, rng: Random) -> FPDUItem:
    """Set TO so that TO plus the length of the payload does not fit 64 bits."""
    return item.with_header(to=_TO_LIMIT - rng.randrange(1, len(item.payload)))


def _without_octets(item: FPDUItem, rng: Random) -> FPDUItem:
    wild = item.with_header(stag=rng.randint(0, _WORD), to=_TO_LIMIT - 1 - rng.randrange(16))
    return wild.with_payload(b"")


def _cut_header(item: FPDUItem, rng: Random) -> FPDUItem:
    return replace(item, ulpdu=item.ulpdu[: rng.randrange(item.header.length)])


def _swapped(conversation: Conversation, rng: Random) -> Conversation:
    """Send two segments of a message in the wrong order."""
    at, to = rng.choice(sorted(_segments_in_a_row(conversation)))
    script = list(conversation.script)
    script[at], script[to] = script[to], script[at]
    return conversation.with_script(script)


def _segments_in_a_row(conversation: Conversation) -> Iterator[tuple[int, int]]:
    """Yield the places of two adjacent segments of a Send.

    Items of the peer may come between them.  If only a part of a message was captured, a segment
    may have no next one.
    """
    for side in (0, 1):
        for (at, item), (to, later) in pairwise(fpdus(conversation, side=side).items()):
            is_one_message = opcode_of(item) == opcode_of(later) and (
                item.header.msn == later.header.msn
            )
            if opcode_of(item) in SEND_OPCODES and _is_not_last(item) and is_one_message:
                yield at, to


MUTATIONS: Final[Table] = {
    bases.plain: {
        "rfc5041/4.1/dv-wrong-tagged": change_fpdu(
            _wrong_version, where=lambda item: item.header.tagged
        ),
        "rfc5041/4.1/dv-wrong-untagged": change_fpdu(_wrong_version, where=_is_untagged),
        "rfc5041/4.1/reserved-set": change_fpdu(
            header(reserved=lambda _, rng: rng.randrange(1, 16))
        ),
        "rfc5041/4.1/l-missing": change_fpdu(
            header(last=False), SEND_OPCODES, lambda item: item.header.last
        ),
        "rfc5041/4.1/l-too-early": change_fpdu(header(last=True), SEND_OPCODES, _is_not_last),
        "rfc5041/4.1/l-too-early-tagged": change_fpdu(header(last=True), _WRITES, _is_not_last),
        "rfc5041/4.2/stag-differs-within-message": change_fpdu(
            header(stag=_other_stag), _WRITES, _is_not_last
        ),
        "rfc5041/7.1/stag-invalid": change_fpdu(header(stag=_other_stag), _WRITES, _is_short),
        "rfc5041/7.1/to-out-of-bounds": change_fpdu(header(to=_far_away), _WRITES),
        "rfc5041/7.1/to-wrap": change_fpdu(
            _wrapping, where=lambda item: item.header.tagged and len(item.payload) > 1
        ),
        "rfc5041/5.2/stag-of-no-octets": change_fpdu(_without_octets, _WRITES, _is_short),
        "rfc5041/7.1/qn-unknown": change_fpdu(
            header(qn=lambda before, rng: other_than(0, _WORD, rng, QueueNumber)),
            where=_is_untagged,
        ),
        "rfc5041/4.3/msn-skipped": _send_with(1, eq),
        "rfc5041/4.3/msn-repeated": _send_with(-1, lambda msn, _: msn > 1),
        "rfc5041/4.3/msn-differs-within-message": change_fpdu(
            header(
                msn=lambda before, rng: ((before.msn or 0) + (1 << rng.randrange(20, 31))) & _WORD
            ),
            SEND_OPCODES,
            _is_within,
        ),
        "rfc5041/5.2/mo-gap": change_fpdu(
            header(mo=lambda before, rng: before.mo + rng.randrange(1, 1000)), SEND_OPCODES, _has_mo
        ),
        "rfc5041/5.2/mo-overlap": change_fpdu(
            header(mo=lambda before, rng: before.mo - rng.randint(1, min(before.mo, 999))),
            SEND_OPCODES,
            _has_mo,
        ),
        "rfc5041/7.1/mo-out-of-bounds": change_fpdu(
            header(mo=lambda _, rng: rng.randrange(1 << 31, _WORD - 65536)), SEND_OPCODES
        ),
        "rfc5041/5.2/message-too-long": change_fpdu(
            _beyond_message, SEND_OPCODES, lambda item: bool(item.payload)
        ),
        "rfc5041/5.3/segments-swapped": _swapped,
        "rfc5041/4.4/header-cut": change_fpdu(_cut_header),
    }
}
"""Mutations of RFC 5041."""
