# SPDX-License-Identifier: GPL-2.0-or-later
"""The dissector reports the records of a conversation's truth, also if segments are impaired.

Presets are such conversations, and show what their names promise.
"""

import json
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scapy_mpa.craft import (
    Conversation,
    IFTConversation,
    Reordering,
    SctpConversation,
    conversation_of,
    impair,
)
from scapy_mpa.craft.mutations import find
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.craft.script import FPDUItem, StartupItem
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.tcp import FIN, RST, SYN
from tests.craft.reading import Record, known, plain, printed
from tests.craft.strategies import conversations
from tests.craft.test_impairments import mixes
from tests.stream.crafted import of

SPOKEN = (
    *(Dialect.RFC5044, Dialect.DRAFT_MPA_01, Dialect.RTR_PROPOSAL_2007),
    *(Dialect.RFC6581, Dialect.DRAFT_PEER_CONNECT_01),
)
"""The dialects of documents that have MPA's startup frames."""

KINDS: dict[str, st.SearchStrategy[Conversation]] = {
    "MPA": conversations(),
    **{
        f"Request {one}, Reply {other}": conversations(
            revision=one, reply_revision=other, rtr_frames=False
        )
        for one, other in ((2, 1), (2, 0))
    },
    **{
        each.value: conversations(
            dialect=each, revision=Conversation(dialect=each).options.revision
        )
        for each in SPOKEN
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


@pytest.mark.parametrize("name", PRESETS)
def test_seeds(name: str) -> None:
    """The same seed gives the same octets. Another gives other payload in as many frames."""
    one, again, other = (conversation_of(name, seed=seed).frames() for seed in (1, 1, 2))
    assert one == again
    assert [len(each.octets) for each in one] == [len(each.octets) for each in other]
    if name != "reject":
        assert one != other


def test_caller_options_replace_those_of_a_preset() -> None:
    """The caller's options replace those of the preset."""
    assert conversation_of("markers", markers=(False, True)).options.markers == (False, True)
    ift = conversation_of("ift-speculative", hc=(False, True)).options.ift
    assert ift is not None and [each.hc for each in ift] == [False, True]


def test_presets_contain_what_they_show() -> None:
    """Each preset contains what its name promises."""
    for name, messages in {
        "send": {"Send", "Send with SE", "Send with Invalidate", "Send with SE and Invalidate"},
        "immediate": {"Immediate Data", "Immediate Data with SE"},
        "atomics": {"Atomic Request", "Atomic Response"},
        "terminate": {"Terminate"},
        "read": {"RDMA Read Request", "RDMA Read Response"},
        "reject": set(),
    }.items():
        fpdus = of(conversation_of(name).truth(), "fpdu")
        assert {each["message"] for each in fpdus} >= messages
    ends = {
        name: Counter(each.flags & (FIN | RST) for each in conversation_of(name).segments())
        for name in ("reset", "half-close", "open-end", "send")
    }
    assert ends["reset"][RST] and ends["half-close"][FIN] == 1 and ends["send"][FIN] == 2
    assert not ends["open-end"][FIN] and not ends["open-end"][RST]


def agrees(found: list[Record], truth: list[Record]) -> None:
    """Compare records with the truth: the same ones of each type, by the keys of the truth.

    The truth has no records of copies that differ.
    """
    for kind in {each["type"] for each in [*found, *truth]} - {"overlap"}:
        keys = sorted({key for each in of(truth, kind) for key in each})
        mine, theirs = (
            Counter(json.dumps([each.get(key) for key in keys]) for each in of(records, kind))
            for records in (found, truth)
        )
        assert mine == theirs, kind


IN_ORDER = {
    *("frame", "time", "timestamp", "located_by", "offset", "out_of_order", "end"),
    *("frames", "captured", "captured_from", "parts", "latency", "request_frame"),
    *("retransmitted", "retransmitted_octets", "farthest_ahead"),
}
"""The keys that depend on the order and time of segments."""


@given(st.data(), conversations())
def test_nothing_is_missing(data: st.DataObject, conversation: Conversation) -> None:
    """If every octet was captured, the records are those of the whole conversation.

    Only keys that depend on the order of segments differ.
    """
    mix = data.draw(mixes(conversation, missing=False))
    whole, begin = conversation.segments(), 0
    if any(isinstance(each, Reordering) and each.by_capture for each in mix):
        # A SYN or a startup frame may be captured too late.
        items = conversation.captured(whole)
        startups = [each for each in items if isinstance(each.placed.item, StartupItem)]
        begin = max(max(each.frames) for each in startups)
    segments = whole[:begin] + impair(whole[begin:], *mix, seed=data.draw(st.integers(0, 99)))
    # Without the SYN, flags and revision of zeros may be a Marker after a Key in a payload.
    has_syns = sum(bool(each.flags & SYN) for each in segments) >= 2
    assume(has_syns or conversation.options.revision)
    frames = conversation.frames(segments)
    for found, messages in ((plain(frames), True), (printed(frames), False)):
        truth = conversation.truth(messages=messages, payload=messages)
        wanted = [{key: one[key] for key in one if key not in IN_ORDER} for one in truth]
        agrees(known(found), wanted)
        truth = conversation.truth(segments, payload=messages)
        for kind in ("startup", "fpdu"):
            agrees(of(found, kind), of(truth, kind))


ONE_SEND = parse_scenario('initiator send "x"\nclose')
"""A Send of one octet between SYN and FIN."""


def test_no_segments() -> None:
    """A capture without segments has no records."""
    assert Conversation(handshake=False).truth() == []
    assert ONE_SEND.truth([]) == []


def test_fpdus_do_not_wait_for_a_syn() -> None:
    """A SYN is captured after FPDUs: these are found."""
    syn, *before, request, reply, fpdu = ONE_SEND.segments()[:6]
    segments = [*before, reply, fpdu, request, syn]
    truth = ONE_SEND.truth(segments)
    agrees(of(plain(ONE_SEND.frames(segments)), "fpdu"), of(truth, "fpdu"))


def test_messages_of_an_fpdu_without_a_whole_ddp_header() -> None:
    """Such an FPDU carries no segment of a message. ``repr`` counts its octets."""
    conversation = find("rfc5041/4.4/header-cut").case(1).conversation
    truth = conversation.truth(messages=True)
    assert of(truth, "fpdu") and not of(truth, "message")
    (short,) = (
        each
        for each in conversation.script
        if isinstance(each, FPDUItem) and ddp_header_of(each.ulpdu) is None
    )
    assert f"ULPDU of {len(short.ulpdu)} octets" in repr(short)
