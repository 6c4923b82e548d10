# SPDX-License-Identifier: GPL-2.0-or-later
"""What is reported of octets that were cut off or are missing, in small conversations."""

from __future__ import annotations

import pytest

from scapy_mpa.craft import Conversation, SnapLength, impair
from tests.craft.reading import plain
from tests.craft.small import FPDU, REPLY, REQUEST, found, kinds, one_send, pieces


def test_markers_of_a_cut_fpdu_are_unknown() -> None:
    """A cut FPDU is not reported to have no Markers if it is unknown whether there are any."""
    conversation = Conversation(markers=True)
    conversation.initiator.send(bytes(27))
    conversation.initiator.send(b"x")
    segments = impair(conversation.segments()[FPDU:], SnapLength(54 + 34))
    for record in found(conversation, segments):
        assert record["seq"] != 1025 or record["markers"] == 1


@pytest.mark.parametrize("snap", range(1, 20))
def test_startup_header_cut(snap: int) -> None:
    """A startup header that the snap length cut is not reported, nor what follows it."""
    conversation = one_send()
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    (end,) = plain(conversation.frames(segments))
    assert (end["type"], end["ended"]) == ("connection", "closed")
    assert (end["revision"], end["crc"], end["dialect"], end["errors"]) == (None, None, None, 0)
    assert end["fpdus"] == {"src": 0, "dst": 0}
    # Octets of the Request and the FPDU, and of the Reply.
    assert end["octets"] == {"src": 2 * snap, "dst": snap}


@pytest.mark.parametrize("snap", range(1, 20))
@pytest.mark.parametrize("cut", [REQUEST, REPLY])
def test_one_startup_header_cut(cut: int, snap: int) -> None:
    """One startup frame is cut. The other one and the FPDU are reported, without an error."""
    conversation = one_send()
    segments = list(conversation.segments())
    segments[cut : cut + 1] = impair([segments[cut]], SnapLength(54 + snap))
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "fpdu"]
    assert records[0]["kind"] == ("reply" if cut == REQUEST else "request")
    assert (records[1]["crc"], records[1]["seq"]) == ("good", 1021)


@pytest.mark.parametrize("snap", range(1, 28))
def test_no_error_after_snap_length(snap: int) -> None:
    """Octets that the snap length cut off do not make the connection count as lost."""
    conversation = one_send()
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    assert "error" not in kinds(found(conversation, segments))


@pytest.mark.parametrize("length", [36, 255, 256, 300, 512])
@pytest.mark.parametrize("snap", [20, 21, 24, 55, 56, 57, 276, 319, 320, 531, 532])
def test_private_data_cut(snap: int, length: int) -> None:
    """Exactly the captured part of cut Private Data is reported.

    Their length is known from PD_Length, the last two octets of the header.
    """
    conversation = Conversation()
    private = bytes(65 + at % 64 for at in range(length))
    conversation.startup(private, private)
    segments = impair(conversation.segments(), SnapLength(54 + snap))
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "startup"]
    for record in records:
        assert record["pd_length"] == len(private)
        assert bytes.fromhex(record["private_data"]) == private[: snap - 20]


def test_private_data_missing() -> None:
    """A startup frame whose Private Data lie in a hole is not reported, and causes no error.
    But it counts: one good FPDU after it is enough."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    segments[REPLY] = pieces(segments[REPLY], 20)[0]
    segments[FPDU : FPDU + 1] = pieces(segments[FPDU], 7)
    truth = conversation.truth(segments)
    assert kinds(truth) == ["startup", "fpdu"]
    assert kinds(found(conversation, segments)) == ["startup", "fpdu"]
