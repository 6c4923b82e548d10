# SPDX-License-Identifier: GPL-2.0-or-later
"""Where connections are borrowed and given back, and what no loop of its own reads is handed in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.link import ETHERNET
from scapy_mpa.express.borrower import Borrower
from scapy_mpa.express.fpdus import SoundFPDUs
from scapy_mpa.express.headers import HEADER_LENGTHS, HEADERS, HEADERS_LENGTH, IPV4_AT
from scapy_mpa.express.page import Page
from scapy_mpa.stream.connections.loan import Loan
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.octets.chunk import Chunk
from scapy_mpa.stream.segment import SECOND, Segment

if TYPE_CHECKING:
    from scapy_mpa.stream.events import Event

__all__ = ["Desk"]

_ETHERNET_IPV4: Final = 0x080045
_ETHERTYPE_AT: Final = 12
_ETHERTYPE_IPV4: Final = _ETHERNET_IPV4.to_bytes(3, "big")
_NOT_TTL: Final = 0x3FFF00FF
_WHOLE_TCP: Final = 6
_MASK: Final = 0xFFFFFFFF
_BEHIND: Final = 0x80000000

_PUT_OFF: Final = Loan.none()
"""Stands for the loan of a connection that is about to begin, which is given when it does.  Where
very many begin at a time, the memory of what has read their startup frames is free by then."""


class Desk:
    """Has frames brought to the directions that they belong to, on loan or not.

    Where a method is asked for a ``stamp``, that is the number of a frame, and its time in seconds
    since the epoch and units of their fraction.

    :param flows: lends connections, and takes what is not ordinary.
    :param decoder: reads the headers of what is not ordinary.
    :param borrower: brings loans up to date.
    :param fpdus: passes FPDUs on.
    :param page: where events are written.
    :param unit: nanoseconds in a unit of the fraction of a connection on loan.
    :param lines_of: makes lines of the events of what is not ordinary.
    :param others: where the decoder has events put of frames that have no segment.
    """

    def __init__(
        self,
        flows: Flows,
        decoder: Decoder,
        borrower: Borrower,
        fpdus: SoundFPDUs,
        page: Page,
        unit: int,
        lines_of: Callable[[list[Event]], list[str]],
        others: list[Event],
    ) -> None:
        self._flows = flows
        self._decoder = decoder
        self._borrower = borrower
        self._fpdus = fpdus
        self._page = page
        self._unit = unit
        self._lines_of = lines_of
        self._others = others
        self._budget = flows.budget
        flows.recall = self.give_all_back
        flows.budget.recall = self._give_octets_back
        self.loans: dict[bytes, Loan] = {}
        """By addresses and ports, as a segment has them."""
        # What nearly all directions have in common, each number kept once.
        self._common: dict[int, int] = {}
        self.segments = 0
        """TCP segments that went the ordinary way of the plain path."""

    def check(self, loan: Loan, frame: bytes, stamp: tuple[int, int, int], moment: Any) -> bool:
        """Take a frame of a direction on loan, if its headers are as they should be.

        Return False if the direction must be given back for it.
        """
        if len(frame) < HEADERS_LENGTH:
            return False
        begins, total, fragment, flow, seq, ack, rest = HEADERS.unpack_from(frame)
        header = HEADER_LENGTHS.get(rest)
        end = IPV4_AT + total
        if (
            header is None
            or begins >> 8 != _ETHERNET_IPV4
            or fragment & _NOT_TTL != _WHOLE_TCP
            or not header <= end <= len(frame)
        ):
            return False
        if loan is _PUT_OFF:
            if not self._borrow(flow, may_begin=True):
                return False
            loan = self.loans[flow]
        more = (ack - loan.ack) & _MASK
        if more < _BEHIND:
            # What was acknowledged may lie ahead of all that was captured: then no more is.
            if not more <= (loan.peer.seq - loan.ack) & _MASK < _BEHIND:
                return False
        elif loan.awaits:
            return False
        else:
            ack = loan.ack
        if not loan.awaits:
            # Else each of its segments is to come here.
            loan.begins = self._common.setdefault(begins, begins)
        loan.fragment = self._common.setdefault(fragment, fragment)
        return self.take(loan, flow, seq, ack, rest, frame[header:end], stamp, moment)

    def take(
        self,
        loan: Loan,
        flow: bytes,
        seq: int,
        ack: int,
        rest: int,
        octets: bytes,
        stamp: tuple[int, int, int],
        moment: Any,
    ) -> bool:
        """Take a segment of a direction on loan; return False if it must be given back for it.

        :param ack: the last acknowledgement number, not an older one.
        """
        number = stamp[0]
        length = len(octets)
        borrower = self._borrower
        begins = loan.begins_phase
        if begins and octets and not loan.follows_reply(ack):
            return False
        if loan.awaits and not loan.is_in_turn(seq, length, ack):
            return False
        if octets and seq == loan.seq:
            loan.connection.take_stamp(stamp)
            if loan.waiting.early:
                if not borrower.fill(loan, octets, number, moment):
                    return False
            else:
                position = loan.end
                taken = borrower.take(loan, octets, number, number, moment)
                if begins:
                    self._fpdus.align(self.loans)
                if taken:
                    self._flows.recent.remember(loan.owner, Chunk(position, octets, number))
                elif loan.begins_phase:
                    return False
                if taken < length:
                    _, seconds, fraction = stamp
                    time_ns = seconds * SECOND + fraction * self._unit
                    rest_of_it = octets[taken:]
                    seq = seq + taken & _MASK
                    self._receive(
                        Segment(
                            flow, seq, ack, rest & 0xFF, rest_of_it, length - taken, number, time_ns
                        )
                    )
                    return True
        elif octets:
            if not loan.takes_data:
                return False
            if (seq - loan.seq) & _MASK >= _BEHIND:
                if not borrower.repeats(loan, seq, octets):
                    return False
            elif not borrower.keep(loan, seq, octets, number):
                return False
        loan.ack = ack
        loan.segments += 1
        loan.connection.take_stamp(stamp)
        if self._budget.room < 0:
            self.tell(self._flows.make_room())
        return True

    def receive_frame(self, frame: Frame) -> None:
        """Let the plain path have a frame."""
        segment = self._decoder.segment(frame)
        if segment is not None:
            is_ours = frame.link_type == ETHERNET and frame.octets.startswith(
                _ETHERTYPE_IPV4, _ETHERTYPE_AT
            )
            self._receive(segment, is_ours=is_ours)
        elif self._others:
            self.tell(self._others[:])
            self._others.clear()

    def tell(self, events: list[Event]) -> None:
        """Add lines of events, which may need more room for labels than those so far."""
        if events:
            self._page.add(self._lines_of(events))
            self._fpdus.align(self.loans)

    def give_all_back(self) -> None:
        """Give back all connections."""
        for flow in list(self.loans):
            if flow in self.loans:
                self._give_back(flow)

    def _receive(self, segment: Segment, *, is_ours: bool = True) -> None:
        """Let the plain path have a segment, and borrow the connection if that is of use.

        :param is_ours: whether its headers are of the kind that can be read here.
        """
        self.segments += 1
        flow = segment.flow
        if flow in self.loans:
            self._give_back(flow)
        self.tell(self._flows.receive(segment))
        if segment.length and is_ours and not self._borrow(flow, may_begin=False):
            connection = self._flows.connection(flow)
            # One that is over is ended without another segment, and would stay here.
            if connection is not None and connection.is_at_rest and not connection.lingers:
                self.loans[connection.identity.flow] = self.loans[connection.reverse] = _PUT_OFF

    def _borrow(self, flow: bytes, *, may_begin: bool) -> bool:
        """Borrow the connection of a flow, if all is in order there; tell whether it is.

        :param may_begin: whether that may be before its first FPDU.
        """
        loans = self._flows.lend(flow, may_begin=may_begin)
        if loans is None:
            return False
        # The last frame is one of the same file, so that nothing is lost.
        loans[0].connection.fraction //= self._unit
        for loan in loans:
            self._borrower.begin(loan)
            loan.lap = self._common.setdefault(loan.lap, loan.lap)
            self.loans[loan.flow] = loan
        return True

    def _give_back(self, flow: bytes) -> None:
        """Give a connection back."""
        loan = self.loans[flow]
        if loan is _PUT_OFF:
            connection = self._flows.connection(flow)
            assert connection is not None
            del self.loans[connection.identity.flow], self.loans[connection.reverse]
            return
        loans = (loan.peer, loan) if loan.direction else (loan, loan.peer)
        for each_loan in loans:
            del self.loans[each_loan.flow]
            self._borrower.end(each_loan)
        loan.connection.fraction *= self._unit
        self._flows.reclaim(loans)
        # They refer to each other, and would stay until the collector comes.
        for each_loan in loans:
            del each_loan.peer

    def _give_octets_back(self) -> None:
        """Give back the connections of which octets are held, those held for longest first."""
        holders = self._borrower.holders
        for loan in list(holders):
            if loan in holders:
                self._give_back(loan.flow)
