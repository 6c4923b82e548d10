# SPDX-License-Identifier: GPL-2.0-or-later
"""A cleaned capture has the FPDUs of the original, and cleaning it again changes nothing."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation
from tests.captures import OVER_IFT, OVER_SCTP, OVER_TCP, PCAPS, capture_name
from tests.clean.cleaning import clean, fpdus, frames_of, renumbered
from tests.craft.strategies import conversations
from tests.craft.test_impairments import IMPAIRMENTS, Impairment, lose, reorder
from tests.straight.ways import recovery_alone
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


@given(
    # Of two different values of C, the capture may lack the one that counts.
    conversation=st.booleans().flatmap(lambda crc: conversations(crc=(crc, crc))),
    at=st.integers(0, 200),
)
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
