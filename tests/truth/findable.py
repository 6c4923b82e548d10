# SPDX-License-Identifier: GPL-2.0-or-later
"""Which FPDUs of a capture must be found, which may be, and what must be said of them.

Everything else that is reported is false. The rules say what the octets establish, not how anybody
goes about it; ``docs/recovery.md`` gives them in prose. An FPDU is *whole* if every octet of it was
captured (of octets that came twice, the first captured count, RFC 5044 A.3), and *good* if it is
whole and its CRC fits.

With CRCs:

1. A good FPDU must be found, if it is known that there are FPDUs and where Markers are
   (``_knows_enough``); else it may be.
2. Where a good FPDU ends, and where the Full Operation Phase begins, the next one starts for
   certain. A damaged one that starts there must be reported as what it says it is. If it lies about
   its length, that holds if all that it claims was captured, or if it was captured whole and a good
   one follows in the same stretch, which gives the lie away. Of several in a row the second and
   further ones must be reported if their headers are intact and a good one follows them. All this
   holds if it is known where Markers are, or that there are none (``_knows_places``). If it is not,
   the same is true of the first as of the others: nothing says how many Markers it holds but that
   lengths lead to a good one.
3. Any other damaged FPDU may be reported as what it says it is. So may one that was garbled on its
   way: of octets that came twice, the first captured are others than the sender's. A good one that
   stands alone between two of these may be missed, for nothing but its CRC tells it from payload;
   and so may those in a row before one of these, where a hole hides what else they may be of.

Without CRCs, an FPDU that is whole must be found if its start is certain or anchored:

4. The start of the phase is certain if both startup frames say that it is, and the end of a whole
   FPDU whose own start is, and that does not lie.
5. A Marker anchors the FPDU that it lies in (RFC 5044 4.3), if it is known where Markers are.
6. ``ROW`` whole FPDUs one behind the other anchor the first of them: about 13 bits of each tagged
   header, and about 43 of an untagged one, are given. Those that a lying ULPDU_Length claims do not
   count: nothing but a Marker says that it lies. Nor do those that a Marker with a forged FPDUPTR
   claims (``_disowned``): it says what an honest one says behind a payload that holds FPDUs.

Any other one may be found.

Where no startup frame was captured, and the other direction does not show itself, headers that make
sense do not establish that there are FPDUs at all: tables of other protocols hold as many. So a row
must show ``PROOF`` bits in all, and more than headers (``_proves``): an FPDU that goes on where one
before it has ended, since two numbers of 32 bits and more are given then (RFC 5041 5), or a Marker
that says more than 0. What comes again, as the records of a table do, says nothing new.

Of frames that were cut to a snap length:

7. An FPDU of which not all octets were captured, but its header, must be reported with what was
   captured of its payload, if its start is certain; else it may be. Its end is certain if its start
   is and its ULPDU_Length was captured. Both need it to be known where Markers are: nothing else
   says how many of them lie in what was cut off (``_knows_markers``). Whether CRCs are off is not
   known without both startup frames, and the CRC field that could tell was cut off: it may be said
   to be unknown. So may that of an FPDU that is whole, whose CRC field may hold anything, if
   lengths lead from it to no other such one, and none need be found.
8. What the first copy was cut off stays cut off. What a later copy brings of it may be used or not.
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
"""Whole FPDUs in a row that tell what a direction without CRCs carries, if nothing else does."""
OCTETS_OF_UNKNOWN = 1536
"""Octets that such a row must have: enough for three Markers."""
TELLING_MARKERS = 2
"""Markers that do not directly precede a ULPDU_Length, in FPDUs in a row, that tell where Markers
are: what seems to be one may be an MSN."""

PROOF = 40
"""Bits that a row must show: among the 2^26 places in 64 MiB chance does so once in 2^14."""
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
    """One direction: what of its FPDUs was captured."""

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
        self.lies = [_lies(fpdu) for fpdu in truth]
        self.sound = [
            whole and (fpdu.crc_ok is True if dimensions.crc else fpdu.damage is None)
            for whole, fpdu in zip(self.whole, truth, strict=True)
        ]
        self.garbled = [captured.differs(fpdu.start, fpdu.end) for fpdu in truth]
        self.claimed = self._claimed()

    # -- what is known of the direction --------------------------------------------------------

    def _claimed(self) -> list[bool]:
        """Of each FPDU, whether one before it claims its octets, and no CRC says that it lies."""
        claimed = []
        upto = 0
        for fpdu, lies in zip(self.half.truth, self.lies, strict=True):
            claimed.append(not self.dimensions.crc and fpdu.start < upto)
            if lies:
                upto = max(upto, self._reading(fpdu, _said_length(fpdu))[0])
        return claimed

    def rows(self) -> Iterator[range]:
        """FPDUs that are sound, one behind the other, as far as they go."""
        begin = 0
        for index in range(len(self.sound) + 1):
            if index == len(self.sound) or not self.sound[index] or self.claimed[index]:
                if index > begin:
                    yield range(begin, index)
                begin = index + 1

    def _telling_markers(self, row: range) -> int:
        truth = self.half.truth
        return sum(
            truth[index].markers - (truth[index].start != truth[index].seq_offset) for index in row
        )

    def _shows_itself(self) -> bool:
        """Whether it can be told that there are FPDUs, and not from the other direction."""
        if self.dimensions.crc:
            begins = self.knows_startup and bool(self.sound) and bool(self.sound[0])
            return begins or any(len(row) > 1 for row in self.rows())
        return any(self._is_long(row) and self._proves(row) for row in self.rows())

    def _is_long(self, row: range) -> bool:
        truth = self.half.truth
        octets = truth[row[-1]].end - truth[row[0]].start
        return len(row) >= ROW_OF_UNKNOWN and octets >= OCTETS_OF_UNKNOWN

    def _proves(self, row: range) -> bool:
        """Whether FPDUs in a row show that they are some, where nothing else says so."""
        truth = self.half.truth
        heads = {(truth[index].ulpdu_length, truth[index].ulpdu[:2]) for index in row}
        bits = sum(TAGGED_BITS if head[0] & 0x80 else UNTAGGED_BITS for _, head in heads)
        markers = min(1, self._telling_markers(row))
        headers = [header_of(truth[index].ulpdu, truth[index].ulpdu_length) for index in row]
        continued = continuations(headers)
        bits += CONTINUATION_BITS * continued + MARKER_BITS * markers
        return bits >= PROOF and continued + markers > 0

    def _knows_markers(self, other: _Side) -> bool:
        """Whether it is known of each FPDU how many Markers it holds, though it was cut.

        Either startup frames say it, or FPDUs that are good: two Markers that do, or one that would
        hold a Marker, if there were any.
        """
        if other.knows_startup and (self.knows_startup or not self.has_markers):
            return True
        truth = self.half.truth
        if self.has_markers:
            return any(self._telling_markers(row) >= TELLING_MARKERS for row in self.rows())
        spans = (truth[index].end - truth[index].start for row in self.rows() for index in row)
        return max(spans, default=0) >= MARKER_INTERVAL

    def _knows_enough(self, other: _Side) -> bool:
        """Whether it is known that there are FPDUs, and where Markers are."""
        if self.knows_startup and other.knows_startup:
            return True
        rows = list(self.rows())
        if self.dimensions.crc:
            hinted = other.knows_startup or self.knows_startup or other._shows_itself()
            if not (self._shows_itself() or (hinted and rows)):
                return False
            least = 1 if hinted else 2
            rows = [row for row in rows if len(row) >= least]
        else:
            is_sure = other.knows_startup or self.knows_startup or other._shows_itself()
            rows = [row for row in rows if self._is_long(row) and (is_sure or self._proves(row))]
        if not rows:
            return False
        if other.knows_startup or not self.has_markers:
            return True
        return any(self._telling_markers(row) >= TELLING_MARKERS for row in rows)

    def _knows_places(self, other: _Side) -> bool:
        """Whether nothing but the way it is read here fits an FPDU that no CRC verifies.

        That there are Markers is told by the peer's startup frame, but where they are only by this
        direction's, or by a Marker in a good FPDU. Where there are none, and no startup frame says
        so, that is told by good FPDUs: each leaves no place for one where it lies, and right before
        it.
        """
        if self.has_markers and other.knows_startup:
            return self.knows_startup or any(self._telling_markers(row) for row in self.rows())
        if other.knows_startup or self.has_markers:
            return True
        places = {
            place % MARKER_INTERVAL
            for fpdu, sound in zip(self.half.truth, self.sound, strict=True)
            if sound
            for place in range(fpdu.start - 4, fpdu.end, 4)
        }
        return len(places) == MARKER_INTERVAL // 4

    # -- which starts are certain --------------------------------------------------------------

    def _certain(self, other: _Side) -> list[bool]:
        """Of each FPDU, whether it is certain where it starts."""
        truth = self.half.truth
        certain = [False] * (len(truth) + 1)
        certain[0] = self.knows_startup and other.knows_startup
        if not self.dimensions.crc:
            for row in self.rows():
                if len(row) >= ROW and not self._disowned(row):
                    certain[row[0]] = True
        for index, fpdu in enumerate(truth):
            if self.sound[index] and not self.dimensions.crc and fpdu.markers:
                certain[index] = True
            if self.sound[index]:
                leads_on = self.dimensions.crc or certain[index]
            else:
                leads_on = certain[index] and self._tells_end(index)
            if leads_on:
                certain[index + 1] = True
        return certain

    def _tells_end(self, index: int) -> bool:
        """Whether an FPDU that was cut says where it ends, and has a header to be known by."""
        fpdu = self.half.truth[index]
        header = self._header_end(fpdu)
        return (
            fpdu.damage is None
            and self.carried[index]
            and self.captured.is_whole(fpdu.start, header - header % 4 + 2)
        )

    def _disowned(self, row: range) -> bool:
        """Whether FPDUs hold no Marker, and the next one says that their octets are of another.

        It is that other one's payload, as far as anybody can tell, unless the Marker points to one
        of them or to what stands behind them, or at least into the last of more than ``ROW``: that
        one may lie.
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

    def wanted(self, other: _Side) -> Iterator[Wanted]:
        """What there is to be found."""
        truth = self.half.truth
        knows = self._knows_enough(other)
        certain = self._certain(other)
        for index, fpdu in enumerate(truth):
            if self.sound[index]:
                required = knows and (
                    not self._may_be_payload(index) if self.dimensions.crc else certain[index]
                )
                sound = self._wanted(fpdu, fpdu.end, required=required)
                known = [knows and each for each in certain[:-1]]
                alone = self._is_alone_without_crcs(index, other, known)
                yield replace(sound, may_be_unknown=alone)
            elif fpdu.damage is not None and self._is_told(index):
                places = knows and self._knows_places(other)
                told = self.dimensions.crc and self._tells_damage(index, certain, places=places)
                required = knows and told
                liar = self._wanted_liar(fpdu, lies=self.lies[index], required=required)
                if self.lies[index] and not places:
                    liar = replace(liar, unmarked=self._unmarked_liar(fpdu))
                yield liar
            elif self.garbled[index]:
                wanted = self._wanted_garbled(fpdu)
                if wanted is not None:
                    yield wanted
            elif self.dimensions.snap and self.carried[index]:
                until = self.captured.captured_until(fpdu.start, fpdu.end)
                at_last = self.captured.captured_until(fpdu.start, fpdu.end, at_last=True)
                both = self.knows_startup and other.knows_startup
                if until < at_last:
                    late = self._wanted(fpdu, at_last, required=False)
                    early = self._wanted(fpdu, max(until, fpdu.seq_offset + 2), required=False)
                    yield replace(late, in_time=early.statement, may_be_unknown=not both)
                elif until >= fpdu.seq_offset + 2:
                    enough = until >= self._header_end(fpdu)
                    required = knows and certain[index] and enough and self._knows_markers(other)
                    cut = self._wanted(fpdu, until, required=required)
                    yield replace(cut, may_be_unknown=not both)

    def _is_alone_without_crcs(self, index: int, other: _Side, known: Sequence[bool]) -> bool:
        """Whether no FPDU but one was whole, and nothing else says that CRCs are off.

        Others count if lengths lead to them from this one, or they must be found anyway.

        :param known: of each FPDU, whether it is known where it starts.
        """
        is_told = self.dimensions.crc or (self.knows_startup and other.knows_startup)
        if is_told or not self.dimensions.snap:
            return False
        end = index + 1
        while end < len(self.sound) and (self.sound[end - 1] or self._tells_end(end - 1)):
            end += 1
        counted = [index <= each < end or is_known for each, is_known in enumerate(known)]
        return sum(sound and counts for sound, counts in zip(self.sound, counted, strict=True)) < 2

    def _may_be_payload(self, index: int) -> bool:
        """Whether nothing but its CRC tells an FPDU from the payload of another one.

        Behind the good ones in a row that it is one of, octets were garbled. And either it is the
        only one, and so they were before it; or no FPDU is known to begin before them, for there is
        a hole, and behind it nothing but such ones, and others that were garbled.
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

    def _is_told(self, index: int) -> bool:
        """Whether enough of a damaged FPDU was captured to say what it says it is."""
        fpdu = self.half.truth[index]
        if not self.lies[index]:
            return self.whole[index]
        return self.captured.is_whole(fpdu.start, fpdu.seq_offset + 2)

    def _tells_damage(self, index: int, certain: Sequence[bool], *, places: bool) -> bool:
        """Whether a damaged FPDU must be reported.

        places: it is known where Markers are.
        """
        truth = self.half.truth
        if certain[index] and places:
            if not self.lies[index]:
                return True
            end = self._reading(truth[index], _said_length(truth[index]))[0]
            stretch = self._stretch_end(index)
            followers = range(index + 1, len(truth))
            return end <= stretch or any(
                self.sound[each] and truth[each].end <= stretch for each in followers
            )
        first = index
        while first > 0 and not certain[first] and self._is_harmed_truthfully(first):
            first -= 1
        last = index
        while last < len(truth) and self._is_harmed_truthfully(last):
            last += 1
        return (
            last > index
            and certain[first]
            and self._is_harmed_truthfully(first)
            and last < len(truth)
            and bool(self.sound[last])
        )

    def _is_harmed_truthfully(self, index: int) -> bool:
        """Whether an FPDU is damaged, but neither its length nor its DDP header."""
        fpdu = self.half.truth[index]
        flip = fpdu.damage and fpdu.damage.flip
        header_is_intact = flip is None or flip[0] >= header_length(fpdu.ulpdu)
        return (
            self.whole[index]
            and not self.sound[index]
            and not self.lies[index]
            and header_is_intact
        )

    def _stretch_end(self, index: int) -> int:
        """Where the captured stretch that an FPDU lies in ends."""
        start = self.half.truth[index].start
        return self.captured.captured_until(start, len(self.half.octets))

    def _wanted(self, fpdu: TrueFPDU, until: int, *, required: bool) -> Wanted:
        """An FPDU of which the octets up to a place are known."""
        ulpdu = fpdu.ulpdu
        if until < fpdu.end:
            ulpdu = ulpdu[: self._ulpdu_octets(fpdu.seq_offset + 2, until)]
            crc = "unknown" if self.dimensions.crc else "off"
        else:
            crc = {True: "good", False: "bad", None: "off"}[fpdu.crc_ok]
        return self._said(
            fpdu, fpdu.ulpdu_length, fpdu.markers, ulpdu, crc, required=required, is_cut=False
        )

    def _wanted_liar(self, fpdu: TrueFPDU, *, lies: bool, required: bool) -> Wanted:
        """A damaged FPDU, as what it says it is."""
        length = _said_length(fpdu)
        if not lies:
            return self._said(
                fpdu, length, fpdu.markers, fpdu.ulpdu, required=required, is_cut=False
            )
        _, markers, places = self._reading(fpdu, length)
        return self._said(fpdu, length, markers, self.captured.seen(places), required=required)

    def _unmarked_liar(self, fpdu: TrueFPDU) -> Statement:
        """What an FPDU says that lies about its length, if its Markers are taken for payload."""
        length = _said_length(fpdu)
        begin = fpdu.seq_offset + 2
        ulpdu = self.captured.seen(range(begin, begin + length))
        return self._said(fpdu, length, 0, ulpdu).statement

    def _wanted_garbled(self, fpdu: TrueFPDU) -> Wanted | None:
        """An FPDU as what the copies say that were captured first, if its length was captured."""
        said = self.captured.first_copies(range(fpdu.seq_offset, fpdu.seq_offset + 2))
        if len(said) < 2:
            return None
        length = int.from_bytes(said, "big")
        end, markers, places = self._reading(fpdu, length)
        wanted = self._said(fpdu, length, markers, self.captured.first_copies(places))
        # Nobody can check the CRC of one of which the snap length cut off a part.
        return replace(wanted, may_be_unknown=not self.captured.is_complete(fpdu.start, end))

    def _said(
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
        """What there is to be said of an FPDU.

        crc: None: that its CRC is bad, if CRCs are on.
        """
        crc = crc or ("bad" if self.dimensions.crc else "off")
        seq = (self.half.base + fpdu.seq_offset) % 2**32
        header = header_of(ulpdu, ulpdu_length)
        payload = ulpdu[header_length(ulpdu) :] if ulpdu else b""
        statement = Statement(seq, ulpdu_length, markers, crc, header, payload)
        return Wanted(statement, fpdu.seq_offset, required, is_cut)

    def _ulpdu_octets(self, begin: int, end: int) -> int:
        """Octets from one place to another that are not of a Marker."""
        if not self.has_markers:
            return max(0, end - begin)
        return sum(1 for place in range(begin, end) if place % MARKER_INTERVAL >= 4)

    def _reading(self, fpdu: TrueFPDU, ulpdu_length: int) -> tuple[int, int, list[int]]:
        """The FPDU that begins where this one does and has another length.

        Its end, how many Markers it contains, and the offsets of the octets of its ULPDU.
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
    """How many segments continue the last one before them with the same STag, or QN.

    Either their octets lie where those of the other one end, or they begin the next message of
    their queue (RFC 5041 5.1, 5.2). One without payload is followed by the same place again, which
    says nothing; and so does a step of TO that is another than the payload as often as not, for it
    is that of a number which counts.
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
        else:
            messages += (header.msn, header.mo) == (
                before.msn,
                (before.mo or 0) + size,
            ) and size > 0
    return messages + sum(count for count in steps.values() if count > 0)


def _said_length(fpdu: TrueFPDU) -> int:
    """What its ULPDU_Length field says."""
    lie = fpdu.damage and fpdu.damage.ulpdu_length
    return fpdu.ulpdu_length if lie is None else lie


def _lies(fpdu: TrueFPDU) -> bool:
    """Whether its ULPDU_Length field is wrong."""
    return _said_length(fpdu) != fpdu.ulpdu_length
