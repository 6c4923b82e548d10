# SPDX-License-Identifier: GPL-2.0-or-later
"""Cleans captures, and lists what this project finds in a capture."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from scapy_mpa.capture import Decoder, Frame, open_capture
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.clean import Cleaner, Report, Written
from scapy_mpa.stream.events import Event, FPDURecovered
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.segment import Segment
from tests.capture.reading import shown


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


def renumbered(frames: Iterable[Frame]) -> list[Frame]:
    """Frames, numbered from 1."""
    return [frame._replace(number=number) for number, frame in enumerate(frames, 1)]


def frames_of(capture: Path | bytes) -> list[Frame]:
    """The frames of a capture that must be complete."""
    source = io.BytesIO(capture) if isinstance(capture, bytes) else capture
    with open_capture(source) as opened:
        frames = list(opened)
    assert opened.problem is None, opened.problem
    return frames


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
    flows = Flows()
    found = [event for each in segments(frames) for event in flows.receive(each)]
    return found + flows.finish()


def recovered(frames: Iterable[Frame]) -> list[FPDURecovered]:
    """All FPDUs of a capture."""
    return [each for each in events(frames) if isinstance(each, FPDURecovered)]


def fpdus(frames: Iterable[Frame]) -> Counter[tuple[bytes, int, bytes, str]]:
    """The number of FPDUs of a capture by flow, ULPDU_Length, ULPDU and CRC verdict."""
    return Counter(
        (each.connection.flows[each.direction], each.ulpdu_length, each.ulpdu, each.crc)
        for each in recovered(frames)
    )


def segments(frames: Iterable[Frame]) -> list[Segment]:
    """The TCP segments of a capture."""
    decoder = Decoder()
    return [segment for frame in frames if (segment := decoder.segment(frame)) is not None]


def startups(cleaned: Cleaned) -> list[bytes]:
    """The written startup frames."""
    payloads = [each.payload for each in segments(cleaned.frames)]
    return [each for each in payloads if each.startswith(b"MPA ID")]


def shown_fpdus(cleaned: Cleaned, tshark: str, path: Path) -> int:
    """The number of FPDUs that Wireshark finds in a cleaned capture, written to ``path``."""
    path.write_bytes(cleaned.file)
    options = ("-o", "tcp.try_heuristic_first:TRUE", "-Y", "iwarp_mpa.fpdu")
    lines = shown(tshark, path, "iwarp_mpa.ulpdulength", options=options)
    return sum(line.count(",") + 1 for line in lines)
