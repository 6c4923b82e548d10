# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector reports the records of a conversation's truth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, IFTConversation, SctpConversation, conversation_of
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from tests.craft.reading import known, plain, printed
from tests.craft.strategies import conversations

SPOKEN = {
    Dialect.RFC5044: 1,
    Dialect.DRAFT_MPA_01: 0,
    Dialect.RTR_PROPOSAL_2007: 1,
    Dialect.RFC6581: 2,
    Dialect.DRAFT_PEER_CONNECT_01: 2,
}
"""The dialects of documents that have MPA's startup frames, with their revisions."""

KINDS: dict[str, st.SearchStrategy[Conversation]] = {
    "MPA": conversations(),
    **{
        f"Request {one}, Reply {other}": conversations(
            revision=one, reply_revision=other, rtr_frames=False
        )
        for one, other in ((2, 1), (2, 0))
    },
    **{
        dialect.value: conversations(dialect=dialect, revision=revision)
        for dialect, revision in SPOKEN.items()
    },
}


def check(conversation: Conversation) -> None:
    """Both ways of reading report exactly the records of the truth, with the same order of keys."""
    frames, dialect = conversation.frames(), conversation.options.dialect
    for found, wanted in (
        (plain(frames, dialect), conversation.truth(messages=True, payload=True)),
        (printed(frames, dialect), conversation.truth()),
    ):
        found = known(found)
        assert found == wanted
        assert list(map(list, found)) == list(map(list, wanted))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_conversations(kind: str, data: st.DataObject) -> None:
    check(data.draw(KINDS[kind]))


@pytest.mark.examples
@pytest.mark.parametrize("name", PRESETS)
def test_presets(name: str) -> None:
    """Conversations of other framings have no truth."""
    conversation = conversation_of(name, seed=1)
    if isinstance(conversation, IFTConversation | SctpConversation):
        with pytest.raises(LocalProtocolError, match="no truth"):
            conversation.truth()
    else:
        check(conversation)
