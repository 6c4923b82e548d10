# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which pieces are missing or captured in disorder, in small conversations."""

from __future__ import annotations

from scapy_mpa.craft import Conversation
from tests.craft.small import REPLY, found, kinds, pieces


def test_private_data_missing() -> None:
    """Where the Private Data of the Reply are missing, and later octets are not, nothing fails."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.responder.octets(b"x")
    segments = conversation.segments()
    segments[REPLY] = pieces(segments[REPLY], 20)[0]
    assert kinds(found(conversation, segments))[:2] == ["startup", "startup"]
