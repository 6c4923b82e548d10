# SPDX-License-Identifier: GPL-2.0-or-later
"""Impaired segments give the records of the whole conversation, and its truth."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, FPDUItem, Reordering, StartupItem, impair
from scapy_mpa.craft.mutations import find
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.ddp import ddp_header_of
from scapy_mpa.wire.tcp import SYN
from tests.craft.reading import Record, known, plain, printed
from tests.craft.strategies import conversations
from tests.craft.test_impairments import mixes
from tests.stream.crafted import of


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
