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

Segments = list[tuple[int, list[bytes]]]
"""For each segment its sender, and the parts of its payload."""

SITUATIONS: dict[str, Segments] = {
    "before the Request, in its segment": [(0, [b"hello", REQUEST]), (1, [REPLY])],
    "before the Request, in segments": [
        (0, [b"hel"]),
        (1, [b"yes?"]),
        (0, [b"lo"]),
        (0, [REQUEST]),
        (1, [REPLY]),
    ],
    "after a rejection, in its segment": [
        (0, [MARKED]),
        (1, [REJECTION, b"so"]),
        (0, [b"sorry", REQUEST]),
        (1, [REPLY]),
    ],
    "after a frame that is written shorter": [
        (0, [ERDMA]),
        (1, [REJECTION, b"so"]),
        (0, [b"sorry"]),
        (1, [b"well"]),
        (0, [b"once more"]),
        (0, [REQUEST]),
        (1, [REPLY]),
    ],
    "only a rejection": [(0, [b"hello", REQUEST]), (1, [REJECTION, b"so"]), (0, [b"bye"])],
}

WRITTEN = {MARKED: REQUEST, ERDMA: REQUEST}
"""Startup frames that are not written as captured, and how they are written."""


@pytest.mark.parametrize(
    ("when", "size"), [(when, size) for when in SITUATIONS for size in (None, 1, 7, 21)]
)
def test_all_octets_are_written(when: str, size: int | None) -> None:
    """All octets of both directions are there, also in segments of startup frames.

    Sequence numbers have no gap, also where they were changed.
    """
    talk = Talk()
    for direction, parts in SITUATIONS[when]:
        talk.say(direction, b"".join(parts), size=size)
    if any(REPLY in parts for _, parts in SITUATIONS[when]):
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
        parts = [part for sender, each in SITUATIONS[when] if sender == direction for part in each]
        expected = b"".join(WRITTEN.get(part, part) for part in parts)
        assert octets[: len(expected)] == expected
        assert octets[len(expected) :] in (b"", STREAM)
