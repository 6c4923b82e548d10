# SPDX-License-Identifier: GPL-2.0-or-later
"""From the octets of a pcap file to lines, the ordinary segment in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import Final

from scapy_mpa.capture.damage import DamagedError
from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import MAXIMUM_CAPTURED, Frame
from scapy_mpa.capture.link import ETHERNET
from scapy_mpa.capture.pcap import PcapHeader, cut_record, lying_length
from scapy_mpa.capture.reader import Capture
from scapy_mpa.express.borrower import Borrower
from scapy_mpa.records.kinds import Templates
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.loan import Loan
from scapy_mpa.stream.segment import ACK, PSH, Segment
from scapy_mpa.wire.crc import RESIDUE, crc32c

__all__ = ["ExpressReader", "can_be_read_by_express"]

_HEADERS: Final = Struct(">12xIHxxIxx12sIIH")
"""Ethernet, IPv4 without options and TCP in one go: EtherType with IP version, header length and
service; total length; fragment, time to live and protocol; addresses and ports; sequence number,
acknowledgement number; data offset with flags."""
_HEADERS_LENGTH: Final = 54
_ETHERNET_IPV4: Final = 0x080045
_NOT_TTL: Final = 0x3FFF00FF
_WHOLE_TCP: Final = 6
_IPV4_AT: Final = 14
_HEADER_LENGTHS: Final = {
    words << 12 | flags: 34 + 4 * words for words in range(5, 16) for flags in (ACK, ACK | PSH)
}
"""Where the TCP payload begins in the frame, for the flags of an ordinary segment."""
_TAGGED: Final = Struct(">HxxIQ")
_UNTAGGED: Final = Struct(">HxxIIII")
"""An FPDU without Markers: ULPDU_Length, and the DDP header behind the two control octets."""
_SECOND: Final = 1_000_000_000
_MASK: Final = 0xFFFFFFFF
_BEHIND: Final = 0x80000000
_BATCH: Final = 512
_FLOWS: Final = 1 << 15
"""Flows that may be on loan at one time: who has them does not see which of them are idle."""
_TRIM: Final = 1 << 16
"""Octets to be remembered before it is seen to that not too many are."""
_SHORTEST: Final = 24
"""Octets of the shortest FPDU in which either DDP header is there."""


def can_be_read_by_express(capture: Capture) -> bool:
    """Tell whether a capture is of the kind that this way knows: pcap with Ethernet."""
    header = capture.pcap
    return header is not None and header.link_type == ETHERNET and not header.fcs


class ExpressReader:
    """Reads a capture to its end, and gives lines.

    :param capture: a fresh one for which :func:`can_be_read_by_express` holds.
    :param flows: takes what is not ordinary.
    :param decoder: reads the headers of what is not ordinary.
    :param templates: how FPDUs are written; None: they are only counted.
    :param lines_of: makes lines of the events of what is not ordinary.
    :param begin: is told the time of the first frame, in nanoseconds since the epoch.
    """

    def __init__(
        self,
        capture: Capture,
        flows: Flows,
        decoder: Decoder,
        templates: Templates | None,
        lines_of: Callable[[list[Event]], list[str]],
        begin: Callable[[int], None],
    ) -> None:
        assert capture.pcap is not None
        self._capture = capture
        self._header: PcapHeader = capture.pcap
        self._flows = flows
        self._decoder = decoder
        self._lines_of = lines_of
        self._begin = begin
        self._lines: list[str] = []
        self._borrower = Borrower(templates, self._lines)
        self._loans: dict[bytes, Loan] = {}
        self._pairs: dict[bytes, tuple[Loan, Loan]] = {}
        self.segments = 0
        """TCP segments that went the ordinary way of the plain path."""

    def batches(self) -> Iterator[list[str]]:
        """Yield lines, in order of recovery."""
        try:
            yield from self._read()
        except DamagedError as error:
            self._capture.stop(error)
        for flow in list(self._pairs):
            self._give_back(flow)
        yield self._lines + self._lines_of(self._flows.finish())

    def _read(self) -> Iterator[list[str]]:
        capture = self._capture
        source = capture.source
        record, unit, link_type, _, at = self._header
        size = record.size
        lines = self._lines
        append = lines.append
        loans = self._loans
        take = self._borrower.take
        writes = self._borrower.writes
        recent_octets = self._flows.recent
        order = recent_octets.order
        unpack_record, unpack_headers = record.unpack_from, _HEADERS.unpack_from
        unpack_tagged, unpack_untagged = _TAGGED.unpack_from, _UNTAGGED.unpack_from
        header_lengths = _HEADER_LENGTHS
        fresh = 0
        window = source.window
        available = len(window)
        number = 0
        while True:
            start = at + size
            if start > available:
                window = source.advance(at, size)
                available = len(window)
                at = 0
                start = size
                if available < size:
                    capture.frames = number
                    if window:
                        raise cut_record(source, at)
                    return
            seconds, fraction, captured, original = unpack_record(window, at)
            if captured > MAXIMUM_CAPTURED:
                capture.frames = number
                raise lying_length(source, at, captured)
            end = start + captured
            if end > available:
                window = source.advance(at, size + captured)
                available = len(window)
                at = 0
                start = size
                end = size + captured
                if available < end:
                    capture.frames = number
                    raise cut_record(source, at)
            number += 1
            if captured >= _HEADERS_LENGTH:
                begins, total, fragment, flow, seq, ack, rest = unpack_headers(window, start)
                loan = loans.get(flow)
                first = header_lengths.get(rest)
                if (
                    loan is not None
                    and first is not None
                    and begins >> 8 == _ETHERNET_IPV4
                    and fragment & _NOT_TTL == _WHOLE_TCP
                    and (ack == loan.ack or (ack - loan.ack) & _MASK < _BEHIND)
                ):
                    first += start
                    behind = start + _IPV4_AT + total
                    if first == behind <= end:
                        loan.ack = ack
                        loan.segments += 1
                        loan.frame = number
                        loan.time = seconds, fraction * unit
                        at = end
                        continue
                    if seq == loan.seq and first < behind <= end:
                        octets = window[first:behind]
                        length = behind - first
                        position = loan.end
                        template = None
                        if (
                            loan.is_simple
                            and length >= _SHORTEST
                            and ((octets[0] << 8 | octets[1]) + 5 & ~3) + 4 == length
                            and crc32c(octets) == RESIDUE
                        ):
                            template = loan.templates.get(octets[2:4])
                        if template is None:
                            taken = take(loan, octets, number, seconds * _SECOND + fraction * unit)
                        else:
                            if writes:
                                time_ns = seconds * _SECOND + fraction * unit
                                base = loan.base
                                offset = None if base is None else position - base
                                if octets[2] & 0x80:
                                    n, stag, to = unpack_tagged(octets)
                                    line = template(
                                        number, time_ns, seq, offset, n, number, stag, to
                                    )
                                else:
                                    n, *fields = unpack_untagged(octets)
                                    line = template(
                                        number, time_ns, seq, offset, n, number, *fields
                                    )
                                append(line)
                            taken = length
                            loan.last = position
                            loan.start = loan.end = position + length
                            loan.seq = seq + length & _MASK
                            loan.fpdus += 1
                        if taken:
                            loan.recent.append((position, octets, number))
                            order.append(loan.recent)
                            fresh += length
                            if fresh > _TRIM:
                                recent_octets.octets += fresh
                                recent_octets.trim()
                                fresh = 0
                        at = end
                        if taken == length:
                            loan.ack = ack
                            loan.segments += 1
                            loan.frame = number
                            loan.time = seconds, fraction * unit
                            if len(lines) >= _BATCH:
                                capture.frames = number
                                yield lines[:]
                                lines.clear()
                            continue
                        self._receive(
                            Segment(
                                flow,
                                seq + taken & _MASK,
                                ack,
                                rest & 0xFF,
                                octets[taken:],
                                length - taken,
                                number,
                                seconds * _SECOND + fraction * unit,
                            )
                        )
                        continue
            capture.frames = number
            if number == 1:
                self._begin(seconds * _SECOND + fraction * unit)
            segment = self._decoder.segment(
                Frame(
                    number,
                    seconds * _SECOND + fraction * unit,
                    link_type,
                    window[start:end],
                    max(original, captured),
                    None,
                )
            )
            at = end
            if segment is not None:
                self._receive(segment)
            if len(lines) >= _BATCH or not number % 4096:
                yield lines[:]
                lines.clear()

    def _receive(self, segment: Segment) -> None:
        """Let the plain path have a segment, and borrow the connection if that is of use."""
        self.segments += 1
        flow = segment.flow
        if flow in self._loans:
            self._give_back(flow)
        events = self._flows.receive(segment)
        if events:
            self._lines += self._lines_of(events)
        if segment.length:
            if len(self._pairs) > _FLOWS:
                for each in list(self._pairs):
                    self._give_back(each)
            loans = self._flows.lend(flow)
            if loans is not None:
                for loan, each in zip(loans, loans[0].connection.flows, strict=True):
                    self._loans[each] = loan
                    self._pairs[each] = loans

    def _give_back(self, flow: bytes) -> None:
        loans = self._pairs.get(flow)
        if loans is not None:
            for each in loans[0].connection.flows:
                del self._loans[each]
                del self._pairs[each]
            self._flows.reclaim(loans)
