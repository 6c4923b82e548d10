# SPDX-License-Identifier: GPL-2.0-or-later
"""What the truth says of osc and SoftUiWARP, impaired, is what is found, told of them or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import CaptureLoss, Conversation, LateStart, Segment, conversation_of, impair
from scapy_mpa.craft.impairments import Impairment, Reordering, StartupCut
from tests.craft.reading import Record, plain, printed
from tests.craft.test_impairments import mixes
from tests.craft.test_told import agrees

NAMES = ("osc", "osc-without-crcs", "softuiwarp")
FORCED_OR_NOT = st.booleans()
SEEDS = st.integers(0, 999)


def but_startup_dialect(records: Iterable[Record]) -> list[Record]:
    """Records without the dialect of startup frames, told before anything can be known."""
    return [
        {name: value for name, value in each.items() if name != "dialect"}
        if each["type"] == "startup"
        else each
        for each in records
    ]


def agree(conversation: Conversation, segments: Sequence[Segment], *, forced: bool) -> None:
    """Hold what is found, on both ways, against the truth."""
    frames = conversation.frames(segments)
    dialect = conversation.options.dialect if forced else None
    for way, told in (
        (plain, conversation.truth(segments, messages=True, payload=True)),
        (printed, conversation.truth(segments)),
    ):
        found = way(frames, dialect)
        if forced:
            agrees(found, told)
        else:
            agrees(but_startup_dialect(found), but_startup_dialect(told))


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), FORCED_OR_NOT, SEEDS)
def test_nothing_is_missing(name: str, data: st.DataObject, forced: bool, seed: int) -> None:
    """Where every octet was captured, in whatever order, all is told and found."""
    conversation = conversation_of(name, seed=seed)
    mix = data.draw(mixes(conversation, missing=False))
    segments = impair(conversation.segments(), *mix, seed=seed)
    # Of SoftUiWARP something is told before it is known; osc's startup frames tell in order only.
    startup = [each for each in plain(conversation.frames(segments)) if each["type"] == "startup"]
    is_late = name == "softuiwarp" or [each["kind"] for each in startup] != ["request", "reply"]
    agree(conversation, segments, forced=forced or is_late)


def cut(conversation: Conversation) -> st.SearchStrategy[Impairment]:
    """Something that leaves octets away, startup frames perhaps."""
    return st.one_of(
        st.builds(LateStart, st.integers(0, 12)),
        st.just(StartupCut(conversation)),
        st.builds(CaptureLoss, st.sampled_from((0.05, 0.2, 0.5))),
    )


Fpdus = dict[tuple[str, int], Record]


def fpdus(records: Iterable[Record]) -> Fpdus:
    """FPDUs by sender and sequence number."""
    return {(each["src"], each["seq"]): each for each in records if each["type"] == "fpdu"}


def true_fpdus(conversation: Conversation, segments: Sequence[Segment]) -> tuple[Fpdus, Fpdus]:
    """The FPDUs that are found, which are what the truth says of them, and those of the truth."""
    told = fpdus(conversation.truth(segments, payload=True))
    found = fpdus(plain(conversation.frames(segments), conversation.options.dialect))
    assert found.keys() <= told.keys()
    for key, record in found.items():
        assert {name: record[name] for name in told[key]} == told[key]
    return found, told


@pytest.mark.parametrize("name", NAMES)
@given(st.data(), SEEDS)
def test_what_is_missing_is_not_made_up(name: str, data: st.DataObject, seed: int) -> None:
    """Where octets are missing, startup frames or others, less is found, but nothing that is not
    so, if the user says what is spoken."""
    conversation = conversation_of(name, seed=seed % 9)
    mix = data.draw(st.lists(cut(conversation), min_size=1, max_size=2, unique_by=type))
    disorder = st.builds(Reordering, st.sampled_from((0.1, 1.0)), by_capture=st.booleans())
    mix = [*data.draw(st.lists(disorder, max_size=1)), *mix]
    segments = impair(conversation.segments(), *mix, seed=seed)
    true_fpdus(conversation, segments)


def test_two_fpdus_before_a_hole() -> None:
    """Without CRCs and a Reply they are osc's if one says so: RFC 5044 leads nowhere."""
    conversation = Conversation(dialect="osc", crc=False, markers=False)
    conversation.startup()
    for octets in (bytes(51), bytes(28), bytes(500), b"x"):
        conversation.initiator.send(octets)
    sent = [each for each in conversation.segments() if each.side == 0 and each.octets]
    missing = sent[3]
    kept = [each for each in conversation.segments() if each.side == 0 and each != missing]
    found, told = true_fpdus(conversation, kept)
    assert [key for key in told if key[1] < missing.seq] == list(found)[:2]
