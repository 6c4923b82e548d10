# SPDX-License-Identifier: GPL-2.0-or-later
"""What counts of one direction when its segments are held against the rules above MPA."""

from __future__ import annotations

from typing import Final, NamedTuple

from scapy_mpa.stream.delivery.order import QueueOrder
from scapy_mpa.stream.delivery.outstanding import Outstanding
from scapy_mpa.stream.delivery.split import SplitHeader
from scapy_mpa.stream.events import Carrier
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap import parse_control

__all__ = ["SPLIT_HEADERS", "HalfChecks", "Turn"]

SPLIT_HEADERS: Final = 8
"""RDMAP headers of one direction that may lack segments at one time: a sender cuts up one message
at a time, so only loss leaves any open.  The oldest goes unchecked."""


class Turn(NamedTuple):
    """A segment that waits for its turn."""

    start: int
    """Position of what carries it."""
    serial: int
    """So that nothing behind it is ever compared."""
    end: int
    header: DDPHeader | None
    """None if nothing can be told of it."""
    length: int
    """Octets behind the header."""
    carrier: Carrier


class HalfChecks:
    """What counts of one direction."""

    __slots__ = (
        "asked",
        "count",
        "expected",
        "has_begun",
        "headers",
        "is_whole",
        "order",
        "terminated",
        "waiting",
    )

    def __init__(self) -> None:
        self.order = QueueOrder()
        self.expected: int | None = None
        """Position behind the last segment whose turn it was."""
        self.waiting: list[Turn] = []
        self.count = 0
        self.has_begun = False
        """Whether its beginning was seen: without it nobody knows what else was not."""
        self.is_whole = True
        """Whether all from there on was seen."""
        self.terminated: int | None = None
        """The MSN of a Terminate, until anything follows it."""
        self.headers: dict[tuple[int | None, int | None, int], SplitHeader] | None = None
        """By QN, MSN and opcode, RDMAP headers of which not all segments are there; made with the
        first one."""
        self.asked = Outstanding()

    def put_together(self, header: DDPHeader, body: bytes, length: int) -> SplitHeader | None:
        """Take a segment that is not all of its message; return the RDMAP header if that is whole.

        :param body: the octets behind its DDP header that were captured.
        :param length: how many there are.
        """
        assert header.mo is not None
        if self.headers is None:
            self.headers = {}
        headers = self.headers
        key = header.qn, header.msn, parse_control(header.rsvdulp).opcode
        if key not in headers and len(headers) == SPLIT_HEADERS:
            del headers[next(iter(headers))]
        split = headers.setdefault(key, SplitHeader())
        split.put(header.mo, body, length, last=header.last)
        return None if split.octets is None else headers.pop(key)
