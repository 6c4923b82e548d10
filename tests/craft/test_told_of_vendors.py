# SPDX-License-Identifier: GPL-2.0-or-later
"""What the truth says of osc and SoftUiWARP, impaired, is what is found, told of them or not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import CaptureLoss, Conversation, LateStart, Segment, conversation_of, impair
from scapy_mpa.craft.impairments import Impairment, Reordering, Resegmentation, StartupCut
from scapy_mpa.stream.connections.undecided import HELD_SEGMENTS
from scapy_mpa.stream.octets.overlap import RECENT_CHUNKS
from scapy_mpa.wire.dialect import Dialect
from tests.craft.reading import Record, plain, printed
from tests.craft.test_impairments import mixes
from tests.craft.test_told import agrees, of

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
@settings(max_examples=40, deadline=None)
@given(st.data(), FORCED_OR_NOT, SEEDS)
def test_nothing_is_missing(name: str, data: st.DataObject, forced: bool, seed: int) -> None:
    """Where every octet was captured, in whatever order, all is told and found."""
    conversation = conversation_of(name, seed=seed)
    mix = data.draw(mixes(conversation, missing=False))
    segments = impair(conversation.segments(), *mix, seed=seed)
    # What came first is not remembered for ever.
    told = conversation.truth(segments)
    assume(len(segments) < RECENT_CHUNKS or not of(told, "overlap"))
    # Of SoftUiWARP something is told before it is known; of osc, if more comes than is held.
    is_late = name == "softuiwarp" or len(segments) >= HELD_SEGMENTS
    agree(conversation, segments, forced=forced or is_late)


def cut(conversation: Conversation) -> st.SearchStrategy[Impairment]:
    """Something that leaves octets away, startup frames perhaps."""
    return st.one_of(
        st.builds(LateStart, st.integers(0, 12)),
        st.just(StartupCut(conversation)),
        st.builds(CaptureLoss, st.sampled_from((0.05, 0.2, 0.5))),
    )


def fpdus(records: Iterable[Record]) -> dict[tuple[str, int], Record]:
    """FPDUs by sender and sequence number."""
    return {(each["src"], each["seq"]): each for each in records if each["type"] == "fpdu"}


def fpdus_agree(conversation: Conversation, segments: Sequence[Segment], *, forced: bool) -> None:
    """Hold the FPDUs that are found against the truth."""
    told = fpdus(conversation.truth(segments, payload=True))
    dialect = conversation.options.dialect if forced else None
    found = fpdus(plain(conversation.frames(segments), dialect))
    assert found.keys() == told.keys()
    for key, wanted in told.items():
        assert {name: found[key][name] for name in wanted} == wanted


@settings(max_examples=100, deadline=None)
@given(st.data(), FORCED_OR_NOT, SEEDS)
def test_with_crcs(data: st.DataObject, forced: bool, seed: int) -> None:
    """Where octets are missing, startup frames or others, each whole FPDU of osc is found, no other
    is, and each is what it says, whether one has said that osc is spoken or not."""
    conversation = conversation_of("osc", seed=seed % 9)
    mix = data.draw(st.lists(cut(conversation), min_size=1, max_size=2, unique_by=type))
    disorder = st.builds(Reordering, st.sampled_from((0.1, 1.0)), by_capture=st.booleans())
    mix = [*data.draw(st.lists(disorder, max_size=1)), *mix]
    segments = impair(conversation.segments(), *mix, seed=seed)
    fpdus_agree(conversation, segments, forced=forced)


@pytest.mark.parametrize("seed", [143, 197])
def test_a_reply_behind_fpdus_and_before_a_hole(seed: int) -> None:
    """It tells where the FPDUs begin that were found before it."""
    conversation = conversation_of("osc", seed=seed % 9)
    mix = Reordering(0.1, by_capture=True), CaptureLoss(0.5)
    fpdus_agree(conversation, impair(conversation.segments(), *mix, seed=seed), forced=False)


@pytest.mark.parametrize("name", ["osc-without-crcs", "softuiwarp"])
@settings(max_examples=50, deadline=None)
@given(st.data(), SEEDS)
def test_without_crcs(name: str, data: st.DataObject, seed: int) -> None:
    """Without CRCs less is found, but nothing that is not so."""
    conversation = conversation_of(name, seed=seed % 9)
    mix = [data.draw(cut(conversation))]
    segments = impair(conversation.segments(), *mix, seed=seed)
    told = fpdus(conversation.truth(segments, payload=True))
    found = fpdus(plain(conversation.frames(segments), conversation.options.dialect))
    assert found.keys() <= told.keys()
    for key, record in found.items():
        assert {name: record[name] for name in told[key]} == told[key]


def test_two_fpdus_before_a_hole() -> None:
    """Without CRCs and a Reply they are osc's if one says so: RFC 5044 leads nowhere."""
    conversation = Conversation(dialect="osc", crc=False, markers=False)
    conversation.startup()
    for octets in (bytes(51), bytes(28), bytes(500), b"x"):
        conversation.initiator.send(octets)
    sent = [each for each in conversation.segments() if each.side == 0 and each.octets]
    missing = sent[3]
    kept = [each for each in conversation.segments() if each.side == 0 and each != missing]
    told = fpdus(conversation.truth(kept, payload=True))
    found = fpdus(plain(conversation.frames(kept), Dialect.OSC))
    assert [key for key in told if key[1] < missing.seq] == list(found)[:2]
    for key, record in found.items():
        assert {name: record[name] for name in told[key]} == told[key]


@pytest.mark.parametrize("size", [13, 19])
@pytest.mark.parametrize("name", NAMES)
def test_startup_frames_in_pieces(name: str, size: int) -> None:
    """A Reply need not begin a segment."""
    conversation = conversation_of(name)
    segments = impair(conversation.segments(), Resegmentation(size))
    agree(conversation, segments, forced=name == "softuiwarp")


@pytest.mark.parametrize("name", ["osc", "osc-without-crcs"])
def test_either_startup_frame_first(name: str) -> None:
    """With the Request captured behind the Reply, and FPDUs before either, all is told."""
    conversation = conversation_of(name)
    segments = conversation.segments()
    request, reply = (n for n, each in enumerate(segments) if each.octets.startswith(b"MPA ID"))
    frames = segments[request], segments[reply]
    rest = [each for each in segments if each not in frames]
    behind = len(rest) // 2
    for order in (frames, frames[::-1]):
        for at in (2, behind):
            mixed = [*rest[:at], *order, *rest[at:]]
            for forced in (True, False):
                agree(conversation, mixed, forced=forced)


def few(**options: bool) -> Conversation:
    """One Send from each side."""
    conversation = Conversation(dialect="osc", ack_every=0, **options)
    conversation.initiator.send(b"one")
    conversation.responder.send(b"two!!")
    conversation.close()
    return conversation


@pytest.mark.parametrize("markers", [True, False])
def test_one_at_which_the_stream_ends(markers: bool) -> None:
    """Where both sides have closed, even one FPDU each shows that it has no CRC field."""
    conversation = few(crc=False, markers=markers)
    agree(conversation, conversation.segments(), forced=False)


def test_what_octets_cannot_tell() -> None:
    """Without Markers and with CRCs its octets are those of RFC 5044 but for the Reply's revision;
    so are those of FPDUs before the second Marker."""
    for markers in (True, False):
        conversation = few(markers=markers)
        frames = conversation.frames()
        assert of(plain(frames), "connection")[0]["dialect"] == "rfc5044"
        assert of(plain(frames, Dialect.OSC), "connection")[0]["dialect"] == "osc"
        assert fpdus(plain(frames)).keys() == fpdus(conversation.truth()).keys()


@pytest.mark.parametrize("name", ["osc", "osc-without-crcs"])
@pytest.mark.parametrize("shift", range(4))
def test_payload_of_others(name: str, shift: int) -> None:
    """A conforming stream with CRCs whose payload holds FPDUs of osc is none, from wherever it was
    captured, and whatever is said."""
    conversation = conversation_of(name)
    theirs = b"".join(
        placed.octets
        for placed in conversation.layout()
        if placed.phase is not None and getattr(placed.item, "side", None) == 1
    )
    for markers in (True, False):
        made = Conversation(markers=markers, packing="stream")
        for _ in range(4):
            made.initiator.send(bytes(shift) + theirs)
        segments = made.segments()
        for late in (0, 3, 5, 8, 11):
            told = fpdus(made.truth(segments[late:], payload=True))
            for dialect in (None, Dialect.OSC):
                found = plain(made.frames(segments[late:]), dialect)
                assert fpdus(found).keys() <= told.keys()
                assert of(found, "connection")[0]["dialect"] != "osc"
