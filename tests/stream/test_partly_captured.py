# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections of which one side, or the beginning, was not captured."""

from __future__ import annotations

import pytest

from scapy_mpa.stream.events import (
    ErrorFound,
    GapFound,
)
from tests.stream.feed import fpdus
from tests.stream.talk import (
    REPLY,
    REQUEST,
    STREAM,
    TRUTH,
    ULPDUS,
    Talk,
    check_whole,
    ends,
    whole,
)


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_only(side: int) -> None:
    """A capture of one direction: its FPDUs are found, the other's octets are not asked for."""
    talk = whole()
    talk.segments = [each for each in talk.segments if each.direction == side]
    events = talk.fed()
    assert [each.ulpdu for each in fpdus(events)] == ULPDUS
    assert not [each for each in events if isinstance(each, ErrorFound | GapFound)]
    assert [each.ending for each in ends(events)] == ["half closed"]


def test_without_the_syn_but_with_the_startup_frames() -> None:
    """The startup frames say where the Full Operation Phase begins, with or without a SYN."""
    talk = whole()
    del talk.segments[:3]
    events = talk.fed()
    check_whole(events)
    assert fpdus(events, 0)[0].located_by == fpdus(events, 1)[0].located_by == "start"
    assert [each.offset for each in fpdus(events, 0)] == [fpdu.seq_offset for fpdu in TRUTH]


def test_the_capture_begins_in_the_midst_of_delayed_startup() -> None:
    """Streaming octets first, of which the beginning is missing, and then the startup frames."""
    talk = Talk(syn=False)
    talk.say(0, b"the rest of a line\r\n")
    talk.say(1, b"ready\r\n")
    talk.say(0, REQUEST)
    talk.say(1, REPLY)
    check_whole(talk.speak(STREAM))
