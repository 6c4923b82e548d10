# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages with damaged FPDUs and gaps: reported as soon as none of their FPDUs can follow."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from scapy_mpa.stream.events import ConnectionEnded
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.messages import Messages
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage

FLIPPED = Damage(flip=(20, 1))

Found = tuple[int | None, int | None, int, bool]
"""QN, MSN, number of FPDUs, and whether the message is complete."""


def payload(length: int) -> bytes:
    """Random octets."""
    return random.Random(length).randbytes(length)


def sends(*msns: int) -> list[bytes]:
    """Sends of one FPDU each."""
    return [messages.send(msn, payload(40))[0] for msn in msns]


def say(
    talk: Talk,
    ulpdus: Sequence[bytes],
    *,
    damage: dict[int, Damage] | None = None,
    lost: Sequence[int] = (),
    direction: int = 0,
) -> list[tuple[int, bytes]]:
    """Send FPDUs, one a segment; return place and octets of those that were not captured."""
    missed = []
    octets, truth = mpastream.build_stream(ulpdus, damage=damage)
    for index, fpdu in enumerate(truth):
        sent = octets[fpdu.start : fpdu.end]
        if index in lost:
            missed.append((talk.next[direction], sent))
        talk.say(direction, sent, captured=index not in lost)
    return missed


def close_holes(talk: Talk, first: int) -> int:
    """Send enough acknowledged Sends to close the holes before them; return the next MSN.

    :param first: the MSN of the first Send.
    """
    for msn in range(first, first + LATE_SEGMENTS // 2 + 2):
        say(talk, sends(msn))
        talk.say(1, flags=ACK)
    return msn + 1


def reported(talk: Talk) -> tuple[list[Found], list[Found]]:
    """The messages reported before a connection is closed, and the messages reported after."""
    end = len(talk.segments)
    talk.close()
    taker = Messages()
    found: tuple[list[Found], list[Found]] = [], []
    for event in talk.fed():
        is_late = isinstance(event, ConnectionEnded) or event.frame > end
        for each in taker.take(event):
            found[is_late].append((each.qn, each.msn, each.fpdus, each.complete))
    return found


@pytest.mark.parametrize("bad", [0, 1, 2])
@pytest.mark.parametrize(
    "damage", [FLIPPED, Damage(crc_xor=1), Damage(ulpdu_length=300), Damage(ulpdu_length=3000)]
)
def test_a_message_that_lacks_a_damaged_fpdu(bad: int, damage: Damage) -> None:
    """It is reported when the next message of its queue begins, whatever ULPDU_Length is."""
    talk = started()
    say(talk, [*messages.send(1, payload(1500), 518), *sends(2, 3)], damage={bad: damage})
    # The octets that a wrong length claims are searched when all have come.
    say(talk, messages.write(1, 0, payload(80_000)))
    say(talk, sends(4))
    early, late = reported(talk)
    write = (None, None, 57, False)
    assert sorted(early[:3]) == [(0, 1, 2, False), (0, 2, 1, True), (0, 3, 1, True)]
    assert early[0][1] != 3
    assert early[3:] == [write, (0, 4, 1, True)]
    assert not late


def test_a_message_whose_end_is_damaged_waits_for_the_next_one_of_its_queue() -> None:
    """Until then, more of its segments may follow."""
    talk = started()
    say(talk, messages.send(1, payload(1000), 518), damage={1: FLIPPED})
    say(talk, messages.read_request(1, 1, 2, 3, 4, 5))
    early, late = reported(talk)
    assert early == [(1, 1, 1, True)]
    assert (0, 1, 1, False) in late


def test_a_response_whose_fpdu_is_damaged() -> None:
    """It is reported missing with the Response after it."""
    talk = started()
    say(talk, [messages.read_request(msn, 7, 1000 * msn, 50, 9, 0)[0] for msn in (1, 2, 3)])
    responses = [messages.read_response(7, 1000 * msn, payload(50))[0] for msn in (1, 2, 3)]
    say(talk, responses, damage={0: FLIPPED}, direction=1)
    early, late = reported(talk)
    assert early[3:] == [(None, None, 0, False), *[(None, None, 1, True)] * 2]
    assert not late


@pytest.mark.parametrize("filled", [False, True])
def test_after_a_hole_that_a_late_copy_may_fill(filled: bool) -> None:
    """The copy does not complete a message that was reported: it is a message by itself."""
    talk = started()
    two, three = messages.send(2, payload(1000), 518), messages.send(3, payload(1000), 518)
    sent = [*sends(1), *two, *three, *sends(4)]
    ((seq, octets),) = say(talk, sent, damage={4: FLIPPED}, lost=(2,))
    msn = close_holes(talk, 5)
    if filled:
        talk.copy(0, seq, octets)
    say(talk, sends(msn))
    early, late = reported(talk)
    assert [each[1] for each in early if each[1] not in (2, 3)] == [1, *range(4, msn + 1)]
    assert [each for each in early if each[1] in (2, 3)] == [
        (0, 2, 1, False),
        (0, 3, 1, False),
        *[(0, 2, 1, False)] * filled,
    ]
    assert not late
