# SPDX-License-Identifier: GPL-2.0-or-later
"""What is wrong with DDP and RDMAP is found whatever carries them: FPDUs, frames, DATA chunks."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.craft import IFTConversation, SctpConversation
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations import Mutation, find, mutations
from scapy_mpa.craft.script import CloseItem, FPDUItem, FrameItem, HandshakeItem, StartupItem
from scapy_mpa.stream.events import ErrorFound
from scapy_mpa.wire.ddp import ddp_header_length
from tests.craft.reading import file_of

SEEDS = range(2)
ABOVE = "rfc5040/*", "rfc5041/*", "rfc7306/*"


def is_whole(ulpdu: bytes) -> bool:
    """Whether all of its DDP header is there."""
    return len(ulpdu) >= ddp_header_length(ulpdu)


def is_carried(conversation: Conversation) -> bool:
    """Whether others can carry all that it has: nothing but whole DDP headers, of version 1."""
    return conversation.options.revision == 1 and all(
        isinstance(item, HandshakeItem | StartupItem | CloseItem)
        or (isinstance(item, FPDUItem) and not item.overrides and is_whole(item.ulpdu))
        for item in conversation.script
    )


def in_frames(conversation: Conversation) -> Conversation:
    """The same segments in frames of iWARP Framing for TCP."""
    other = IFTConversation(sp=True)
    other.negotiate()
    for item in conversation.script:
        if isinstance(item, FPDUItem):
            other.append(FrameItem(item.side, item.ulpdu))
    return other


def in_chunks(conversation: Conversation) -> Conversation:
    """The same segments in DATA chunks."""
    other = SctpConversation()
    other.startup()
    for item in conversation.script:
        if isinstance(item, FPDUItem):
            other.append(item)
    return other


def errors(conversation: Conversation) -> list[str]:
    """What is reported to be wrong with DDP and RDMAP."""
    capture = open_capture(io.BytesIO(file_of(conversation.frames())))
    batches = Reading(capture, checks=True).batches()
    # Over SCTP and in frames it is DDP itself that says which version there is.
    return [
        event.text.replace("RFC 5044 C.1", "RFC 5041 4.1")
        for batch in batches
        for event in batch
        if isinstance(event, ErrorFound)
    ]


CARRIED = [
    mutation
    for pattern in ABOVE
    for mutation in mutations(pattern)
    if all(
        is_carried(each)
        for seed in SEEDS
        for each in (mutation.case(seed).valid, mutation.case(seed).conversation)
    )
]


@pytest.mark.parametrize("carry", [in_frames, in_chunks])
@pytest.mark.parametrize("mutation", CARRIED, ids=lambda mutation: mutation.name)
def test_as_over_mpa(mutation: Mutation, carry: Callable[[Conversation], Conversation]) -> None:
    """The same is wrong with the same segments, and nothing is with the valid ones."""
    for seed in SEEDS:
        case = mutation.case(seed)
        assert sorted(errors(carry(case.conversation))) == sorted(errors(case.conversation))
        assert not errors(carry(case.valid))


def test_most_are_carried() -> None:
    """Left out is only what is about lengths, versions or startup frames of MPA."""
    assert len(CARRIED) > 60
    assert find("rfc5041/4.3/msn-skipped") in CARRIED


def test_ddp_mode_is_not_looked_at() -> None:
    """Without RDMAP there is nothing to hold against it (draft-williams-iwarp-ift-01 4.2, R)."""
    for seed in SEEDS:
        case = find("rfc5040/4.1/opcode-15-tagged").case(seed)
        other = IFTConversation(r=False)
        for item in case.conversation.script:
            if isinstance(item, FPDUItem):
                side = other.sides[item.side]
                side.frame(item.ulpdu)
        assert not errors(other)
