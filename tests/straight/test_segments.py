# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages and checks read rows: a row and its event bring the same DDP segment."""

from __future__ import annotations

import io
import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.stream.delivery.segment import DDPSegment, segment_of
from scapy_mpa.stream.direction import event_of
from tests.captures import OVER_TCP
from tests.stream.talk import started
from tests.truth import messages, mpastream, pcapfile

SET_LATER = {"start", "end"}


def fields(segment: DDPSegment | None) -> dict[str, object]:
    """What counts of a segment; one frame may be named alone."""
    names = [name for name in DDPSegment.__slots__ if name not in SET_LATER]
    found = {name: getattr(segment, name) for name in names}
    if isinstance(found["frames"], int):
        found["frames"] = (found["frames"],)
    return found


def compare(source: io.BytesIO | Path) -> int:
    """Hold each row of a capture against its event; return how many there are."""
    count = 0
    with open_capture(source) as capture:
        for rows in Reading(capture).rows():
            for row in rows:
                if type(row) is tuple:
                    assert fields(segment_of(row)) == fields(segment_of(event_of(row)))
                    count += 1
    return count


def test_segments_of_captures() -> None:
    """Of all captures, with Markers and CRCs and without."""
    assert sum(map(compare, OVER_TCP)) > 1000


@given(seed=st.integers(0, 2**32), markers=st.booleans(), crc=st.booleans())
def test_segments_of_any_message(seed: int, markers: bool, crc: bool) -> None:
    """RDMAP headers with Markers in them, too."""
    rng = random.Random(seed)
    ulpdus = [each for made in messages.random_messages(rng, 30, 600, 3000) for each in made]
    talk = started(markers=markers, crc=crc)
    octets, _ = mpastream.build_stream(ulpdus, markers=markers, crc=crc)
    talk.say(0, octets, size=rng.choice((500, 1460, 9000)))
    talk.close()
    count = compare(io.BytesIO(pcapfile.pcap(pcapfile.frames(talk.segments))))
    assert count or not crc
