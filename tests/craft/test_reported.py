# SPDX-License-Identifier: GPL-2.0-or-later
"""The truth of impaired segments, with records of all types, is what the dissector reports."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scapy_mpa.craft import (
    CaptureLoss,
    Conversation,
    Duplication,
    FPDUItem,
    IFTConversation,
    Impairment,
    IndicationItem,
    Reordering,
    Resegmentation,
    impair,
)
from scapy_mpa.craft.mutations import find
from scapy_mpa.stream.segment import SYN
from scapy_mpa.wire.ddp import ddp_header_of
from tests.craft.reading import Record, plain, printed
from tests.craft.strategies import conversations, framed_conversations
from tests.craft.test_impairments import mixes
from tests.stream.crafted import of

IDENTITY = {
    "startup": ("kind", "rejected", "pd_length"),
    "streaming": ("seq",),
    "fpdu": ("seq",),
    "adaption_indication": ("seq",),
    "ift_frame": ("seq",),
    "error": ("seq",),
    "message": ("opcode", "qn", "msn", "stag", "to", "answers", "length", "complete"),
    "connection": (),
}
"""By type, the keys that distinguish records of one direction, whenever they are found."""


def by_kind(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records by type and sender, in an order that does not depend on when they are found."""
    kinds: dict[tuple[str, str], list[Record]] = {}
    for each in records:
        kinds.setdefault((each["type"], each["src"]), []).append(each)
    return {
        (kind, src): sorted(
            # As JSON, since Python 3.10 shows members of enumerations in another way.
            ones,
            key=lambda one: [json.dumps(one[name]) for name in IDENTITY[one["type"]]],
        )
        for (kind, src), ones in kinds.items()
    }


def agrees(found: list[Record], truth: list[Record]) -> None:
    """Compare records with the truth: as many of each type, with the values of the truth.

    The truth has no records of copies that differ.
    """
    mine, theirs = by_kind(truth), by_kind(each for each in found if each["type"] != "overlap")
    assert {kind: len(each) for kind, each in mine.items()} == {
        kind: len(each) for kind, each in theirs.items()
    }
    for kind, each in mine.items():
        for wanted, record in zip(each, theirs[kind], strict=True):
            assert {name: record[name] for name in wanted} == wanted


@given(st.data(), conversations())
def test_nothing_is_missing(data: st.DataObject, conversation: Conversation) -> None:
    """If every octet was captured, the truth has every record, of any type, and it is found."""
    mix = data.draw(mixes(conversation, missing=False))
    segments = impair(conversation.segments(), *mix, seed=data.draw(st.integers(0, 99)))
    frames = conversation.frames(segments)
    truth = conversation.truth(segments, messages=True, payload=True)
    # A startup after a rejected one is followed in order only.
    is_disordered = any(isinstance(each, Reordering) and each.by_capture for each in mix)
    assume(not (is_disordered and any(each.get("rejected") for each in of(truth, "startup"))))
    # Without the SYN, flags and revision of zeros may be a Marker after a Key in a payload.
    has_syns = sum(bool(each.flags & SYN) for each in segments) >= 2
    assume(has_syns or conversation.options.revision)
    # A SYN that is captured after FPDUs is too late to show that nothing is missing.
    assume(is_complete(truth) or not is_disordered)
    agrees(plain(frames), truth)
    agrees(printed(frames), conversation.truth(segments))


def is_complete(truth: list[Record]) -> bool:
    """True if the truth is complete, because at most acknowledgements are missing."""
    return bool(of(truth, "connection"))


def one_send() -> Conversation:
    """A Send of one octet between SYN and FIN."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.close()
    return conversation


def test_no_segments() -> None:
    """A capture without segments has no records."""
    assert Conversation(handshake=False).truth() == []
    assert one_send().truth([]) == []


def test_fpdus_do_not_wait_for_a_syn() -> None:
    """A SYN after FPDUs is too late to show that nothing is missing: FPDUs do not wait for it."""
    conversation = one_send()
    syn, *before, request, reply, fpdu = conversation.segments()[:6]
    assert is_complete(conversation.truth([syn, *before, reply, fpdu, request]))
    segments = [*before, reply, fpdu, request, syn]
    truth = conversation.truth(segments)
    assert not is_complete(truth)
    agrees(of(plain(conversation.frames(segments)), "fpdu"), of(truth, "fpdu"))


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


DISORDER = (Duplication(0.3), Reordering(0.3, by_capture=True), Resegmentation(50))


@pytest.mark.parametrize("side", [0, 1])
def test_one_indication_without_the_other(side: int) -> None:
    """One indication is missing: the other one is reported, but no frame.

    Without a SYN nothing shows that all was captured.
    """
    conversation = IFTConversation()
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    assert is_complete(conversation.truth(segments))
    assert not is_complete(conversation.truth(segments[1:]))
    first = next(each for each in segments if each.side != side and each.octets)
    segments.remove(first)
    truth = conversation.truth(segments)
    assert [each["src"] for each in truth] == [str(conversation.endpoints[side])]
    agrees(without_end(plain(conversation.frames(segments))), truth)


@pytest.mark.parametrize("crcs", [True, False])
@given(st.data(), st.sampled_from(DISORDER), st.integers(0, 1 << 20))
def test_frames_after_holes(
    crcs: bool, data: st.DataObject, impairment: Impairment, seed: int
) -> None:
    """With header CRCs every whole frame is found, and none that does not exist."""
    conversation = data.draw(framed_conversations(hc=crcs))
    segments = conversation.segments()
    items = conversation.captured(segments)
    begin = max(max(each.frames) for each in items if isinstance(each.placed.item, IndicationItem))
    after = impair(segments[begin:], CaptureLoss(0.2), impairment, seed=seed)
    segments = segments[:begin] + after
    records = plain(conversation.frames(segments))
    assert not of(records, "error")
    truth = without_end(conversation.truth(segments, payload=True))
    if crcs:
        agrees(without_end(records), truth)
    else:
        for found in of(records, "ift_frame"):
            assert any(wanted.items() <= found.items() for wanted in truth)


def without_end(records: list[Record]) -> list[Record]:
    """The indications and the frames."""
    return of(records, "adaption_indication") + of(records, "ift_frame")
