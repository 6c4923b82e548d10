# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations in a dialect that is named."""

from __future__ import annotations

from typing import Literal

import pytest

from scapy_mpa.craft import Conversation, StartupItem
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import RPCRDMAPrivateData
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.startup import StartupKind
from tests.craft.reading import plain

DRAFT = "draft-ietf-storm-mpa-peer-connect-01"


def flags_of(conversation: Conversation) -> list[str | None]:
    """The control flags of its startup frames."""
    return [item.control_flags for item in conversation.script if isinstance(item, StartupItem)]


def test_revision_is_that_of_the_dialect() -> None:
    """Unless it is given; without a dialect it is RFC 5044's."""
    for dialect, revision in {
        None: 1,
        "rfc5044": 1,
        "draft-ietf-rddp-mpa-01": 0,
        "rtr-frame-proposal-2007": 1,
        "rfc6581": 2,
        DRAFT: 2,
    }.items():
        options = Conversation(dialect=dialect).options
        assert (options.revision, options.rdmap_version) == (revision, int(revision > 0))
        assert Conversation(dialect=dialect, revision=3).options.revision == 3


def test_no_such_conversations() -> None:
    """A name that there is not, and a dialect in which nothing can be said, are refused."""
    with pytest.raises(LocalProtocolError, match="there is no dialect"):
        Conversation(dialect="rfc1149")
    with pytest.raises(LocalProtocolError, match="dialect rfc5043 is an SctpConversation"):
        Conversation(dialect=Dialect.RFC5043)
    with pytest.raises(LocalProtocolError, match="-ift-01 is an IFTConversation"):
        Conversation(dialect=Dialect.DRAFT_IFT_01)
    with pytest.raises(LocalProtocolError, match="no conversations in the dialect osc"):
        Conversation(dialect=Dialect.OSC)


@pytest.mark.parametrize(
    ("rtr", "flags", "of_draft"), [("send", "AB", "A"), ("write", "AC", "B"), ("read", "AD", "C")]
)
def test_control_flags(rtr: Literal["send", "write", "read"], flags: str, of_draft: str) -> None:
    """RFC 6581 9.2 and the draft, 8: the letters moved by one."""
    for dialect, wanted in {None: flags, "rfc6581": flags, DRAFT: of_draft}.items():
        conversation = Conversation(dialect=dialect, revision=2)
        conversation.startup(rtr=rtr)
        assert flags_of(conversation) == [wanted] * 2
        truth = conversation.truth()[-1]
        assert (truth["rtr"], truth["rtr_agreed"], truth["kept"]) == (rtr, [rtr], True)


def test_rtr_frame_of_its_dialect() -> None:
    """rtr-frame-proposal-2007 2: S is set and the frame sent, unless told otherwise."""
    dialect = "rtr-frame-proposal-2007"
    for given, s_bits in {
        None: (True, True),
        (True, False): (True, False),
        False: (False,) * 2,
    }.items():
        conversation = Conversation(dialect=dialect, rtr_frame=given)
        conversation.initiator.send(b"x")
        frames = [item for item in conversation.script if isinstance(item, StartupItem)]
        kinds = [StartupKind.REQUEST, StartupKind.REPLY] + [StartupKind.RTR] * all(s_bits)
        assert [item.kind for item in frames] == kinds
        octets = [placed.octets for placed in conversation.layout() if placed.item in frames]
        assert [bool(each[16] & 0x10) for each in octets[:2]] == list(s_bits)
        found = plain(conversation.frames(), conversation.options.dialect)
        assert found == conversation.truth(messages=True, payload=True)
    made = parse_scenario(f"dialect {dialect}\nresponder send 5\nclose\n", "it")
    assert [item.kind for item in made.script if isinstance(item, StartupItem)][2:] == ["rtr"]


def test_draft_says_all_that_it_can_do() -> None:
    """The draft, 8: flags are set unless the Initiator cannot do it; it is no request."""
    conversation = Conversation(dialect=DRAFT)
    conversation.startup()
    assert flags_of(conversation) == ["ABC"] * 2


def test_scenario() -> None:
    """A scenario names its dialect."""
    conversation = parse_scenario(
        f"dialect {DRAFT}\nstartup rtr read\nresponder send 5\nclose\n", "it"
    )
    assert flags_of(conversation) == ["C", "C"]
    found = plain(conversation.frames(), conversation.options.dialect)
    assert found == conversation.truth(messages=True, payload=True)
    with pytest.raises(LocalProtocolError):
        parse_scenario("dialect rfc1149\n", "it")


def test_private_data_of_a_layer() -> None:
    """A layer is taken as the octets that it is."""
    conversation = Conversation(revision=2)
    conversation.startup(RPCRDMAPrivateData(send_size=1024), RPCRDMAPrivateData())
    item = next(item for item in conversation.script if isinstance(item, StartupItem))
    assert item.private_data == bytes.fromhex("f6ab0e1801010003")
