# SPDX-License-Identifier: GPL-2.0-or-later
"""Segments in a row that look like the one before: each a whole FPDU, where its direction stands.

That is nearly all of a bulk transfer.  Where a record begins with the same octets as one that was
found to be in order, it need not be looked at as closely: numbers are left, and the CRC.  And as
long as the same direction goes on, what counts of its loan can be held in local variables.

Some segments may come early, or once too often.  Those behind a hole are checked when they come,
so that when it is filled they only follow from one sequence number to the next.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from scapy_mpa.capture.pcap import PcapHeader
from scapy_mpa.capture.reader import Capture
from scapy_mpa.express.borrower import Borrower
from scapy_mpa.express.early import Early, cut_out, hand_back, repeats_early, take_over
from scapy_mpa.express.fpdus import SHORTEST, SoundFPDUs
from scapy_mpa.express.headers import FPDU_HEADERS, HEADER_LENGTHS, HEADERS, IPV4_AT
from scapy_mpa.express.page import Page
from scapy_mpa.express.shapes import LOW_MSN, SEVEN_DIGITS, Shape
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.stream.octets.overlap import RecentOctets
from scapy_mpa.stream.segment import PSH, SECOND, reverse_flow
from scapy_mpa.wire.crc import RESIDUE, crc32c

__all__ = ["Streaks"]

_MASK: Final = 0xFFFFFFFF
_SEQ: Final = 32
"""Place of the sequence number in one number with the acknowledgement number."""
_TIMES: Final = 8
"""Octets with which a record begins, and which no two records have in common."""
_LENGTHS: Final = 18
"""Octets of a frame up to the end of IPv4's total length: what the length of all depends on."""
_NUMBERS: Final = 48
"""Octets of a frame up to the end of TCP's data offset and flags."""
_FRAMES: Final = 256
"""Frames after which a streak ends with its window: lines are not passed on before."""
_SHORT: Final = 8
"""Frames that a streak must have to be worth what it takes to begin one, beside one for each FPDU
that waits behind a hole by then."""
_PAUSE: Final = 8
"""Frames after which it is tried again where it was not; twice as many each time it is not."""
_LONGEST_PAUSE: Final = 1 << 9


class Streaks:
    """Takes the segments behind one that was an FPDU, as long as they are like that one.

    They must go on in the same direction, with the same lengths, without Markers: where it stands,
    some of these lengths ahead, or as copies of what came before.  Between them there may be
    segments of the other direction that carry nothing.  A streak ends at the first record that is
    anything else, or with a window if it is long enough by then.

    :param header: of the pcap file, and
    :param capture: the file itself.
    :param fpdus: knows what FPDUs look like, and whether they are written.
    :param borrower: knows what waits behind holes, and what was there before.
    :param page: where they are written.
    :param recent: where octets are remembered.
    """

    def __init__(
        self,
        header: PcapHeader,
        capture: Capture,
        fpdus: SoundFPDUs,
        borrower: Borrower,
        page: Page,
        recent: RecentOctets,
    ) -> None:
        self._capture = capture
        self._record = header.record
        self._times = Struct(header.record.format[:3]).unpack_from
        self._in_a_second = SECOND // header.unit
        self._page = page
        self._borrower = borrower
        self._is_quick = fpdus.is_quick
        self._writes = fpdus.writes
        self._shapes = fpdus.shapes
        self._recent = recent
        self._layouts: dict[int, Struct] = {}
        self._pause = _PAUSE
        self.resume = 0
        """The frame from which on it is worth trying again."""

    def take(
        self,
        loan: Loan,
        window: bytes,
        like: int,
        at: int,
        offset: int,
        shape: Shape,
        number: int,
        epoch: int,
    ) -> tuple[bytes, int, int]:
        """Take segments of a direction that was just brought up to date.

        Return a window, where in it the first record begins that is not taken, and the number of
        the last that is.

        :param like: where the record begins that the others must be like, and
        :param at: where it ends.
        :param offset: where in its frame the FPDU begins, and
        :param shape: what that is.
        :param number: the number of its frame.
        :param epoch: when the first frame was captured, in units of the fraction.
        :raises DamagedError: the file cannot be read any farther; what was read is taken.
        """
        worth = number + len(loan.waiting.early) + _SHORT
        window, at, number = self._go_on(loan, window, like, at, offset, shape, number, epoch)
        if number >= worth:
            self._pause = _PAUSE
        else:
            self.resume = number + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return window, at, number

    def take_behind(
        self,
        loan: Loan,
        window: bytes,
        like: int,
        at: int,
        offset: int,
        length: int,
        number: int,
        epoch: int,
    ) -> tuple[bytes, int, int]:
        """Do the same behind a segment of ``length`` octets that is kept because it came early."""
        if length >= SHORTEST and self._is_quick and loan.crc and not loan.waiting.pieces:
            word: int = self._layout(offset).unpack_from(window, like)[-1]
            shape = self._shapes.find(word, None)
            if shape[0] == length:
                return self.take(loan, window, like, at, offset, shape, number, epoch)
        return window, at, number

    def _go_on(
        self,
        loan: Loan,
        window: bytes,
        like: int,
        at: int,
        offset: int,
        shape: Shape,
        number: int,
        epoch: int,
    ) -> tuple[bytes, int, int]:
        """Do what :meth:`take` does, however little it may be."""
        size, times = self._record.size, self._times
        layout = self._layout(offset)
        unpack = layout.unpack_from
        common, fragment, flow, _, rest, word = unpack(window, like)
        find = self._shapes.find
        length, tagged, (usual, line), _, _ = shape
        pushed = rest ^ PSH
        peer = loan.peer
        peer_flow, peer_fragment, peer_ack = reverse_flow(flow), peer.fragment, peer.ack
        peer_common, peer_rest = b"", 0
        # The highest number that a segment can acknowledge; 0 where it is not known.
        sent = peer.seq if peer.takes_data else 0
        writes, lines, fields = self._writes, self._page.patterns, self._page.fields
        unpack_fpdu, label = FPDU_HEADERS.unpack_from, loan.label
        in_a_second, second, units = self._in_a_second, -1, 0
        numbers = loan.seq << _SEQ | loan.ack
        step = length << _SEQ
        whole = at - like
        start = size + offset
        back = 0
        # Where the records of FPDUs begin.  Each FPDU begins at the same place of ``view``.
        begins: list[int] = []
        early: Early = {}
        farthest = self._borrower.room_behind_hole(loan, length)
        if loan.waiting.early:
            early = take_over(loan, length, farthest, self._shapes, self._borrower)
            if not early:
                return window, at, number
        view = memoryview(window)[start:]
        # Octets that must be there to read headers, and to go on behind what carries nothing.
        least = layout.size
        enough = len(window) - least
        first_number, first_single = number, loan.singles
        try:
            while True:
                if at > enough:
                    missing = self._missing(window, at, whole)
                    if not missing or number - first_number >= _FRAMES:
                        break
                    self._remember(loan, window, begins, start, length)
                    begins = []
                    cut_out(early, length)
                    if like >= 0:
                        loan.connection.take_stamp((number, *times(window, like)))
                        like = -1
                    self._capture.frames = number
                    window, at = self._capture.source.forward(at, missing)
                    if len(window) - at < missing:
                        break
                    view = memoryview(window)[start:]
                    enough = len(window) - least
                    continue
                beginning, its_fragment, its_flow, its_numbers, its_rest, its_word = unpack(
                    window, at
                )
                if beginning == common:
                    if its_word != word:
                        # The last FPDU of a message, or the first of the next one.
                        its_length, tagged, (usual, line), _, _ = find(its_word, None)
                        if its_length != length:
                            break
                        word = its_word
                    if (
                        its_flow != flow
                        or its_fragment != fragment
                        or (its_rest != rest and its_rest != pushed)
                        or crc32c(view[at : at + length]) != RESIDUE
                    ):
                        if at + whole <= len(window):
                            break
                        # The rest of it is in the next window.
                        enough = -1
                        continue
                    if its_numbers != numbers:
                        off = its_numbers - numbers
                        # It may acknowledge more than the one before.
                        more = off & _MASK
                        if more and (numbers & _MASK) + more > sent:
                            break
                        ahead = off >> _SEQ
                        if ahead:
                            seq = its_numbers >> _SEQ
                            if ahead > 0 and seq not in early:
                                if ahead > farthest or ahead % length:
                                    break
                                early[seq] = word, number + 1, view, at
                            else:
                                self._remember(loan, window, begins, start, length)
                                begins = []
                                if not self._repeats(loan, seq, view[at : at + length], early):
                                    break
                            number += 1
                            numbers += more
                            like = at
                            at += whole
                            continue
                    number += 1
                    if writes:
                        seconds, fraction = times(window, at)
                        if seconds != second:
                            second = seconds
                            units = second * in_a_second - epoch
                        moment = (units + fraction) / in_a_second
                    begins.append(at)
                    numbers = its_numbers
                    octets: bytes | memoryview = view
                    where = at
                    while True:
                        if writes:
                            _, first, more, third = unpack_fpdu(octets, where)
                            seq = numbers >> _SEQ
                            if tagged:
                                lines.append(usual if first > SEVEN_DIGITS else line)
                                fields += (number, moment, label, first, more, seq)
                            elif third or more > LOW_MSN:
                                lines.append(line)
                                qn, msn = more >> 32, more & _MASK
                                fields += (number, moment, label, qn, msn, third, seq)
                            else:
                                lines.append(usual)
                                fields += (number, moment, label, more, seq)
                        numbers += step
                        if not early:
                            break
                        kept = early.pop(numbers >> _SEQ, None)
                        if kept is None:
                            break
                        its_word, _, octets, where = kept
                        if its_word != word:
                            _, tagged, (usual, line), _, _ = find(its_word, None)
                            word = its_word
                        if octets is view:
                            begins.append(where)
                        else:
                            # It came with another window.
                            self._remember(loan, window, begins, start, length)
                            begins = []
                            self._recent.order.append((loan.end, bytes(octets), loan.owner))
                            self._recent.count(length)
                            loan.singles += 1
                            loan.move(loan.end + length)
                    like = at
                    at += whole
                else:
                    if beginning != peer_common or its_rest != peer_rest:
                        back = self._bare(window, at, peer)
                        if not 0 < back <= whole:
                            break
                        peer_common, peer_rest = beginning, its_rest
                        least = max(layout.size, back)
                        enough = len(window) - least
                        if at > enough:
                            continue
                    its_ack = its_numbers & _MASK
                    if (
                        its_flow != peer_flow
                        or its_fragment != peer_fragment
                        or not peer_ack <= its_ack <= numbers >> _SEQ
                    ):
                        break
                    number += 1
                    peer_ack = its_ack
                    like = at
                    at += back
        finally:
            self._remember(loan, window, begins, start, length)
            loan.quick_seq = loan.seq
            loan.ack = numbers & _MASK
            # Whose they are that are no singles, does not matter.
            loan.segments += number - first_number - (loan.singles - first_single)
            peer.ack = peer_ack
            if like >= 0:
                loan.connection.take_stamp((number, *times(window, like)))
            hand_back(early, length, loan, self._borrower)
        return window, at, number

    def _repeats(self, loan: Loan, seq: int, octets: memoryview, early: Early) -> bool:
        """Take a segment that was there before, and is the same; tell whether it is."""
        if seq not in early:
            return self._borrower.repeats(loan, seq, bytes(octets))
        is_copy = repeats_early(early, seq, octets)
        loan.owner.count_copies(is_copy)
        return is_copy

    def _remember(
        self, loan: Loan, window: bytes, begins: list[int], start: int, length: int
    ) -> None:
        """Remember FPDUs of a direction, each at ``start`` of a record of the window."""
        if begins:
            end = loan.end
            self._recent.remember_cuttings(loan.owner, end, window, begins, start, length)
            loan.singles += len(begins)
            loan.move(end + len(begins) * length)

    def _missing(self, window: bytes, at: int, longest: int) -> int:
        """Return how many octets of a record, from its first, must be there to go on with it.

        0 if it is there, or claims to be longer than that.
        """
        size = self._record.size
        if len(window) - at < size:
            return size
        captured: int
        _, _, captured, _ = self._record.unpack_from(window, at)
        length = size + captured
        return length if len(window) - at < length <= longest else 0

    def _bare(self, window: bytes, at: int, loan: Loan) -> int:
        """Return how long a record is whose segment carries nothing; 0 if it is another.

        Of its headers nothing is looked at that is not the same in all records with its lengths.
        """
        captured: int
        _, _, captured, _ = self._record.unpack_from(window, at)
        begins, total, _, _, _, _, rest = HEADERS.unpack_from(window, at + self._record.size)
        if (
            begins != loan.begins
            or HEADER_LENGTHS.get(rest) != IPV4_AT + total
            or captured - total < IPV4_AT
        ):
            return 0
        return self._record.size + captured

    def _layout(self, offset: int) -> Struct:
        """Return what reads a record with an FPDU at ``offset`` of the frame, all in one go.

        Sequence and acknowledgement number are read as one, because each number takes time to be
        made.  Where the sequence number wraps, that is not the one before and a length more, so a
        streak ends there.
        """
        known = self._layouts.get(offset)
        if known is None:
            common = self._record.size - _TIMES + _LENGTHS
            known = Struct(f">{_TIMES}x{common}s2xI2x12sQH{offset - _NUMBERS}xI")
            self._layouts[offset] = known
        return known
