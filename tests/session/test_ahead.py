# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of a file are read ahead of what is shown of them, which nobody sees."""

from __future__ import annotations

import gzip
import io
import itertools
from pathlib import Path

import pytest
from scapy.packet import Packet
from scapy.sendrecv import sniff
from scapy.utils import PcapReader

from scapy_mpa.layers import FPDU
from scapy_mpa.session import MPASession
from scapy_mpa.stream.events import Event, FPDURecovered
from tests.captures import OVER_SCTP, OVER_TCP, REAL, capture_name

CAPTURES = [path for path in OVER_TCP + OVER_SCTP if path in REAL or path in OVER_SCTP]


def plain(path: Path) -> bytes:
    """The octets of a capture."""
    octets = path.read_bytes()
    return gzip.decompress(octets) if path.suffix == ".gz" else octets


class Told:
    """What a session tells, in its order: packets and events."""

    def __init__(self, *, others: bool = True) -> None:
        self.told: list[Packet | Event] = []
        self.session = MPASession(others=others, on_event=self.told.append)

    def shapes(self) -> list[str]:
        return [
            repr(each)
            if not isinstance(each, Packet)
            else f"{each.time} {each.wirelen} {each!r} {each.original.hex()}"
            for each in self.told
        ]


@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("path", CAPTURES, ids=capture_name)
def test_a_file_is_read_as_what_cannot_be_read_ahead(
    path: Path, others: bool, tmp_path: Path
) -> None:
    """The same packets and events, in the same order, and each frame once."""
    octets = plain(path)
    file = tmp_path / "capture.pcap"
    file.write_bytes(octets)
    one, other = Told(others=others), Told(others=others)
    sniff(offline=str(file), session=one.session, prn=one.told.append, store=False, quiet=True)
    sniff(
        offline=io.BytesIO(octets),
        session=other.session,
        prn=other.told.append,
        store=False,
        quiet=True,
    )
    assert one.shapes() == other.shapes()
    assert one.session.not_followed == other.session.not_followed


@pytest.mark.examples
@pytest.mark.parametrize("count", [1, 2, 7, 63, 64, 65, 150])
def test_who_stops_may_read_on(count: int, tmp_path: Path) -> None:
    """The frames behind the last that was looked at are still there to be read."""
    path = max(REAL, key=lambda each: len(plain(each)) if each.suffix == ".gz" else 0)
    octets = plain(path)
    file = tmp_path / "capture.pcap"
    file.write_bytes(octets)
    all_frames = [bytes(each) for each in PcapReader(io.BytesIO(octets))]
    with PcapReader(str(file)) as reader:
        sniff(opened_socket=reader, session=MPASession(), count=count, quiet=True)
        behind = [bytes(each) for each in reader]
    with PcapReader(io.BytesIO(octets)) as reader:
        sniff(opened_socket=reader, session=MPASession(), count=count, quiet=True)
        wanted = [bytes(each) for each in reader]
    assert behind == wanted
    assert 0 < len(behind) < len(all_frames)


def test_events_come_with_their_packets(tmp_path: Path) -> None:
    """Those of a frame directly before its packets, and not with those of frames read ahead."""
    file = tmp_path / "capture.pcap"
    file.write_bytes(plain(max(REAL, key=lambda each: each.stat().st_size)))
    told = Told(others=False)
    sniff(offline=str(file), session=told.session, prn=told.told.append, store=False, count=300)
    kinds = [
        "packet" if isinstance(each, Packet) else "event"
        for each in told.told
        if isinstance(each, FPDURecovered) or (isinstance(each, Packet) and FPDU in each)
    ]
    runs = [len(list(group)) for _, group in itertools.groupby(kinds)]
    assert kinds[0] == "event"
    # As many events as packets, and no more at a time than one segment holds.
    assert runs[:-1:2] == runs[1::2] or runs[::2] == runs[1::2]
    assert max(runs) < 40
