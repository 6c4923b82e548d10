# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of memory for ``sniff(session=MPASession(limits=...))`` and ``rdmpa(limits=...)``."""

from __future__ import annotations

import pathlib
from functools import partial
from typing import Any

import pytest
from scapy.plist import PacketList

from scapy_mpa.clean import Cleaner
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import FPDU
from scapy_mpa.session import Limits, MPASession, rdmpa
from scapy_mpa.stream.events import Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.errors import LocalProtocolError
from tests.cli.command import RPING
from tests.session.plain import sniffed


def test_wrong_arguments() -> None:
    """They are refused at once, and the message says what to give."""
    for limits in (3, {}, (1, 2, 3, 4)):
        given: Any = limits
        for take in (partial(rdmpa, RPING), MPASession, Cleaner):
            with pytest.raises(TypeError, match=r"limits are .*; give Limits\("):
                take(limits=given)
    for take in (partial(rdmpa, RPING), MPASession, Cleaner, Flows):
        with pytest.raises(LocalProtocolError, match="no dialect 'rfc'"):
            take(dialect="rfc")


def test_no_file_and_no_number() -> None:
    """The message says what to give, and what reads packets."""
    with open(RPING) as text:
        for wrong in (PacketList(), bytes(RPING), text):
            words = rf"in binary mode, not a {type(wrong).__name__}; .* reads packets"
            with pytest.raises(TypeError, match=words):
                rdmpa(wrong)
    for count in ("3", None, 3.0):
        with pytest.raises(TypeError, match=f"count is a number of packets, not {count!r}"):
            rdmpa(RPING, count=count)


def test_both_keep_the_limits(tmp_path: pathlib.Path) -> None:
    """Both report an FPDU as a gap if too many of its octets would have to wait."""
    path = tmp_path / "cut.pcap"
    options = "mss 500\npacking stream\nmulpdu 9000\n"
    parse_scenario(f"{options}initiator send 8000\ninitiator send 100").write(path)
    limits = Limits(octets_per_half=1000)
    whole, limited = rdmpa(str(path)), rdmpa(str(path), limits=limits)
    assert not whole.gaps()
    assert {gap["reason"] for gap in limited.gaps()} == {"limit"}
    events: list[Event] = []
    packets = sniffed(path, others=False, on_event=events.append, limits=limits)
    assert [bytes(each) for each in packets] == [bytes(each) for each in limited]
    assert sum(isinstance(event, GapFound) for event in events) == len(limited.gaps())
    assert sum(FPDU in each for each in limited) < sum(FPDU in each for each in whole)
