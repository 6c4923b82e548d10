# SPDX-License-Identifier: GPL-2.0-or-later
"""What DDP segments come to: an RDMAP message."""

from typing import NamedTuple

from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.rdmap import ReadRequest

__all__ = ["MessageRecovered"]


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
    length: int = 0
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
    seq: int | None = None
    """Sequence number of the ULPDU_Length field of its first FPDU, None if there is none."""
    size: int | None = None
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
    """Of an RDMA Read Response, whether ``size`` is what the Request asked for."""
    read_request: ReadRequest | None = None
    """The header of an RDMA Read Request, in the Request and in the Response to it."""
    request_frame: int | None = None
    """Of a Response, the frame that brought the last octet of the Request that it answers."""
    latency_ns: int | None = None
    """Nanoseconds from when that was captured until the last octet of the Response was.  None if
    either stood after a hole and was found later than it was captured."""
    request_identifier: int | None = None
    """Of an Atomic Request and of an Atomic Response (RFC 7306 5.2)."""
