# SPDX-License-Identifier: GPL-2.0-or-later
"""What a connection says beside startup frames and FPDUs stays, octet for octet."""

from __future__ import annotations

import pytest

from tests.clean.cleaning import clean, fpdus, frames_of, segments
from tests.stream.talk import REPLY, REQUEST, STREAM, Talk
from tests.truth import mpastream, pcapfile

REJECTION = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, rejected=1)
MARKED = mpastream.startup_frame(mpastream.REQUEST_KEY, markers=1, crc=1)
ERDMA = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1, revision=129) + b"\1\2\3\4\5\6\7\x08"

Said = list[tuple[int, list[bytes]]]
"""Who says something, in one segment, and what that consists of."""

SAID: dict[str, Said] = {
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
    "after a frame that became shorter": [
        (0, [ERDMA]),
        (1, [REJECTION, b"so"]),
        (0, [b"sorry"]),
        (1, [b"well"]),
        (0, [b"once more"]),
        (0, [REQUEST]),
        (1, [REPLY]),
    ],
    "nothing but a rejection": [(0, [b"hello", REQUEST]), (1, [REJECTION, b"so"]), (0, [b"bye"])],
}

KNOWN = {MARKED: REQUEST, ERDMA: REQUEST}
"""Startup frames that are written as others."""


@pytest.mark.parametrize(
    ("when", "size"), [(when, size) for when in SAID for size in (None, 1, 7, 21)]
)
def test_it_is_all_there(when: str, size: int | None) -> None:
    """All octets of both directions, also in the segments of startup frames, and where numbers are
    others than captured; numbers go on without a gap."""
    talk = Talk()
    for direction, parts in SAID[when]:
        talk.say(direction, b"".join(parts), size=size)
    if any(REPLY in parts for _, parts in SAID[when]):
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
        parts = [part for sender, each in SAID[when] if sender == direction for part in each]
        expected = b"".join(KNOWN.get(part, part) for part in parts)
        assert octets[: len(expected)] == expected
        assert octets[len(expected) :] in (b"", STREAM)
