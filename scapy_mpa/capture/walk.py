# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a capture and hands each frame's segment to the stream core.

The records of a pcap file of Ethernet frames are read here, a window of the file at a time.  The
decoder reads frames of all other captures, and frames other than Ethernet, IPv4 without options and
TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.decoder import (
    ETHERNET_IPV4,
    FRAGMENT_AND_PROTOCOL,
    IPV4_AT,
    ORDINARY_LENGTH,
    SERVICE,
    TCP_AT,
    WHOLE_TCP,
    ordinary,
)
from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.pcap import PcapHeader, pcap_windows
from scapy_mpa.capture.reader import Capture
from scapy_mpa.stream.clock import REMEMBERED, Clock
from scapy_mpa.stream.segment import SECOND, Segment
from scapy_mpa.wire.tcp import ACK, NOT_PSH

_ROWS: Final = 512
"""Results are handed out when there are so many rows, if frames are read one by one."""
_OCTETS: Final = 1 << 20
"""They are also handed out after so many octets of frames.  Ordinary pcap files are read by window:
results are handed out after each.  So they take little memory, and progress can be shown."""


def walk(
    capture: Capture,
    followed: Followed,
    clock: Clock,
    *,
    live: bool = False,
    seen: Callable[[Segment], None] | None = None,
) -> Iterator[None]:
    """Read a capture to its end.

    When this yields, the results are in ``shared.rows`` of the flows, and the caller takes them
    out.

    :param followed: takes the frames.
    :param clock: notes the times of frames.
    :param live: hand out results at once, not in large batches.
    :param seen: called with each segment after the flows received it.
    """
    header, link_types = capture.pcap, followed.decoder.link_types
    try:
        if header is None or header.link_type != ETHERNET or seen or ETHERNET in link_types:
            yield from _frames(capture, followed, clock, 1 if live else _ROWS, seen)
        else:
            take = partial(_take, capture, header, followed, clock)
            yield from pcap_windows(capture.source, header, take)
    except DamagedError as error:
        capture.stop(error)


def _frames(
    capture: Capture,
    followed: Followed,
    clock: Clock,
    most: int,
    seen: Callable[[Segment], None] | None,
) -> Iterator[None]:
    """Read frame after frame of any capture.

    :param most: number of rows after which they are handed out.
    """
    flows, segment_of = followed.flows, followed.decoder.segment
    rows, take = flows.shared.rows, flows.take
    find = flows.directions.get
    read = 0
    for frame in capture.raw_frames:
        number, time_ns, _, captured, _, _ = frame
        if number == 1:
            clock.begin_ns = time_ns
        if clock.remembers:
            if number >= clock.room:
                clock.make_room(number)
            clock.times[number % REMEMBERED] = time_ns
        clock.newest = capture.frames = number
        segment = segment_of(frame)
        if segment is not None:
            flow, seq, ack, flags, octets, length, _, _ = segment
            direction = find(flow)
            is_taken = False
            if direction is not None and flags & NOT_PSH == ACK and len(octets) == length:
                try:
                    is_taken = direction.receive(seq, ack, octets, number, time_ns)
                except Exception as error:
                    # A fault of this program costs its connection and no other.
                    flows.recovery.fail(segment, error)
                    is_taken = True
            if not is_taken:
                take(segment)
            if seen is not None:
                seen(segment)
        read += len(captured)
        if len(rows) >= most or read >= _OCTETS:
            read = 0
            yield


def _take(
    capture: Capture, header: PcapHeader, followed: Followed, clock: Clock, window: bytes, at: int
) -> tuple[int, int]:
    """Take the records of a window, as :func:`~scapy_mpa.capture.pcap.pcap_windows` asks for."""
    number, flows = capture.frames, followed.flows
    size, unit, unpack_record = header.record.size, header.unit, header.record.unpack_from
    find, take = flows.directions.get, flows.take
    available, wanted = len(window), size
    remembers, times = clock.remembers, clock.times
    if remembers:
        clock.make_room(number + available // size)
    while (start := at + size) <= available:
        seconds, fraction, captured, original = unpack_record(window, at)
        end = start + captured
        if end > available:
            wanted = size + captured
            break
        at = end
        number += 1
        time_ns = seconds * SECOND + fraction * unit
        if remembers:
            times[number % REMEMBERED] = time_ns
        segment = None
        if captured >= ORDINARY_LENGTH:
            link_and_ip, total, fragment, flow, seq, ack, control = ordinary(window, start)
            payload_at = TCP_AT + (control >> 12) * 4
            total += IPV4_AT
            if (
                link_and_ip & SERVICE == ETHERNET_IPV4
                and fragment & FRAGMENT_AND_PROTOCOL == WHOLE_TCP
                and ORDINARY_LENGTH <= payload_at <= total <= captured
            ):
                octets = window[start + payload_at : start + total]
                direction = find(flow)
                try:
                    if (
                        control & NOT_PSH == ACK
                        and direction is not None
                        and direction.receive(seq, ack, octets, number, time_ns)
                    ):
                        continue
                except Exception as error:
                    # A fault of this program costs its connection and no other.
                    fault = Segment(flow, seq, ack, ACK, octets, len(octets), number, time_ns)
                    flows.recovery.fail(fault, error)
                    continue
                flags, length = control & 0xFF, total - payload_at
                segment = Segment(flow, seq, ack, flags, octets, length, number, time_ns)
        if number == 1:
            clock.begin_ns = time_ns
        if segment is None:
            octets, length = window[start:end], max(original, captured)
            frame = Frame(number, time_ns, header.link_type, octets, length, None)
            segment = followed.decoder.segment(frame)
        if segment is not None:
            take(segment)
    capture.frames = clock.newest = number
    return at, wanted
