# SPDX-License-Identifier: GPL-2.0-or-later
"""Evidence for FPDUs in a row, without CRCs and startup frames.

A header alone is weak evidence.  Tables of numbers or of tags hold thousands of words that read as
headers, and lengths lead from one to the next.  So one FPDU must also continue the message of
another, or hold a Marker.
"""

from collections import Counter
from collections.abc import Sequence

from scapy_mpa.stream.fpdus.weights import CONTINUES, MARKER, PROOF, TAGGED, UNTAGGED
from scapy_mpa.wire.ddp import DDPHeader, ddp_header_of


class Evidence:
    """Adds up the evidence of the FPDUs of one row.

    Repetition is no evidence: a table repeats a record at a fixed distance, and lengths lead from
    one record to the next.  So each ULPDU_Length with its control octets counts once, and so does
    each Marker.  A number that counts by one seems to continue each payload of one octet.  So a
    step of TO counts only if it mostly is the length of the payload.

    A segment must begin where the one before it in its message ends (RFC 5041 5.2).  If most do
    not, Markers are at other positions: the supposed Markers are parts of TOs or MSNs.
    """

    __slots__ = ("_breaks", "_fpduptrs", "_heads", "_last", "_steps", "markers", "zeros")

    def __init__(self) -> None:
        # ULPDU_Lengths with control octets, and their bits.
        self._heads: dict[tuple[int, bytes], int] = {}
        self.markers = 0
        """Markers whose FPDUPTR is not 0."""
        self.zeros = 0
        """Markers of zeros, in FPDUs that were captured whole."""
        # FPDUPTRs other than 0.
        self._fpduptrs: set[int] = set()
        # The last segment of each STag or QN, and its octets of payload.
        self._last: dict[tuple[int | None, int | None], tuple[DDPHeader, int]] = {}
        # By step of TO (None: MSN and MO): how often it continues, less how often it does not.
        self._steps: Counter[int | None] = Counter()
        # How often an unfinished message does not continue, less how often it does.
        self._breaks = 0

    @property
    def bits(self) -> int:
        """Bits of headers, of Markers, and of segments that continue others."""
        return sum(self._heads.values()) + self._beyond_headers

    @property
    def _beyond_headers(self) -> int:
        continued = sum((+self._steps).values())
        return continued * CONTINUES + len(self._fpduptrs) * MARKER

    def is_proof(self, *, is_expected: bool) -> bool:
        """Return whether the evidence is enough.

        :param is_expected: whether FPDUs are expected; if not, headers that make sense are not
            enough.
        """
        return (
            self.bits >= PROOF and (is_expected or self._beyond_headers > 0) and self._breaks <= 0
        )

    def take(self, head: bytes, length: int, fpduptrs: Sequence[int], *, is_whole: bool) -> None:
        """Add the next FPDU.

        :param head: octets after its ULPDU_Length, without Markers, up to the end of its header.
        :param length: its ULPDU_Length.
        :param fpduptrs: those of its captured Markers.
        :param is_whole: whether all of it was captured; if not, zeros may be an unused CRC field.
        """
        header = ddp_header_of(head)
        if header is None:
            return
        bits = UNTAGGED if header.stag is None else TAGGED
        self._heads[length, bytes(head[:2])] = bits
        pointing = list(filter(None, fpduptrs))
        self.markers += len(pointing)
        self.zeros += (len(fpduptrs) - len(pointing)) * is_whole
        self._fpduptrs.update(pointing)
        buffer = header.stag, header.qn
        if buffer in self._last:
            self._compare(*self._last[buffer], header)
        self._last[buffer] = header, length - header.length

    def _compare(self, before: DDPHeader, payload: int, header: DDPHeader) -> None:
        """Count whether a segment continues the one before it with the same STag or QN."""
        goes_on = before.place_after(payload) == header.place
        if header.to is not None:
            step = header.to - (before.to or 0)
            # After a segment without payload, the same header may come again.
            if step:
                self._steps[step] += 1 if goes_on else -1
        else:
            self._steps[None] += goes_on and (before.last or payload > 0)
        if not before.last:
            self._breaks += -1 if goes_on else 1
