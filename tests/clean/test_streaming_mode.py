# SPDX-License-Identifier: GPL-2.0-or-later
"""Octets in streaming mode stay, beside startup frames and FPDUs, octet for octet."""

from __future__ import annotations

import pytest

from tests.clean.cleaning import clean, fpdus, frames_of, segments
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk
from tests.truth import mpastream, pcapfile

REJECTION = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, rejected=1)
MARKED = mpastream.startup_frame(mpastream.REQUEST_KEY, markers=1, crc=1)
ERDMA = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, revision=129) + b"\1\2\3\4\5\6\7\x08"

SITUATIONS = {
    "before the Request, in its segment": "> hello+REQUEST < REPLY",
    "before the Request, in segments": "> hel < yes? > lo > REQUEST < REPLY",
    "after a rejection, in its segment": "> MARKED < REJECTION+so > sorry+REQUEST < REPLY",
    "after a frame that is written shorter": "> ERDMA < REJECTION+so > sorry < well > once-more "
    "> REQUEST < REPLY",
    "only a rejection": "> hello+REQUEST < REJECTION+so > bye",
}
"""The segments of the Initiator (>) and of the Responder (<), and the parts of their payload."""
FRAMES = {
    **{"REQUEST": REQUEST, "REPLY": REPLY, "REJECTION": REJECTION},
    **{"MARKED": MARKED, "ERDMA": ERDMA},
}
WRITTEN = {MARKED: REQUEST, ERDMA: REQUEST}
"""Startup frames that are not written as captured, and how they are written."""


def parts_of(situation: str) -> list[tuple[int, list[bytes]]]:
    """For each segment its sender, and the parts of its payload."""
    words = SITUATIONS[situation].split()
    return [
        ("><".index(by), [FRAMES.get(part, part.encode()) for part in payload.split("+")])
        for by, payload in zip(words[::2], words[1::2], strict=True)
    ]


@pytest.mark.parametrize(
    ("when", "size"), [(when, size) for when in SITUATIONS for size in (None, 1, 7, 21)]
)
def test_all_octets_are_written(when: str, size: int | None) -> None:
    """All octets of both directions are there, also in segments of startup frames.

    Sequence numbers have no gap, also where they were changed.
    """
    talk, sent = Talk(), parts_of(when)
    for direction, parts in sent:
        talk.say(direction, b"".join(parts), size=size)
    if any(REPLY in parts for _, parts in sent):
        talk.say(0, STREAM)
        talk.say(1, STREAM)
    talk.close()
    frames = frames_of(pcapfile.pcap(pcapfile.frames(talk.segments)))
    cleaned = clean(frames)
    assert fpdus(cleaned.frames) == fpdus(frames)
    flows = [each.flow for each in segments(frames)[:2]]
    for direction, flow in enumerate(flows):
        octets, first = b"", talk.isn[direction] + 1
        for each in segments(cleaned.frames):
            if each.flow == flow and each.payload:
                assert each.seq == (first + len(octets)) % 2**32
                octets += each.payload
        parts = [part for sender, each in sent if sender == direction for part in each]
        expected = b"".join(WRITTEN.get(part, part) for part in parts)
        assert octets[: len(expected)] == expected
        assert octets[len(expected) :] in (b"", STREAM)
