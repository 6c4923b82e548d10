# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the frames of iWARP Framing for TCP in one direction, in stream order.

The rules (draft-williams-iwarp-ift-01 4.2 to 9):

* The first frame follows the adaption indication.  header_size and payload_size of each frame show
  where the next frame begins.  A frame with a wrong CRC is followed, too.
* Octets after a hole wait until the hole is filled.  If it stays, or if a header_size is that of no
  DDP header, nothing more is found: nothing in the stream marks where frames begin.
* If the sender allows it (SP), whole frames captured before octets that precede them are reported
  as placed speculatively.
"""

from typing import Final

from scapy_mpa.stream.events import CrcVerdict, IFTFrameRecovered
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import crc_is_good
from scapy_mpa.wire.ddp import DDP_HEADER_LENGTHS, ddp_header_length, ddp_header_of
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    FrameHeader,
    FrameLayout,
    frame_layout,
    parse_frame_header,
)
from scapy_mpa.wire.ift_indication import problem_text
from scapy_mpa.wire.ift_negotiation import Direction
from scapy_mpa.wire.rules import header_violation

_HEADER_SIZES: Final = " or ".join(map(str, DDP_HEADER_LENGTHS))


class IFTFraming:
    """Finds and reports the frames of one direction.

    :param half: the direction.
    :param origin: position of the first octet after the adaption indication.
    :param agreed: the properties of the direction's frames, from both indications.
    :param rdma: whether frames carry RDMAP.
    """

    __slots__ = ("_agreed", "_at", "_half", "_is_lost", "_latest", "_origin", "_rdma")

    def __init__(self, half: HalfConnection, origin: int, agreed: Direction, rdma: bool) -> None:
        self._half = half
        self._agreed = agreed
        self._rdma = rdma
        self._origin = origin
        self._at = origin
        """Where the next frame begins."""
        self._is_lost = agreed.markers
        """Whether no more frames are looked for.  Periodic markers are not defined (9)."""
        self._latest = 0, origin
        """The last captured frame that brought octets read so far, and where these begin."""

    @property
    def markers(self) -> bool:
        """Whether there are periodic markers."""
        return self._agreed.markers

    @property
    def crcs(self) -> str:
        """The CRCs of the frames: ``h``, ``p``, both or none."""
        return self._agreed.crcs

    def advance(self, island: Island) -> None:
        """Report the new frames in an island that has grown."""
        if not self._half.islands.lies_beyond(island):
            self._read(island)

    def finish(self, island: Island) -> None:
        """Report the last frames in an island whose end will not grow."""
        half, end = self._half, island.end
        start = self.give_up(island)
        half.release(island, island.start, end)
        if start < end and island.captured_until(start, end) < end:
            half.cut_off(start, end)
        elif start < end and (how := half.how_it_ended(end)) is not None:
            self._wrong(start, f"the connection was {how} {end - start} octets into a frame", "6")

    def give_up(self, island: Island) -> int:
        """Report the last frames in an island that is released early, although it could grow.

        Return where the octets without a frame begin.  More octets might have completed a frame.
        """
        self._read(island)
        start = island.end if self._is_lost else self._at
        self._is_lost |= start < island.end
        return start

    def _read(self, island: Island) -> None:
        """Report frame after frame until octets are missing."""
        self._is_lost |= self._at < island.start
        while not self._is_lost and (found := self._next(island)) is not None:
            header, layout = found
            self._report(island, header, layout)
            self._at += layout.length
        end = island.end if self._is_lost else min(self._at, island.end)
        self._half.release(island, island.start, end)

    def _next(self, island: Island) -> tuple[FrameHeader, FrameLayout] | None:
        """Return the next frame, None if it is not whole or if no frame begins there."""
        agreed, start = self._agreed, self._at
        end = start + FRAME_HEADER_LENGTH
        if end > island.end:
            return None
        if island.captured_until(start, end) < end:
            self._is_lost = True
            self._half.cut_off(start, island.end)
            return None
        header = parse_frame_header(island.read(start, end))
        if header.header_size not in DDP_HEADER_LENGTHS:
            self._is_lost = True
            self._wrong(start, f"no frame begins: header_size is not {_HEADER_SIZES}", "5.1")
            return None
        layout = frame_layout(header, header_crc=agreed.header_crc, payload_crc=agreed.payload_crc)
        return (header, layout) if start + layout.length <= island.end else None

    def _report(self, island: Island, header: FrameHeader, layout: FrameLayout) -> None:
        """Report the frame at ``_at`` and its faults."""
        half, agreed, start = self._half, self._agreed, self._at
        end = start + layout.length
        octets = island.read(start, island.captured_until(start, end))
        header_crc = _verdict(octets[: layout.payload], layout.payload, agreed.header_crc)
        payload_crc = _verdict(
            octets[layout.payload :], layout.length - layout.payload, agreed.payload_crc
        )
        half.counters.fpdus += 1
        if "bad" in (header_crc, payload_crc):
            half.counters.crc_bad += 1
        verdicts = ("h", header_crc), ("p", payload_crc)
        # The receiver does not check the CRCs that it ignores (4.2).
        faults = "".join(
            name for name, crc in verdicts if crc == "bad" and name not in agreed.ignored
        )
        problems = self._problems(header, octets[FRAME_HEADER_LENGTH:], faults)
        frames = island.frames(start, end)
        latest, latest_at = self._latest
        is_early = (
            agreed.speculative
            and max(frames) < latest
            and payload_crc != "unknown"
            and not problems
            and self._is_valid(header, octets[FRAME_HEADER_LENGTH : layout.header_end])
        )
        if is_early:
            half.counters.count_ahead(1, start - latest_at)
        self._latest = max(self._latest, (max(frames), start))
        half.owner.shared.rows.append(
            IFTFrameRecovered(
                *half.head(start),
                start - self._origin,
                header,
                octets,
                self._rdma,
                header_crc,
                payload_crc,
                "start" if start == self._origin else "length",
                is_early,
                frames,
                faults,
            )
        )
        for text, clause in problems:
            self._wrong(start, text, clause)

    def _is_valid(self, header: FrameHeader, octets: bytes) -> bool:
        """Return whether the fields of a DDP header are valid, as far as a capture shows (8.1)."""
        ddp = ddp_header_of(octets)
        if ddp is None:
            return False
        return header_violation(ddp, header.payload_size, rdmap=self._rdma) is None

    def _problems(self, header: FrameHeader, ddp: bytes, faults: str) -> list[tuple[str, str]]:
        """Return the faults for which a receiver must not accept a frame, with their clauses."""
        size, _, vtag = header
        expected = self._agreed.vtag
        length = ddp_header_length(ddp) if ddp else size
        other_vtag = f"the frame has VTag 0x{vtag:04x} instead of 0x{expected:04x}"
        other_size = f"header_size {size} is not the {length} octets of the DDP header"
        found = (
            ("h" in faults, "the header CRC does not match the frame", "5.1"),
            ("p" in faults, "the payload CRC does not match the payload", "5.1"),
            (vtag != expected, other_vtag, "4.2"),
            (length != size, other_size, "5.1"),
        )
        return [(text, clause) for is_found, text, clause in found if is_found]

    def _wrong(self, position: int, text: str, clause: str) -> None:
        """Report an error.  The draft defines no error codes."""
        self._half.wrong(None, position, problem_text(text, clause))


def _verdict(octets: bytes, length: int, is_on: bool) -> CrcVerdict:
    """Return the verdict on octets with their CRC.

    :param octets: those that were captured.
    :param length: the number of all octets.
    """
    if not is_on:
        return "off"
    if len(octets) < length:
        return "unknown"
    return "good" if crc_is_good(octets) else "bad"
