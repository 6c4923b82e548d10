# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which pieces are missing or captured in disorder, in small conversations."""

from __future__ import annotations

from scapy_mpa.craft import Conversation
from tests.craft.small import REPLY, REQUEST, found, kinds, one_send, pieces


def test_private_data_missing() -> None:
    """Where the Private Data of the Reply are missing, and later octets are not, nothing fails."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.responder.octets(b"x")
    segments = conversation.segments()
    segments[REPLY] = pieces(segments[REPLY], 20)[0]
    assert kinds(found(conversation, segments))[:2] == ["startup", "startup"]


def test_request_in_disorder() -> None:
    """A Request of which the second piece comes first and the last octet last is found."""
    conversation = one_send()
    segments = conversation.segments()
    first, second, third = pieces(segments[REQUEST], 1, 19)
    segments[REQUEST : REQUEST + 1] = [second, first, third]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


def test_second_request_captured_first() -> None:
    """Where a rejected Request is captured behind the one that followed it, nothing fails."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.startup()
    first, reject, second, accept = (each for each in conversation.segments() if each.octets)
    assert "startup" in kinds(found(conversation, [second, reject, accept, first]))
