# SPDX-License-Identifier: GPL-2.0-or-later
"""Small conversations, their single segments, and what the dissector reports of them."""

from __future__ import annotations

from dataclasses import replace

from scapy_mpa.craft import Conversation, Segment
from tests.craft.reading import Record, plain

REQUEST, REPLY, FPDU = 3, 4, 5
"""Indexes of the startup frames and of the first FPDU among the segments."""


def one_send() -> Conversation:
    """A Send of one octet between SYN and FIN."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.close()
    return conversation


def pieces(segment: Segment, *cuts: int) -> list[Segment]:
    """A segment divided into several."""
    ends = [*cuts, len(segment.octets)]
    return [
        replace(segment, seq=segment.seq + start, octets=segment.octets[start:end])
        for start, end in zip([0, *cuts], ends, strict=True)
    ]


def found(conversation: Conversation, segments: list[Segment]) -> list[Record]:
    """The startup frames, FPDUs and errors that the dissector reports."""
    types = ("startup", "fpdu", "error")
    return [each for each in plain(conversation.frames(segments)) if each["type"] in types]


def kinds(records: list[Record]) -> list[str]:
    """The types of records."""
    return [record["type"] for record in records]
