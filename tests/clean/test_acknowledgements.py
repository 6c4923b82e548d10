# SPDX-License-Identifier: GPL-2.0-or-later
"""Acknowledgements in a cleaned capture mean the same octets as before, with the new numbers."""

from __future__ import annotations

from tests.clean.cleaning import clean, frames_of, segments
from tests.stream.talk import started
from tests.truth import messages, mpastream, pcapfile

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
