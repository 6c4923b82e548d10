# SPDX-License-Identifier: GPL-2.0-or-later
"""What speaks for FPDUs in a row where neither CRCs nor startup frames do.

A header alone is little: tables of numbers or of tags hold thousands of words that read as one, at
places to which lengths lead.  So one FPDU must also go on where another ended, or hold a Marker.
"""

from collections import Counter
from collections.abc import Sequence

from scapy_mpa.stream.fpdus.weights import CONTINUES, MARKER, PROOF, TAGGED, UNTAGGED
from scapy_mpa.wire.ddp import DDPHeader, ddp_header_of


class Evidence:
    """Adds up what the FPDUs of one row show.

    What comes again says nothing new: a table repeats a record at a fixed distance, and lengths
    lead from one record to the next.  So each ULPDU_Length with its control octets counts once, and
    each Marker.  A number that counts by one, say, seems to go on after each payload of one octet:
    so a step of TO counts only if more often than not it is the length of the payload.

    Segments of one message must go on where the one before ended (RFC 5041 5.2).  If more often
    than not they do not, Markers are elsewhere: what seems to be some is part of each TO or MSN.
    """

    __slots__ = ("_broken", "_heads", "_last", "_said", "_steps", "markers", "zeros")

    def __init__(self) -> None:
        # ULPDU_Lengths with control octets, and their bits.
        self._heads: dict[tuple[int, bytes], int] = {}
        self.markers = 0
        """Markers that say more than 0."""
        self.zeros = 0
        """Markers of zeros, in FPDUs that were captured whole."""
        # What these say.
        self._said: set[int] = set()
        # The last segment of each STag or QN, and how many octets of payload it has.
        self._last: dict[tuple[int | None, int | None], tuple[DDPHeader, int]] = {}
        # How far TO goes on, None for MSN and MO, and how often rightly, less how often not.
        self._steps: Counter[int | None] = Counter()
        # How often a message does not go on that must, less how often it does.
        self._broken = 0

    @property
    def bits(self) -> int:
        """What headers and Markers show, and that segments go on where others end."""
        return sum(self._heads.values()) + self._more

    @property
    def _more(self) -> int:
        continued = sum((+self._steps).values())
        return continued * CONTINUES + len(self._said) * MARKER

    def is_proof(self, *, sure: bool) -> bool:
        """Tell whether it is enough.

        :param sure: whether FPDUs are to be expected; if not, it must be more than headers that
            make sense.
        """
        return self.bits >= PROOF and (sure or self._more > 0) and self._broken <= 0

    def take(self, head: bytes, length: int, said: Sequence[int], *, is_whole: bool) -> None:
        """Take the next FPDU.

        :param head: octets after its ULPDU_Length, without Markers, up to the end of its header.
        :param length: its ULPDU_Length.
        :param said: what those of its Markers say that were captured.
        :param is_whole: whether all of it was: where not, zeros may be an unused CRC field.
        """
        header = ddp_header_of(head)
        if header is None:
            return
        bits = UNTAGGED if header.stag is None else TAGGED
        self._heads[length, bytes(head[:2])] = bits
        telling = list(filter(None, said))
        self.markers += len(telling)
        self.zeros += (len(said) - len(telling)) * is_whole
        self._said.update(telling)
        buffer = header.stag, header.qn
        if buffer in self._last:
            self._compare(*self._last[buffer], header)
        self._last[buffer] = header, length - header.length

    def _compare(self, before: DDPHeader, payload: int, header: DDPHeader) -> None:
        """See whether a segment continues the one before with its STag or QN."""
        goes_on = before.place_after(payload) == header.place
        if header.to is not None:
            step = header.to - (before.to or 0)
            # Of one without payload, the next header is the same one again.
            if step:
                self._steps[step] += 1 if goes_on else -1
        else:
            self._steps[None] += goes_on and (before.last or payload > 0)
        if not before.last:
            self._broken += -1 if goes_on else 1
