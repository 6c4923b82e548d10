# SPDX-License-Identifier: GPL-2.0-or-later
"""A cleaned capture holds the FPDUs of the original one, and cleaning it again changes nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame
from scapy_mpa.clean import Cleaner
from scapy_mpa.craft import Conversation
from scapy_mpa.stream.events import ErrorFound
from tests.captures import OVER_IFT, OVER_TCP, PCAPS, capture_name
from tests.clean.cleaning import clean, events, fpdus, frames_of, renumbered, segments, startups
from tests.craft.strategies import conversations
from tests.craft.test_impaired import IMPAIRMENTS, Impairment, lose, reorder
from tests.straight.ways import recovery_alone
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk
from tests.truth import pcapfile
from tests.truth.cases import case

SOUND = ("none", "CRC", "flip", "FPDUPTR")
"""What may be damaged: all but ULPDU_Length.  An FPDU that lies about its length claims octets of
others, and both are written, so that there is more to be found in the cleaned capture."""


def check(frames: list[Frame], *, twice: bool = True) -> None:
    """The same FPDUs with the same payloads and verdicts are found; the second time is the first.

    Recovery alone leads to the same.

    Frames are the same to the octet and the nanosecond; comments are not read.

    :param twice: whether to clean the cleaned capture, too.
    """
    once = clean(frames)
    with recovery_alone():
        assert clean(frames) == once
    assert fpdus(once.frames) == fpdus(frames)
    assert once.report.fpdus == fpdus(frames).total()
    bad = sum(number for (*_, crc), number in fpdus(frames).items() if crc == "bad")
    assert once.report.bad_crcs == bad
    if twice:
        assert clean(once.frames).frames == once.frames


@pytest.mark.examples
@pytest.mark.parametrize("capture", OVER_TCP + OVER_IFT, ids=capture_name)
def test_captures(capture: Path) -> None:
    """Real captures, with whatever happened to them; IFT is copied as it is."""
    frames = frames_of(capture)
    check(frames)
    if capture in OVER_IFT:
        assert clean(frames).frames == frames


@pytest.mark.parametrize("impair", IMPAIRMENTS)
@given(conversation=conversations(crc=True, rtr_frames=False), seed=st.integers(0, 1 << 20))
def test_crafted_conversations(impair: Impairment, conversation: Conversation, seed: int) -> None:
    """Conversations of all kinds, lost, copied, reordered or cut up on the way.

    Where a rejected startup lacks frames, what is supplied for it depends on which are there.
    """
    frames = conversation.frames(impair(conversation.segments(), random.Random(seed)))
    is_rejected = any(getattr(each, "rejected", False) for each in conversation.script)
    check(frames, twice=not (is_rejected and impair is lose))


def rejected_first() -> Conversation:
    """A startup that is rejected, another one, and an FPDU of each side."""
    conversation = Conversation(revision=1)
    conversation.startup(rejected=True)
    conversation.startup(b"odd")
    conversation.initiator.send(bytes(100))
    conversation.responder.send(bytes(100))
    return conversation


@pytest.mark.parametrize(
    ("missing", "supplied"),
    [((), 0), ((0,), 1), ((1,), 0), ((2,), 1), ((3,), 1), ((0, 2), 2)],
)
def test_which_startup_frame_is_supplied(missing: tuple[int, ...], supplied: int) -> None:
    """Of a Request, its rejection, another Request and its Reply, all but the rejection, once,
    before the Reply that answers it.

    Private Data of any length make a hole that is no multiple of 4 octets, as FPDUs are.
    """
    conversation = rejected_first()
    sent = conversation.segments()
    frames = [each for each in sent if each.octets.startswith(b"MPA ID")]
    lost = [frames[at] for at in missing]
    captured = conversation.frames([each for each in sent if each not in lost])
    check(captured)
    cleaned = clean(captured)
    assert (cleaned.report.fpdus, cleaned.report.startup_frames) == (2, supplied)
    assert [each[7:10] for each in startups(cleaned)][-2:] == [b"Req", b"Rep"]


def test_a_rejection_captured_after_the_next_startup() -> None:
    """It is written before the next Request, which needs no other in its place."""
    conversation = rejected_first()
    sent = conversation.segments()
    rejected = [at for at, each in enumerate(sent) if each.octets.startswith(b"MPA ID")][:2]
    late = [sent.pop(at) for at in reversed(rejected)]
    captured = conversation.frames([*sent, *reversed(late)])
    check(captured)
    cleaned = clean(captured)
    assert cleaned.report.startup_frames == 0
    assert [each[7:10] for each in startups(cleaned)] == [b"Req", b"Rep"] * 2


def test_a_request_behind_the_reply_that_accepts_it() -> None:
    """It is the one that this Reply answers: written before it, and none is supplied."""
    talk = Talk()
    talk.say(1, REPLY)
    talk.say(0, REQUEST)
    talk.say(0, STREAM)
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    check(frames)
    cleaned = clean(frames)
    assert cleaned.report.startup_frames == 0
    assert startups(cleaned) == [REQUEST, REPLY]


def long_talk() -> Conversation:
    """A conversation of more than 64 segments.  Each is acknowledged at once."""
    conversation = Conversation(markers=True, ack_every=1)
    conversation.startup(b"asked", b"answered")
    for _ in range(25):
        conversation.initiator.send(bytes(100))
        conversation.responder.send(bytes(200))
    return conversation


@pytest.mark.parametrize("late", [1, 2, 8, 30, 58])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_late_startup_frames(which: tuple[int, ...], late: int) -> None:
    """They are written once, before the FPDUs, and nobody is said to have sent too early."""
    conversation = long_talk()
    sent = conversation.segments()
    frames = [each for each in sent if each.octets.startswith(b"MPA ID")]
    for number in reversed(which):
        at = sent.index(frames[number])
        sent.insert(at + late, sent.pop(at))
    captured = conversation.frames(sent)
    check(captured)
    cleaned = clean(captured)
    assert (cleaned.report.startup_frames, cleaned.report.handshakes) == (0, 0)
    said = [each.payload[20:] for each in segments(cleaned.frames) if each.payload]
    assert said[:2] == [b"asked", b"answered"]
    assert b"answered" not in said[2:]
    assert not [each for each in events(cleaned.frames) if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("lost", [(3,), (5,)])
def test_a_lost_startup_frame_is_not_waited_for_in_vain(lost: tuple[int, ...]) -> None:
    """What was captured is written 64 segments later, and goes on being written."""
    conversation = long_talk()
    sent = conversation.segments()
    for number in reversed(lost):
        del sent[number]
    cleaner = Cleaner()
    written = [cleaner.receive(frame) for frame in conversation.frames(sent)]
    assert sum(map(len, written[:50])) < 8
    assert sum(map(len, written[:75])) > 60
    assert all(written[75:])


@pytest.mark.parametrize("name", ["mpa-rev2-enhanced", "erdma"])
def test_cut_startup_frames(name: str) -> None:
    """Private Data, and an extension, that a snap length has cut off are octets all the same."""
    frames = frames_of(PCAPS / "crafted" / f"{name}.pcap")
    for snap in range(40, 110):
        check([each._replace(octets=each.octets[:snap]) for each in frames])


@given(
    conversation=conversations(beginnings=("nothing",), crc=True, rtr_frames=False),
    request=st.integers(0, 8),
    seed=st.integers(0, 1 << 20),
)
def test_a_request_behind_fpdus(conversation: Conversation, request: int, seed: int) -> None:
    """A Request, or a Reply, that is captured behind FPDUs, when another one has been supplied.

    Behind a FIN that is copied before anything is known, acknowledgements may differ by its one
    number the second time.
    """
    first, *rest = conversation.segments()
    rest = reorder(rest, random.Random(seed))
    check(conversation.frames([*rest[:request], first, *rest[request:]]), twice=False)


@given(conversation=conversations(), at=st.integers(0, 200))
def test_mid_connection(conversation: Conversation, at: int) -> None:
    """Captures that begin anywhere."""
    check(renumbered(conversation.frames()[at:]))


@pytest.mark.parametrize("seed", range(40))
def test_constructed_captures(seed: int) -> None:
    """Everything at once: loss, snap lengths, bad CRCs, missing startup frames, any order."""
    damage = SOUND[seed % len(SOUND)]
    check(frames_of(case(seed, damage=damage).pcap()))


@pytest.mark.parametrize("seed", range(10))
def test_lying_lengths(seed: int) -> None:
    """Where FPDUs lie about their lengths, no other one is lost."""
    frames = frames_of(case(seed, damage="length", snap=0).pcap())
    found = clean(frames)
    lost = fpdus(frames) - fpdus(found.frames)
    assert not [each for each in lost if each[3] == "good"]
