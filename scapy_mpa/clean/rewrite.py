# SPDX-License-Identifier: GPL-2.0-or-later
"""One connection rewritten: what is in order becomes TCP segments.

Sequence numbers are those that the sender would have used without Markers, from the place on where
the first octets of its direction lie.  What was not captured stays missing, so they jump there.
An acknowledgement acknowledges the same octets as before, if they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Reader
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reframe import Reframer
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.clean.half import WrittenHalf
from scapy_mpa.clean.opening import NEEDED, Opening
from scapy_mpa.clean.report import Report, comment_of, of_frames
from scapy_mpa.clean.slot import Item, Kind, Slot, Written
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.segment import ACK, FIN, PSH, RST, SYN
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.wire.fpdu import WORD
from scapy_mpa.wire.startup import (
    STARTUP_HEADER_LENGTH,
    StartupFrame,
    StartupKind,
    build_startup,
)

_NO_HANDSHAKE: Final = "no TCP handshake was captured"

_NOWHERE: Final = 1 << 16
"""Where a direction begins of which nothing was captured."""


@dataclass(slots=True, eq=False)
class Rewriter:
    """Writes one connection."""

    identity: ConnectionId
    report: Report
    """Counts what is done."""
    _out: list[Written]
    """Takes what is written."""
    _readers: Mapping[int, Reader]
    """Of the headers of captured frames."""
    opening: Opening = field(init=False)
    """Which startup frames there are."""
    _halves: tuple[WrittenHalf, WrittenHalf] = field(
        default_factory=lambda: (WrittenHalf(), WrittenHalf())
    )
    _latest: tuple[Frame, Reframer] | None = None
    """The headers with which a frame was made last, and what made it: mostly it makes another."""
    _time_ns: int | None = None
    """Of what was written last, None at first: a capture may be of before 1970."""
    _is_open: bool = False
    """Whether anything of MPA was written."""
    _is_torn: bool = False
    """Whether frames were copied that speak of octets which are in none of them."""

    def __post_init__(self) -> None:
        self.opening = Opening(self.identity.flow, self._halves)

    # -- what is known ------------------------------------------------------------------------

    def has_copied(self, direction: int, number: int) -> bool:
        """Tell whether a frame was copied before its content was known."""
        return number <= self._halves[direction].copied

    def is_as_captured(self, direction: int, position: int) -> bool:
        """Tell whether what is written of a direction ends there, with the numbers that it had."""
        half = self._halves[direction]
        return half.old in (None, position) and not half.is_shifted

    def take_headers(self, direction: int, frame: Frame, flow: bytes) -> None:
        """Take the headers of a frame, if they are the first of their direction."""
        half = self._halves[direction]
        if half.reframer is None:
            # At once, since it keeps nothing else of a frame that may be long.
            half.reframer = Reframer(frame, flow, self._readers)

    # -- the frame of a slot -------------------------------------------------------------------

    def write(self, slot: Slot) -> None:
        """Write what stands in a slot: the frame itself, or what is left of it.  Not its items."""
        half, peer = self._halves[slot.direction], self._halves[1 - slot.direction]
        is_new = False
        if slot.flags & ACK:
            if self._is_open:
                peer.hint = slot.ack
                is_new = peer.acknowledge(slot.ack)
            else:
                peer.take_hint(slot.ack)
        if slot.flags & SYN and not (self._is_open and half.new is not None):
            self._write_syn(slot)
        elif slot.length and slot.is_plain:
            is_first = any(item.slot == slot.number for item in slot.items)
            if not is_first and not half.is_shifted:
                # It goes on with the FPDU of those before it.
                self._send_plain(slot)
                half.advance(slot.end, slot.end)
                half.expect_ack(slot.end, slot.end, slot.length)
        elif slot.length and not slot.is_fpdus:
            self._write_streaming(slot)
        elif not slot.length and self._is_still_true(slot):
            self._copy(slot)
            half.has_fin |= bool(slot.flags & FIN)
        elif slot.flags & RST:
            self._send_anew(slot, slot.flags & (RST | ACK))
        elif is_new and not slot.length and not slot.flags & FIN:
            self._send_anew(slot, ACK)

    def _is_still_true(self, slot: Slot) -> bool:
        """Tell whether a segment without octets says what it would say among what is written."""
        half, peer = self._halves[slot.direction], self._halves[1 - slot.direction]
        if not self._is_open:
            # If a frame before it speaks of a startup frame, tools take that for a copy.
            return half.has_all_before(slot.position) and not (
                slot.flags & ACK and not peer.has_all_before(slot.ack)
            )
        is_kept = half.keeps(slot.position) and self._keeps_ack(slot)
        return is_kept and not slot.flags & (SYN | FIN)

    def _write_syn(self, slot: Slot) -> None:
        """Write a SYN: as it was, or without its payload if there is MPA in that."""
        half = self._halves[slot.direction]
        start, end = slot.position, slot.position + slot.length
        pieces = half.streaming(start, end, is_accepted=self.opening.is_accepted)
        is_whole = not slot.is_fpdus and (start == end or pieces == [(start, end)])
        if is_whole:
            self._copy(slot)
        else:
            self._send_anew(slot, slot.flags & (SYN | ACK), seq=start - 1)
            end = start
        half.has_syn = True
        if half.old is None or end > half.old:
            half.old, half.new = end, sequence_number(end)
        if not slot.is_fpdus and not is_whole:
            self._write_streaming(slot)

    def _copy(self, slot: Slot, comment: str | None = None) -> None:
        assert slot.frame is not None
        self._not_before(slot.time_ns)
        if not self._is_open and not slot.flags & SYN:
            half, peer = self._halves[slot.direction], self._halves[1 - slot.direction]
            if half.old is not None and slot.position > half.old:
                self._is_torn = True
            elif slot.flags & ACK and peer.old is not None:
                self._is_torn |= unwrap(slot.ack, peer.old) > peer.old
            if slot.length:
                half.mentioned = sequence_number(slot.end)
            if slot.flags & ACK:
                peer.mentioned = slot.ack
        self._out.append(Written(slot.frame, comment))
        self.report.copied += 1

    def _send_plain(self, slot: Slot, remarks: Sequence[str] = ()) -> None:
        """Write a segment whose octets and sequence number stay as they are."""
        if self._keeps_ack(slot):
            self._copy(slot, comment_of(*remarks) if remarks else None)
            return
        assert slot.frame is not None
        octets = slot.payload
        if not octets:
            _, headers = read_headers(*slot.frame[2:5], self._readers)
            octets = tcp_segment(slot.frame, headers).payload
        self._send_anew(slot, slot.flags, octets, slot.position, slot.length, remarks)

    def _send_anew(
        self,
        slot: Slot,
        flags: int,
        octets: bytes = b"",
        seq: int | None = None,
        length: int | None = None,
        remarks: Sequence[str] = (),
    ) -> None:
        """Write a segment in place of the captured one, with its headers."""
        said = comment_of(*remarks, of_frames((slot.number,)))
        self._send(
            slot, slot.direction, flags, octets, said, seq=seq, length=length, headers=slot.headers
        )

    def _write_streaming(self, slot: Slot) -> None:
        """Write what a frame holds that is not MPA."""
        half = self._halves[slot.direction]
        start, end = slot.position, slot.position + slot.length
        pieces = half.streaming(start, end, is_accepted=self.opening.is_accepted)
        if self._is_open and half.old is not None:
            # Not again what was written before the startup frame.
            pieces = [piece for piece in pieces if piece[1] > half.old]
        is_shifted = half.is_shifted or self._halves[1 - slot.direction].is_shifted
        is_whole = pieces == [(start, end)] and not is_shifted
        if is_whole:
            self._copy(slot)
            half.copied = slot.number
            half.has_fin |= bool(slot.flags & FIN)
        for begin, end in pieces:
            for item in slot.items:
                # A startup frame may end in the segment of what follows it.
                if (
                    item.connection == self.identity.number
                    and item.direction == slot.direction
                    and item.start < begin
                ):
                    self.write_item(item, slot)
            self._write_piece(slot, begin, end, is_copied=is_whole)

    def _write_piece(self, slot: Slot, begin: int, end: int, *, is_copied: bool) -> None:
        """Write octets of a frame that are not MPA, if they are not copied with it, and go on."""
        half = self._halves[slot.direction]
        octets = slot.payload[begin - slot.position : end - slot.position]
        if half.old is None or half.new is None:
            half.old, half.new = begin, sequence_number(begin)
        seq = half.new + begin - half.old
        if not is_copied:
            self._send_anew(slot, ACK | PSH, octets, seq, end - begin)
        if self.opening.is_mpa:
            self.report.left_out -= max(0, begin + len(octets) - max(begin, half.old))
        if end > half.old:
            half.advance(end, seq + end - begin)
            if self._is_open:
                half.expect_ack(half.old, half.new)

    # -- items ---------------------------------------------------------------------------------

    def write_item(self, item: Item, slot: Slot) -> None:
        """Write an item into a slot."""
        if item.is_written:
            return
        item.is_written = True
        self.report.left_out -= item.captured
        remarks = self._prepared(item, slot)
        if remarks is None:
            return
        half = self._halves[item.direction]
        if half.old is None or half.new is None:
            half.new = sequence_number(item.start) if half.new is None else half.new
            half.old = item.start
        if half.acknowledged is None:
            half.acknowledged = half.new
        remarks += self._leave_hole(item)
        is_plain = slot.is_plain and item.slot == slot.number and not half.is_shifted
        if not is_plain:
            self._send_all(slot, item, remarks)
        elif item.start == slot.position:
            self._send_plain(slot, remarks)
        if item.kind is Kind.FIN:
            # It has a number, but octets may yet come where it is, if it is a damaged bit.
            half.advance(item.start, half.new)
            half.expect_ack(item.end, half.new + 1)
        elif is_plain:
            # The segments that go on with it follow.
            end = min(item.end, slot.end)
            half.advance(end, end)
            half.expect_ack(end, end, end - item.start)
        else:
            half.advance(item.end, half.new + item.length)
            half.expect_ack(half.old, half.new)

    def _prepared(self, item: Item, slot: Slot) -> list[str] | None:
        """Do what comes before an item is written; return what to say of it.

        None: it is not written.
        """
        half = self._halves[item.direction]
        if item.kind is Kind.FPDU:
            if not self.opening.written >= NEEDED and not self._is_rejected_in_words(item):
                self._supply(slot, item, NEEDED)
            self.opening.written |= NEEDED
            self.report.fpdus += 1
            self.report.markers += item.markers
            self.report.cut += len(item.octets) < item.length
            return []
        if item.startup is None:
            if half.has_fin or not self._is_open:
                return None
            half.has_fin = True
            return []
        if item.startup.kind is StartupKind.RTR:
            self.report.rtr_frames += 1
            if half.new is not None:
                half.advance(item.end, half.new)
            return None
        if item.startup.kind in self.opening.supplied:
            # Where another one stands for it, it would be taken for an FPDU.
            return None
        self._open_startup(item, slot)
        return self._changes(item.startup)

    def _changes(self, startup: StartupFrame) -> list[str]:
        """Count a startup frame that is written; return what is changed in it."""
        changes = []
        self.opening.write(startup)
        if startup.markers:
            self.report.cleared += 1
            changes.append("M was set, and is cleared like Markers are removed")
        if startup.extension:
            self.report.extensions += 1
            changes.append(
                f"this was revision {startup.revision}, with an extension of "
                f"{len(startup.extension)} octets"
            )
        return changes

    def _leave_hole(self, item: Item) -> list[str]:
        """Have the hole before an item stay; return what to say of it, or of an item too late."""
        half = self._halves[item.direction]
        assert half.new is not None and half.old is not None
        missing = half.hole_before(item)
        if missing:
            # A startup that was not captured may have been of any length, but after the startup
            # frames that are written, FPDUs are looked for where they lie by RFC 5044 4.1.
            kept = missing - missing % WORD if item.kind is Kind.FPDU else missing
            half.advance(item.start, half.new + kept)
            self.report.holes += 1
            self.report.missing += missing
            return [f"{missing} octets before this are missing"]
        if item.start < half.old + item.drift and item.kind is Kind.FPDU:
            return ["this FPDU belongs before those that precede it"]
        return []

    def _is_rejected_in_words(self, item: Item) -> bool:
        """Tell whether an FPDU directly follows a rejection, as with Linux siw."""
        startups = self._halves[item.direction].startups
        follows = bool(startups) and startups[-1].end == item.start
        return follows and self._is_open and not self.opening.written

    def _send_all(self, slot: Slot, item: Item, remarks: Sequence[str]) -> None:
        """Write an item into as many segments as it needs, of about the same size."""
        half = self._halves[item.direction]
        assert half.new is not None
        length = 0 if item.kind is Kind.FIN else item.length
        count = max(1, -(-length // self._reframer(item.direction, item.headers).largest))
        size = max(4, -(-length // count) + 3 & ~3)
        of = of_frames(item.frames)
        for at in range(0, max(1, length), size):
            self._send(
                slot,
                item.direction,
                ACK | (FIN if item.kind is Kind.FIN else PSH),
                item.octets[at : at + size],
                comment_of(of) if at else comment_of(*remarks, of),
                seq=half.new + at,
                length=min(size, length - at),
                headers=item.headers,
            )

    # -- startup -------------------------------------------------------------------------------

    def _open_startup(self, item: Item, slot: Slot) -> None:
        """Make ready for a startup frame that was captured."""
        if not self._is_open and (self.opening.has_fpdus or self._is_mentioned):
            self._supply(slot, item, frozenset())
        assert item.startup is not None
        is_reply = item.startup.kind is StartupKind.REPLY
        if is_reply and StartupKind.REQUEST not in self.opening.written:
            self._supply(slot, item, frozenset({StartupKind.REQUEST}))
        elif not is_reply:
            for each in self.opening.unwritten(StartupKind.REPLY, item):
                # A rejection, after which the Initiator asks again.
                if each.attempt < item.attempt:
                    self.write_item(each, slot)
        self._open()
        if is_reply and slot.number < max(item.frames):
            self._hear_request(item.direction)

    def _hear_request(self, direction: int) -> None:
        """Have a Reply acknowledge the Request that it answers (RFC 5044 7.1.2 rule 2)."""
        asking = self._halves[1 - direction]
        asking.acknowledged = asking.new

    def _open(self) -> None:
        """Begin to write MPA."""
        if self._is_open:
            return
        self._is_open = True
        self.report.connections += 1
        for half in self._halves:
            half.boundaries.clear()
            if half.startups or self.opening.has_fpdus:
                self._place(half)
            # Nothing is acknowledged before it is written: tools would take it for a copy.
            half.acknowledged = half.hint if half.new is None else half.new

    @property
    def _is_mentioned(self) -> bool:
        """Whether frames that were copied have octets of startup frames, or speak of them."""
        return any(half.begins_before(half.mentioned) for half in self._halves)

    def _supply(self, slot: Slot, item: Item, kinds: frozenset[StartupKind]) -> None:
        """Write startup frames that must stand before an item, captured or made up."""
        opening = self.opening
        wanting = [kind for kind in StartupKind if kind in kinds - opening.written]
        captured = {kind: opening.unwritten(kind, item) for kind in wanting}
        missing = [kind for kind in wanting if not captured[kind]]
        initiator = opening.initiator
        sender = {StartupKind.REQUEST: initiator, StartupKind.REPLY: 1 - initiator}
        # Where other frames speak of the same octets, tools would take these for copies.
        is_taken = self._is_torn or any(half.copied for half in self._halves)
        lacks_syn = not any(half.has_syn for half in self._halves)
        if not self._is_open:
            # The first startup frame may be there, and the other one not.
            is_lacking = bool(missing) or (opening.has_fpdus and not opening.is_whole)
            lacks_handshake = self._is_mentioned or (is_lacking and (is_taken or lacks_syn))
            for half in self._halves:
                self._place(half, lacks_handshake)
            if lacks_handshake:
                self._handshake(slot, initiator)
        self._open()
        for kind in wanting:
            if captured[kind]:
                for each in captured[kind]:
                    self.write_item(each, slot)
                continue
            half = self._halves[sender[kind]]
            self._place(half)
            assert half.new is not None
            octets = build_startup(opening.made_up(kind))
            said = comment_of(f"supplied, the MPA {kind.value.title()} was not captured")
            if kind is StartupKind.REPLY:
                self._hear_request(sender[kind])
            self._send(slot, sender[kind], ACK | PSH, octets, said)
            half.new = half.acknowledged = sequence_number(half.new + len(octets))
            half.old = None
            if half.fpdus_from is None:
                half.fpdus_from = 0
            opening.supply(kind)
            self.report.startup_frames += 1

    def _place(self, half: WrittenHalf, before: int = 0) -> None:
        """Find a sequence number for a direction of which nothing is written.

        :param before: numbers that will precede its first startup frame.
        """
        if half.new is not None:
            return
        if half.startups:
            first = half.startups[0].start
        else:
            known = half.hint or _NOWHERE if half.lowest is None else half.lowest
            first = known - STARTUP_HEADER_LENGTH
        half.new = sequence_number(first - before)

    def _handshake(self, slot: Slot, initiator: int) -> None:
        """Write a SYN, the SYN of the other side, and an acknowledgement."""
        one, other = self._halves[initiator], self._halves[1 - initiator]
        assert one.new is not None and other.new is not None
        had_syn = any(half.has_syn for half in self._halves)
        why = "frames before this speak of what follows" if had_syn else _NO_HANDSHAKE
        said = comment_of(f"supplied, {why}")
        for direction, flags in ((initiator, SYN), (1 - initiator, SYN | ACK), (initiator, ACK)):
            half = self._halves[direction]
            self._send(slot, direction, flags, b"", said, seq=half.new)
            if flags & SYN:
                assert half.new is not None
                half.new = half.acknowledged = sequence_number(half.new + 1)
                half.old = None
                half.has_syn = True
        self.report.handshakes += 1

    # -- segments ------------------------------------------------------------------------------

    def _reframer(self, direction: int, headers: Frame | None = None) -> Reframer:
        """Return what makes frames with some headers, or those of a direction's first frame."""
        if headers is not None:
            if self._latest is None or self._latest[0] is not headers:
                flow = self.identity.flows[direction]
                self._latest = headers, Reframer(headers, flow, self._readers)
            return self._latest[1]
        half = self._halves[direction]
        if half.reframer is None:
            half.reframer = self._reframer(1 - direction).reversed()
        return half.reframer

    def _keeps_ack(self, slot: Slot) -> bool:
        """Tell whether the segment of a slot acknowledges what it did, if anything."""
        return not slot.flags & ACK or self._acknowledged(slot.direction) == slot.ack

    def _acknowledged(self, direction: int) -> int:
        """Return what a direction acknowledges now."""
        peer = self._halves[1 - direction]
        return peer.hint or 0 if peer.acknowledged is None else peer.acknowledged

    def _not_before(self, time_ns: int) -> int:
        """Return when something is written that should be at a time: never back in time."""
        if self._time_ns is None or time_ns > self._time_ns:
            self._time_ns = time_ns
        return self._time_ns

    def _send(
        self,
        slot: Slot,
        direction: int,
        flags: int,
        octets: bytes,
        comment: str,
        *,
        seq: int | None = None,
        length: int | None = None,
        headers: Frame | None = None,
    ) -> None:
        half = self._halves[direction]
        time_ns = self._not_before(slot.time_ns)
        if seq is None:
            # Where nothing is written, numbers are still those that were captured.
            seq = slot.position if half.new is None else half.new
            if half.has_fin and half.old is not None and slot.position > half.old:
                seq += 1
        ack = self._acknowledged(direction) if flags & ACK else 0
        frame = self._reframer(direction, headers).frame(
            slot.number, time_ns, sequence_number(seq), ack, flags, octets, length=length
        )
        self._out.append(Written(frame, comment))
