# SPDX-License-Identifier: GPL-2.0-or-later
"""The frames of iWARP Framing for TCP in one direction, in the order of its stream.

The rules (draft-williams-iwarp-ift-01 4.2 to 9):

* Frames follow each other from the end of the adaption indication on; header_size and payload_size
  of each say where the next one begins.
* A frame is *sound* if its header CRC is good.  Without a header CRC, or if its receiver ignores
  that (IH), its VTag must be right and its DDP header must make sense (5.1, 8.1).
* Any other frame is reported if its sizes lead to a sound one, or to the end of the capture.
* After anything else, and after a hole that stays, a frame is searched for: nothing in the stream
  says where frames begin.
* What lies beyond a hole waits for it.  If the sender allows it (SP), frames that came whole before
  the hole was filled are reported as placed speculatively.
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
from scapy_mpa.wire.ift_indication import Problem
from scapy_mpa.wire.ift_negotiation import Direction
from scapy_mpa.wire.rdmap import plausible

_HEAD: Final = FRAME_HEADER_LENGTH + UNTAGGED_LENGTH + CRC_LENGTH
"""Octets of the longest head."""
_PIECE: Final = 2_048
"""Octets that are searched in one go."""


class _NotYetError(Exception):
    """What must be known depends on octets that may still come."""


class _Octets(NamedTuple):
    """What was captured of a stretch."""

    island: Island
    is_final: bool
    """Whether nothing will be added to its end."""

    def reach(self, position: int) -> bool:
        """Tell whether there are octets up to a position.

        :raises _NotYetError: they may still come.
        """
        if position > self.island.end and not self.is_final:
            raise _NotYetError
        return position <= self.island.end


class _Head(NamedTuple):
    """What stands before the payload of what may be a frame."""

    start: int
    payload: int
    """Where the payload begins."""
    end: int
    """Where the frame ends; ``start`` if header_size cannot be right."""
    header: FrameHeader
    octets: bytes
    """As far as they were captured."""
    crc: CrcVerdict
    makes_sense: bool
    """Whether header_size and VTag are right and the DDP header could be one."""
    is_sound: bool


class IFTFraming:
    """Finds and reports the frames of one direction.

    :param half: the direction.
    :param origin: position of the first octet after the adaption indication.
    :param agreed: what the indications say of the direction.
    :param rdma: whether RDMAP is in the frames; None if the two sides disagree.
    """

    __slots__ = (
        *("_agreed", "_ahead", "_at", "_half", "_located_by"),
        *("_lost", "_origin", "_pattern", "_rdma", "_why"),
    )

    def __init__(
        self, half: HalfConnection, origin: int, agreed: Direction, rdma: bool | None
    ) -> None:
        self._half = half
        self._agreed = agreed
        self._rdma = rdma
        self._pattern = frame_pattern(agreed.vtag)
        self._ahead: list[tuple[int, int, int]] = []
        """Stretches that came beyond a hole: start, end, and where the hole begins; ascending."""
        self._origin = origin
        self._at = origin
        """Where the next frame begins; or how far it was searched for."""
        self._located_by: LocatedBy = "start"
        self._lost: int | None = None
        """Where octets begin in which no frame was found, None if a frame begins at ``_at``."""
        self._why: Literal["hole", "short", "broken"] = "hole"
        """Why that is so: a hole lies before them, a frame is not whole, or none begins there."""

    @property
    def markers(self) -> bool:
        """Whether there are periodic markers, which are not defined (9): nothing is framed then."""
        return self._agreed.markers

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""
        return self._agreed.crcs

    def advance(self, island: Island) -> None:
        """Report what can be found in an island that has grown."""
        islands = self._half.islands
        if not islands.lies_beyond(island):
            self._read(_Octets(island, is_final=False))
        elif self._agreed.speculative:
            ahead, start, end = self._ahead, island.start, island.end
            low, high = bisect_left(ahead, (start,)), bisect_right(ahead, (end,))
            ahead[low:high] = [(start, end, islands.front_end())]

    def finish(self, island: Island) -> None:
        """Report what can be found in an island to whose end nothing will be added."""
        self._read(_Octets(island, is_final=True))
        self._explain(island, island.end)

    def give_up(self, island: Island) -> int:
        """Report the same of an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """
        self._read(_Octets(island, is_final=True))
        lost = island.end if self._lost is None else self._lost
        self._skip_to(island.end)
        return lost

    def _skip_to(self, position: int) -> None:
        """Go on after octets that are of no use, if there are some."""
        if self._at < position or self._lost is not None:
            self._at = self._lost = position
            self._why = "hole"

    def _read(self, octets: _Octets) -> None:
        """Report frame after frame, as far as octets allow."""
        island = octets.island
        if self._at < island.start:
            self._skip_to(island.start)
        if self._agreed.markers:
            self._at = island.end
        with suppress(_NotYetError):
            while self._at < island.end:
                if self._lost is None:
                    self._follow(octets)
                else:
                    self._search(octets)
        self._half.release(island, island.start, min(self._at, island.end))

    def _follow(self, octets: _Octets) -> None:
        """Report the frame at ``_at``, or find that none begins there."""
        at, island = self._at, octets.island
        head = self._head(octets, at)
        is_whole = head is not None and octets.reach(head.end)
        if head is not None and is_whole and (head.is_sound or self._leads_on(octets, head)):
            self._report(island, head, self._payload_crc(island, head))
            self._at = head.end
            self._located_by = "length"
            return
        self._lost, self._at = at, at + 1
        is_short = head is None or (head.is_sound and not is_whole)
        self._why = "short" if is_short else "broken"

    def _head(self, octets: _Octets, start: int) -> _Head | None:
        """Return what stands at a place before a payload, None if octets are missing."""
        agreed, island = self._agreed, octets.island
        if not octets.reach(start + FRAME_HEADER_LENGTH):
            return None
        limit = min(start + _HEAD, island.end)
        there = island.read(start, island.captured_until(start, limit))
        # All zeros if the snap length has cut it.
        is_there = len(there) >= FRAME_HEADER_LENGTH
        header = parse_frame_header(there) if is_there else FrameHeader(0, 0, 0)
        if header.header_size not in DDP_HEADER_LENGTHS:
            return _Head(start, start, start, header, there, "unknown", False, False)
        layout = frame_layout(header, header_crc=agreed.header_crc, payload_crc=agreed.payload_crc)
        payload, end = start + layout.payload, start + layout.length
        if not octets.reach(payload):
            return None
        there = there[: layout.payload]
        crc: CrcVerdict = "off"
        if agreed.header_crc and len(there) < layout.payload:
            crc = "unknown"
        elif agreed.header_crc:
            crc = "good" if crc_is_good(there) else "bad"
        ddp = there[FRAME_HEADER_LENGTH : layout.header_end]
        makes_sense = header.vtag == agreed.vtag and self._suits(header, ddp)
        is_sound = crc == "good" or (makes_sense and not self._is_fault(crc, "h"))
        return _Head(start, payload, end, header, there, crc, makes_sense, is_sound)

    def _suits(self, header: FrameHeader, ddp: bytes) -> bool:
        """Tell whether a DDP header, as far as it was captured, may stand in a frame (8.1)."""
        size = header.header_size
        if ddp and ddp_header_length(ddp) != size:
            return False
        is_message = self._rdma and len(ddp) == size
        return not is_message or plausible(ddp, size + header.payload_size)

    def _is_fault(self, crc: CrcVerdict, which: str) -> bool:
        """Tell whether a CRC is bad and the receiver checks such CRCs (4.2).

        :param which: ``h`` or ``p``.
        """
        return crc == "bad" and which not in self._agreed.ignored

    def _payload_crc(self, island: Island, head: _Head) -> CrcVerdict:
        if not self._agreed.payload_crc:
            return "off"
        start, end = head.payload, head.end
        if island.captured_until(start, end) < end:
            return "unknown"
        return "good" if crc_is_good(island.read(start, end)) else "bad"

    def _leads_on(self, octets: _Octets, head: _Head) -> bool:
        """Tell whether something ends where the sizes of a frame say that is not sound."""
        is_at_end = head.end == octets.island.end
        return head.end > head.start and (is_at_end or self._convinces(octets, head.end))

    def _report(self, island: Island, head: _Head, payload_crc: CrcVerdict) -> None:
        """Report a frame and what is wrong with it."""
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
            self._wrong(start, *problem)

    def _hole_before(self, start: int, end: int) -> int | None:
        """Return where the hole began before which a frame came whole; None if it did not.

        What lies before the frame is forgotten: frames are reported in order.
        """
        ahead = self._ahead
        index = bisect_right(ahead, start, key=lambda each: each[0]) - 1
        if index < 0:
            return None
        del ahead[:index]
        return ahead[0][2] if end <= ahead[0][1] else None

    def _problems(self, head: _Head, faults: str) -> list[Problem]:
        """Return what a receiver must not accept of a frame."""
        size, _, vtag = head.header
        expected = self._agreed.vtag
        ddp = head.octets[FRAME_HEADER_LENGTH:]
        problems = []
        if "h" in faults:
            problems.append(Problem("the header CRC does not match the frame", "5.1"))
        if "p" in faults:
            problems.append(Problem("the payload CRC does not match the payload", "5.1"))
        if vtag != expected:
            text = f"the frame has VTag 0x{vtag:04x} instead of 0x{expected:04x}"
            problems.append(Problem(text, "4.2"))
        if ddp and (length := ddp_header_length(ddp)) != size:
            text = f"header_size {size} is not the {length} octets of the DDP header"
            problems.append(Problem(text, "5.1"))
        return problems

    def _wrong(self, position: int, text: str, clause: str = "5.1") -> None:
        """Report an error; the draft has no codes."""
        self._half.wrong(None, position, str(Problem(text, clause)))

    def _search(self, octets: _Octets) -> None:
        """Look for a frame, which then begins at ``_at``."""
        island = octets.island
        begin = max(self._at, island.held)
        for place in self._places(island, begin):
            self._at = place
            if self._convinces(octets, place):
                self._explain(island, place)
                self._lost = None
                self._located_by = "search"
                return
        # A header may begin in the last octets.
        rest = 0 if octets.is_final else FRAME_HEADER_LENGTH
        self._at = max(begin, island.end - rest)
        if not octets.is_final:
            raise _NotYetError

    def _places(self, island: Island, start: int) -> Iterator[int]:
        """Yield where frames may begin, by what their first octets say."""
        for low in range(start, island.end, _PIECE):
            octets = island.read(low, min(low + _PIECE + FRAME_HEADER_LENGTH, island.end))
            for match in self._pattern.finditer(octets):
                yield low + match.start()

    def _convinces(self, octets: _Octets, start: int) -> bool:
        """Tell whether a frame begins at a place, beyond doubt."""
        head = self._head(octets, start)
        if head is None or not (head.is_sound and head.makes_sense):
            return False
        if head.crc == "good":
            # Its payload may be still to come.
            return True
        if not octets.reach(head.end):
            return False
        payload_crc = self._payload_crc(octets.island, head)
        if payload_crc == "good" and head.payload + CRC_LENGTH < head.end:
            # The CRC of no octets is the same everywhere.
            return True
        if "unknown" in (head.crc, payload_crc) or self._is_fault(payload_crc, "p"):
            return False
        if octets.island.fills_segments(start, head.end):
            return True
        following = self._head(octets, head.end)
        return following is not None and following.is_sound and following.makes_sense

    def _explain(self, island: Island, end: int) -> None:
        """Say why no frame was found from ``_lost`` to a place.

        :param end: where a frame begins, or the octets end.
        """
        lost, half = self._lost, self._half
        if lost is None or lost == end or self._why == "hole":
            return
        if island.absent and island.captured_until(lost, end) < end:
            half.cut_off(lost, end)
        elif self._why == "broken" or end < island.end:
            self._wrong(lost, f"{end - lost} octets in which no frame begins")
        elif (how := half.how_it_ended(end)) is not None:
            self._wrong(lost, f"the connection was {how} {end - lost} octets into a frame", "6")
