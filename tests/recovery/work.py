# SPDX-License-Identifier: GPL-2.0-or-later
"""The cost of reading a capture, without a clock: calls, octets examined, memory held."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from unittest.mock import patch

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.messages import Messages
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.recovery import Recovery
from scapy_mpa.stream.segment import Segment
from scapy_mpa.wire import crc, sctp_packet
from tests.stream.work import calls, peak
from tests.truth import pcapfile

Read = Callable[[bytes], None]


def read_plainly(octets: bytes, *, limits: Limits | None = None) -> None:
    """Read a capture, and forget what was found."""
    for _ in Reading(open_capture(io.BytesIO(octets)), limits=limits).batches():
        pass


def read_messages(octets: bytes) -> None:
    """Read a capture up to the messages in it, and forget what was found."""
    messages = Messages()
    for batch in Reading(open_capture(io.BytesIO(octets))).batches():
        for event in batch:
            messages.take(event)


@dataclass(frozen=True)
class Work:
    """What reading took for one segment."""

    calls: float
    """Calls of functions, those written in C included."""
    octets: float
    """Octets read out of islands and run through CRCs."""


def work_of(read: Read, frames: Sequence[bytes]) -> Work:
    """Count the work of reading frames, and divide it by their number."""
    octets = pcapfile.pcap(frames)
    examined = 0

    def counting(function: Callable[..., int]) -> Callable[..., int]:
        def counted(data: bytes, *rest: int) -> int:
            nonlocal examined
            examined += len(data)
            return function(data, *rest)

        return counted

    read_from = Island.read

    def counting_read(island: Island, start: int, end: int) -> bytes:
        nonlocal examined
        examined += end - start
        return read_from(island, start, end)

    with (
        patch.object(crc, "crc32c", counting(crc.crc32c)),
        patch.object(sctp_packet, "crc32c", counting(sctp_packet.crc32c)),
        patch.object(Island, "read", counting_read),
    ):
        called = calls(lambda: read(octets))
    return Work(called / len(frames), examined / len(frames))


def longest_of(read: Read, frames: Iterable[bytes]) -> int:
    """The most calls that recovery makes for one segment."""
    most = 0
    take = Recovery.take

    def counted(recovery: Recovery, segment: Segment) -> None:
        nonlocal most
        most = max(most, calls(lambda: take(recovery, segment)))

    with patch.object(Recovery, "take", counted):
        read(pcapfile.pcap(frames))
    return most


def peak_of(read: Read, frames: Iterable[bytes]) -> int:
    """The most octets of memory that reading frames takes, the file itself not counted."""
    octets = pcapfile.pcap(frames)
    return peak(lambda: read(octets))
