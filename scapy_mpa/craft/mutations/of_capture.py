# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of a captured conversation.

Random fuzzing works with any conversation.  A mutation that breaks one rule needs one in which all
else is right: MPA of revision 1 or 2, with the layout of RFC 5044, without Markers and without an
Rtr Frame.  With CRCs off, a receiver cannot notice a damaged FPDU.  Then only mutations of DDP and
RDMAP are possible.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.catalogue import mutations
from scapy_mpa.craft.mutations.edit import octets_of
from scapy_mpa.craft.mutations.mutation import Change, Mutation
from scapy_mpa.craft.mutations.random_fuzz import any_conversation
from scapy_mpa.craft.recorded import events_of
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.stream.checks import Checks
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.startup import StartupKind

_REVISIONS: Final = (1, 2)
_DRAWS: Final = 16
"""How often a change is drawn again.  A captured connection may have the drawn value already, such
as one of 3 values of a reserved field."""
_ABOVE_MPA: Final = ("rfc5040/", "rfc5041/", "rfc7306/")


def mutations_of(conversation: Conversation) -> list[Mutation]:
    """Return the mutations that can start from a conversation of startup frames and FPDUs.

    Making a case raises LocalProtocolError if the conversation has nothing that the mutation could
    break, such as an RDMA Read.
    """

    def recorded(_: Random) -> Conversation:
        return conversation

    named: list[Mutation] = []
    if _is_like_ours(conversation):
        named = [each for each in mutations() if each.base is bases.plain]
        if not any(conversation.options.crc):
            named = [each for each in named if each.name.startswith(_ABOVE_MPA)]
    named += [each for each in mutations() if each.base is any_conversation]
    return [replace(each, base=recorded, apply=_checked(each.apply)) for each in named]


def applies(mutation: Mutation, seed: int) -> bool:
    """Return whether a mutation finds something to break."""
    try:
        mutation.case(seed)
    except LocalProtocolError:
        return False
    return True


def _is_like_ours(conversation: Conversation) -> bool:
    options = conversation.options
    kinds = [each.kind for each in conversation.script if isinstance(each, StartupItem)]
    return (
        options.revision in _REVISIONS
        and options.dialect is None
        and not any(options.markers)
        and StartupKind.RTR not in kinds
        and _is_valid(conversation)
    )


def _is_valid(conversation: Conversation) -> bool:
    checks = Checks()
    found = [checks.take(event) for event in events_of(conversation.frames())]
    return not any(isinstance(each, ErrorFound) for events in found for each in events)


def _checked(change: Change) -> Change:
    """Return a change that raises LocalProtocolError if ``change`` fails or changes no octet."""

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        before = octets_of(conversation)
        for _ in range(_DRAWS):
            try:
                changed = change(conversation, rng)
            except (LookupError, ValueError, StopIteration) as error:
                # Mutations expect items that the bases always have.
                raise LocalProtocolError("nothing like that is in the conversation") from error
            if octets_of(changed) != before:
                return changed
        raise LocalProtocolError("the conversation has this mistake already")

    return apply
