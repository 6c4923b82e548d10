# SPDX-License-Identifier: GPL-2.0-or-later
"""Enhanced connection establishment by the draft before RFC 6581, with something wrong in it.

The draft says what a sender must do and names no consequence if it does not.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.craft.mutations.bases import peer_connect, peer_connect_ulp
from scapy_mpa.craft.mutations.edit import change_startup, first_fpdu, of_each_frame
from scapy_mpa.craft.mutations.enhanced import WITHOUT_DATA
from scapy_mpa.craft.mutations.expectation import accept
from scapy_mpa.craft.mutations.mutation import Family
from scapy_mpa.wire.startup import StartupKind

__all__ = ["PEER_CONNECT"]

_DRAFT: Final = "draft-ietf-storm-mpa-peer-connect-01"
_family: Final = Family(_DRAFT, peer_connect)
_UNBLOCKED: Final = "no consequence is named, and any FPDU will do in RFC 5044 7.1.2 rule 4"


PEER_CONNECT: Final = (
    *of_each_frame(
        _family,
        WITHOUT_DATA,
        (
            "8/{}-d-set",
            "Control flag D of the {} is set, which is reserved.",
            *(accept("it is ignored"), {"control_flags": "ABCD"}),
        ),
    ),
    _family(
        "8/rtr-not-accepted",
        "The RTR indication is one that the Reply does not accept.",
        accept(_UNBLOCKED),
        change_startup(
            StartupKind.REPLY, control_flags=lambda _, rng: rng.choice(("A", "C", "AC"))
        ),
    ),
    _family(
        "8/ulp-send-without-payload",
        "The Reply asks for a Send of the ULP's, and the first Send is one of no octets.",
        accept(_UNBLOCKED),
        first_fpdu(lambda item, rng: item.with_payload(b"")),
        base=peer_connect_ulp,
    ),
)
"""draft-ietf-storm-mpa-peer-connect-01."""
