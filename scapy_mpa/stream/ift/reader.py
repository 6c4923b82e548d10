# SPDX-License-Identifier: GPL-2.0-or-later
"""One frame of iWARP Framing for TCP at a given place: what it says, and what speaks for it.

A frame is *proven* by its header CRC.  Without one its payload CRC proves it; without any, its VTag
and a DDP header that makes sense speak for it (draft-williams-iwarp-ift-01 5.1, 8.1).  A CRC that
its receiver ignores (IH, IP) may prove a frame, but says nothing against it (4.2).
"""

from __future__ import annotations

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

__all__ = ["HEAD", "UNREADABLE", "Found", "FrameReader"]

HEAD: Final = FRAME_HEADER_LENGTH + UNTAGGED_LENGTH + CRC_LENGTH
"""Octets in which the longest head of a frame lies that makes sense."""

UNREADABLE: Final = -1
"""What is said of a frame whose IFT header was not captured."""

_DDP_VERSIONS: Final = (0, 1)
_ALLOWANCE: Final = 1 << 24
_ALLOWED_BY_OCTET: Final = 16
"""Octets of payload that a search may check the CRCs of, where there are no header CRCs: so many
for each octet of the stream, and so many before."""


class Found(NamedTuple):
    """Octets that are, or may be, a frame."""

    start: int
    end: int
    header: FrameHeader
    layout: FrameLayout
    octets: bytes
    """As far as they were captured, or are there."""
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

    def at(self, island: Island, start: int, limit: int) -> Found | int:
        """Return the frame at a place; or the position up to which octets are needed to tell.

        One of which the header is wrong is returned though its payload may not be there.

        :param start: its position.
        :param limit: no octets behind it belong to the frame.
        """
        if start + FRAME_HEADER_LENGTH > limit:
            return start + FRAME_HEADER_LENGTH
        if island.absent and island.captured_until(start, start + FRAME_HEADER_LENGTH) < (
            start + FRAME_HEADER_LENGTH
        ):
            return UNREADABLE
        header = parse_frame_header(island.read(start, start + FRAME_HEADER_LENGTH))
        layout = frame_layout(header, header_crc=self._header_crc, payload_crc=self._payload_crc)
        payload, end = start + layout.payload, start + layout.length
        if payload > limit and not self.is_hopeless(header):
            return payload
        seen = island.captured_until(start, min(end, limit)) if island.absent else limit
        head = island.read(start, min(payload, seen))
        header_crc = self._verdict(head, payload - start, wanted=self._header_crc)
        makes_sense = self._makes_sense(header, head)
        faults = "h" if header_crc == "bad" and "h" not in self._ignored else ""
        if faults or (header_crc != "good" and not makes_sense):
            octets = island.read(start, min(end, seen))
            unseen: CrcVerdict = "unknown" if self._payload_crc else "off"
            if end <= min(limit, seen):
                unseen = self._verdict(
                    octets[layout.payload :], end - payload, wanted=self._payload_crc
                )
            faults += self._payload_faults(unseen)
            return Found(
                start, end, header, layout, octets, header_crc, unseen, makes_sense, False, faults
            )
        if end > limit:
            return end
        octets = island.read(start, min(end, seen))
        payload_crc = self._verdict(
            octets[layout.payload :], end - payload, wanted=self._payload_crc
        )
        faults = self._payload_faults(payload_crc)
        proven = header_crc == "good" or payload_crc == "good"
        if header_crc != "good" and not faults:
            proven = proven or makes_sense
        return Found(
            start, end, header, layout, octets, header_crc, payload_crc, makes_sense, proven, faults
        )

    def _payload_faults(self, payload_crc: CrcVerdict) -> str:
        return "p" if payload_crc == "bad" and "p" not in self._ignored else ""

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

        :param start: its position.
        :param limit: no octets behind it belong to the frame.
        :param final: no more octets will come.
        """
        if start + HEAD > limit and not final:
            return None
        found = self.at(island, start, limit)
        if isinstance(found, int):
            if self._header_crc and self._has_good_head(island, start, limit):
                # Its payload is still to come.
                return True
            return False if final or found == UNREADABLE else None
        if not found.makes_sense or not found.proven:
            return False
        if found.header_crc == "good":
            return self.vtag is not None or island.is_boundary(start)
        if found.payload_crc == "good" and found.header.payload_size:
            # The CRC of no octets is the same everywhere.
            return self.vtag is not None
        if found.header_crc == "unknown" or found.payload_crc == "unknown" or self.vtag is None:
            return False
        if island.fills_segments(start, found.end):
            return True
        if found.end + HEAD > limit and not final:
            return None
        behind = self.at(island, found.end, limit)
        return not isinstance(behind, int) and behind.makes_sense and behind.proven

    def _has_good_head(self, island: Island, start: int, limit: int) -> bool:
        """Tell whether the header CRC of a frame is there and good, and its header makes sense."""
        if start + FRAME_HEADER_LENGTH > limit:
            return False
        header = parse_frame_header(island.read(start, start + FRAME_HEADER_LENGTH))
        if header.header_size not in DDP_HEADER_LENGTHS:
            return False
        payload = start + FRAME_HEADER_LENGTH + header.header_size + CRC_LENGTH
        if payload > limit or island.captured_until(start, payload) < payload:
            return False
        head = island.read(start, payload)
        knows = self.vtag is not None or island.is_boundary(start)
        return knows and crc_is_good(head) and self._makes_sense(header, head)

    def search(
        self, island: Island, start: int, limit: int, *, final: bool
    ) -> tuple[int | None, int]:
        """Return where the first frame begins that convinces, and up to where nothing does.

        What is not decided yet is found again from there.

        :param start: position from which to look.
        :param limit: no octets behind it belong to frames.
        :param final: no more octets will come.
        """
        begin = max(start, island.held)
        if begin >= limit:
            return None, max(start, min(begin, limit))
        octets = island.read(begin, limit)
        match = self._pattern.search(octets)
        is_cheap = self._header_crc and "h" not in self._ignored
        while match is not None:
            at = begin + match.start()
            if not is_cheap:
                self._allowance -= int.from_bytes(
                    octets[match.start() + 2 : match.start() + 4], "big"
                )
            verdict = (is_cheap or self._allowance > 0) and self.convinces(
                island, at, limit, final=final
            )
            if verdict or verdict is None:
                return (at if verdict else None), at
            match = self._pattern.search(octets, match.start() + 1)
        return None, limit if final else max(begin, limit - FRAME_HEADER_LENGTH)
