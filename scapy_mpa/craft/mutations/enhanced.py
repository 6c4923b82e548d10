# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of enhanced connection establishment (RFC 6581, and the draft before it).

The draft says what a sender must do, but not what a receiver does if the sender does not.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import change_startup, first_fpdu, fpdus, moved, of_each_frame
from scapy_mpa.craft.mutations.mutation import Table
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import StartupKind

_reply: Final = partial(change_startup, StartupKind.REPLY)

_UNENHANCED: Final = {"ird": None, "ord": None, "control_flags": None}
_WITHOUT_DATA: Final = {
    **_UNENHANCED,
    "s_bit": True,
    "private_data": lambda _, rng: rng.randbytes(rng.randrange(4)),
}
"""Fields of a startup frame that announces enhanced data, but has no room for them."""


def _any_of(*flags: str) -> Any:
    return lambda _, rng: rng.choice(flags)


def _above_ord(item: StartupItem, rng: Random) -> int:
    assert item.ord is not None
    return rng.randrange(item.ord + 1, 0x3FFF)


def _below_ird(item: StartupItem, rng: Random) -> int:
    assert item.ird is not None
    return rng.randrange(1, item.ird)


def _beyond_ird(conversation: Conversation, rng: Random) -> Conversation:
    """Move the last RDMA Read Request before the first Response."""
    requests = [*fpdus(conversation, (Opcode.READ_REQUEST,), side=INITIATOR)]
    responses = [*fpdus(conversation, (Opcode.READ_RESPONSE,), side=RESPONDER)]
    assert len(requests) == bases.IRD + 1
    return moved(conversation, requests[-1], responses[0])


MUTATIONS: Final[Table] = {
    bases.enhanced: {
        **of_each_frame(
            {
                "rfc6581/6/{}-s-set-without-data": _WITHOUT_DATA,
                "rfc6581/6/{}-s-cleared": {"s_bit": False},
                "rfc6581/6/{}-rev-1": {"revision": 1},
                "rfc6581/9.2/{}-flags-without-a": {"control_flags": _any_of("B", "C", "D", "BCD")},
            }
        ),
        "rfc6581/9.1/reply-ord-exceeds-ird": _reply(ord=_above_ord),
        "rfc6581/9.1/reply-ird-below-ord": _reply(ird=_below_ird),
        "rfc6581/9.2/reply-a-set": _reply(control_flags=_any_of("AB", "AC", "ABCD")),
        "rfc6581/10/reply-unenhanced": _reply(**_UNENHANCED),
    },
    bases.reading: {"rfc6581/9.1/ird-exceeded": _beyond_ird},
    bases.peer_to_peer: {
        "rfc6581/9.2/reply-no-matching-rtr": _reply(control_flags="AD"),
        "rfc6581/9.2/reply-a-cleared": _reply(control_flags=""),
        "rfc6581/9.2/request-without-rtr": change_startup(StartupKind.REQUEST, control_flags="A"),
        "rfc6581/9.2/reply-without-rtr": _reply(control_flags="A"),
        "rfc6581/9.2/rtr-with-payload": first_fpdu(
            lambda item, rng: item.with_payload(rng.randbytes(rng.randrange(1, 60)))
        ),
    },
    bases.left_to_ulp: {
        "rfc6581/9.1/reply-ord-not-left": _reply(ord=lambda _, rng: rng.randrange(0x3FFF)),
        "rfc6581/9.1/reply-ird-not-left": _reply(ird=lambda _, rng: rng.randrange(1, 0x3FFF)),
    },
    bases.peers_of_any_kind: {
        "rfc6581/9.2/rtr-not-agreed": _reply(control_flags=_any_of("AC", "AD", "ACD"))
    },
    bases.peer_connect: {
        **of_each_frame(
            {
                "draft-ietf-storm-mpa-peer-connect-01/6/{}-s-set-without-data": _WITHOUT_DATA,
                "draft-ietf-storm-mpa-peer-connect-01/8/{}-d-set": {"control_flags": "ABCD"},
            }
        ),
        "draft-ietf-storm-mpa-peer-connect-01/8/rtr-not-accepted": _reply(
            control_flags=_any_of("A", "C", "AC")
        ),
    },
    bases.peer_connect_ulp: {
        "draft-ietf-storm-mpa-peer-connect-01/8/ulp-send-without-payload": first_fpdu(
            lambda item, _: item.with_payload(b"")
        )
    },
}
"""Mutations of RFC 6581 and draft-ietf-storm-mpa-peer-connect-01."""
