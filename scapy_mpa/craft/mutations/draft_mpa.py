# SPDX-License-Identifier: GPL-2.0-or-later
"""Revision 0 with something wrong in it (draft-ietf-rddp-mpa-01 6.1)."""

from __future__ import annotations

from random import Random
from typing import Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import oldest
from scapy_mpa.craft.mutations.edit import change_startup, longer, of_each_frame, shorter
from scapy_mpa.craft.mutations.expectation import ACCEPT, error, improper, terminate
from scapy_mpa.craft.mutations.mutation import Family, Mutation
from scapy_mpa.craft.options import RESPONDER
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH
from scapy_mpa.wire.rdmap import build_control, parse_control
from scapy_mpa.wire.startup import StartupKind

__all__ = ["DRAFT_MPA"]

_REQUEST, _REPLY = StartupKind.REQUEST, StartupKind.REPLY
_NAME: Final = "draft-ietf-rddp-mpa-01"
_mutation: Final = Family(_NAME, oldest)
_LEFT_OVER: Final = error(1, 2, 4, note="what is left of the Private Data is taken for an FPDU")
_OVER_512: Final = LARGEST_PD_LENGTH + 1, 4000
_TAGGED_VERSION: Final = (1, 1, 4)
_UNTAGGED_VERSION: Final = (1, 2, 6)


_OF_EACH_FRAME: Final = of_each_frame(
    _mutation,
    (
        "6.1.1/{}-private-data-over-512",
        "The {} has more than 512 octets of Private Data, as the draft allows.",
        *(ACCEPT, {"private_data": lambda _, rng: rng.randbytes(rng.randrange(*_OVER_512))}),
    ),
    (
        "6.1.1/{}-reserved-set",
        "A reserved bit of the {} is set, S among them.",
        *(ACCEPT, {"s_bit": True, "reserved": lambda _, rng: rng.randrange(16)}),
    ),
    (
        "6.1.1/{}-pd-length-shorter",
        "PD_Length of the {} says fewer octets than there are.",
        *(_LEFT_OVER, {"pd_length": shorter}),
    ),
)


def _versions_differ(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Responder speak version 1 of DDP and RDMAP."""
    return conversation.with_script(
        item.with_header(
            ddp_version=1,
            rsvdulp=build_control(parse_control(item.header.rsvdulp).opcode, 1),
        )
        if isinstance(item, FPDUItem) and item.side == RESPONDER
        else item
        for item in conversation.script
    )


DRAFT_MPA: Final = (
    *_OF_EACH_FRAME,
    Mutation(
        "rfc5044/c.1/versions-differ",
        "DDP and RDMAP have version 0 in one direction and 1 in the other.",
        terminate(_TAGGED_VERSION, _UNTAGGED_VERSION),
        oldest,
        _versions_differ,
    ),
    _mutation(
        "6.1.1/request-rev-1",
        "The Request has revision 1, and the Reply 0.",
        improper("a permissive RNIC would go on (RFC 5044 C.2.5)"),
        change_startup(_REQUEST, revision=1),
        is_evident=False,
    ),
    _mutation(
        "6.1.1/reply-rev-1",
        "The Reply has revision 1, and the Request 0.",
        improper(),
        change_startup(_REPLY, revision=1),
    ),
    _mutation(
        "6.1.1/reply-pd-length-longer",
        "PD_Length of the Reply says more octets than there are.",
        error(1, 2, 4, note="what follows is taken for Private Data"),
        change_startup(_REPLY, pd_length=longer),
    ),
)
"""draft-ietf-rddp-mpa-01, and RFC 5044 C where it is about revision 0."""
