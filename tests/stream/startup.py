# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames, FPDUs after them, and the events of their connection."""

from collections.abc import Sequence
from typing import Any

from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, StartupSeen
from scapy_mpa.stream.segment import Segment
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import feed, fpdus, of
from tests.truth import messages
from tests.truth.mpastream import REPLY_KEY, REQUEST_KEY, TrueFPDU, build_stream, startup_frame

INITIATOR = "10.0.0.1:40000"
ULPDUS = [messages.send(msn, bytes([msn]) * 300)[0] for msn in range(1, 9)]

# The text of an RFC, sent over TCP.
PROSE = b"""\
   Key:  This field contains the "key" used to validate that both sender
      and receiver of the frame are using MPA.  Initiator mode senders
      MUST set this field to the fixed value "MPA ID Req Frame" or (in
      byte order) 4D 50 41 20 49 44 20 52 65 71 20 46 72 61 6D 65 (in
      hexadecimal).  Responder mode receivers MUST check this field for
      the same value.  Responders send "MPA ID Rep Frame" or (in byte
      order) 4D 50 41 20 49 44 20 52 65 70 20 46 72 61 6D 65.

   MPA ID Req Frame
MPA ID Rep Frame MPA ID Req FrameMPA ID Req Frame
"""


def request(**fields: Any) -> bytes:
    """A Request that asks for CRCs by default."""
    return startup_frame(REQUEST_KEY, **{"crc": 1, **fields})


def reply(**fields: Any) -> bytes:
    """A Reply that asks for CRCs by default."""
    return startup_frame(REPLY_KEY, **{"crc": 1, **fields})


def stream(*, markers: bool = False, crc: bool = True) -> tuple[bytes, list[TrueFPDU]]:
    """A few FPDUs."""
    return build_stream(ULPDUS, markers=markers, crc=crc, idle_crc_field=b"\xde\xad\xbe\xef")


def seen(events: list[Event]) -> list[StartupSeen]:
    """The startup frames."""
    return of(StartupSeen, events)


def errors(events: list[Event]) -> list[tuple[int, ErrorCode | None, int]]:
    """Direction, code and sequence number of each error."""
    return [(each.direction, each.code, each.seq) for each in of(ErrorFound, events)]


def ended(events: list[Event]) -> ConnectionEnded:
    """The end of the one connection."""
    (end,) = of(ConnectionEnded, events)
    return end


def both_ways(segments: Sequence[Segment]) -> Any:
    """The end of the one connection, the same on both reading paths."""
    end, other = (ended(feed(segments, straight=straight)) for straight in (True, False))
    assert end == other
    return end


def found(events: list[Event], direction: int) -> list[bytes]:
    """The ULPDUs of a direction."""
    return [each.ulpdu for each in fpdus(events, direction)]
