# SPDX-License-Identifier: GPL-2.0-or-later
"""How deep the code is through which an ordinary segment goes: functions called, files entered."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from unittest.mock import patch

import pytest

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.lines import Lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.craft import Conversation
from scapy_mpa.session.recovery import Recovery
from scapy_mpa.session.source import dissect
from tests.straight.ways import as_pcapng
from tests.truth import pcapfile

FEW, MANY = 200, 1200
SIZE = 1000


def frames(writes: int) -> list[bytes]:
    """A connection that carries so many FPDUs, one in each segment."""
    conversation = Conversation()
    conversation.startup()
    for number in range(writes):
        conversation.initiator.write(bytes(SIZE), 1, SIZE * number)
    octets = [each.octets for each in conversation.frames()]
    # Startup frames take up to frame 6; after that, acknowledgements are left out.
    return octets[:6] + [each for each in octets[6:] if len(each) > SIZE]


def listed(octets: bytes) -> None:
    """List a capture, as ``dissect`` does."""
    reading = Reading(open_capture(io.BytesIO(octets)))
    page = Lines(reading.clock).page
    assert sum(page(rows).count(b"\n") for rows in reading.rows()) > FEW


def received(octets: bytes) -> None:
    """Do what ``MPASession`` does, up to the events.  Making packets of them is not counted."""
    recovery = Recovery(dissect)
    found = 0
    with patch.object(Recovery, "_packets", lambda self, events, frame=None: events):
        for frame in open_capture(io.BytesIO(octets)):
            found += len(recovery.receive(frame)[0])
    assert found > FEW


def calls(work: Callable[[bytes], None], octets: bytes) -> Counter[str]:
    """Count the functions of this project that are called, by file."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and "scapy_mpa" in frame.f_code.co_filename:
            found[frame.f_code.co_filename] += 1

    work(octets)
    sys.setprofile(note)
    try:
        work(octets)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("work", "written", "functions", "files"),
    [
        pytest.param(listed, bytes, 3, 2, id="pcap"),
        # One file reads the frame, one takes the segment out of it.
        pytest.param(listed, as_pcapng, 5, 4, id="pcapng"),
        # Two read it, and two make a session's events of what it brought.
        pytest.param(received, bytes, 10, 7, id="session"),
    ],
)
def test_an_ordinary_segment(
    work: Callable[[bytes], None], written: Callable[[bytes], bytes], functions: int, files: int
) -> None:
    """Measured as what a thousand more of them take."""
    few, many = (calls(work, written(pcapfile.pcap(frames(each)))) for each in (FEW, MANY))
    more = MANY - FEW
    many.subtract(few)
    assert round(sum(many.values()) / more) <= functions
    assert sum(count >= more / 2 for count in many.values()) <= files
