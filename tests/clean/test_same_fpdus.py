# SPDX-License-Identifier: GPL-2.0-or-later
"""A cleaned capture has the FPDUs of the original, and cleaning it again changes nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.stream.events import ErrorFound
from tests.captures import OVER_IFT, OVER_SCTP, OVER_TCP, PCAPS, capture_name
from tests.clean.cleaning import clean, events, fpdus, frames_of, renumbered, segments, startups
from tests.craft.strategies import conversations
from tests.craft.test_impaired import IMPAIRMENTS, Impairment, lose, reorder
from tests.straight.ways import recovery_alone
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk
from tests.truth import pcapfile
from tests.truth.cases import case

SOUND = ("none", "CRC", "flip", "FPDUPTR")
"""Kinds of damage: all but a wrong ULPDU_Length.  An FPDU with a wrong length claims octets of
others.  Both are written, so more FPDUs are found in the cleaned capture."""


def check(frames: list[Frame], *, twice: bool = True) -> None:
    """The same FPDUs with the same payloads and verdicts are found before and after.

    Recovery alone writes the same capture.  Cleaned again, all frames are the same to the octet and
    the nanosecond; comments are not compared.

    :param twice: whether to clean the cleaned capture again.
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
@pytest.mark.parametrize("capture", OVER_TCP, ids=capture_name)
def test_captures(capture: Path) -> None:
    """Real captures."""
    check(frames_of(capture))


def test_other_framings_are_copied() -> None:
    """iWARP Framing for TCP and DDP over SCTP are followed, and copied unchanged."""
    for capture in OVER_IFT + OVER_SCTP:
        frames = frames_of(capture)
        assert clean(frames).frames == frames


@pytest.mark.parametrize("impair", IMPAIRMENTS)
@given(conversation=conversations(crc=True, rtr_frames=False), seed=st.integers(0, 1 << 20))
def test_crafted_conversations(impair: Impairment, conversation: Conversation, seed: int) -> None:
    """Conversations of all kinds, with segments lost, copied, reordered or split.

    If a rejected startup lacks frames, the supplied ones depend on those that were captured.
    """
    frames = conversation.frames(impair(conversation.segments(), random.Random(seed)))
    is_rejected = any(getattr(each, "rejected", False) for each in conversation.script)
    check(frames, twice=not (is_rejected and impair is lose))


def rejected_first() -> Conversation:
    """A rejected startup, an accepted one, and an FPDU of each side."""
    startups = 'revision 1\nstartup rejected\nstartup private-data "odd"'
    return parse_scenario(f"{startups}\ninitiator send 100\nresponder send 100")


@pytest.mark.parametrize(
    ("missing", "supplied"),
    [((), 0), ((0,), 1), ((1,), 0), ((2,), 1), ((3,), 1), ((0, 2), 2)],
)
def test_which_startup_frame_is_supplied(missing: tuple[int, ...], supplied: int) -> None:
    """A missing Request or Reply is supplied once, a missing rejection never.

    The startup frames are a Request, its rejection, another Request and its Reply.  Private Data
    of any length make a hole that is no multiple of 4 octets, while FPDUs are.
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
    """It is written before the next Request, and no startup frame is supplied."""
    conversation = rejected_first()
    sent = conversation.segments()
    rejected = [at for at, each in enumerate(sent) if each.octets.startswith(b"MPA ID")][:2]
    late = [sent.pop(at) for at in reversed(rejected)]
    captured = conversation.frames([*sent, *reversed(late)])
    check(captured)
    cleaned = clean(captured)
    assert cleaned.report.startup_frames == 0
    assert [each[7:10] for each in startups(cleaned)] == [b"Req", b"Rep"] * 2


def test_fpdus_before_a_request() -> None:
    """They are written after the startup frames, and no other FPDU takes their numbers."""
    talk = Talk()
    for direction, octets in ((0, STREAM), (0, REQUEST), (1, REPLY), (0, STREAM), (0, STREAM)):
        talk.say(direction, octets)
    check(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments))))


def long_talk() -> Conversation:
    """A conversation of more than 64 segments.  Each is acknowledged at once."""
    startup = 'startup private-data "asked" reply-private-data "answered"\n'
    sends = "initiator send 100\nresponder send 200\n" * 25
    return parse_scenario(f"markers both\nack-every 1\n{startup}{sends}")


@pytest.mark.parametrize("late", [1, 2, 8, 30, 58])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
def test_late_startup_frames(which: tuple[int, ...], late: int) -> None:
    """They are written once, before the FPDUs, and no side is reported to send too early."""
    conversation = long_talk()
    sent = conversation.segments()
    frames = [each for each in sent if each.octets.startswith(b"MPA ID")]
    for number in reversed(which):
        at = sent.index(frames[number])
        sent.insert(at + late, sent.pop(at))
    captured = conversation.frames(sent)
    check(captured)
    cleaned = clean(captured)
    # Of a late Request, an acknowledgement was copied before.
    assert (cleaned.report.startup_frames, cleaned.report.handshakes) == (0, 0 in which)
    written = [each.payload[20:] for each in segments(cleaned.frames) if each.payload]
    assert written[:2] == [b"asked", b"answered"]
    assert b"answered" not in written[2:]
    assert not [each for each in events(cleaned.frames) if isinstance(each, ErrorFound)]


@pytest.mark.parametrize("name", ["mpa-rev2-enhanced", "erdma"])
def test_cut_startup_frames(name: str) -> None:
    """Private Data and extensions count as octets, also where a snap length has cut them off."""
    frames = frames_of(PCAPS / "crafted" / f"{name}.pcap")
    for snap in range(40, 110):
        check([each._replace(octets=each.octets[:snap]) for each in frames])


@given(
    conversation=conversations(beginnings=("nothing",), crc=True, rtr_frames=False),
    request=st.integers(0, 8),
    seed=st.integers(0, 1 << 20),
)
def test_a_request_after_fpdus(conversation: Conversation, request: int, seed: int) -> None:
    """A Request or a Reply that is captured after FPDUs, when another one has been supplied.

    If a FIN was copied before any FPDU was found, later acknowledgements may differ by one the
    second time.
    """
    first, *rest = conversation.segments()
    rest = reorder(rest, random.Random(seed))
    check(conversation.frames([*rest[:request], first, *rest[request:]]), twice=False)


@given(conversation=conversations(), at=st.integers(0, 200))
def test_mid_connection(conversation: Conversation, at: int) -> None:
    """Captures that begin in the middle of a connection."""
    check(renumbered(conversation.frames()[at:]))


@pytest.mark.parametrize("seed", range(40))
def test_constructed_captures(seed: int) -> None:
    """Loss, snap lengths, bad CRCs, missing startup frames and disorder in one capture."""
    damage = SOUND[seed % len(SOUND)]
    check(frames_of(case(seed, damage=damage).pcap()))


@pytest.mark.parametrize("seed", range(10))
def test_wrong_lengths(seed: int) -> None:
    """FPDUs with a wrong length make no good FPDU disappear."""
    frames = frames_of(case(seed, damage="length", snap=0).pcap())
    found = clean(frames)
    lost = fpdus(frames) - fpdus(found.frames)
    assert not [each for each in lost if each[3] == "good"]
