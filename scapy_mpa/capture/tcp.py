# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and writes TCP headers (RFC 9293 3.1).

Options are skipped. Checksums are not verified: with checksum offload, a sender's segments are
captured before their checksums are computed.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import TCP_PROTOCOL, Headers, checksum
from scapy_mpa.stream.segment import Segment

_TCP: Final = Struct(">4sIIBBHHH")
"""Both ports, sequence number, acknowledgement number, data offset, flags, window, checksum, urgent
pointer."""
TCP_LENGTH: Final = 20
"""Octets of a header without options."""


def tcp_segment(frame: Frame, headers: Headers) -> Segment:
    """Return the segment of a frame whose headers before TCP were read.

    :raises NotFollowedError: the TCP header, options included, is not whole.
    """
    at = headers.take(TCP_LENGTH, "TCP header")
    ports, seq, ack, data_offset, flags, *_ = _TCP.unpack_from(headers.octets, at)
    options = (data_offset >> 4) * 4 - TCP_LENGTH
    if options < 0:
        raise headers.wrong("TCP header", "damaged")
    headers.take(options, "TCP header")
    start = headers.at
    return Segment(
        headers.packets[-1].addresses + ports,
        seq,
        ack,
        flags,
        headers.octets[start : headers.captured_end],
        headers.end - start,
        frame.number,
        frame.time_ns,
    )


def tcp_header(
    flow: bytes, numbers: tuple[int, int, int, int], options: bytes, payload: bytes, length: int
) -> bytes:
    """Return a TCP header with its checksum.

    :param flow: flow of the segment.
    :param numbers: sequence and acknowledgement number, flags, window.
    :param options: a multiple of 4 octets.
    :param payload: the captured octets of the payload.
    :param length: octets of payload on the wire.
    :raises struct.error: a number does not fit its field.
    """
    seq, ack, flags, window = numbers
    size = TCP_LENGTH + len(options)
    addresses, ports = flow[:-4], flow[-4:]
    fields = ports, seq, ack, size << 2, flags, window
    unsummed = addresses + _TCP.pack(*fields, 0, 0) + options + payload
    return _TCP.pack(*fields, checksum(unsummed, TCP_PROTOCOL + size + length), 0) + options
