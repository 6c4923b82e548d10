# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages with damaged FPDUs and gaps: reported as soon as none of their FPDUs can follow.

The words are those of :mod:`tests.stream.exchange`.
"""

from __future__ import annotations

import re

import pytest

from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.messages import Messages
from tests.stream.exchange import talk_of
from tests.stream.talk import Talk
from tests.truth.mpastream import Damage

LETTERS = {0: "W", 1: "R", 2: "<R", 3: "S"}


def reported(talk: Talk) -> list[list[str]]:
    """The messages reported before a connection is closed, and the messages reported after.

    ``S1`` is a complete message, ``S1~2`` one with two FPDUs that is not.  ``-`` has no FPDU.
    """
    taker, end = Messages(), len(talk.segments) - 3
    found: list[list[str]] = [[], []]
    for event in talk.fed():
        is_late = isinstance(event, ConnectionEnded) or event.frame > end
        for each in taker.take(event):
            name = f"{LETTERS[each.opcode or 0]}{each.msn or ''}" if each.fpdus else "-"
            found[is_late].append(name if each.complete else f"{name}~{each.fpdus}")
    return found


@pytest.mark.parametrize("bad", [0, 1, 2])
@pytest.mark.parametrize(
    "damage",
    [Damage(flip=(20, 1)), Damage(crc_xor=1), Damage(ulpdu_length=300), Damage(ulpdu_length=3000)],
)
def test_a_message_that_lacks_a_damaged_fpdu(bad: int, damage: Damage) -> None:
    """It is reported when the next message of its queue begins, whatever ULPDU_Length is.

    The octets that a wrong length claims are searched when all have come.
    """
    early, late = reported(talk_of(f">S:1500/518!{bad} >S >S >W:80000 >S", damage=damage))
    assert sorted(early[:3]) == ["S1~2", "S2", "S3"] and early[0] != "S3"
    assert (early[3:], late) == (["W~57", "S4"], [])


@pytest.mark.parametrize(
    ("words", "early", "late"),
    [
        # The end of the Send is damaged.  Until the next message of its queue, more may follow.
        (">S:1000/518!1 >R1", ["R1"], ["S1~1", "-~0"]),
        # A Response to a later Request shows that the Response is missing.
        (
            ">R1@1 >R2@2 >R3@3 <R@1! <R@2 <R@3",
            *(["R1", "R2", "R3", "-~0", "<R", "<R"], []),
        ),
    ],
)
def test_until_the_end(words: str, early: list[str], late: list[str]) -> None:
    """A message is reported at the end of the connection if its FPDUs may still have followed."""
    assert reported(talk_of(words)) == [early, late]


@pytest.mark.parametrize("filled", [False, True])
def test_after_a_hole_that_a_late_copy_may_fill(filled: bool) -> None:
    """The copy does not complete a message that was reported: it is a message by itself."""
    words = ">S >S:1000/518-1 >S:1000/518!1 >S" + " >S <W" * LATE_SEGMENTS
    talk = talk_of(words)
    if filled:
        copy = talk_of(words.replace("-1", "")).segments[7]
        talk.segments[-3:-3] = [copy, *talk_of(f"{words} >S").segments[-4:-3]]
    early, late = (
        [each for each in found if re.match(r"S[23]($|~)", each)] for found in reported(talk)
    )
    assert (early, late) == (["S2~1", "S3~1", *["S2~1"] * filled], [])
