# SPDX-License-Identifier: GPL-2.0-or-later
"""Rtr Frames with something wrong in them, and S that does not fit (rtr-frame-proposal-2007)."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import announced
from scapy_mpa.craft.mutations.edit import (
    altered_key,
    change_item,
    change_startup,
    cut_short,
    longer,
    of_kind,
    replaced,
    shorter,
    startup_at,
    startup_before,
    startup_twice,
    too_much,
    without_startup,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, accept, error, improper
from scapy_mpa.craft.mutations.mutation import Family
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import CloseItem, StartupItem
from scapy_mpa.wire.startup import RTR_KEYS, StartupKind

__all__ = ["RTR_FRAME"]

_REQUEST, _REPLY, _RTR = StartupKind
_NAME: Final = "rtr-frame-proposal-2007"
_mutation: Final = Family(_NAME, announced)
_TAKEN_FOR_FPDU: Final = "or what RFC 5044 has for an FPDU that does not check"


def _after_rejection(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Reply reject, and nothing but an Rtr Frame follow."""
    at, end = startup_at(conversation, _RTR), len(conversation.script)
    rejecting = change_startup(_REPLY, rejected=True)(conversation, rng)
    return replaced(rejecting, at + 1, CloseItem(INITIATOR), end=end)


def _altered_key(item: StartupItem, rng: Random) -> bytes:
    return altered_key(*RTR_KEYS, rng)


RTR_FRAME: Final = (
    _mutation(
        "1/key-altered",
        "A bit of the Rtr Frame's Key is wrong.",
        error(1, 2, 4, note=_TAKEN_FOR_FPDU),
        change_startup(_RTR, key=_altered_key),
    ),
    _mutation(
        "1/key-rtr",
        "The Key is spelled as the octets of the proposal have it, not its words.",
        ACCEPT,
        change_startup(_RTR, key=RTR_KEYS[1]),
    ),
    _mutation(
        "1/rev-not-1",
        "The Rtr Frame has another revision than 1.",
        improper(),
        change_startup(_RTR, revision=lambda _, rng: rng.choice((0, *range(2, 256)))),
    ),
    _mutation(
        "1/pd-length-over-512",
        "The Rtr Frame has more than 512 octets of Private Data, and says so.",
        improper("as for the other startup frames (RFC 5044 7.1.1)"),
        change_startup(_RTR, private_data=too_much),
    ),
    _mutation(
        "2/s-set",
        "S of the Rtr Frame is set, which the Responder ignores.",
        ACCEPT,
        change_startup(_RTR, s_bit=True),
    ),
    _mutation(
        "2/r-set",
        "R of the Rtr Frame is set, which is not checked as in a Request.",
        ACCEPT,
        change_startup(_RTR, rejected=True),
    ),
    _mutation(
        "2/reserved-set",
        "A reserved bit of the Rtr Frame is set.",
        ACCEPT,
        change_startup(_RTR, reserved=lambda _, rng: rng.randrange(1, 16)),
    ),
    _mutation(
        "2/c-not-that-of-reply",
        "C of the Rtr Frame is not that of the Reply.",
        improper("the proposal does not say what is to become of it"),
        change_startup(_RTR, crc=False),
    ),
    _mutation(
        "2/request-s-cleared",
        "S of the Request is not set, and an Rtr Frame comes.",
        improper(_TAKEN_FOR_FPDU),
        change_startup(_REQUEST, s_bit=False),
    ),
    _mutation(
        "2/missing",
        "S is set in Request and Reply, and no Rtr Frame comes.",
        improper("the Responder waits for it, and gets an FPDU"),
        without_startup(_RTR),
        is_evident=False,
    ),
    _mutation(
        "2/before-reply",
        "The Rtr Frame comes before the Reply.",
        accept("nothing shows the Responder when the frame was sent"),
        startup_before(_RTR, _REPLY),
        is_overheard=True,
    ),
    _mutation(
        "1/pd-length-longer",
        "PD_Length of the Rtr Frame says more octets than there are.",
        error(1, 2, 4, note="what follows is taken for Private Data"),
        change_startup(_RTR, pd_length=longer),
    ),
    _mutation(
        "1/pd-length-shorter",
        "PD_Length of the Rtr Frame says fewer octets than there are.",
        error(1, 2, 4, note="what is left of the Private Data is taken for an FPDU"),
        change_startup(_RTR, pd_length=shorter),
    ),
    _mutation(
        "1/incomplete",
        "The connection ends in the midst of the Rtr Frame.",
        error(1, note="or code 4, if the timeout comes first"),
        lambda given, rng: cut_short(given, startup_at(given, _RTR), 20, CloseItem(INITIATOR), rng),
    ),
    _mutation(
        "2/first",
        "An Rtr Frame comes where the Request must be.",
        improper(),
        startup_before(_RTR, _REQUEST),
    ),
    _mutation(
        "2/after-rejection",
        "The Reply rejects, and an Rtr Frame comes.",
        accept("MPA is over, and what comes is the ULP's"),
        _after_rejection,
        is_overheard=True,
    ),
    _mutation(
        "2/twice",
        "The Rtr Frame comes twice.",
        error(4, note="it stands where an FPDU must"),
        startup_twice(_RTR),
    ),
    _mutation(
        "2/from-responder",
        "The Responder sends an Rtr Frame, too.",
        error(4, note="it stands where an FPDU must"),
        change_item(lambda item, _: (item, replace(item, side=RESPONDER)), of_kind(_RTR)),
    ),
    _mutation(
        "5/reply-s-cleared",
        "S of the Reply is not set, and an Rtr Frame comes.",
        improper(_TAKEN_FOR_FPDU),
        change_startup(_REPLY, s_bit=False),
    ),
)
"""The Rtr frame proposal of 2007, by its points."""
