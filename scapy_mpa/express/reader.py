# SPDX-License-Identifier: GPL-2.0-or-later
"""From a capture to lines, the ordinary segment in one go.

Of a pcap file with Ethernet frames the octets are read here; any other capture gives its frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, Frame
from scapy_mpa.capture.link import ETHERNET
from scapy_mpa.capture.pcap import PcapHeader, cut_record, lying_length
from scapy_mpa.capture.reader import Capture
from scapy_mpa.express.borrower import Borrower
from scapy_mpa.express.desk import Desk
from scapy_mpa.express.fpdus import SHORTEST, SoundFPDUs
from scapy_mpa.express.headers import FPDU_HEADERS, HEADER_LENGTHS, HEADERS, HEADERS_LENGTH, IPV4_AT
from scapy_mpa.express.page import LINES_OF_A_PAGE, Page
from scapy_mpa.express.shapes import LOW_MSN, SEVEN_DIGITS
from scapy_mpa.express.streak import Streaks
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import SEQUENCE_SPACE
from scapy_mpa.wire.crc import RESIDUE, crc32c
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, MARKER_LENGTH

if TYPE_CHECKING:
    from scapy_mpa.records.kinds import Patterns, Templates
    from scapy_mpa.stream.events import Event

__all__ = ["ExpressReader"]

_FLOW: Final = slice(26, 38)
"""Addresses and ports, if the headers are as they are here."""
_MASK: Final = 0xFFFFFFFF
_BEHIND: Final = 0x80000000
_TRIM: Final = 1 << 16
"""Octets to be remembered before it is seen to that not too many are."""
_FRAMES_OF_A_PAGE: Final = 4096


def _is_bare_ethernet(header: PcapHeader) -> bool:
    """Tell whether a record of a pcap file is an Ethernet frame and nothing else."""
    return header.link_type == ETHERNET and not header.fcs


class ExpressReader:
    """Reads a capture to its end, and gives lines.

    :param capture: a fresh one.
    :param flows: takes what is not ordinary.
    :param decoder: reads the headers of what is not ordinary.
    :param writer: how FPDUs are written; None: they are only counted.
    :param lines_of: makes lines of the events of what is not ordinary.
    :param begin: is told the time of the first frame, in nanoseconds since the epoch.
    :param others: where the decoder has events put of frames that have no segment.
    """

    def __init__(
        self,
        capture: Capture,
        flows: Flows,
        decoder: Decoder,
        writer: Patterns | Templates | None,
        lines_of: Callable[[list[Event]], list[str]],
        begin: Callable[[int], None],
        others: list[Event] | None = None,
    ) -> None:
        self._capture = capture
        header = capture.pcap
        self._header = header if header is not None and _is_bare_ethernet(header) else None
        unit = 1 if self._header is None else self._header.unit
        self._flows = flows
        self._begin = begin
        self._page = page = Page()
        self._fpdus = SoundFPDUs(writer, page, unit)
        self._borrower = Borrower(self._fpdus, page, flows.recent, flows.budget)
        self._desk = Desk(
            flows,
            decoder,
            self._borrower,
            self._fpdus,
            page,
            unit,
            lines_of,
            [] if others is None else others,
        )

    @property
    def segments(self) -> int:
        """TCP segments that went the ordinary way of the plain path."""
        return self._desk.segments

    def batches(self) -> Iterator[bytes]:
        """Yield lines, in order of recovery, each with its end."""
        if self._header is None:
            yield from self._read_frames()
        else:
            try:
                yield from self._read_records(self._header)
            except DamagedError as error:
                self._capture.stop(error)
        self._desk.give_all_back()
        yield self._page.take()
        for events in self._flows.ends():
            self._desk.tell(events)
            yield self._page.take()

    def _read_frames(self) -> Iterator[bytes]:
        """Read frame after frame of any capture."""
        page, desk = self._page, self._desk
        loans = desk.loans
        writes = self._fpdus.writes
        first_ns = 0
        for frame in self._capture:
            number, time_ns, link_type, octets, _, _ = frame
            if number == 1:
                first_ns = time_ns
                self._begin(time_ns)
            loan = loans.get(octets[_FLOW]) if link_type == ETHERNET else None
            moment: Any = (time_ns - first_ns) / SECOND if writes else time_ns
            if loan is None or not desk.check(loan, octets, (number, 0, time_ns), moment):
                desk.receive_frame(frame)
            if len(page.patterns) >= LINES_OF_A_PAGE or not number % _FRAMES_OF_A_PAGE:
                yield page.take()

    def _read_records(self, header: PcapHeader) -> Iterator[bytes]:
        """Read record after record of a pcap file.

        Here are the frames that nearly all captures are full of: segments that carry nothing,
        segments that are one FPDU, where the direction stands, and those that wait behind a hole.
        """
        capture, page, borrower, desk = self._capture, self._page, self._borrower, self._desk
        source = capture.source
        record, unit, link_type, _, at = header
        size = record.size
        loans = desk.loans
        fpdus = self._fpdus
        writes = fpdus.writes
        patterns, fields = page.patterns, page.fields
        recent_octets = self._flows.recent
        order = recent_octets.order
        # All but the original length, which is of no account here.
        unpack_record = Struct(record.format[:4]).unpack_from
        unpack_headers = HEADERS.unpack_from
        unpack_fpdu = FPDU_HEADERS.unpack_from
        find = fpdus.shapes.find
        unmarked, marked = fpdus.shapes.unmarked, fpdus.shapes.marked
        header_lengths = HEADER_LENGTHS
        in_a_second = SECOND // unit
        first_second = first_fraction = second = units = 0
        fresh = 0
        streaks = Streaks(header, capture, fpdus, borrower, page, recent_octets)
        # Directions of FPDUs; where one comes again, a streak may have begun.
        latest: Loan | None = None
        last_but_one: Loan | None = None
        latest_rest = latest_offset = 0
        epoch = 0
        moment: Any
        window = source.window
        available = len(window)
        number = 0
        while True:
            start = at + size
            if start > available:
                # It may turn out that the file cannot be read any farther.
                capture.frames = number
                window, at = source.forward(at, size)
                available = len(window)
                start = at + size
                if available < start:
                    if available > at:
                        raise cut_record(source, at)
                    return
            seconds, fraction, captured = unpack_record(window, at)
            at = start + captured
            # No window is longer than the longest record.
            if at > available:
                at = start - size
                capture.frames = number
                if captured > MAXIMUM_CAPTURED:
                    raise lying_length(source, at, captured)
                window, at = source.forward(at, size + captured)
                available = len(window)
                start = at + size
                if available < start + captured:
                    raise cut_record(source, at)
                at = start + captured
            number += 1
            if seconds != second:
                second = seconds
                units = (second - first_second) * in_a_second - first_fraction
            # Conditions are such that jumps are short where all is as usual: with long ones Python
            # 3.11 compares numbers in a more general way, which takes several times as long.
            if captured < HEADERS_LENGTH:
                loan = None
            else:
                begins, total, fragment, flow, seq, ack, rest = unpack_headers(window, start)
                loan = loans.get(flow)
            if loan is not None:
                if rest != latest_rest:
                    latest_rest = rest
                    latest_offset = header_lengths.get(rest, 0)
                offset = latest_offset
                total += IPV4_AT
                length = total - offset
                if (
                    begins != loan.begins
                    or fragment != loan.fragment
                    or captured < total
                    or not offset
                ):
                    length = -1
                elif ack != loan.ack:
                    peer_seq = loan.peer.seq
                    if not loan.ack < ack <= peer_seq <= _MASK and not (
                        (ack - loan.ack) & _MASK <= (peer_seq - loan.ack) & _MASK < _BEHIND
                    ):
                        length = -1
                if not length:
                    loan.ack = ack
                    loan.segments += 1
                    connection = loan.connection
                    connection.frame = number
                    connection.seconds = second
                    connection.fraction = fraction
                    continue
                if length < SHORTEST or seq != loan.quick_seq:
                    if length > 0 and seq > loan.seq:
                        octets = window[start + offset : start + total]
                        if borrower.keep(loan, seq, octets, number):
                            loan.took(ack, number, second, fraction)
                            if number >= streaks.resume and (
                                loan is latest or loan is last_but_one
                            ):
                                latest = last_but_one = loan
                                window, at, number = streaks.take_behind(
                                    loan, window, start - size, at, offset, length, number, epoch
                                )
                                available = len(window)
                                if not writes or len(patterns) >= LINES_OF_A_PAGE:
                                    capture.frames = number
                                    yield page.take()
                            continue
                else:
                    octets = window[start + offset : start + total]
                    if loan.markers:
                        phase = (seq - loan.begin - loan.startup) % MARKER_INTERVAL
                        leading = 0 if phase else MARKER_LENGTH
                        word, first, more, third = unpack_fpdu(octets, leading)
                        shape = marked.get(word * MARKER_INTERVAL + phase)
                        if shape is None:
                            shape = find(word, phase)
                        header_seq = seq + leading & _MASK
                    else:
                        word, first, more, third = unpack_fpdu(octets)
                        shape = unmarked.get(word) or find(word, None)
                        header_seq = seq
                    whole, tagged, (usual, line), _, pointers = shape
                    if (
                        whole != length
                        or crc32c(octets) != RESIDUE
                        or (pointers is not None and pointers.unpack(octets) != pointers.fpduptrs)
                    ):
                        if whole < length:
                            position = loan.lap + seq
                            taken = fpdus.read_easy(
                                loan, octets, position, 0, number, (units + fraction) / in_a_second
                            )
                            if taken:
                                order.append((position, octets[:taken], loan.owner))
                                seq += taken
                                if seq > _MASK:
                                    seq -= SEQUENCE_SPACE
                                    loan.lap += SEQUENCE_SPACE
                                loan.seq = loan.quick_seq = seq
                                fresh += taken
                                if fresh > _TRIM:
                                    recent_octets.count(fresh)
                                    fresh = 0
                                    if not writes or len(patterns) >= LINES_OF_A_PAGE:
                                        capture.frames = number
                                        yield page.take()
                            if taken == length:
                                loan.took(ack, number, second, fraction)
                                continue
                            # The last one may go on in the next segment.
                            offset += taken
                    else:
                        if writes:
                            moment = (units + fraction) / in_a_second
                            if tagged:
                                patterns.append(usual if first > SEVEN_DIGITS else line)
                                fields += (number, moment, loan.label, first, more, header_seq)
                            elif third or more > LOW_MSN:
                                patterns.append(line)
                                qn, msn = more >> 32, more & _MASK
                                fields += (number, moment, loan.label, qn, msn, third, header_seq)
                            else:
                                patterns.append(usual)
                                fields += (number, moment, loan.label, more, header_seq)
                        order.append((loan.lap + seq, octets, loan.owner))
                        seq += length
                        if seq > _MASK:
                            seq -= SEQUENCE_SPACE
                            loan.lap += SEQUENCE_SPACE
                        loan.seq = loan.quick_seq = seq
                        loan.ack = ack
                        loan.singles += 1
                        connection = loan.connection
                        connection.frame = number
                        connection.seconds = second
                        connection.fraction = fraction
                        fresh += length
                        if loan is not latest and loan is not last_but_one:
                            latest, last_but_one = loan, latest
                        elif number >= streaks.resume and not loan.markers:
                            # One FPDU of another direction will not end it.
                            latest = last_but_one = loan
                            window, at, number = streaks.take(
                                loan, window, start - size, at, offset, shape, number, epoch
                            )
                            available = len(window)
                            if not writes or len(patterns) >= LINES_OF_A_PAGE:
                                capture.frames = number
                                yield page.take()
                        if fresh > _TRIM:
                            recent_octets.count(fresh)
                            fresh = 0
                            # Seen to now and then, too, whether the page is full.
                            if not writes or len(patterns) >= LINES_OF_A_PAGE:
                                capture.frames = number
                                yield page.take()
                        continue
                if writes:
                    moment = (units + fraction) / in_a_second
                else:
                    moment = seconds * SECOND + fraction * unit
                stamp = number, second, fraction
                # IP may say less than its own header has: mostly 0, of a large segment that
                # was captured before the interface card cut it.
                if length > 0:
                    octets = window[start + offset : start + total]
                    if loan.waiting.early and seq == loan.seq and not loan.awaits:
                        loan.connection.take_stamp(stamp)
                        is_taken = borrower.fill(loan, octets, number, moment)
                        if is_taken:
                            loan.ack = ack
                            loan.segments += 1
                    else:
                        is_taken = desk.take(loan, flow, seq, ack, rest, octets, stamp, moment)
                else:
                    is_taken = desk.check(loan, window[start:at], stamp, moment)
                if is_taken:
                    if len(patterns) >= LINES_OF_A_PAGE or not number % _FRAMES_OF_A_PAGE:
                        capture.frames = number
                        yield page.take()
                    continue
            capture.frames = number
            time_ns = seconds * SECOND + fraction * unit
            if number == 1:
                first_second, first_fraction = seconds, fraction
                units = -fraction
                second = seconds
                epoch = seconds * in_a_second + fraction
                self._begin(time_ns)
            octets = window[start:at]
            original = max(record.unpack_from(window, start - size)[3], captured)
            desk.receive_frame(Frame(number, time_ns, link_type, octets, original, None))
            if len(patterns) >= LINES_OF_A_PAGE or not number % _FRAMES_OF_A_PAGE:
                yield page.take()
