# SPDX-License-Identifier: GPL-2.0-or-later
"""Which FPDUs of a capture must be found, which may be found, and how they are reported.

Any other report is false.  The rules say what the octets prove, not how a program finds it.
``docs/recovery.md`` gives them in prose.  An FPDU is *whole* if every octet of it was captured (the
first captured copy of an octet counts, RFC 5044 A.3).  It is *good* if it is whole and its CRC
fits.

With CRCs:

1. A good FPDU must be found if it is known that there are FPDUs and where Markers are
   (``_knows_enough``).  Otherwise it may be found.
2. An FPDU starts for certain where a good one ends, and where the Full Operation Phase begins.  A
   damaged FPDU that starts there must be reported, with the values of its fields.  If its length is
   wrong, one of two conditions must hold: all octets that it claims were captured; or it was
   captured whole and a good FPDU follows in the same stretch, which shows that the length is wrong.
   Of several damaged FPDUs in a row, the second and later ones must be reported if their headers
   are intact and a good FPDU follows.  All this holds if it is known where Markers are, or that
   there are none (``_knows_places``).  If not, nothing shows how many Markers they hold, and they
   may be reported.
3. Any other damaged FPDU may be reported with the values of its fields.  The same holds for a
   garbled FPDU, where the first captured copy differs from the sender's octets.  A good FPDU alone
   between two garbled ones need not be found: only its CRC distinguishes it from payload.  Good
   FPDUs in a row between a hole and a garbled one need not be found: they may be payload, too.

Without CRCs, a whole FPDU must be found if its start is certain or anchored:

4. The start of the phase is certain if both startup frames were captured.  The end of a whole FPDU
   is certain if its start is certain and its length is right.
5. A Marker anchors the FPDU around it (RFC 5044 4.3), if it is known where Markers are.
6. ``ROW`` whole FPDUs in a row anchor the first of them: about 13 bits of each tagged header, and
   about 43 of an untagged one, have fixed values.  FPDUs that a wrong ULPDU_Length claims do not
   count: only a Marker shows that it is wrong.  Neither do FPDUs that a forged FPDUPTR claims
   (``_marker_claims``): a true one looks the same after a payload that holds FPDUs.

Any other whole FPDU may be found.

If no startup frame was captured, and the other direction shows no FPDUs, headers that make sense
do not prove FPDUs: tables of other protocols hold as many.  So a row must show ``PROOF`` bits in
all, and more than headers (``_proves``).  It needs a Marker above 0, or an FPDU that continues an
earlier one: then two numbers of at least 32 bits have fixed values (RFC 5041 5).  Headers that
repeat, as records of a table do, add no evidence.

If frames were cut to a snap length:

7. An FPDU with a captured header, but not all octets, must be reported with its captured payload if
   its start is certain.  Otherwise it may be reported.  Its end is certain if its start is certain
   and its ULPDU_Length was captured.  Both hold if it is known where Markers are: nothing else
   shows how many of them were cut off (``_knows_markers``).  The CRC may be reported as unknown if
   a startup frame is missing: nothing shows whether CRCs are off, since the CRC field was cut off.
   The same holds for a whole FPDU without CRC: its CRC field may hold anything.
8. What was cut off the first copy stays cut off.  Octets of a later copy may be used or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .captured import Captured
from .dimensions import Dimensions
from .headers import Header, header_length, header_of
from .impair import Half, Segment
from .mpastream import TrueFPDU
from .wanted import Statement, Wanted

ROW = 3
ROW_OF_UNKNOWN = 8
"""Whole FPDUs in a row that show what a direction without CRCs carries, if nothing else does."""
OCTETS_OF_UNKNOWN = 1536
"""Octets that such a row must have: enough for three Markers."""
MARKERS_NEEDED = 2
"""So many Markers above 0 in a row of FPDUs show where Markers are.  A single one may be an MSN.
Markers directly before a ULPDU_Length do not count."""

PROOF = 40
"""Bits that a row must show.  64 MiB have 2^26 places.  By chance, one
of 2^14 such captures has a row that does so."""
TAGGED_BITS, UNTAGGED_BITS, CONTINUATION_BITS, MARKER_BITS = 13, 43, 24, 28

MARKER_INTERVAL = 512


def findable(
    halves: tuple[Half, Half], segments: Sequence[tuple[Segment, int]], dimensions: Dimensions
) -> dict[tuple[int, int], Wanted]:
    """The FPDUs that must or may be found, by direction and sequence number."""
    sides = tuple(
        _Side(half, Captured(segments, half, direction), direction, dimensions)
        for direction, half in enumerate(halves)
    )
    return {
        (side.direction, wanted.statement.seq): wanted
        for side in sides
        for wanted in side.wanted(sides[1 - side.direction])
    }


class _Side:
    """One direction, and which of its FPDUs were captured."""

    def __init__(
        self, half: Half, captured: Captured, direction: int, dimensions: Dimensions
    ) -> None:
        self.half = half
        self.captured = captured
        self.direction = direction
        self.dimensions = dimensions
        self.has_markers = dimensions.markers in ("both", ("Initiator", "Responder")[direction])
        self.knows_startup = captured.has_startup
        truth = half.truth
        self.whole = [captured.is_whole(fpdu.start, fpdu.end) for fpdu in truth]
        self.carried = [captured.is_carried(fpdu.start, fpdu.end) for fpdu in truth]
        self.wrong_length = [fpdu.length_field != fpdu.ulpdu_length for fpdu in truth]
        self.sound = [
            whole and (fpdu.crc_ok is True if dimensions.crc else fpdu.damage is None)
            for whole, fpdu in zip(self.whole, truth, strict=True)
        ]
        self.garbled = [captured.differs(fpdu.start, fpdu.end) for fpdu in truth]
        self.claimed = self._claimed()

    # -- what is known about the direction -----------------------------------------------------

    def _claimed(self) -> list[bool]:
        """For each FPDU, whether an unrecognised wrong length before it claims its octets."""
        claimed = []
        claimed_until = 0
        for fpdu, is_wrong in zip(self.half.truth, self.wrong_length, strict=True):
            claimed.append(not self.dimensions.crc and fpdu.start < claimed_until)
            if is_wrong:
                claimed_until = max(claimed_until, self._reading(fpdu, fpdu.length_field)[0])
        return claimed

    def rows(self) -> Iterator[range]:
        """The rows of sound FPDUs that no wrong length claims, each as long as possible."""
        begin = 0
        for index in range(len(self.sound) + 1):
            if index == len(self.sound) or not self.sound[index] or self.claimed[index]:
                if index > begin:
                    yield range(begin, index)
                begin = index + 1

    def _markers_above_0(self, row: range) -> int:
        truth = self.half.truth
        return sum(
            truth[index].markers - (truth[index].start != truth[index].seq_offset) for index in row
        )

    def _shows_fpdus(self) -> bool:
        """Whether this direction alone shows that there are FPDUs."""
        if self.dimensions.crc:
            begins = self.knows_startup and bool(self.sound) and bool(self.sound[0])
            return begins or any(len(row) > 1 for row in self.rows())
        return any(self._is_long(row) and self._proves(row) for row in self.rows())

    def _is_long(self, row: range) -> bool:
        truth = self.half.truth
        octets = truth[row[-1]].end - truth[row[0]].start
        return len(row) >= ROW_OF_UNKNOWN and octets >= OCTETS_OF_UNKNOWN

    def _proves(self, row: range) -> bool:
        """Whether a row alone proves that it consists of FPDUs."""
        truth = self.half.truth
        heads = {(truth[index].ulpdu_length, truth[index].ulpdu[:2]) for index in row}
        bits = sum(TAGGED_BITS if head[0] & 0x80 else UNTAGGED_BITS for _, head in heads)
        markers = min(1, self._markers_above_0(row))
        headers = [header_of(truth[index].ulpdu, truth[index].ulpdu_length) for index in row]
        continued = continuations(headers)
        bits += CONTINUATION_BITS * continued + MARKER_BITS * markers
        return bits >= PROOF and continued + markers > 0

    def _knows_markers(self, peer: _Side) -> bool:
        """Whether it is known how many Markers each FPDU holds, even if it was cut.

        Startup frames show it, or good FPDUs: by two Markers, or by one FPDU so long that it would
        hold a Marker if there were any.
        """
        if peer.knows_startup and (self.knows_startup or not self.has_markers):
            return True
        truth = self.half.truth
        if self.has_markers:
            return any(self._markers_above_0(row) >= MARKERS_NEEDED for row in self.rows())
        spans = (truth[index].end - truth[index].start for row in self.rows() for index in row)
        return max(spans, default=0) >= MARKER_INTERVAL

    def _knows_enough(self, peer: _Side) -> bool:
        """Whether it is known that there are FPDUs, and where Markers are."""
        if self.knows_startup and peer.knows_startup:
            return True
        rows = list(self.rows())
        if self.dimensions.crc:
            hinted = peer.knows_startup or self.knows_startup or peer._shows_fpdus()
            if not (self._shows_fpdus() or (hinted and rows)):
                return False
            least = 1 if hinted else 2
            rows = [row for row in rows if len(row) >= least]
        else:
            is_sure = peer.knows_startup or self.knows_startup or peer._shows_fpdus()
            rows = [row for row in rows if self._is_long(row) and (is_sure or self._proves(row))]
        if not rows:
            return False
        if peer.knows_startup or not self.has_markers:
            return True
        return any(self._markers_above_0(row) >= MARKERS_NEEDED for row in rows)

    def _knows_places(self, peer: _Side) -> bool:
        """Whether an FPDU that no CRC verifies can be read in one way only.

        The peer's startup frame shows that there are Markers.  This direction's startup frame, or a
        Marker in a good FPDU, shows where they are.  Without a startup frame, good FPDUs show that
        there are none: no Marker can stand within such an FPDU, or just before it.
        """
        if self.has_markers and peer.knows_startup:
            return self.knows_startup or any(self._markers_above_0(row) for row in self.rows())
        if peer.knows_startup or self.has_markers:
            return True
        places = {
            place % MARKER_INTERVAL
            for fpdu, sound in zip(self.half.truth, self.sound, strict=True)
            if sound
            for place in range(fpdu.start - 4, fpdu.end, 4)
        }
        return len(places) == MARKER_INTERVAL // 4

    # -- which starts are certain --------------------------------------------------------------

    def _certain(self, peer: _Side) -> list[bool]:
        """For each FPDU, whether its start is certain."""
        truth = self.half.truth
        certain = [False] * (len(truth) + 1)
        certain[0] = self.knows_startup and peer.knows_startup
        if not self.dimensions.crc:
            for row in self.rows():
                if len(row) >= ROW and not self._marker_claims(row):
                    certain[row[0]] = True
        for index, fpdu in enumerate(truth):
            if self.sound[index] and not self.dimensions.crc and fpdu.markers:
                certain[index] = True
            if self.sound[index]:
                leads_on = self.dimensions.crc or certain[index]
            else:
                leads_on = certain[index] and self._shows_end(index)
            if leads_on:
                certain[index + 1] = True
        return certain

    def _shows_end(self, index: int) -> bool:
        """Whether an FPDU that was cut shows where it ends, and has enough of its header."""
        fpdu = self.half.truth[index]
        header = self._header_end(fpdu)
        return (
            fpdu.damage is None
            and self.carried[index]
            and self.captured.is_whole(fpdu.start, header - header % 4 + 2)
        )

    def _marker_claims(self, row: range) -> bool:
        """Whether the next Marker says that octets of a row belong to another FPDU.

        The FPDUs of the row hold no Marker, so they may be payload of that FPDU.  The Marker does
        not say so in three cases: it points to one of them, to octets after them, or into the last
        of more than ``ROW``, which may be wrong.
        """
        truth = self.half.truth
        end = truth[row[-1]].end
        if not self.has_markers or any(truth[index].markers for index in row):
            return False
        marker = end + -end % MARKER_INTERVAL
        octets = self.captured.first_copies(range(marker, marker + 4))
        if len(octets) < 4 or not self.captured.is_whole(end, marker):
            return False
        pointed = marker - int.from_bytes(octets[2:], "big") // 4 * 4
        last = truth[row[-1]].start
        return pointed < (last if len(row) > ROW else end) and pointed not in {
            truth[index].start for index in row
        }

    def _header_end(self, fpdu: TrueFPDU) -> int:
        """Where the DDP header of an FPDU ends."""
        end = fpdu.seq_offset + 2 + header_length(fpdu.ulpdu)
        if self.has_markers and (end - 1) // MARKER_INTERVAL > fpdu.seq_offset // MARKER_INTERVAL:
            end += 4
        return end

    # -- which FPDUs there are -----------------------------------------------------------------

    def wanted(self, peer: _Side) -> Iterator[Wanted]:
        """The FPDUs to be found."""
        truth = self.half.truth
        knows = self._knows_enough(peer)
        certain = self._certain(peer)
        both = self.knows_startup and peer.knows_startup
        for index, fpdu in enumerate(truth):
            if self.sound[index]:
                required = knows and (
                    not self._may_be_payload(index) if self.dimensions.crc else certain[index]
                )
                sound = self._wanted(fpdu, fpdu.end, required=required)
                may_be_unknown = bool(self.dimensions.snap) and not (self.dimensions.crc or both)
                yield replace(sound, may_be_unknown=may_be_unknown)
            elif fpdu.damage is not None and self._is_readable(index):
                places = knows and self._knows_places(peer)
                shown = self.dimensions.crc and self._shows_damage(index, certain)
                required = knows and places and shown
                bad = self._wanted_damaged(fpdu, wrong=self.wrong_length[index], required=required)
                if self.wrong_length[index] and not places:
                    bad = replace(bad, unmarked=self._statement_without_markers(fpdu))
                yield bad
            elif self.garbled[index]:
                wanted = self._wanted_garbled(fpdu)
                if wanted is not None:
                    yield wanted
            elif self.dimensions.snap and self.carried[index]:
                until = self.captured.captured_until(fpdu.start, fpdu.end)
                at_last = self.captured.captured_until(fpdu.start, fpdu.end, at_last=True)
                if until < at_last:
                    late = self._wanted(fpdu, at_last, required=False)
                    early = self._wanted(fpdu, max(until, fpdu.seq_offset + 2), required=False)
                    yield replace(late, in_time=early.statement, may_be_unknown=not both)
                elif until >= fpdu.seq_offset + 2:
                    enough = until >= self._header_end(fpdu)
                    required = knows and certain[index] and enough and self._knows_markers(peer)
                    cut = self._wanted(fpdu, until, required=required)
                    yield replace(cut, may_be_unknown=not both)

    def _may_be_payload(self, index: int) -> bool:
        """Whether only its CRC distinguishes an FPDU from the payload of another one.

        The octets after its row of good FPDUs are garbled, and one of two conditions holds.  Either
        it is alone in its row, and the octets before it are garbled, too.  Or the row follows a
        hole, perhaps with garbled FPDUs and such rows in between, so that no FPDU is known to begin
        before the row.
        """
        first = last = index
        while first > 0 and self.sound[first - 1]:
            first -= 1
        while last < len(self.sound) - 1 and self.sound[last + 1]:
            last += 1
        if not any(self.garbled[last + 1 : last + 2]):
            return False
        before = first - 1
        if first == last and before >= 0 and self.garbled[before]:
            return True
        while before >= 0 and self.carried[before]:
            if not self.garbled[before] and not (
                self.sound[before] and self._may_be_payload(before)
            ):
                return False
            before -= 1
        return before >= 0 or not self.knows_startup

    def _is_readable(self, index: int) -> bool:
        """Whether enough of a damaged FPDU was captured to read its fields."""
        fpdu = self.half.truth[index]
        if not self.wrong_length[index]:
            return self.whole[index]
        return self.captured.is_whole(fpdu.start, fpdu.seq_offset + 2)

    def _shows_damage(self, index: int, certain: Sequence[bool]) -> bool:
        """Whether a damaged FPDU must be reported, if it is known where Markers are."""
        truth = self.half.truth
        if certain[index]:
            if not self.wrong_length[index]:
                return True
            end = self._reading(truth[index], truth[index].length_field)[0]
            # The captured stretch around the start of the FPDU.
            stretch = self.captured.captured_until(truth[index].start, len(self.half.octets))
            followers = range(index + 1, len(truth))
            return end <= stretch or any(
                self.sound[each] and truth[each].end <= stretch for each in followers
            )
        first = index
        while first > 0 and not certain[first] and self._has_intact_header(first):
            first -= 1
        last = index
        while last < len(truth) and self._has_intact_header(last):
            last += 1
        is_led_to = certain[first] and self._has_intact_header(first)
        return is_led_to and index < last < len(truth) and self.sound[last]

    def _has_intact_header(self, index: int) -> bool:
        """Whether an FPDU is damaged, but its length and its DDP header are right."""
        fpdu = self.half.truth[index]
        flip = fpdu.damage and fpdu.damage.flip
        is_damaged = self.whole[index] and not self.sound[index] and not self.wrong_length[index]
        return is_damaged and (flip is None or flip[0] >= header_length(fpdu.ulpdu))

    def _wanted(self, fpdu: TrueFPDU, until: int, *, required: bool) -> Wanted:
        """An FPDU whose octets are known up to a place."""
        ulpdu = fpdu.ulpdu
        if until < fpdu.end:
            ulpdu = ulpdu[: self._ulpdu_octets(fpdu.seq_offset + 2, until)]
            crc = "unknown" if self.dimensions.crc else "off"
        else:
            crc = {True: "good", False: "bad", None: "off"}[fpdu.crc_ok]
        return self._reported(
            fpdu, fpdu.ulpdu_length, fpdu.markers, ulpdu, crc, required=required, is_cut=False
        )

    def _wanted_damaged(self, fpdu: TrueFPDU, *, wrong: bool, required: bool) -> Wanted:
        """A damaged FPDU, with the values of its fields."""
        length = fpdu.length_field
        if not wrong:
            numbers = length, fpdu.markers
            return self._reported(fpdu, *numbers, fpdu.ulpdu, required=required, is_cut=False)
        _, markers, places = self._reading(fpdu, length)
        return self._reported(fpdu, length, markers, self.captured.seen(places), required=required)

    def _statement_without_markers(self, fpdu: TrueFPDU) -> Statement:
        """The statement for an FPDU with a wrong length, if its Markers are read as payload."""
        begin = fpdu.seq_offset + 2
        ulpdu = self.captured.seen(range(begin, begin + fpdu.length_field))
        return self._reported(fpdu, fpdu.length_field, 0, ulpdu).statement

    def _wanted_garbled(self, fpdu: TrueFPDU) -> Wanted | None:
        """An FPDU as its first captured copies show it, if its length was captured."""
        field = self.captured.first_copies(range(fpdu.seq_offset, fpdu.seq_offset + 2))
        if len(field) < 2:
            return None
        length = int.from_bytes(field, "big")
        end, markers, places = self._reading(fpdu, length)
        wanted = self._reported(fpdu, length, markers, self.captured.first_copies(places))
        # If the snap length cut off a part, the CRC cannot be checked.
        return replace(wanted, may_be_unknown=not self.captured.is_complete(fpdu.start, end))

    def _reported(
        self,
        fpdu: TrueFPDU,
        ulpdu_length: int,
        markers: int,
        ulpdu: bytes,
        crc: str | None = None,
        *,
        required: bool = False,
        is_cut: bool = True,
    ) -> Wanted:
        """What must be reported about an FPDU.

        crc: None means a bad CRC, if CRCs are on.
        """
        crc = crc or ("bad" if self.dimensions.crc else "off")
        seq = (self.half.base + fpdu.seq_offset) % 2**32
        header = header_of(ulpdu, ulpdu_length)
        payload = ulpdu[header_length(ulpdu) :] if ulpdu else b""
        statement = Statement(seq, ulpdu_length, markers, crc, header, payload)
        return Wanted(statement, fpdu.seq_offset, required, is_cut)

    def _ulpdu_octets(self, begin: int, end: int) -> int:
        """The number of octets from one place to another, without Markers."""
        if not self.has_markers:
            return max(0, end - begin)
        return sum(1 for place in range(begin, end) if place % MARKER_INTERVAL >= 4)

    def _reading(self, fpdu: TrueFPDU, ulpdu_length: int) -> tuple[int, int, list[int]]:
        """The FPDU with the same start and another length.

        Returns its end, how many Markers it contains, and the offsets of its ULPDU's octets.
        """
        at = fpdu.start
        markers = 0
        places: list[int] = []
        words = (2 + ulpdu_length + 3) // 4
        for _ in range(words + 1):
            if self.has_markers and at % MARKER_INTERVAL == 0:
                markers += 1
                at += 4
            places += range(at, at + 4)
            at += 4
        return at, markers, places[2 : 2 + ulpdu_length]


def continuations(headers: Sequence[Header]) -> int:
    """How many segments continue the latest earlier one with the same STag, or QN.

    A segment does so if its octets begin where those of the earlier one end, or if it begins the
    next message of its queue (RFC 5041 5.1, 5.2).  After a segment without payload the place stays
    the same, which proves nothing.  A step of TO proves nothing if it differs from the length of
    the payload as often as it equals it: any counter may look like such a TO.
    """
    last: dict[tuple[int | None, int | None], Header] = {}
    messages = 0
    steps: Counter[int] = Counter()
    for header in headers:
        before = last.get((header.stag, header.qn))
        last[header.stag, header.qn] = header
        if before is None:
            continue
        size = before.payload_length or 0
        if header.to is not None:
            step = header.to - (before.to or 0)
            steps[step] += 0 if step == 0 else 1 if step == size else -1
        elif before.last:
            messages += (header.msn, header.mo) == (((before.msn or 0) + 1) % 2**32, 0)
        elif size > 0:
            messages += (header.msn, header.mo) == (before.msn, (before.mo or 0) + size)
    return messages + sum(count for count in steps.values() if count > 0)
