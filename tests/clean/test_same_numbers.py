# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections whose senders begin with the same sequence number each time, and copies of one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.cli.command import records, run
from tests.stream.talk import REPLY, REQUEST, Talk
from tests.truth import messages, mpastream, pcapfile
from tests.truth.impair import Segment


def connection(seed: int) -> list[Segment]:
    """A connection with eight FPDUs each way; its numbers are always the same."""
    ulpdus = [
        messages.send(msn, random.Random(seed + msn).randbytes(200))[0] for msn in range(1, 9)
    ]
    stream, _ = mpastream.build_stream(ulpdus)
    talk = Talk((1000, 5000))
    talk.say(0, REQUEST)
    talk.say(1, REPLY)
    talk.say(0, stream, size=500)
    talk.say(1, stream, size=500)
    talk.close()
    return talk.segments


ONE, OTHER = connection(0), connection(100)
CAPTURES = {
    "other octets": ([*ONE, *OTHER, *ONE], 3),
    "appended to itself": ([*ONE, *ONE], 1),
    "in blocks": ([each for at in range(0, len(ONE), 5) for each in ONE[at : at + 5] * 2], 1),
}


@pytest.mark.parametrize("kind", CAPTURES)
def test_what_is_cleaned_reads_the_same(kind: str, tmp_path: Path) -> None:
    """As many connections, and as many FPDUs, before and after."""
    segments, connections = CAPTURES[kind]
    before, after = tmp_path / "before.pcap", tmp_path / "after.pcap"
    before.write_bytes(pcapfile.pcap(pcapfile.frames(segments)))
    assert run("clean", before, "-o", after).exit_code == 0
    for path in (before, after):
        types = [each["type"] for each in records(path)]
        assert types.count("connection") == connections
        assert types.count("fpdu") == 16 * connections
