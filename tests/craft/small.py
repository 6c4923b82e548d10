# SPDX-License-Identifier: GPL-2.0-or-later
"""Small conversations, their segments one by one, and what the dissector says of them."""

from __future__ import annotations

from dataclasses import replace

from scapy_mpa.craft import Conversation, Segment
from tests.craft.reading import Record, plain

REQUEST, REPLY, FPDU = 3, 4, 5
"""Where the startup frames and the first FPDU are among the segments."""


def one_send() -> Conversation:
    """A Send of one octet between SYN and FIN."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.close()
    return conversation


def pieces(segment: Segment, *cuts: int) -> list[Segment]:
    """A segment cut up."""
    ends = [*cuts, len(segment.octets)]
    return [
        replace(segment, seq=segment.seq + start, octets=segment.octets[start:end])
        for start, end in zip([0, *cuts], ends, strict=True)
    ]


def found(conversation: Conversation, segments: list[Segment]) -> list[Record]:
    """Startup frames, FPDUs and errors."""
    told = ("startup", "fpdu", "error")
    return [each for each in plain(conversation.frames(segments)) if each["type"] in told]


def kinds(records: list[Record]) -> list[str]:
    """Their types."""
    return [record["type"] for record in records]
