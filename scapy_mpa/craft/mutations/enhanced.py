# SPDX-License-Identifier: GPL-2.0-or-later
"""Enhanced connection establishment with something wrong in it (RFC 6581)."""

from __future__ import annotations

from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import (
    IRD,
    enhanced,
    left_to_ulp,
    peer_to_peer,
    peers_of_any_kind,
    reading,
)
from scapy_mpa.craft.mutations.edit import change_startup, first_fpdu, fpdus, moved, of_each_frame
from scapy_mpa.craft.mutations.expectation import ACCEPT, accept, improper, terminate
from scapy_mpa.craft.mutations.mutation import Family
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.startup import StartupKind

__all__ = ["ENHANCED", "WITHOUT_DATA"]

_mutation: Final = Family("rfc6581", enhanced)
_REQUEST, _REPLY = StartupKind.REQUEST, StartupKind.REPLY
_OF_REV_1: Final = {
    _REQUEST: improper("who asks with revision 1 cannot interoperate with a Reply of revision 2"),
    _REPLY: accept("S is a reserved bit of revision 1 (RFC 5044 7.1.1)"),
}

_INSUFFICIENT_IRD: Final = (2, 0, 6)
_NO_MATCHING_RTR: Final = (2, 0, 7)
_NO_BUFFER: Final = (1, 2, 2)
_MSN_RANGE: Final = (1, 2, 3)
_UNBLOCKED: Final = "any FPDU lets the Responder speak (RFC 5044 7.1.2 rule 4)"


def _beyond_ird(conversation: Conversation, rng: Random) -> Conversation:
    """Have the last RDMA Read Request come before the first Response."""
    requests = fpdus(conversation, (Opcode.READ_REQUEST,), side=INITIATOR)
    responses = fpdus(conversation, (Opcode.READ_RESPONSE,), side=RESPONDER)
    assert len(requests) == IRD + 1
    return moved(conversation, requests[-1], responses[0])


WITHOUT_DATA: Final = (
    "6/{}-s-set-without-data",
    "S of the {} is set, and the Private Data are too short for enhanced data.",
    improper(),
    {
        **{"s_bit": True, "ird": None, "ord": None, "control_flags": None},
        "private_data": lambda _, rng: rng.randbytes(rng.randrange(4)),
    },
)
"""What leaves no room for enhanced data in a startup frame that announces them."""

ENHANCED: Final = (
    *of_each_frame(
        _mutation,
        WITHOUT_DATA,
        (
            "6/{}-s-cleared",
            "S of the {} is not set, and enhanced data are there.",
            *(accept("they are Private Data of the ULP"), {"s_bit": False}),
        ),
        (
            "6/{}-rev-1",
            "The {} has S set and enhanced data, and revision 1.",
            *(_OF_REV_1, {"revision": 1}),
        ),
        (
            "9.2/{}-flags-without-a",
            "Control flag A of the {} is not set, and others are.",
            *(ACCEPT, {"control_flags": lambda _, rng: rng.choice(("B", "C", "D", "BCD"))}),
        ),
    ),
    _mutation(
        "9.1/reply-ord-exceeds-ird",
        "ORD of the Reply exceeds IRD of the Request.",
        terminate(
            _INSUFFICIENT_IRD, code=6, note="unless the Initiator has the resources all the same"
        ),
        change_startup(_REPLY, ord=lambda item, rng: rng.randrange(item.ord + 1, 0x3FFF)),
    ),
    _mutation(
        "9.1/reply-ird-below-ord",
        "IRD of the Reply is less than ORD of the Request.",
        accept("the Initiator lowers its ORD"),
        change_startup(_REPLY, ird=lambda item, rng: rng.randrange(1, item.ird)),
    ),
    _mutation(
        "9.1/ird-exceeded",
        "More RDMA Read Requests are outstanding than IRD of the Reply allows.",
        terminate(_NO_BUFFER, _MSN_RANGE),
        _beyond_ird,
        base=reading,
    ),
    _mutation(
        "9.2/reply-no-matching-rtr",
        "The Reply offers no RTR indication that the Request has asked for.",
        terminate(_NO_MATCHING_RTR, code=7),
        change_startup(_REPLY, control_flags="AD"),
        base=peer_to_peer,
    ),
    _mutation(
        "9.2/reply-a-cleared",
        "Control flag A is set in the Request and not in the Reply.",
        terminate(_NO_MATCHING_RTR, code=7),
        change_startup(_REPLY, control_flags=""),
        base=peer_to_peer,
    ),
    _mutation(
        "9.1/reply-ord-not-left",
        "IRD of the Request is left to the ULP, and ORD of the Reply is a number.",
        accept("no consequence is named"),
        change_startup(_REPLY, ord=lambda _, rng: rng.randrange(0x3FFF)),
        base=left_to_ulp,
    ),
    _mutation(
        "9.1/reply-ird-not-left",
        "ORD of the Request is left to the ULP, and IRD of the Reply is a number.",
        accept("no consequence is named"),
        change_startup(_REPLY, ird=lambda _, rng: rng.randrange(1, 0x3FFF)),
        base=left_to_ulp,
    ),
    _mutation(
        "9.2/request-without-rtr",
        "The Request asks for a connection of peers and for no RTR indication.",
        terminate(_NO_MATCHING_RTR, code=7),
        change_startup(_REQUEST, control_flags="A"),
        base=peer_to_peer,
    ),
    _mutation(
        "9.2/reply-without-rtr",
        "The Reply agrees to a connection of peers and offers no RTR indication.",
        terminate(_NO_MATCHING_RTR, code=7),
        change_startup(_REPLY, control_flags="A"),
        base=peer_to_peer,
    ),
    _mutation(
        "9.2/reply-a-set",
        "Control flag A is set in the Reply and not in the Request.",
        accept("the connection is of client and server"),
        change_startup(_REPLY, control_flags=lambda _, rng: rng.choice(("AB", "AC", "ABCD"))),
    ),
    _mutation(
        "9.2/rtr-not-agreed",
        "The RTR indication is a Send, which the Reply does not offer.",
        accept(_UNBLOCKED),
        change_startup(_REPLY, control_flags=lambda _, rng: rng.choice(("AC", "AD", "ACD"))),
        base=peers_of_any_kind,
    ),
    _mutation(
        "9.2/rtr-with-payload",
        "The first FPDU of the Initiator is a Send with octets in it, and no RTR indication.",
        accept(_UNBLOCKED),
        first_fpdu(lambda item, rng: item.with_payload(rng.randbytes(rng.randrange(1, 60)))),
        base=peer_to_peer,
    ),
    _mutation(
        "10/reply-unenhanced",
        "The Request has enhanced data, and the Reply has none.",
        accept("nothing is negotiated"),
        change_startup(_REPLY, control_flags=None, ird=None, ord=None),
    ),
    _mutation(
        "10/reply-rev-1-unenhanced",
        "The Request has revision 2 and enhanced data, and the Reply is one of revision 1.",
        accept("nothing is negotiated"),
        change_startup(_REPLY, control_flags=None, ird=None, ord=None, revision=1),
    ),
)
"""RFC 6581."""
