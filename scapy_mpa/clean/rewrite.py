# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the items of one connection as TCP segments.

A direction starts with its captured sequence number, and goes on as if the sender had used no
Markers.  Holes stay, so sequence numbers jump there.  An acknowledgement still acknowledges the
same octets, if they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.headers import Reader
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reframe import Reframer, headers_of
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.clean.half import WrittenHalf
from scapy_mpa.clean.opening import NEEDED, Opening
from scapy_mpa.clean.report import Report, comment_of, of_frames
from scapy_mpa.clean.slot import Item, Kind, Slot, Written
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.sequence import sequence_number, unwrap
from scapy_mpa.wire.fpdu import WORD
from scapy_mpa.wire.startup import STARTUP_HEADER_LENGTH, StartupFrame, StartupKind, build_startup
from scapy_mpa.wire.tcp import ACK, FIN, PSH, RST, SYN

_NO_HANDSHAKE: Final = "no TCP handshake was captured"
_NOT_COPIES: Final = "so that other tools do not take the startup frames for copies"
"""Why another TCP handshake is supplied."""

_DEFAULT: Final = 1 << 16
"""Where a direction begins if none of its octets was captured."""


@dataclass(slots=True, eq=False)
class Rewriter:
    """Writes one connection."""

    identity: ConnectionId
    report: Report
    """Counts the changes."""
    _out: list[Written]
    """Takes the written frames."""
    _readers: Mapping[int, Reader]
    """Readers for the headers of captured frames."""
    opening: Opening = field(init=False)
    """The startup frames of the connection."""
    kept: int = 0
    """Captured octets that are written, each counted once.  Startup frames count even if others
    replace them."""
    halves: tuple[WrittenHalf, WrittenHalf] = field(
        default_factory=lambda: (WrittenHalf(), WrittenHalf())
    )
    """Both directions, by number."""
    _latest: tuple[Frame, Reframer] | None = None
    """The headers of the frame made last, and their reframer.  Most often it makes the next frame,
    too."""
    _is_open: bool = False
    """Whether anything of MPA was written."""
    _copies_lack_octets: bool = False
    """True if a copied frame follows, or acknowledges, octets that no written frame has."""

    def __post_init__(self) -> None:
        self.opening = Opening(self.identity.flow, self.halves)

    def take_headers(self, direction: int, frame: Frame) -> None:
        """Keep the headers of a frame, if it is the first of its direction."""
        half = self.halves[direction]
        if half.headers is None:
            half.headers = headers_of(frame, self._readers)

    # -- the frame of a slot -------------------------------------------------------------------

    def write(self, slot: Slot) -> None:
        """Write the frame of a slot, or those octets of it that belong to no item."""
        half, peer = self.halves[slot.direction], self.halves[1 - slot.direction]
        is_new = False
        if slot.flags & ACK:
            if self._is_open:
                peer.captured_ack = slot.ack
                is_new = peer.acknowledge(slot.ack)
            else:
                peer.note_ack(slot.ack)
        if slot.flags & SYN and not (self._is_open and half.seq is not None):
            self._write_syn(slot)
        elif slot.length and slot.is_plain:
            is_first = any(item.slot == slot.number for item in slot.items)
            if not is_first and not half.is_shifted:
                # It continues an FPDU of the segments before it.
                self._send_plain(slot)
                half.advance(slot.end, slot.end)
                half.expect_ack(slot.end, slot.end, slot.length)
        elif slot.length and not slot.is_fpdus:
            self._write_streaming(slot)
        elif not slot.length and self._is_still_right(slot):
            self._copy(slot)
            half.has_fin |= bool(slot.flags & FIN)
        elif slot.flags & RST:
            self._send_anew(slot, slot.flags & (RST | ACK))
        elif is_new and not slot.length and not slot.flags & FIN:
            self._send_anew(slot, ACK)

    def _is_still_right(self, slot: Slot) -> bool:
        """Return whether the numbers of an empty segment are still right in the written stream."""
        half, peer = self.halves[slot.direction], self.halves[1 - slot.direction]
        if not self._is_open:
            # If an earlier frame acknowledges a startup frame, tools take that one for a copy.
            return half.has_all_before(slot.position) and not (
                slot.flags & ACK and not peer.has_all_before(slot.ack)
            )
        is_kept = half.keeps_seq(slot.position) and self._keeps_ack(slot)
        return is_kept and not slot.flags & (SYN | FIN)

    def _write_syn(self, slot: Slot) -> None:
        """Write a SYN, without its payload if that contains MPA."""
        half = self.halves[slot.direction]
        start, end = slot.position, slot.position + slot.length
        pieces = half.streaming_pieces(start, end, is_accepted=self.opening.is_accepted)
        is_whole = not slot.is_fpdus and (start == end or pieces == [(start, end)])
        if is_whole:
            self._copy(slot)
        else:
            self._send_anew(slot, slot.flags & (SYN | ACK), seq=start - 1)
            end = start
        half.has_syn = True
        if half.end is None or end > half.end:
            half.end, half.seq = end, sequence_number(end)
        if not slot.is_fpdus and not is_whole:
            self._write_streaming(slot)

    def _copy(self, slot: Slot, comment: str | None = None) -> None:
        assert slot.frame is not None
        if not self._is_open and not slot.flags & SYN:
            half, peer = self.halves[slot.direction], self.halves[1 - slot.direction]
            if half.end is not None and slot.position > half.end:
                self._copies_lack_octets = True
            elif slot.flags & ACK and peer.end is not None:
                self._copies_lack_octets |= unwrap(slot.ack, peer.end) > peer.end
            if slot.length:
                half.copied_end = sequence_number(slot.end)
            if slot.flags & ACK:
                peer.copied_end = slot.ack
        self._out.append(Written(slot.frame, comment))
        self.report.copied += 1

    def _send_plain(self, slot: Slot, remarks: Sequence[str] = ()) -> None:
        """Write a segment with its own octets and sequence number."""
        if self._keeps_ack(slot):
            self._copy(slot, comment_of(*remarks) if remarks else None)
            return
        assert slot.frame is not None
        octets = slot.payload
        if slot.length and not octets:
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
        """Write a segment in place of the captured one, with the same headers."""
        note = comment_of(*remarks, of_frames((slot.number,)))
        self._send(
            slot, slot.direction, flags, octets, note, seq=seq, length=length, headers=slot.headers
        )

    def _write_streaming(self, slot: Slot) -> None:
        """Write the octets of a frame that are in streaming mode."""
        half = self.halves[slot.direction]
        start, end = slot.position, slot.position + slot.length
        pieces = half.streaming_pieces(start, end, is_accepted=self.opening.is_accepted)
        if self._is_open and half.end is not None:
            # Octets before the startup frame were already written.
            pieces = [piece for piece in pieces if piece[1] > half.end]
        is_shifted = half.is_shifted or self.halves[1 - slot.direction].is_shifted
        is_whole = pieces == [(start, end)] and not is_shifted
        if is_whole:
            self._copy(slot)
            half.last_copied = slot.number
            half.has_fin |= bool(slot.flags & FIN)
        for begin, end in pieces:
            for item in slot.items:
                # A startup frame may end in the segment of the octets that follow it.
                if (
                    item.connection == self.identity.number
                    and item.direction == slot.direction
                    and item.start < begin
                ):
                    self.write_item(item, slot)
            self._write_piece(slot, begin, end, is_copied=is_whole)

    def _write_piece(self, slot: Slot, begin: int, end: int, *, is_copied: bool) -> None:
        """Write streaming mode octets of a frame, unless they are copied with it, and advance."""
        half = self.halves[slot.direction]
        octets = slot.payload[begin - slot.position : end - slot.position]
        if half.end is None or half.seq is None:
            half.end, half.seq = begin, sequence_number(begin)
        seq = half.seq + begin - half.end
        if not is_copied:
            self._send_anew(slot, ACK | PSH, octets, seq, end - begin)
        self.kept += max(0, begin + len(octets) - max(begin, half.end))
        half.streamed = max(half.streamed, end)
        if end > half.end:
            half.advance(end, seq + end - begin)
            if self._is_open:
                half.expect_ack(half.end, half.seq)

    # -- items ---------------------------------------------------------------------------------

    def write_item(self, item: Item, slot: Slot) -> None:
        """Write an item at the place of a slot."""
        if item.is_written:
            return
        item.is_written = True
        # At a limit, octets are written before they are found to be a startup frame.
        again = min(self.halves[item.direction].streamed, item.end) - item.start
        self.kept += item.captured - max(0, again)
        remarks = self._prepare(item, slot)
        if remarks is None:
            return
        half = self.halves[item.direction]
        if half.end is None or half.seq is None:
            half.seq = sequence_number(item.start) if half.seq is None else half.seq
            half.end = item.start
        if half.acknowledged is None:
            half.acknowledged = half.seq
        remarks += self._leave_hole(item)
        is_late = item.start < half.end
        is_plain = slot.is_plain and item.slot == slot.number and not (is_late or half.is_shifted)
        if not is_plain:
            self._send_all(slot, item, remarks)
        elif item.start == slot.position:
            self._send_plain(slot, remarks)
        if item.kind is Kind.FIN:
            # The position stays: if the FIN is a damaged bit, octets may follow there.
            half.advance(item.start, half.seq)
            half.expect_ack(item.end, half.seq + 1)
        elif is_plain:
            # The other segments of the item are written with their own slots.
            end = min(item.end, slot.end)
            half.advance(end, end)
            half.expect_ack(end, end, end - item.start)
        else:
            half.advance(item.end, half.seq + item.length)
            half.expect_ack(half.end, half.seq)
        if item.kind is Kind.STARTUP:
            half.startup_end = half.seq

    def _prepare(self, item: Item, slot: Slot) -> list[str] | None:
        """Prepare to write an item; return the remarks for its comment.

        None: the item is not written.
        """
        half = self.halves[item.direction]
        if item.kind is Kind.FPDU:
            if not self.opening.written >= NEEDED and not self._follows_rejection(item):
                self._supply(slot, item, NEEDED)
            self.opening.written |= NEEDED
            self.report.fpdus += 1
            self.report.markers += item.markers
            return []
        if item.startup is None:
            if half.has_fin or not self._is_open:
                return None
            half.has_fin = True
            return []
        if item.startup.kind is StartupKind.RTR:
            self.report.rtr_frames += 1
            if half.seq is not None:
                half.advance(item.end, half.seq)
            return None
        if item.startup.kind in self.opening.supplied:
            # A made-up one was written; tools would take this one for an FPDU.
            return None
        self._open_startup(item, slot)
        return self._changes(item.startup)

    def _changes(self, startup: StartupFrame) -> list[str]:
        """Count a startup frame that is written; return remarks on what is changed in it."""
        changes = []
        self.opening.note_written(startup)
        if startup.markers:
            self.report.cleared += 1
            changes.append("M was set, and is cleared because Markers are removed")
        if startup.extension:
            self.report.extensions += 1
            changes.append(
                f"this was revision {startup.revision}, with an extension of "
                f"{len(startup.extension)} octets"
            )
        return changes

    def _leave_hole(self, item: Item) -> list[str]:
        """Keep the hole before an item; return remarks on the hole, or on a late FPDU."""
        half = self.halves[item.direction]
        assert half.seq is not None and half.end is not None
        missing = half.hole_before(item)
        if missing:
            # A startup that was not captured may have had any length.  After the written startup
            # frames, tools look for FPDUs at multiples of four octets (RFC 5044 4.1).
            lacking = (half.startup_end - half.seq - missing) % WORD
            kept = missing + lacking if item.kind is Kind.FPDU else missing
            half.advance(item.start, half.seq + kept)
            self.report.holes += 1
            self.report.missing += missing
            return [f"{missing} octets before this are missing"]
        if item.start < half.end + item.drift and item.kind is Kind.FPDU:
            return ["found late: this FPDU belongs before the previous ones"]
        return []

    def _follows_rejection(self, item: Item) -> bool:
        """Return whether an FPDU directly follows a rejection, as with Linux siw."""
        startups = self.halves[item.direction].startups
        follows = bool(startups) and startups[-1].end == item.start
        return follows and self._is_open and not self.opening.written

    def _send_all(self, slot: Slot, item: Item, remarks: Sequence[str]) -> None:
        """Write an item into as many segments as it needs, of about the same size."""
        half = self.halves[item.direction]
        assert half.seq is not None
        length = 0 if item.kind is Kind.FIN else item.length
        count = max(1, -(-length // self._reframer(item.direction, item.headers).largest))
        size = max(4, -(-length // count) + 3 & ~3)
        source = of_frames(item.frames)
        for at in range(0, max(1, length), size):
            self._send(
                slot,
                item.direction,
                ACK | (FIN if item.kind is Kind.FIN else PSH),
                item.octets[at : at + size],
                comment_of(source) if at else comment_of(*remarks, source),
                seq=half.seq + at,
                length=min(size, length - at),
                headers=item.headers,
            )

    # -- startup -------------------------------------------------------------------------------

    def _open_startup(self, item: Item, slot: Slot) -> None:
        """Write what must come before a captured startup frame."""
        if not self._is_open and (self.opening.has_fpdus or self._overlaps_copies):
            self._supply(slot, item, frozenset())
        assert item.startup is not None
        is_reply = item.startup.kind is StartupKind.REPLY
        if is_reply and StartupKind.REQUEST not in self.opening.written:
            self._supply(slot, item, frozenset({StartupKind.REQUEST}))
        elif not is_reply:
            for each in self.opening.unwritten(StartupKind.REPLY, item):
                # It is a rejection, and this Request follows it.
                if each.attempt < item.attempt:
                    self.write_item(each, slot)
        self._open()
        if is_reply and slot.number < max(item.frames):
            self.halves[1 - item.direction].acknowledge_all()

    def _open(self) -> None:
        """Begin to write MPA."""
        if self._is_open:
            return
        self._is_open = True
        self.report.connections += 1
        for half in self.halves:
            half.boundaries.clear()
            if half.startups or self.opening.has_fpdus:
                self._choose_seq(half)
            # No octet is acknowledged before it is written: tools would take it for a copy.
            half.acknowledged = half.captured_ack if half.seq is None else half.seq

    @property
    def _overlaps_copies(self) -> bool:
        """Whether copied frames have octets of startup frames, or acknowledge some."""
        return any(half.begins_before(half.copied_end) for half in self.halves)

    def _supply(self, slot: Slot, item: Item, kinds: frozenset[StartupKind]) -> None:
        """Write startup frames that must stand before an item, captured or made up."""
        opening = self.opening
        needed = [kind for kind in StartupKind if kind in kinds - opening.written]
        captured = {kind: opening.unwritten(kind, item) for kind in needed}
        missing = [kind for kind in needed if not captured[kind]]
        initiator = opening.initiator
        sender = {StartupKind.REQUEST: initiator, StartupKind.REPLY: 1 - initiator}
        # Tools take supplied frames for copies if other frames have or acknowledge their octets.
        look_copied = self._copies_lack_octets or any(half.last_copied for half in self.halves)
        lacks_syn = not any(half.has_syn for half in self.halves)
        if not self._is_open:
            # Of the two startup frames, only the later one may be missing.
            is_lacking = bool(missing) or (opening.has_fpdus and not opening.is_whole)
            lacks_handshake = self._overlaps_copies or (is_lacking and (look_copied or lacks_syn))
            for half in self.halves:
                self._choose_seq(half, lacks_handshake)
            if lacks_handshake:
                self._handshake(slot, initiator)
        self._open()
        for kind in needed:
            if captured[kind]:
                for each in captured[kind]:
                    self.write_item(each, slot)
                continue
            half = self.halves[sender[kind]]
            self._choose_seq(half)
            assert half.seq is not None
            octets = build_startup(opening.made_up(kind))
            comment = comment_of(f"supplied, no MPA {kind.value.title()} was captured")
            if kind is StartupKind.REPLY:
                self.halves[1 - sender[kind]].acknowledge_all()
            self._send(slot, sender[kind], ACK | PSH, octets, comment)
            half.seq = half.acknowledged = sequence_number(half.seq + len(octets))
            half.end, half.startup_end = None, half.seq
            if half.fpdus_from is None:
                half.fpdus_from = 0
            opening.note_supplied(kind)
            self.report.startup_frames += 1

    def _choose_seq(self, half: WrittenHalf, before: int = 0) -> None:
        """Choose the first sequence number of a direction, unless some of it was written.

        :param before: how many sequence numbers to leave free before its first startup frame.
        """
        if half.seq is not None:
            return
        if half.startups:
            first = half.startups[0].start
        else:
            known = half.captured_ack or _DEFAULT if half.first_fpdu is None else half.first_fpdu
            first = known - STARTUP_HEADER_LENGTH
        half.seq = sequence_number(first - before)

    def _handshake(self, slot: Slot, initiator: int) -> None:
        """Write a SYN, the SYN of the other side, and an acknowledgement."""
        assert all(half.seq is not None for half in self.halves)
        had_syn = any(half.has_syn for half in self.halves)
        comment = comment_of(f"supplied, {_NOT_COPIES if had_syn else _NO_HANDSHAKE}")
        for direction, flags in ((initiator, SYN), (1 - initiator, SYN | ACK), (initiator, ACK)):
            half = self.halves[direction]
            self._send(slot, direction, flags, b"", comment, seq=half.seq)
            if flags & SYN:
                assert half.seq is not None
                half.seq = half.acknowledged = sequence_number(half.seq + 1)
                half.end = None
                half.has_syn = True
        self.report.handshakes += 1

    # -- segments ------------------------------------------------------------------------------

    def _reframer(self, direction: int, headers: Frame | None = None) -> Reframer:
        """Return the reframer for the given headers, or for those of a direction's first frame."""
        headers = headers or self.halves[direction].headers
        if headers is None:
            return self._reframer(1 - direction).reversed()
        if self._latest is None or self._latest[0] is not headers:
            flow = self.identity.flows[direction]
            self._latest = headers, Reframer(headers, flow, self._readers)
        return self._latest[1]

    def _keeps_ack(self, slot: Slot) -> bool:
        """Return whether the acknowledgement number of a slot's segment stays, if it has one."""
        return not slot.flags & ACK or self._acknowledged(slot.direction) == slot.ack

    def _acknowledged(self, direction: int) -> int:
        """Return the acknowledgement number that a direction writes now."""
        peer = self.halves[1 - direction]
        return peer.captured_ack or 0 if peer.acknowledged is None else peer.acknowledged

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
        half = self.halves[direction]
        if seq is None:
            # Before anything is written, sequence numbers are the captured ones.
            seq = slot.position if half.seq is None else half.seq
            if half.has_fin and half.end is not None and slot.position > half.end:
                seq += 1
        ack = self._acknowledged(direction) if flags & ACK else 0
        frame = self._reframer(direction, headers).frame(
            slot.number, slot.time_ns, sequence_number(seq), ack, flags, octets, length=length
        )
        self._out.append(Written(frame, comment))
