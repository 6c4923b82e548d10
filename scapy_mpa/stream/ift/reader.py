# SPDX-License-Identifier: GPL-2.0-or-later
"""One frame of iWARP Framing for TCP at a given place: what it says, and what speaks for it.

A frame is *proven* by its header CRC.  Without one its payload CRC proves it; without any, its VTag
and a DDP header that makes sense speak for it (draft-williams-iwarp-ift-01 5.1, 8.1).  A CRC that
its receiver ignores (IH, IP) may prove a frame, but says nothing against it (4.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from scapy_mpa.stream.events import CrcVerdict
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.wire.crc import CRC_LENGTH, crc_is_good
from scapy_mpa.wire.ddp import (
    DDP_HEADER_LENGTHS,
    UNTAGGED_LENGTH,
    ddp_header_length,
    parse_ddp,
)
from scapy_mpa.wire.ift_frame import (
    FRAME_HEADER_LENGTH,
    FrameHeader,
    FrameLayout,
    frame_layout,
    frame_pattern,
    parse_frame_header,
)
from scapy_mpa.wire.rdmap import plausible

__all__ = ["HEAD", "UNREADABLE", "Found", "FrameReader", "Head"]

HEAD: Final = FRAME_HEADER_LENGTH + UNTAGGED_LENGTH + CRC_LENGTH
"""Octets in which the longest head of a frame lies that makes sense."""

UNREADABLE: Final = -1
"""What is said of a frame whose IFT header was not captured."""

_DDP_VERSIONS: Final = (0, 1)
_ALLOWANCE: Final = 1 << 24
_ALLOWED_BY_OCTET: Final = 16
"""Octets of payloads, and of headers of strange sizes, of which CRCs may be checked where that is
no part of following the lengths: by a search, and where frames claim the same octets.  So many for
each octet of the stream, and so many before."""
_ALL: Final = 1 << 62
"""A place that no claim reaches."""

_FIRST_PIECE: Final = 1 << 7
_LARGEST_PIECE: Final = 1 << 16
"""Octets that are searched in one go: few at first, for mostly a frame begins soon; then twice as
many each time."""


class Head(NamedTuple):
    """What stands before a payload that is, or may be, a frame's; nothing is said of that."""

    start: int
    header: FrameHeader
    layout: FrameLayout
    octets: bytes
    """As far as they were captured, or are there."""
    crc: CrcVerdict
    makes_sense: bool
    """Whether header_size and VTag are right and the DDP header could be one."""
    fault: str
    """``h`` if its CRC is bad and its receiver checks that, else nothing."""

    @property
    def payload(self) -> int:
        """Where the payload begins."""
        return self.start + self.layout.payload

    @property
    def end(self) -> int:
        """Where the frame ends."""
        return self.start + self.layout.length

    @property
    def is_wrong(self) -> bool:
        """Whether it is none, whatever the payload says."""
        return bool(self.fault) or (self.crc != "good" and not self.makes_sense)


class Found(NamedTuple):
    """Octets that are, or may be, a frame."""

    start: int
    end: int
    header: FrameHeader
    layout: FrameLayout
    octets: bytes
    """As far as they were captured, or are there, and belong to no other that begins in them."""
    header_crc: CrcVerdict
    payload_crc: CrcVerdict
    makes_sense: bool
    """Whether header_size and VTag are right and the DDP header could be one."""
    proven: bool
    faults: str
    """The CRCs that are bad and that its receiver checks: ``h``, ``p``, both or none."""


class FrameReader:
    """Reads frames of one direction.

    :param header_crc: whether frames have header CRCs.
    :param payload_crc: whether they have payload CRCs.
    :param vtag: what they carry; None: that is not known.
    :param rdma: whether RDMAP is in them.
    :param ignored: which CRCs their receiver ignores: ``h``, ``p``, both or none (IH, IP).
    """

    __slots__ = (
        "_allowance",
        "_header_crc",
        "_ignored",
        "_pattern",
        "_payload_crc",
        "_rdma",
        "vtag",
    )

    def __init__(
        self,
        *,
        header_crc: bool,
        payload_crc: bool,
        vtag: int | None,
        rdma: bool,
        ignored: str = "",
    ) -> None:
        self._header_crc = header_crc
        self._payload_crc = payload_crc
        self._rdma = rdma
        self._ignored = ignored
        self._allowance = _ALLOWANCE
        self.learn(vtag)

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""
        return "h" * self._header_crc + "p" * self._payload_crc

    def learn(self, vtag: int | None) -> None:
        """Take note of the VTag that frames carry."""
        self.vtag = vtag
        self._pattern = frame_pattern(vtag)

    def allow(self, fresh: int) -> None:
        """Let searching take more for octets that have come."""
        self._allowance = min(self._allowance + _ALLOWED_BY_OCTET * fresh, _ALLOWANCE)

    def at(self, island: Island, start: int, limit: int, *, claimed: int) -> Head | int:
        """Return the head of the frame at a place; or the position up to which octets are needed.

        Of one of which the head is wrong, the payload need not be there.

        :param start: its position.
        :param limit: no octets behind it belong to the frame.
        :param claimed: see :meth:`whole`.
        """
        head = self._head(island, start, limit, claimed)
        if isinstance(head, int) or head.is_wrong or head.end <= limit:
            return head
        return head.end

    def _head(self, island: Island, start: int, limit: int, claimed: int) -> Head | int:
        """Return the head at a place; or the position up to which octets are needed for it."""
        header_end = start + FRAME_HEADER_LENGTH
        if header_end > limit:
            return header_end
        if island.absent and island.captured_until(start, header_end) < header_end:
            return UNREADABLE
        header = parse_frame_header(island.read(start, header_end))
        layout = frame_layout(header, header_crc=self._header_crc, payload_crc=self._payload_crc)
        payload = start + layout.payload
        if payload > limit and not self.is_hopeless(header):
            return payload
        upto = min(payload, limit)
        if start < claimed and header.header_size not in DDP_HEADER_LENGTHS:
            # There is a frame only if its CRC says so.
            if self._allowance <= 0:
                upto = header_end
            self._allowance -= max(0, min(upto, claimed) - header_end)
        octets = island.read(start, island.captured_until(start, upto) if island.absent else upto)
        crc = self._verdict(octets, payload - start, wanted=self._header_crc)
        fault = "h" if crc == "bad" and "h" not in self._ignored else ""
        return Head(start, header, layout, octets, crc, self._makes_sense(header, octets), fault)

    def whole(
        self, island: Island, head: Head, limit: int, *, claimed: int, upto: int | None = None
    ) -> Found:
        """Return a frame with its payload, as far as that is there.

        :param limit: no octets behind it belong to the frame.
        :param claimed: up to where frames before it claim octets, though it begins in what they
            claim.  To check a CRC over those once more takes of what is allowed; and if it does not
            prove them its own, they end where another begins.  Else each of very many frames could
            bring the same octets.
        :param upto: where its octets end if another frame begins there; None: that is found out.
        """
        end = min(head.end, limit)
        seen = island.captured_until(head.start, end) if island.absent else end
        is_again = head.payload < claimed
        may_check = not is_again or self._allowance > 0
        if upto is None and not may_check:
            upto = self._first_within(island, head.payload, end, limit)
            # To read them once more cannot come to more than what there is.
            may_check = upto is None
        octets = None
        payload_crc: CrcVerdict = "unknown" if self._payload_crc else "off"
        if self._payload_crc and seen == head.end and may_check:
            self._allowance -= max(0, min(head.end, claimed) - head.payload)
            octets = island.read(head.start, seen)
            payload_crc = self._verdict(
                octets[head.layout.payload :], head.end - head.payload, wanted=True
            )
        if upto is None and is_again and payload_crc != "good":
            upto = self._first_within(island, head.payload, end, limit)
        if octets is None:
            octets = island.read(head.start, seen if upto is None else min(seen, upto))
        elif upto is not None:
            octets = octets[: upto - head.start]
        faults = head.fault + self._payload_fault(payload_crc)
        return Found(
            head.start,
            head.end,
            head.header,
            head.layout,
            octets,
            head.crc,
            payload_crc,
            head.makes_sense,
            self._is_proven(head, payload_crc),
            faults,
        )

    def _first_within(self, island: Island, start: int, end: int, limit: int) -> int | None:
        """Return where the first frame begins, or may yet prove to, between two places."""
        for at in self._places(island, start, min(limit, end + FRAME_HEADER_LENGTH)):
            if self.convinces(island, at, limit, final=False) is not False:
                return at
        return None

    def _payload_fault(self, payload_crc: CrcVerdict) -> str:
        return "p" if payload_crc == "bad" and "p" not in self._ignored else ""

    def _is_proven(self, head: Head, payload_crc: CrcVerdict) -> bool:
        """Tell whether something speaks for a frame, and nothing against it."""
        if head.is_wrong:
            return False
        if "good" in (head.crc, payload_crc):
            return True
        return head.makes_sense and not self._payload_fault(payload_crc)

    def is_hopeless(self, header: FrameHeader) -> bool:
        """Tell whether nothing in an IFT header is as it must be."""
        is_strange = header.header_size not in DDP_HEADER_LENGTHS
        return is_strange and self.vtag is not None and header.vtag != self.vtag

    @staticmethod
    def _verdict(octets: bytes, length: int, *, wanted: bool) -> CrcVerdict:
        """Return what is to be said of a CRC behind what it covers.

        :param length: octets of both.
        """
        if not wanted:
            return "off"
        if len(octets) < length:
            return "unknown"
        return "good" if crc_is_good(octets) else "bad"

    def _makes_sense(self, header: FrameHeader, head: bytes) -> bool:
        """Tell whether an IFT header and the DDP header behind it could be those of a frame (8.1).

        :param head: the frame up to its payload, as far as it was captured.
        """
        if self.vtag is not None and header.vtag != self.vtag:
            return False
        size = header.header_size
        if size not in DDP_HEADER_LENGTHS:
            return False
        ddp = head[FRAME_HEADER_LENGTH : FRAME_HEADER_LENGTH + size]
        if not ddp:
            # The snap length cut it off.
            return True
        if ddp_header_length(ddp) != size:
            return False
        if len(ddp) < size:
            return True
        if self._rdma:
            return plausible(ddp, size + header.payload_size)
        told = parse_ddp(ddp)
        return not told.reserved and told.ddp_version in _DDP_VERSIONS

    # -- where no length leads -----------------------------------------------------------------

    def convinces(self, island: Island, start: int, limit: int, *, final: bool) -> bool | None:
        """Tell whether a frame begins at a place, beyond doubt; None if that cannot be told yet.

        A payload is looked at only where the header CRC cannot tell.

        :param start: its position.
        :param limit: no octets behind it belong to the frame.
        :param final: no more octets will come.
        """
        if start + HEAD > limit and not final:
            return None
        head = self._head(island, start, limit, _ALL)
        if isinstance(head, int):
            return False if final or head == UNREADABLE else None
        if head.is_wrong or not head.makes_sense:
            return False
        if head.crc == "good":
            # Its payload may be still to come.
            return self.vtag is not None or island.is_boundary(start)
        if head.end > limit:
            return False if final else None
        payload_crc = self._payload_verdict(island, head)
        if payload_crc is None or not self._is_proven(head, payload_crc):
            return False
        if payload_crc == "good" and head.header.payload_size:
            # The CRC of no octets is the same everywhere.
            return self.vtag is not None
        if "unknown" in (head.crc, payload_crc) or self.vtag is None:
            return False
        if island.fills_segments(start, head.end):
            return True
        if head.end + HEAD > limit and not final:
            return None
        return self._agrees(island, head.end, limit)

    def _agrees(self, island: Island, start: int, limit: int) -> bool:
        """Tell whether what stands behind a frame seems to be another."""
        behind = self.at(island, start, limit, claimed=_ALL)
        if isinstance(behind, int) or behind.is_wrong or not behind.makes_sense:
            return False
        if behind.crc == "good":
            return True
        payload_crc = self._payload_verdict(island, behind)
        return payload_crc is not None and self._is_proven(behind, payload_crc)

    def _payload_verdict(self, island: Island, head: Head) -> CrcVerdict | None:
        """Return what a search is to say of a payload CRC; None: no more of them may be checked."""
        if not self._payload_crc:
            return "off"
        if island.absent and island.captured_until(head.payload, head.end) < head.end:
            return "unknown"
        if self._allowance <= 0:
            return None
        self._allowance -= head.header.payload_size
        octets = island.read(head.payload, head.end)
        return self._verdict(octets, len(octets), wanted=True)

    def search(
        self,
        island: Island,
        start: int,
        limit: int,
        *,
        final: bool,
        done: Iterable[tuple[int, int]] = (),
    ) -> tuple[int | None, int]:
        """Return where the first frame begins that convinces, and up to where nothing does.

        What is not decided yet is found again from there.

        :param start: position from which to look.
        :param limit: no octets behind it belong to frames.
        :param final: no more octets will come.
        :param done: from where to where frames may begin that were looked for before.
        """
        begin = max(start, island.held)
        if begin >= limit:
            return None, max(start, min(begin, limit))
        for low, high in _others(begin, limit, done):
            for at in self._places(island, low, min(limit, high + FRAME_HEADER_LENGTH - 1)):
                verdict = self.convinces(island, at, limit, final=final)
                if verdict or verdict is None:
                    return (at if verdict else None), at
        return None, limit if final else max(begin, limit - FRAME_HEADER_LENGTH)

    def _places(self, island: Island, start: int, limit: int) -> Iterator[int]:
        """Yield where a frame may begin, by what its header says.

        :param start: position from which to look.
        :param limit: where the octets end that are looked at.
        """
        piece = _FIRST_PIECE
        upto = start
        while upto < limit:
            upto = min(start + piece, limit)
            octets = island.read(start, upto)
            match = self._pattern.search(octets)
            while match is not None:
                yield start + match.start()
                match = self._pattern.search(octets, match.start() + 1)
            # What begins here or behind it does not lie in the piece as a whole.
            start = max(start, upto - FRAME_HEADER_LENGTH)
            piece = min(2 * piece, _LARGEST_PIECE)


def _others(begin: int, end: int, done: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches between two places that are not done."""
    for low, high in sorted(done):
        if begin < low:
            yield begin, min(low, end)
        begin = max(begin, high)
    if begin < end:
        yield begin, end
