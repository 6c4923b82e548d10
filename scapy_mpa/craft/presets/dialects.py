# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets: connections by documents other than RFC 5044, under the documents' names."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.presets.preset import preset
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.wire.fpdu import EMSS_GUESSES
from scapy_mpa.wire.startup import StartupKind

__all__ = [
    "draft_mpa_connection",
    "draft_mpa_private_data",
    "permissive_meets_rdmac",
    "rtr_frame",
    "rtr_frame_not_announced",
    "rtr_frame_not_awaited",
]

_STAG: Final = 0x10010001
_DRAFT: Final = "draft-ietf-rddp-mpa-01"
_PROPOSAL: Final = "rtr-frame-proposal-2007"


def _talk(conversation: Conversation, rng: Random) -> Conversation:
    """Let both sides say a little, and close."""
    left, right = conversation.sides
    left.send(rng.randbytes(50))
    right.write(rng.randbytes(3000), _STAG, 0x1000)
    left.read(rng.randbytes(2000), _STAG, 0, 2, 0)
    right.send(rng.randbytes(5), solicited=True)
    conversation.close()
    return conversation


@preset(f"{_DRAFT}/connection", "revision 0 as the draft has it: no Markers, no CRCs")
def draft_mpa_connection(rng: Random, **options: Any) -> Conversation:
    """Hardware of the RDMA Consortium has both, so this is none; EMSS is guessed (3.1.1)."""
    own = {"revision": 0, "crc": False, "mss": EMSS_GUESSES[1]}
    return _talk(Conversation(**{**own, **options}), rng)


@preset(f"{_DRAFT}/private-data", "revision 0 with 65535 octets of Private Data each way")
def draft_mpa_private_data(rng: Random, **options: Any) -> Conversation:
    """As much as PD_Length can say (6.1.1)."""
    conversation = Conversation(**{"revision": 0, "markers": True, **options})
    conversation.startup(rng.randbytes(0xFFFF), rng.randbytes(0xFFFF))
    return _talk(conversation, rng)


@preset("rfc5044/c.2.5/permissive-meets-rdmac", "revision 1 asks, 0 answers: as in revision 0")
def permissive_meets_rdmac(rng: Random, **options: Any) -> Conversation:
    """The Initiator adapts: version 0, Markers both ways, CRCs, whatever it has asked for."""
    conversation = Conversation(**{"revision": 0, "markers": True, **options})
    conversation.startup(b"from the IETF", b"from the RDMA Consortium")
    for number, item in enumerate(conversation.script):
        if isinstance(item, StartupItem) and item.kind is StartupKind.REQUEST:
            asking = replace(item, revision=1, markers=False, crc=False)
            conversation.script[number] = asking
    return _talk(conversation, rng)


@preset(f"{_PROPOSAL}/rtr-frame", "an Rtr Frame after the Reply; then the Responder speaks first")
def rtr_frame(rng: Random, **options: Any) -> Conversation:
    """S is set in Request and Reply (point 2)."""
    conversation = Conversation(**{"rtr_frame": True, **options})
    conversation.startup(b"peer", b"to peer", rtr_private_data=b"ready")
    conversation.responder.send(rng.randbytes(30))
    return _talk(conversation, rng)


@preset(f"{_PROPOSAL}/not-awaited", "S in the Request only: no Rtr Frame")
def rtr_frame_not_awaited(rng: Random, **options: Any) -> Conversation:
    """The Responder does not know it (points 2 and 5)."""
    return _talk(Conversation(**{"rtr_frame": (True, False), **options}), rng)


@preset(f"{_PROPOSAL}/not-announced", "S in the Reply only: no Rtr Frame")
def rtr_frame_not_announced(rng: Random, **options: Any) -> Conversation:
    """The Initiator does not know it (point 2)."""
    return _talk(Conversation(**{"rtr_frame": (False, True), **options}), rng)
