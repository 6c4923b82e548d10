# SPDX-License-Identifier: GPL-2.0-or-later
"""Rtr Frames with something wrong in them, and S that does not fit (rtr-frame-proposal-2007)."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import (
    altered_key,
    change_startup,
    cut_short,
    longer,
    replaced,
    shorter,
    startup_at,
    startup_before,
    startup_twice,
    too_much,
    without_startup,
)
from scapy_mpa.craft.mutations.mutation import listed
from scapy_mpa.craft.options import INITIATOR
from scapy_mpa.craft.script import CloseItem, StartupItem
from scapy_mpa.wire.startup import RTR_KEYS, StartupKind

__all__ = ["RTR_FRAME"]

_REQUEST, _REPLY, _RTR = StartupKind
_rtr: Final = partial(change_startup, _RTR)


def _after_rejection(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Reply reject, and nothing but an Rtr Frame follow."""
    at, end = startup_at(conversation, _RTR), len(conversation.script)
    rejecting = change_startup(_REPLY, rejected=True)(conversation, rng)
    return replaced(rejecting, at + 1, CloseItem(INITIATOR), end=end)


def _ended_within(conversation: Conversation, rng: Random) -> Conversation:
    return cut_short(conversation, startup_at(conversation, _RTR), 20, CloseItem(INITIATOR), rng)


def _altered_key(item: StartupItem, rng: Random) -> bytes:
    return altered_key(*RTR_KEYS, rng)


RTR_FRAME: Final = listed(
    bases.announced,
    {
        "rtr-frame-proposal-2007/1/key-altered": _rtr(key=_altered_key),
        "rtr-frame-proposal-2007/1/key-rtr": _rtr(key=RTR_KEYS[1]),
        "rtr-frame-proposal-2007/1/rev-not-1": _rtr(
            revision=lambda _, rng: rng.choice((0, *range(2, 256)))
        ),
        "rtr-frame-proposal-2007/1/pd-length-over-512": _rtr(private_data=too_much),
        "rtr-frame-proposal-2007/1/pd-length-longer": _rtr(pd_length=longer),
        "rtr-frame-proposal-2007/1/pd-length-shorter": _rtr(pd_length=shorter),
        "rtr-frame-proposal-2007/1/incomplete": _ended_within,
        "rtr-frame-proposal-2007/2/bits-set": _rtr(
            s_bit=True, rejected=True, reserved=lambda _, rng: rng.randrange(16)
        ),
        "rtr-frame-proposal-2007/2/c-not-that-of-reply": _rtr(crc=False),
        "rtr-frame-proposal-2007/2/request-s-cleared": change_startup(_REQUEST, s_bit=False),
        "rtr-frame-proposal-2007/2/missing": without_startup(_RTR),
        "rtr-frame-proposal-2007/2/before-reply": startup_before(_RTR, _REPLY),
        "rtr-frame-proposal-2007/2/first": startup_before(_RTR, _REQUEST),
        "rtr-frame-proposal-2007/2/after-rejection": _after_rejection,
        "rtr-frame-proposal-2007/2/twice": startup_twice(_RTR),
        "rtr-frame-proposal-2007/5/reply-s-cleared": change_startup(_REPLY, s_bit=False),
    },
)
"""The Rtr frame proposal of 2007, by its points."""
