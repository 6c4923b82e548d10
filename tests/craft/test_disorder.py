# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which pieces are missing or captured in disorder, in small conversations."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, SnapLength, impair
from tests.craft.reading import plain
from tests.craft.small import FPDU, REPLY, REQUEST, found, kinds, one_send, pieces


def test_private_data_missing() -> None:
    """Where the Private Data of the Reply are missing, and later octets are not, nothing fails."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.responder.octets(b"x")
    segments = conversation.segments()
    segments[REPLY] = pieces(segments[REPLY], 20)[0]
    assert kinds(found(conversation, segments))[:2] == ["startup", "startup"]


def test_beginning_of_request_missing() -> None:
    """Where a Request was captured without its first octets, its Reply is not said to answer none,
    no matter how long ago they were acknowledged."""
    conversation = Conversation(revision=0, mss=536)
    conversation.startup(bytes(65535))
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REQUEST]
    assert kinds(found(conversation, segments)) == ["startup", "fpdu"]


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


def test_syn_captured_late() -> None:
    """A SYN that is captured behind octets of its own connection begins no other one."""
    conversation = one_send()
    segments = conversation.segments()
    first, second = pieces(segments[REQUEST], 5)
    segments[:4] = [second, *segments[:3], first]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_up_to_the_request(data: st.DataObject) -> None:
    """The handshake and the pieces of the Request may be captured in any order."""
    conversation = one_send()
    segments = conversation.segments()
    cuts = sorted(data.draw(st.sets(st.integers(1, 19), max_size=3)))
    first = [*segments[:REQUEST], *pieces(segments[REQUEST], *cuts)]
    segments[: REQUEST + 1] = data.draw(st.permutations(first))
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


def test_reply_captured_first() -> None:
    """If both startup frames were captured, an FPDU that was cut is found, whichever came first."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.responder.send(bytes(60))
    segments = impair(conversation.segments(), SnapLength(54 + 56))
    segments[REQUEST], segments[REPLY] = segments[REPLY], segments[REQUEST]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu", "fpdu"]


def test_request_captured_behind_fpdus() -> None:
    """A Request is that of a Reply captured long before it, if that acknowledged it and no more."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    conversation.close()
    segments = conversation.segments()
    late = segments[REQUEST], segments[FPDU]
    answer = next(at for at in range(FPDU + 1, len(segments)) if segments[at].octets)
    order = [*segments[:REQUEST], segments[REPLY], segments[answer], *late, *segments[answer + 1 :]]
    records = plain(conversation.frames(order))
    assert kinds(records).count("fpdu") == 2
    (wanted,) = (each for each in conversation.truth(order) if each["type"] == "connection")
    assert {name: records[-1][name] for name in wanted} == wanted
    assert wanted["rnics"] is not None


def test_rejection_not_captured() -> None:
    """If only the rejection was not captured, the second Request is none the less no FPDU."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REPLY]
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "startup", "startup", "fpdu"]
