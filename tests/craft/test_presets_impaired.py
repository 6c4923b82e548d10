# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets of MPA under any mix of impairments: what their truth says is found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scapy_mpa.craft import (
    CaptureLoss,
    Conversation,
    Duplication,
    Impairment,
    LateStart,
    Loss,
    Reordering,
    Resegmentation,
    Segment,
    StartupCut,
    conversation_of,
    impair,
)
from scapy_mpa.craft.presets import PRESETS
from scapy_mpa.stream.halves.holes import HELD_ISLANDS
from scapy_mpa.stream.limits import STREAMING_OCTETS
from scapy_mpa.stream.segment import FIN, RST, SYN
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import Record, plain, printed
from tests.craft.test_reported import agrees, is_complete, of

RATES = st.sampled_from((0.05, 0.3, 1.0))


def is_of_mpa(name: str) -> bool:
    """True if a preset is a conversation in MPA."""
    return type(conversation_of(name)) is Conversation


ACCEPTED = [
    name for name in PRESETS if is_of_mpa(name) and name not in ("reject", "reject-then-accept")
]
"""The presets of MPA but for those with several startups, whose frames are found only if all
were captured."""


def sizes(conversation: Conversation) -> tuple[int | Literal["super"], ...]:
    """Sizes of segments. A long conversation in very small ones would take too long."""
    octets = sum(len(each.octets) for each in conversation.segments())
    return ("super", 1460, 100) if octets > STREAMING_OCTETS else ("super", 1460, 100, 7)


@st.composite
def mixes(draw: st.DrawFn, conversation: Conversation) -> list[Impairment]:
    """Impairments in the order in which they happen in the world, at any place."""
    choices: list[st.SearchStrategy[Any]] = [
        st.builds(Resegmentation, st.sampled_from(sizes(conversation))),
        st.builds(Loss, RATES, captured=st.booleans()),
        st.builds(Reordering, RATES, by_capture=st.booleans()),
        st.builds(Duplication, RATES),
        st.builds(CaptureLoss, st.sampled_from((0.02, 0.1, 0.3))),
    ]
    late = st.builds(LateStart, st.integers(0, 8))
    choices.append(st.one_of(st.just(StartupCut(conversation)), late))
    return [draw(each) for each in choices if draw(st.booleans())]


def may_be_two_connections(segments: Sequence[Segment]) -> bool:
    """True if a SYN was captured after the end. It may begin the next connection, since some
    senders use the same initial number each time."""
    has_ended = False
    for each in segments:
        if has_ended and each.flags & SYN:
            return True
        has_ended |= bool(each.flags & (FIN | RST))
    return False


def compare(found: list[Record], truth: list[Record], *, is_searched: bool, is_long: bool) -> None:
    """Compare records with the truth where octets are missing. Nothing else may be found.

    What may be missing: FPDUs without CRCs or of OSC, startup frames after missing octets that do
    not fill their segments, and errors that follow from what is missing.

    :param is_searched: whether FPDUs are found after holes, too.
    :param is_long: whether a direction without a startup frame may be taken for something else.
    """
    (mine, theirs) = (
        {(each["src"], each["seq"]): each for each in of(records, "fpdu")}
        for records in (found, truth)
    )
    assert mine.keys() <= theirs.keys()
    is_surely_mpa = bool(of(truth, "startup")) or not is_long
    assert not (is_searched and is_surely_mpa) or mine.keys() == theirs.keys()
    for key, record in mine.items():
        wanted = theirs[key]
        assert {name: record[name] for name in wanted} == wanted
    left = of(truth, "startup")
    for record in of(found, "startup"):
        left.remove(next(each for each in left if each.items() <= record.items()))
    (reported, true) = (
        {(each["src"], each["seq"], each["code"]) for each in of(records, "error")}
        for records in (found, truth)
    )
    assert not is_searched or reported <= true


def check_found(conversation: Conversation, segments: list[Segment]) -> None:
    """Compare what both ways find in impaired segments with the truth."""
    truth = conversation.truth(segments, messages=True, payload=True)
    frames = conversation.frames(segments)
    options = conversation.options
    found = plain(frames, options.dialect)
    if is_complete(truth):
        agrees(found, truth)
        agrees(printed(frames, options.dialect), conversation.truth(segments))
    else:
        octets = sum(len(each.octets) for each in segments)
        is_long = octets > STREAMING_OCTETS or len(segments) > HELD_ISLANDS
        for records, expected in (
            (found, truth),
            (printed(frames, options.dialect), conversation.truth(segments)),
        ):
            # FPDUs of OSC are found in order only, up to a hole that stays.
            is_searched = options.has_crcs and options.dialect is not Dialect.OSC
            compare(records, expected, is_searched=is_searched, is_long=is_long)


@given(st.data(), st.integers(0, 999))
def test_any_mix(data: st.DataObject, seed: int) -> None:
    """Any impairments of a preset, any beginning of its capture: what the truth says is found."""
    name = data.draw(st.sampled_from(ACCEPTED))
    conversation = conversation_of(name, seed=1)
    segments = impair(conversation.segments(), *data.draw(mixes(conversation)), seed=seed)
    assume(not may_be_two_connections(segments))
    check_found(conversation, segments)


RTR = "rtr-frame-proposal-2007/rtr-frame"
TINY, SMALL = Resegmentation(7), Resegmentation(100)
FEW, SOME, MANY = CaptureLoss(0.02), CaptureLoss(0.1), CaptureLoss(0.3)
TWICE = Duplication(0.05)
MIXED_UP = Reordering(1.0, by_capture=True)
CAPTURED_LATE = Reordering(0.3, by_capture=True)

CASES: list[tuple[str, str, int, tuple[Impairment | type[StartupCut], ...]]] = [
    ("FPDUs alone between holes", "private-data", 520, (TINY, SOME, StartupCut)),
    (
        "octets acknowledged before any of their direction was captured, and missing",
        *("rpc-over-rdma", 858, (Loss(0.05, captured=False), CAPTURED_LATE, TWICE, MANY)),
    ),
    (
        "an Rtr Frame before the Reply before the Request",
        *(RTR, 1051, (SMALL, CAPTURED_LATE, TWICE, FEW)),
    ),
    (
        "the rest of an FPDU not captured, but acknowledged, before a reset",
        *("reset", 90001, (SMALL, Loss(0.05), MIXED_UP, TWICE, SOME)),
    ),
    (
        "the Reply not captured, but the FIN after it",
        *("reject", 7, (Loss(0.05), Reordering(0.05), SOME)),
    ),
]
"""The situation, the preset, the seed and the impairments."""


@pytest.mark.examples
@pytest.mark.parametrize(
    ("name", "seed", "impairments"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_captured_in_part(
    name: str, seed: int, impairments: Sequence[Impairment | type[StartupCut]]
) -> None:
    """Startup frames and FPDUs are found although little around them confirms them."""
    conversation = conversation_of(name, seed=1)
    mix = [StartupCut(conversation) if each is StartupCut else each for each in impairments]
    check_found(conversation, impair(conversation.segments(), *mix, seed=seed))
