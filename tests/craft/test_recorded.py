# SPDX-License-Identifier: GPL-2.0-or-later
"""A captured connection, said again: the same startup frames and FPDUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings

from scapy_mpa.craft import Conversation, FPDUItem, recorded
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from tests.craft.reading import Record, plain
from tests.craft.strategies import conversations

PCAPS = Path(__file__).resolve().parents[2] / "pcaps"
REAL = ("rping_ipv6_mpa2_crcon.pcap", "mix_mpa1_crcon.pcap", "netem_loss1_at_server_B.pcap.gz")


def said(records: list[Record], of: int = 0) -> tuple[list[Any], ...]:
    """What startup frames and FPDUs say, by side."""
    startups = [
        (
            each["kind"],
            each["revision"],
            each["markers"],
            each["crc"],
            each["private_data"],
            each["ird"],
            each["ord"],
            each["control_flags"],
        )
        for each in records
        if each["type"] == "startup" and each["connection"] == of
    ]
    sides = sorted({each["src"] for each in records})
    fpdus = [
        sorted(
            (each["offset"], each["ulpdu_length"], each["opcode"], each["payload"])
            for each in records
            if each["type"] == "fpdu" and each["connection"] == of and each["src"] == side
        )
        for side in sides
    ]
    # What was rejected before is not said again.
    return startups[-2:], *[[fields[1:] for fields in each] for each in fpdus]


@settings(max_examples=40, deadline=None)
@given(conversation=conversations())
def test_a_conversation_is_said_again(
    conversation: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What was written to a file comes back, with the same octets in the same order."""
    sent = [item.ulpdu for item in conversation.script if isinstance(item, FPDUItem)]
    # One that carries none is refused.
    assume(sent)
    path = tmp_path_factory.mktemp("recorded") / "said.pcapng"
    conversation.write(path)
    again = recorded(path)
    assert sorted(sent) == sorted(item.ulpdu for item in again.script if isinstance(item, FPDUItem))
    assert again.options.markers == conversation.options.markers
    assert said(plain(again.frames())) == said(plain(conversation.frames()))


@pytest.mark.parametrize("name", REAL)
def test_a_real_connection_is_said_again(name: str) -> None:
    """The FPDUs of each side are those of the capture, in the order of their stream."""
    from tests.cli.command import records

    captured = records("--payload", PCAPS / name)
    again = recorded(PCAPS / name)
    numbers = [each["connection"] for each in captured if each["type"] == "fpdu"]
    there = said([each for each in captured if each["connection"] == numbers[0]], numbers[0])
    assert said(plain(again.frames())) == there


def test_an_rtr_frame_is_said_again() -> None:
    """With its Private Data, and before the first FPDU."""
    again = recorded(PCAPS / "crafted" / "rtr-frame-proposal-2007.pcap")
    found = said(plain(again.frames()))
    assert [each[0] for each in found[0]] == ["reply", "rtr"]
    assert found[0][1][4] == b"ready".hex()
    assert [len(each) for each in found[1:]] == [2, 7]


def test_only_so_many() -> None:
    """No more FPDUs are taken than asked for; a connection may be chosen."""
    path = PCAPS / "seqwrap_client_crcon.pcap.gz"
    assert sum(isinstance(item, FPDUItem) for item in recorded(path, fpdus=7).script) == 7
    with pytest.raises(LocalProtocolError, match="connection 99 is not one with"):
        recorded(path, 99)


def test_nothing_there() -> None:
    """A capture without such a connection, or none at all, is said to be that."""
    with pytest.raises(LocalProtocolError, match="no connection with startup frames and FPDUs"):
        recorded(PCAPS / "listener_absent.pcap")
    with pytest.raises(CaptureError):
        recorded(PCAPS / "not there.pcap")
