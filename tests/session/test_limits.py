# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of memory for ``sniff(session=MPASession(limits=...))`` and ``rdmpa(limits=...)``."""

from __future__ import annotations

import io
import pathlib
import random

import pytest
from scapy.layers.l2 import Ether
from scapy.sendrecv import sniff

from scapy_mpa.capture import open_capture
from scapy_mpa.layers import FPDU
from scapy_mpa.session import Limits, MPASession, rdmpa
from scapy_mpa.session.recovery import Recovery
from scapy_mpa.stream.events import Event, GapFound
from scapy_mpa.stream.flows import LINGER_NS
from tests.stream.feed import halves
from tests.stream.talk import whole
from tests.truth import impair, pcapfile


@pytest.mark.parametrize("copies", [1, 3])
def test_late_copies_leave_nothing_behind(copies: int) -> None:
    """Of a connection that was ended, no frame is kept for packets that will not come."""
    talk = whole()
    talk.segments += [talk.segments[5]] * copies
    capture = open_capture(io.BytesIO(pcapfile.pcap(pcapfile.frames(talk.segments))))
    frames = list(capture)
    late = [each._replace(time_ns=each.time_ns + 2 * LINGER_NS) for each in frames[-copies:]]
    recovery = Recovery(lambda frame: Ether(frame.octets))
    for frame in frames[:-copies]:
        recovery.take(frame)
    assert recovery._last
    for frame in late:
        assert recovery.take(frame) == ([], True)
    assert not recovery._last


def test_both_keep_to_them(tmp_path: pathlib.Path) -> None:
    """FPDUs of which too many octets would have to wait are gaps, in both."""
    rng = random.Random(1)
    pair = halves(rng, markers=(False, False), crc=True, count=3, mulpdu=9000)
    cut = [impair.cut_mss(each.octets, 500) for each in pair]
    segments = impair.conversation(pair, (cut[0], cut[1]), rng)
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcapfile.pcap(pcapfile.frames(segments)))
    limits = Limits(octets_per_half=1000)
    whole, limited = rdmpa(str(path)), rdmpa(str(path), limits=limits)
    assert not whole.gaps()
    assert {gap["reason"] for gap in limited.gaps()} == {"limit"}
    events: list[Event] = []
    session = MPASession(others=False, on_event=events.append, limits=limits)
    packets = sniff(offline=str(path), session=session, quiet=True)
    assert [bytes(each) for each in packets] == [bytes(each) for each in limited]
    assert sum(isinstance(event, GapFound) for event in events) == len(limited.gaps())
    assert sum(FPDU in each for each in limited) < sum(FPDU in each for each in whole)
