# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said of octets that the snap length cut off, in small conversations."""

from __future__ import annotations

import pytest

from scapy_mpa.craft import Conversation, SnapLength, impair
from tests.craft.small import FPDU, found, kinds, one_send


def test_markers_of_what_was_cut() -> None:
    """Where it is not known whether there are Markers, an FPDU that was cut is not said to have
    none."""
    conversation = Conversation(markers=True)
    conversation.initiator.send(bytes(27))
    conversation.initiator.send(b"x")
    segments = impair(conversation.segments()[FPDU:], SnapLength(54 + 34))
    for record in found(conversation, segments):
        assert record["seq"] != 1025 or record["markers"] == 1


@pytest.mark.parametrize("snap", range(1, 20))
def test_startup_header_cut(snap: int) -> None:
    """Of a startup header that the snap length cut nothing is told that was not captured."""
    conversation = one_send()
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    for record in found(conversation, segments):
        assert record["crc"] in (None, True, "unknown")


@pytest.mark.parametrize("snap", range(1, 28))
def test_closed_in_the_middle(snap: int) -> None:
    """Octets that the snap length cut off are no reason to say that the connection was lost."""
    conversation = one_send()
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    assert "error" not in kinds(found(conversation, segments))


@pytest.mark.parametrize("snap", range(20, 57))
def test_private_data_cut(snap: int) -> None:
    """Of Private Data that the snap length cut, what was captured is told, and no more."""
    conversation = Conversation()
    private = b"0123456789abcdefghijklmnopqrstuvwxyz"
    conversation.startup(private, private)
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "startup"]
    for record in records:
        assert record["pd_length"] == len(private)
        assert bytes.fromhex(record["private_data"]) == private[: snap - 20]
