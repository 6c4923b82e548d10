# SPDX-License-Identifier: GPL-2.0-or-later
"""Acknowledgements in a cleaned capture mean the same octets as before, with the new numbers."""

from __future__ import annotations

import pytest

from tests.clean.cleaning import clean, frames_of, segments
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk, started
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import ACK, SYN

ISN = (1000, 0xFFFFFF00)


def test_an_acknowledgement_is_of_whole_fpdus() -> None:
    """Its number counts whole FPDUs, without their Markers.  None is written again."""
    ulpdus = [messages.send(msn, bytes(600))[0] for msn in (1, 2, 3)]
    octets, truth = mpastream.build_stream(ulpdus, markers=True)
    talk = started(ISN, markers=True)
    begin = talk.next[0]
    talk.say(0, octets, size=500)
    for each in truth:
        for end in (each.end - 1, each.end, each.end):
            talk.say(1)
            talk.segments[-1] = talk.segments[-1]._replace(ack=(begin + end) % 2**32)
    cleaned = segments(clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))).frames)
    written = [each.ack for each in cleaned if each.flow != cleaned[0].flow]
    lengths = [len(mpastream.build_stream(ulpdus[:count])[0]) for count in range(4)]
    assert written[1:] == [begin + length for length in lengths]


def check_order(talk: Talk, startups: list[bytes]) -> None:
    """No frame of the cleaned capture acknowledges, or follows, octets that are written later."""
    cleaned = segments(clean(frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))).frames)
    payloads = [each.payload for each in cleaned if each.payload]
    assert payloads[: len(startups)] == startups
    first = cleaned[0].flow
    upto = [isn + 1 for isn in ISN]
    for each in cleaned:
        direction = int(each.flow != first)
        if not each.flags & SYN:
            assert each.seq == upto[direction] % 2**32
            assert each.ack <= upto[1 - direction]
            upto[direction] += each.length


@pytest.mark.parametrize(("sender", "octets"), [(1, 25), (0, 0)], ids=["acknowledges", "follows"])
def test_no_frame_before_a_startup_frame_presumes_it(sender: int, octets: int) -> None:
    """None acknowledges or follows it: other tools would take the startup frame for a copy."""
    talk = Talk(ISN)
    startup = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, private_data=bytes(30))
    talk.say(0, startup[:25])
    talk.say(0, startup[25:])
    talk.say(sender, flags=ACK)
    if octets:
        talk.segments[-1] = talk.segments[-1]._replace(ack=ISN[0] + 1 + octets)
    # It was captured before the other segment of the frame.
    talk.segments[-2:] = reversed(talk.segments[-2:])
    talk.say(1, REPLY)
    check_order(talk, [startup, REPLY])


def test_a_supplied_request_acknowledges_no_reply() -> None:
    """Not even if a segment that follows and acknowledges the Reply was captured before it."""
    talk = started(ISN)
    talk.say(0, STREAM)
    talk.say(1, STREAM)
    syn, _, _, _, answer, *stream = talk.segments
    talk.segments[:] = [syn, stream[0], answer, stream[1]]
    check_order(talk, [REQUEST, REPLY])
