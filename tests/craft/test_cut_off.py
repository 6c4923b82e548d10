# SPDX-License-Identifier: GPL-2.0-or-later
"""What is reported of octets that were cut off or are missing, in small conversations."""

from __future__ import annotations

from dataclasses import replace

from scapy_mpa.craft import Conversation, SnapLength, impair
from tests.craft.reading import plain

REPLY, FPDU = 4, 5
"""Indexes of the Reply and of the first FPDU among the segments."""


def test_markers_of_a_cut_fpdu_are_unknown() -> None:
    """A cut FPDU is not reported to have no Markers if it is unknown whether there are any."""
    conversation = Conversation(markers=True)
    conversation.initiator.send(bytes(27))
    conversation.initiator.send(b"x")
    segments = impair(conversation.segments()[FPDU:], SnapLength(54 + 34))
    for record in plain(conversation.frames(segments)):
        assert record["type"] != "fpdu" or record["seq"] != 1025 or record["markers"] == 1


def test_private_data_missing() -> None:
    """A startup frame whose Private Data lie in a hole is not reported, and causes no error.
    But it counts: one good FPDU after it is enough."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    fpdu = segments[FPDU]
    segments[REPLY] = replace(segments[REPLY], octets=segments[REPLY].octets[:20])
    segments[FPDU : FPDU + 1] = [
        replace(fpdu, octets=fpdu.octets[:7]),
        replace(fpdu, seq=fpdu.seq + 7, octets=fpdu.octets[7:]),
    ]
    for records in (conversation.truth(segments), plain(conversation.frames(segments))):
        kinds = [each["type"] for each in records]
        assert [each for each in kinds if each in ("startup", "fpdu", "error")] == [
            "startup",
            "fpdu",
        ]
