# SPDX-License-Identifier: GPL-2.0-or-later
"""How many functions are called, and how many files entered, for an ordinary segment."""

import io
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
from scapy.utils import PcapReader

from scapy_mpa.capture import open_capture
from scapy_mpa.clean import Cleaner
from scapy_mpa.cli.lines import Lines
from scapy_mpa.cli.reading import Reading
from scapy_mpa.craft import Conversation
from scapy_mpa.session import MPASession
from scapy_mpa.session.packets import Packets
from scapy_mpa.stream.flows import Flows
from tests.session.plain import Interface
from tests.straight.ways import as_pcapng
from tests.stream.work import watched
from tests.truth import pcapfile

FEW, MANY = 200, 1200
SIZE = 1000


def frames(writes: int) -> list[bytes]:
    """A connection with ``writes`` FPDUs, one in each segment."""
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


def rows(flows: Flows) -> list[Any]:
    """Take the rows themselves in place of events."""
    found = [*flows.shared.rows]
    flows.shared.rows.clear()
    return found


def sniffed(source: Callable[[bytes], Any], octets: bytes) -> None:
    """Let ``MPASession`` read up to the rows, without making packets of them."""
    session, sock, found = MPASession(others=False), source(octets), 0
    with (
        patch.object(Flows, "events", rows),
        patch.object(Packets, "keep"),
        patch.object(Packets, "of", lambda _, rows, frame=None: rows),
        suppress(EOFError),
    ):
        while True:
            for _ in session.recv(sock):
                found += 1
    assert found > FEW


def from_file(octets: bytes) -> PcapReader:
    """Scapy's reader of a file, pcap or pcapng."""
    return PcapReader(io.BytesIO(octets))


def from_interface(octets: bytes) -> Interface:
    """A socket that hands out packets."""
    return Interface([*from_file(octets)])


def cleaned(octets: bytes) -> None:
    """Clean a capture in which nothing is wrong."""
    cleaner = Cleaner()
    written = sum(len(cleaner.receive(frame)) for frame in open_capture(io.BytesIO(octets)))
    assert written > FEW


def calls(work: Callable[[bytes], None], octets: bytes) -> Counter[str]:
    """Count the functions of this project that are called, by file."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, what: str, _: object) -> None:
        if what == "call" and "scapy_mpa" in frame.f_code.co_filename:
            found[frame.f_code.co_filename] += 1

    work(octets)
    watched(lambda: work(octets), note)
    return found


@pytest.mark.parametrize(
    ("work", "written", "functions", "files"),
    [
        pytest.param(listed, bytes, 2, 2, id="pcap"),
        # One file reads the frame, another the segment in it.
        pytest.param(listed, as_pcapng, 5, 4, id="pcapng"),
        # Four functions of one file read the frame.
        pytest.param(partial(sniffed, from_file), bytes, 7, 4, id="session, pcap"),
        pytest.param(partial(sniffed, from_file), as_pcapng, 7, 4, id="session, pcapng"),
        pytest.param(partial(sniffed, from_interface), bytes, 7, 4, id="session, interface"),
        # Each frame gets a slot, and numbers of both directions.
        pytest.param(cleaned, bytes, 47, 15, id="cleaned"),
    ],
)
def test_an_ordinary_segment(
    work: Callable[[bytes], None], written: Callable[[bytes], bytes], functions: int, files: int
) -> None:
    """Calls are those that a thousand more segments take, divided by their number."""
    few, many = (calls(work, written(pcapfile.pcap(frames(each)))) for each in (FEW, MANY))
    more = MANY - FEW
    many.subtract(few)
    assert round(sum(many.values()) / more) <= functions
    assert sum(count >= more / 2 for count in many.values()) <= files
