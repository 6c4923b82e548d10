# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of the dialects other than RFC 5044 and RFC 6581 (docs/dialects.md)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import change_fpdu, change_startup, of_each_frame, replaced
from scapy_mpa.craft.mutations.fpdu import Marked, marked_fpdus
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.options import RESPONDER
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.wire.dialect import LARGEST_PD_LENGTH
from scapy_mpa.wire.fpdu import (
    MARKER_INTERVAL,
    MARKER_LENGTH,
    marker_octets,
    marker_places,
    pad_length,
)
from scapy_mpa.wire.rdmap import build_control, parse_control
from scapy_mpa.wire.startup import StartupKind

# -- revision 0 ------------------------------------------------------------------------------------


def _over_512(item: StartupItem, rng: Random) -> bytes:
    return rng.randbytes(rng.randrange(LARGEST_PD_LENGTH + 1, 4000))


def _versions_differ(conversation: Conversation, rng: Random) -> Conversation:
    """Let the Responder send version 1 of DDP and RDMAP."""
    return conversation.with_script(
        item.with_header(
            ddp_version=1, rsvdulp=build_control(parse_control(item.header.rsvdulp).opcode, 1)
        )
        if isinstance(item, FPDUItem) and item.side == RESPONDER
        else item
        for item in conversation.script
    )


# -- the Ohio Supercomputer Center's software iWARP ------------------------------------------------


def _change(edit: Callable[[Marked, Random], FPDUItem | None]) -> Change:
    """Return a change of one FPDU, chosen among those for which ``edit`` returns an item."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        changed = [(fpdu.at, edit(fpdu, rng)) for fpdu in marked_fpdus(conversation)]
        at, item = rng.choice([(at, item) for at, item in changed if item is not None])
        return replaced(conversation, at, item)

    return apply


def _in_network_order(fpdu: Marked, rng: Random) -> FPDUItem | None:
    layout = fpdu.layout
    # Two equal octets, such as those of 0, have no order.
    pointing = [n for n, marker in enumerate(fpdu.markers) if marker[2] != marker[3]]
    if not pointing:
        return None
    chosen = rng.choice(pointing)
    return fpdu.item.override(
        markers={chosen: marker_octets(layout.markers[chosen], layout.header)}
    )


def _not_drifting(fpdu: Marked, rng: Random) -> FPDUItem | None:
    layout = fpdu.layout
    length = layout.length - MARKER_LENGTH * len(layout.markers)
    places = marker_places(length, fpdu.offset % MARKER_INTERVAL)
    is_moved = len(places) == len(layout.markers) and places != layout.markers
    if not is_moved or layout.header or 0 in places:
        return None
    return fpdu.item.override(marker_places=places)


MUTATIONS: Final[Table] = {
    bases.oldest: {
        **of_each_frame(
            {"draft-ietf-rddp-mpa-01/6.1.1/{}-private-data-over-512": {"private_data": _over_512}}
        ),
        "rfc5044/c.1/versions-differ": _versions_differ,
        "draft-ietf-rddp-mpa-01/6.1.1/request-rev-1": change_startup(
            StartupKind.REQUEST, revision=1
        ),
        "draft-ietf-rddp-mpa-01/6.1.1/reply-rev-1": change_startup(StartupKind.REPLY, revision=1),
    },
    bases.extension: of_each_frame(
        {"erdma/startup/{}-m-set": {"markers": True}, "erdma/startup/{}-c-set": {"crc": True}}
    ),
    bases.padded_otherwise: {
        "softuiwarp/pad/as-in-rfc5044": change_fpdu(
            lambda item, _: item.override(pad=bytes(pad_length(len(item.ulpdu)))),
            where=lambda item: len(item.ulpdu) % 4 == 3,
        )
    },
    bases.drifting: {
        "osc/marker/fpduptr-in-network-order": _change(_in_network_order),
        "osc/marker/misplaced-as-in-rfc5044": _change(_not_drifting),
    },
    bases.lacking_crcs: {
        "osc/crc/field-with-crcs-off": change_fpdu(lambda item, _: item.override(crc=bytes))
    },
}
"""Mutations of revision 0, erdma, SoftUiWARP and osc."""
