# SPDX-License-Identifier: GPL-2.0-or-later
"""Cleans captures, and lists what this project finds in a capture."""

import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from scapy_mpa.capture import Frame
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.clean import Cleaner, Report, Written
from scapy_mpa.stream.events import Event, FPDURecovered
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment
from tests.capture.reading import frames_of as frames_of
from tests.capture.reading import shown
from tests.stream import feed


class Cleaned(NamedTuple):
    """A cleaned capture."""

    written: list[Written]
    report: Report

    @property
    def frames(self) -> list[Frame]:
        """The written frames, numbered as a reader numbers them."""
        return renumbered(each.frame for each in self.written)

    @property
    def comments(self) -> list[str]:
        """The comments of the written frames."""
        return [each.comment for each in self.written if each.comment]

    @property
    def file(self) -> bytes:
        """The cleaned capture as a pcapng file."""
        file = io.BytesIO()
        writer = PcapngWriter(file)
        for each in self.written:
            writer.write(*each)
        return file.getvalue()

    @property
    def startups(self) -> list[bytes]:
        """The written startup frames."""
        payloads = [each.payload for each in segments(self.frames)]
        return [each for each in payloads if each.startswith(b"MPA ID")]

    def shown_fpdus(self, tshark: str, path: Path) -> int:
        """The number of FPDUs that Wireshark finds, after a file is written to ``path``."""
        path.write_bytes(self.file)
        options = ("-o", "tcp.try_heuristic_first:TRUE", "-Y", "iwarp_mpa.fpdu")
        lines = shown(tshark, path, "iwarp_mpa.ulpdulength", options=options)
        return sum(line.count(",") + 1 for line in lines)


def renumbered(frames: Iterable[Frame]) -> list[Frame]:
    """Frames, numbered from 1."""
    return [frame._replace(number=number) for number, frame in enumerate(frames, 1)]


def clean(frames: Iterable[Frame], limits: Limits | None = None, **options: Any) -> Cleaned:
    """Clean a capture; the cleaner must hold nothing at the end."""
    cleaner = Cleaner(limits=limits, **options)
    written = [each for frame in frames for each in cleaner.receive(frame)]
    written += cleaner.finish()
    assert not cleaner._orders
    assert cleaner._queue.held == 0
    return Cleaned(written, cleaner.report)


def events(frames: Iterable[Frame]) -> list[Event]:
    """All events of a capture."""
    return feed.feed(feed.decoded(frames))


def recovered(frames: Iterable[Frame]) -> list[FPDURecovered]:
    """All FPDUs of a capture."""
    return feed.fpdus(events(frames))


def fpdus(frames: Iterable[Frame]) -> Counter[tuple[bytes, int, bytes, str]]:
    """The number of FPDUs of a capture by flow, ULPDU_Length, ULPDU and CRC verdict."""
    return Counter(
        (each.connection.flows[each.direction], each.ulpdu_length, each.ulpdu, each.crc)
        for each in recovered(frames)
    )


def segments(frames: Iterable[Frame]) -> list[Segment]:
    """The TCP segments of a capture."""
    return list(feed.decoded(frames))
