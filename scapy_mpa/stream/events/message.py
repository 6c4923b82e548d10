# SPDX-License-Identifier: GPL-2.0-or-later
"""The event of an RDMAP message, which DDP segments make up."""

from typing import NamedTuple

from scapy_mpa.stream.events.connection import ConnectionId
from scapy_mpa.wire.rdmap import ReadRequest


class Part(NamedTuple):
    """The part of a message that one DDP segment brought."""

    seq: int
    """The same field of the event that reported the segment."""
    frames: tuple[int, ...]
    """The captured frames that brought it."""
    offset: int
    """Message Offset or Tagged Offset of its first octet."""
    length: int
    """Octets, including those that the snap length cut off."""


class MessageRecovered(NamedTuple):
    """An RDMAP message is whole, or will stay incomplete.

    It also stands for messages that are known to be missing: then ``fpdus`` is 0.
    """

    connection: ConnectionId
    direction: int
    frame: int
    time_ns: int
    opcode: int | None
    """None if no captured part of the message shows it."""
    captured_length: int = 0
    """Octets of ULP payload that were recovered, headers of RDMAP messages included."""
    fpdus: int = 0
    """Number of DDP segments that brought them."""
    complete: bool = False
    """Whether all octets were recovered, with the Last flag, and no segment contradicts that."""
    qn: int | None = None
    msn: int | None = None
    """Queue and Message Sequence Number, for an Untagged message."""
    stag: int | None = None
    to: int | None = None
    """Data Sink STag and the Tagged Offset of the first segment, for a Tagged message."""
    length: int | None = None
    """Octets of the whole message, None while its beginning or its end is not known."""
    missing: tuple[tuple[int | None, int | None], ...] = ()
    """Stretches that no segment brought, at most 64, ascending: MO or TO, and octets.  MO or TO is
    None before an unknown beginning.  Octets are None up to an unknown end."""
    cut_off: int = 0
    """Octets of captured segments that the snap length cut off."""
    duplicates: int = 0
    """Segments that end before an earlier one of the message ends, and segments of a message whose
    MSN is not above that of an earlier one."""
    overlaps: int = 0
    """Segments that begin before an earlier one of the message ends, and end after it."""
    conflicts: int = 0
    """Segments that contradict others about the end of the message: a Last flag at another
    position, or octets after the Last segment."""
    messages: int = 1
    """Number of messages with consecutive MSNs: 1, or more if they are missing."""
    answers: int | None = None
    """In a Response, the MSN of the Request that it answers; None if that is not known."""
    requested: bool | None = None
    """In a Response, whether a captured Request asked for it; None if that is not known."""
    as_requested: bool | None = None
    """In an RDMA Read Response, whether ``length`` is that of the Request."""
    read_request: ReadRequest | None = None
    """In an RDMA Read Request and in the Response to it, the header of the Request."""
    request_frame: int | None = None
    """In a Response, the frame that brought the last octet of the Request that it answers."""
    request_identifier: int | None = None
    """In an Atomic Request and an Atomic Response (RFC 7306 5.2)."""
    has_last: bool = False
    """In a Response, whether the segment with its Last flag was captured."""
    header: bytes = b""
    """Its octets, if it is only an RDMAP header and whole."""
    captured: int | None = None
    """The last frame that brought octets of it, None if none did."""
    captured_from: int | None = None
    """The first frame that brought octets of it, None if none did."""
    parts: tuple[Part, ...] = ()
    """The part of each segment, in the order of the stream; of very many, the first ones."""
    payload: bytes | None = None
    """Its octets, if they were requested; zeros where octets are missing."""
