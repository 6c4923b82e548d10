# SPDX-License-Identifier: GPL-2.0-or-later
"""What DDP segments come to: an RDMAP message."""

from typing import NamedTuple

from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.rdmap import ReadRequest


class Part(NamedTuple):
    """What one DDP segment brought of a message."""

    seq: int
    """Of the segment: see the same field of the event that reported it."""
    frames: tuple[int, ...]
    """The captured frames that brought it."""
    offset: int
    """Message Offset or Tagged Offset of its first octet."""
    length: int
    """Octets, those included that the snap length cut off."""


class MessageRecovered(NamedTuple):
    """An RDMAP message is whole, or will stay as incomplete as it is.

    Also stands for messages of which nothing was captured but which are known to be missing:
    then ``fpdus`` is 0.
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    opcode: int | None
    """None if nothing of the message was captured that tells."""
    captured_length: int = 0
    """Octets of ULP payload that were recovered, headers of RDMAP messages included."""
    fpdus: int = 0
    """How many DDP segments brought them."""
    complete: bool = False
    """Whether every octet from the first to the last is there, and no segment denies it."""
    qn: int | None = None
    msn: int | None = None
    """Queue and Message Sequence Number, for an Untagged message."""
    stag: int | None = None
    to: int | None = None
    """Data Sink STag and the lowest Tagged Offset, for a Tagged message."""
    length: int | None = None
    """Octets of the whole message, None while its beginning or its end is not known."""
    missing: tuple[tuple[int | None, int | None], ...] = ()
    """Stretches that no segment brought, at most 64, ascending: MO or TO, and octets.  The first
    is None before a beginning that is not known, the second up to an end that is not known."""
    cut_off: int = 0
    """Octets that segments brought and the snap length cut off."""
    duplicates: int = 0
    """Segments of which every octet had been there, with the same QN and MSN or in the same
    Tagged message."""
    overlaps: int = 0
    """Segments of which only some octets had been there."""
    conflicts: int = 0
    """Segments that deny what others say of the message's end: a Last flag at another place, or
    octets after the Last segment."""
    messages: int = 1
    """How many messages with consecutive MSNs this stands for: 1, or more of those missing."""
    answers: int | None = None
    """Of a Response, MSN of the Request that it answers, None if that is not known."""
    requested: bool | None = None
    """Of a Response, whether a captured Request asked for it; None if that cannot be reported."""
    as_requested: bool | None = None
    """Of an RDMA Read Response, whether ``length`` is what the Request asked for."""
    read_request: ReadRequest | None = None
    """The header of an RDMA Read Request, in the Request and in the Response to it."""
    request_frame: int | None = None
    """Of a Response, the frame that brought the last octet of the Request that it answers."""
    request_identifier: int | None = None
    """Of an Atomic Request and of an Atomic Response (RFC 7306 5.2)."""
    has_last: bool = False
    """Of a Response, whether the segment with its Last flag was captured."""
    header: bytes = b""
    """Its octets if it is an RDMAP header and nothing else, and all there."""
    captured: int | None = None
    """The last of the frames that brought its octets, None if none did."""
    captured_from: int | None = None
    """The first of them."""
    parts: tuple[Part, ...] = ()
    """What each segment brought, in the order of the stream; of many, the first ones."""
    payload: bytes | None = None
    """Its octets, if they were asked for; zeros where they are missing."""
