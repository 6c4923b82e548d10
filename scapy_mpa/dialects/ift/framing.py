# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds the frames of iWARP Framing for TCP in one direction, in stream order.

The rules (draft-williams-iwarp-ift-01 4.2 to 9):

* The first frame follows the adaption indication.  header_size and payload_size of each frame show
  where the next frame begins.
* A frame is *sound* if its header CRC is good.  Without a header CRC, or if the receiver ignores
  header CRCs (IH), its VTag must be right and its DDP header must make sense (5.1, 8.1).
* A frame that is not sound is reported if its sizes lead to a sound frame, or to the end of the
  capture.
* After other octets, and after a hole that stays open, only a search finds the next frame: nothing
  in the stream marks where frames begin.
* Octets after a hole wait until the hole is filled or given up.  If the sender allows it (SP),
  frames captured whole before the hole was filled are reported as placed speculatively.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from scapy_mpa.stream.events import CrcVerdict, IFTFrameRecovered, LocatedBy
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import CRC_LENGTH, crc_is_good
from scapy_mpa.wire.ddp import (
    DDP_HEADER_LENGTHS,
    UNTAGGED_LENGTH,
    ddp_header_length,
)
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    FrameHeader,
    frame_layout,
    frame_pattern,
    parse_frame_header,
)
from scapy_mpa.wire.ift_indication import problem_text
from scapy_mpa.wire.ift_negotiation import Direction
from scapy_mpa.wire.rdmap import plausible

_HEAD: Final = FRAME_HEADER_LENGTH + UNTAGGED_LENGTH + CRC_LENGTH
"""Octets of the longest frame header, DDP header and header CRC."""
_PIECE: Final = 2_048
"""Octets that one step of the search reads."""


class _NotYetError(Exception):
    """The next step needs octets that may still be captured."""


class _Octets(NamedTuple):
    """The island to read, and whether it can still grow."""

    island: Island
    is_final: bool
    """Whether its end will not grow."""

    def reach(self, position: int) -> bool:
        """True if the island reaches a position.

        :raises _NotYetError: it may reach the position later.
        """
        if position > self.island.end and not self.is_final:
            raise _NotYetError
        return position <= self.island.end


class _Head(NamedTuple):
    """The octets of a possible frame before its payload: headers and header CRC."""

    start: int
    payload: int
    """Where the payload begins."""
    end: int
    """Where the frame ends; ``start`` if header_size cannot be right."""
    header: FrameHeader
    octets: bytes
    """The captured octets of it."""
    crc: CrcVerdict
    makes_sense: bool
    """Whether header_size and VTag are right and the DDP header is possible."""
    is_sound: bool


class IFTFraming:
    """Finds and reports the frames of one direction.

    :param half: the direction.
    :param origin: position of the first octet after the adaption indication.
    :param agreed: the properties of the direction's frames, from both indications.
    :param rdma: whether frames carry RDMAP; None if the two sides disagree.
    """

    __slots__ = (
        *("_agreed", "_ahead", "_at", "_half", "_located_by"),
        *("_origin", "_pattern", "_rdma", "_unframed_by", "_unframed_from"),
    )

    def __init__(
        self, half: HalfConnection, origin: int, agreed: Direction, rdma: bool | None
    ) -> None:
        self._half = half
        self._agreed = agreed
        self._rdma = rdma
        self._pattern = frame_pattern(agreed.vtag)
        self._ahead: list[tuple[int, int, int]] = []
        """Stretches captured after an open hole: start, end, start of the hole; ascending."""
        self._origin = origin
        self._at = origin
        """Where the next frame begins, or the position up to which the search came."""
        self._located_by: LocatedBy = "start"
        self._unframed_from: int | None = None
        """Where octets without a frame begin, None if a frame begins at ``_at``."""
        self._unframed_by: Literal["hole", "short", "broken"] = "hole"
        """Why no frame is there: after a hole, a frame not whole, or octets that are no frame."""

    @property
    def markers(self) -> bool:
        """Whether there are periodic markers.  These are not defined (9), so no frame is found."""
        return self._agreed.markers

    @property
    def crcs(self) -> str:
        """The CRCs of the frames: ``h``, ``p``, both or none."""
        return self._agreed.crcs

    def advance(self, island: Island) -> None:
        """Report the new frames in an island that has grown."""
        islands = self._half.islands
        if not islands.lies_beyond(island):
            self._read(_Octets(island, is_final=False))
        elif self._agreed.speculative:
            ahead, start, end = self._ahead, island.start, island.end
            low, high = bisect_left(ahead, (start,)), bisect_right(ahead, (end,))
            ahead[low:high] = [(start, end, islands.front_end())]

    def finish(self, island: Island) -> None:
        """Report the last frames in an island whose end will not grow."""
        self._read(_Octets(island, is_final=True))
        self._report_unframed(island, island.end)

    def give_up(self, island: Island) -> int:
        """Report the last frames in an island that is released early, although it could grow.

        Return where the octets without a frame begin.  More octets might have completed a frame.
        """
        self._read(_Octets(island, is_final=True))
        unframed_from = island.end if self._unframed_from is None else self._unframed_from
        self._skip_to(island.end)
        return unframed_from

    def _skip_to(self, position: int) -> None:
        """Search from a position on, if octets without a frame lie before it."""
        if self._at < position or self._unframed_from is not None:
            self._at = self._unframed_from = position
            self._unframed_by = "hole"

    def _read(self, octets: _Octets) -> None:
        """Report frame after frame until octets are missing."""
        island = octets.island
        if self._at < island.start:
            self._skip_to(island.start)
        if self._agreed.markers:
            self._at = island.end
        with suppress(_NotYetError):
            while self._at < island.end:
                if self._unframed_from is None:
                    self._follow(octets)
                else:
                    self._search(octets)
        self._half.release(island, island.start, min(self._at, island.end))

    def _follow(self, octets: _Octets) -> None:
        """Report the frame at ``_at``, or note that no frame begins there."""
        at, island = self._at, octets.island
        head = self._head(octets, at)
        is_whole = head is not None and octets.reach(head.end)
        if head is not None and is_whole and (head.is_sound or self._sizes_lead_on(octets, head)):
            self._report(island, head, self._payload_crc(island, head))
            self._at = head.end
            self._located_by = "length"
            return
        self._unframed_from, self._at = at, at + 1
        is_short = head is None or (head.is_sound and not is_whole)
        self._unframed_by = "short" if is_short else "broken"

    def _head(self, octets: _Octets, start: int) -> _Head | None:
        """Return the possible frame at a position, None if its headers are incomplete."""
        agreed, island = self._agreed, octets.island
        if not octets.reach(start + FRAME_HEADER_LENGTH):
            return None
        limit = min(start + _HEAD, island.end)
        captured = island.read(start, island.captured_until(start, limit))
        # If the snap length cut the header off, use zeros.
        has_header = len(captured) >= FRAME_HEADER_LENGTH
        header = parse_frame_header(captured) if has_header else FrameHeader(0, 0, 0)
        if header.header_size not in DDP_HEADER_LENGTHS:
            return _Head(start, start, start, header, captured, "unknown", False, False)
        layout = frame_layout(header, header_crc=agreed.header_crc, payload_crc=agreed.payload_crc)
        payload, end = start + layout.payload, start + layout.length
        if not octets.reach(payload):
            return None
        captured = captured[: layout.payload]
        crc: CrcVerdict = "off"
        if agreed.header_crc and len(captured) < layout.payload:
            crc = "unknown"
        elif agreed.header_crc:
            crc = "good" if crc_is_good(captured) else "bad"
        ddp = captured[FRAME_HEADER_LENGTH : layout.header_end]
        makes_sense = header.vtag == agreed.vtag and self._fits(header, ddp)
        is_sound = crc == "good" or (makes_sense and not self._is_fault(crc, "h"))
        return _Head(start, payload, end, header, captured, crc, makes_sense, is_sound)

    def _fits(self, header: FrameHeader, ddp: bytes) -> bool:
        """True if the captured part of a DDP header fits the frame header (8.1)."""
        size = header.header_size
        if ddp and ddp_header_length(ddp) != size:
            return False
        is_message = self._rdma and len(ddp) == size
        return not is_message or plausible(ddp, size + header.payload_size)

    def _is_fault(self, crc: CrcVerdict, which: str) -> bool:
        """True if a CRC is bad and the receiver checks CRCs of this kind (4.2).

        :param which: ``h`` for header CRCs or ``p`` for payload CRCs.
        """
        return crc == "bad" and which not in self._agreed.ignored

    def _payload_crc(self, island: Island, head: _Head) -> CrcVerdict:
        if not self._agreed.payload_crc:
            return "off"
        start, end = head.payload, head.end
        if island.captured_until(start, end) < end:
            return "unknown"
        return "good" if crc_is_good(island.read(start, end)) else "bad"

    def _sizes_lead_on(self, octets: _Octets, head: _Head) -> bool:
        """True if the sizes of an unsound frame lead to a certain frame, or to the last octet."""
        is_at_end = head.end == octets.island.end
        return head.end > head.start and (is_at_end or self._is_certain(octets, head.end))

    def _report(self, island: Island, head: _Head, payload_crc: CrcVerdict) -> None:
        """Report a frame and its faults."""
        half, start, end = self._half, head.start, head.end
        half.fpdus += 1
        if "bad" in (head.crc, payload_crc):
            half.crc_bad += 1
        faults = "h" * self._is_fault(head.crc, "h") + "p" * self._is_fault(payload_crc, "p")
        problems = self._problems(head, faults)
        hole = None
        if head.makes_sense and not problems and payload_crc != "unknown":
            hole = self._hole_before(start, end)
        if hole is not None:
            half.count_ahead(1, start - hole)
        half.owner.common.emit(
            IFTFrameRecovered(
                *half.head(start),
                start - self._origin,
                head.header,
                island.read(start, island.captured_until(start, end)),
                self._rdma,
                head.crc,
                payload_crc,
                self._located_by,
                hole is not None,
                island.frames(start, end),
                faults,
            )
        )
        for problem in problems:
            self._half.wrong(None, start, problem)

    def _hole_before(self, start: int, end: int) -> int | None:
        """Return where the hole began that was open when a whole frame was captured, None if none
        was.

        Stretches before the frame are forgotten, since frames are reported in order.
        """
        ahead = self._ahead
        index = bisect_right(ahead, start, key=lambda stretch: stretch[0]) - 1
        if index < 0:
            return None
        del ahead[:index]
        return ahead[0][2] if end <= ahead[0][1] else None

    def _problems(self, head: _Head, faults: str) -> list[str]:
        """Return the faults for which a receiver must not accept a frame."""
        size, _, vtag = head.header
        expected = self._agreed.vtag
        ddp = head.octets[FRAME_HEADER_LENGTH:]
        problems = []
        if "h" in faults:
            problems.append(problem_text("the header CRC does not match the frame", "5.1"))
        if "p" in faults:
            problems.append(problem_text("the payload CRC does not match the payload", "5.1"))
        if vtag != expected:
            text = f"the frame has VTag 0x{vtag:04x} instead of 0x{expected:04x}"
            problems.append(problem_text(text, "4.2"))
        if ddp and (length := ddp_header_length(ddp)) != size:
            text = f"header_size {size} is not the {length} octets of the DDP header"
            problems.append(problem_text(text, "5.1"))
        return problems

    def _wrong(self, position: int, text: str, clause: str = "5.1") -> None:
        """Report an error.  The draft defines no error codes."""
        self._half.wrong(None, position, problem_text(text, clause))

    def _search(self, octets: _Octets) -> None:
        """Search for a frame, and set ``_at`` to it, or to where the search goes on."""
        island = octets.island
        begin = max(self._at, island.held)
        for position in self._likely_starts(island, begin):
            self._at = position
            if self._is_certain(octets, position):
                self._report_unframed(island, position)
                self._unframed_from = None
                self._located_by = "search"
                return
        # A frame header may begin in the last octets.
        rest = 0 if octets.is_final else FRAME_HEADER_LENGTH
        self._at = max(begin, island.end - rest)
        if not octets.is_final:
            raise _NotYetError

    def _likely_starts(self, island: Island, start: int) -> Iterator[int]:
        """Yield the positions whose octets look like the beginning of a frame."""
        for low in range(start, island.end, _PIECE):
            octets = island.read(low, min(low + _PIECE + FRAME_HEADER_LENGTH, island.end))
            for match in self._pattern.finditer(octets):
                yield low + match.start()

    def _is_certain(self, octets: _Octets, start: int) -> bool:
        """True if a frame certainly begins at a position."""
        head = self._head(octets, start)
        if head is None or not (head.is_sound and head.makes_sense):
            return False
        if head.crc == "good":
            # This is enough, even if the payload was not captured yet.
            return True
        if not octets.reach(head.end):
            return False
        payload_crc = self._payload_crc(octets.island, head)
        if payload_crc == "good" and head.payload + CRC_LENGTH < head.end:
            # The CRC of an empty payload would prove nothing.
            return True
        if "unknown" in (head.crc, payload_crc) or self._is_fault(payload_crc, "p"):
            return False
        if octets.island.fills_segments(start, head.end):
            return True
        following = self._head(octets, head.end)
        return following is not None and following.is_sound and following.makes_sense

    def _report_unframed(self, island: Island, end: int) -> None:
        """Report why the octets from ``_unframed_from`` on are in no frame.

        :param end: where a frame begins, or the octets end.
        """
        start, half = self._unframed_from, self._half
        if start is None or start == end or self._unframed_by == "hole":
            return
        if island.absent and island.captured_until(start, end) < end:
            half.cut_off(start, end)
        elif self._unframed_by == "broken" or end < island.end:
            self._wrong(start, f"{end - start} octets in which no frame begins")
        elif (how := half.how_it_ended(end)) is not None:
            self._wrong(start, f"the connection was {how} {end - start} octets into a frame", "6")
