# SPDX-License-Identifier: GPL-2.0-or-later
"""What was found in a connection, as events: which one it was, and what frame has shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scapy_mpa.stream.events import (
    Closer,
    ConnectionId,
    FPDURecovered,
    StartupSeen,
    StreamingSeen,
)
from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.halves.phase import Phase
from scapy_mpa.stream.octets.scan import FoundStartup
from scapy_mpa.stream.segment import Segment
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.stream.startup.breaches import Breach
from scapy_mpa.stream.startup.startup_phase import StartupPhase
from scapy_mpa.stream.timed import Timed
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.fpdu import HEADER_LENGTH
from scapy_mpa.wire.terminate import Terminate, is_terminate, parse_terminate

if TYPE_CHECKING:
    from scapy_mpa.stream.halves.common import Common
    from scapy_mpa.stream.halves.other import OtherFraming


class Reporter:
    """Makes events of what is found in a connection.

    What a connection is beside that, it is as a subclass: one object more for each would be a
    hundred thousand, and one step more for each frame.

    :param identity: number and flow of the connection.
    :param common: what all connections have in common.
    :param segment: its first one.
    """

    __slots__ = (
        "common",
        "errors",
        "frame",
        "identity",
        "other",
        "startup",
        "terminated",
        "time_ns",
        "times",
    )

    startup: StartupPhase
    """What is known of its startup frames."""

    def __init__(self, identity: ConnectionId, common: Common, segment: Segment) -> None:
        self.identity = identity
        self.common = common
        self.frame = segment.frame
        """The frame that brought the last segment, which has shown what is found now."""
        self.time_ns = segment.time_ns
        self.times = Timed(segment)
        self.errors = 0
        """Errors reported so far."""
        self.terminated: Closer | None = None
        """The first Terminate."""
        self.other: OtherFraming | None = None
        """What is known of another framing, once something of it was seen."""

    # -- MPA ---------------------------------------------------------------------------------

    def tell_startup(
        self, half: HalfConnection, found: FoundStartup, frames: tuple[int, ...]
    ) -> None:
        """Pass on a startup frame."""
        self.identity.note_startup(half.direction, found.startup.kind)
        self.common.emit(
            StartupSeen(
                *half.head(found.position),
                octets=found.octets,
                frames=frames,
                startup=found.startup,
                dialect=self.startup.dialect_of(found.startup),
                lacking=found.lacking,
            )
        )

    def tell_streaming(self, half: HalfConnection, upto: int | None = None) -> None:
        """Pass on the octets of streaming mode that are held and were not passed on.

        :param upto: position before which they lie; None: they lie before nothing.
        """
        if half.phase is Phase.FULL or half.phase is Phase.OTHER:
            return
        counters = half.counters
        done = max(counters.streamed, self.startup.origins[half.direction])
        for island in half.islands.items:
            start = max(island.held, done)
            end = island.end if upto is None else min(upto, island.end)
            if start >= end:
                continue
            counters.streamed = end
            self.common.emit(
                StreamingSeen(
                    *half.head(start),
                    length=end - start,
                    octets=island.read(start, island.captured_until(start, end)),
                    frames=island.frames(start, end),
                )
            )

    def on_fpdu(self, half: HalfConnection, event: FPDURecovered, ulpdu: bytes) -> None:
        """Pass on an FPDU.

        :param ulpdu: as far as a receiver takes it for what it is.
        """
        startup = self.startup
        if half.direction == startup.initiator and startup.negotiating is not None:
            startup.negotiating.take_fpdu(event)
        self.common.emit(event)
        if self.terminated is None:
            self._note_terminate(half, ulpdu)

    def _note_terminate(self, half: HalfConnection, ulpdu: bytes) -> None:
        """Take note of a Terminate, and of the FPDU of which its sender complains."""
        if len(ulpdu) < UNTAGGED_LENGTH or not is_terminate(ulpdu):
            return
        by_responder = self.startup.initiator == 1 - half.direction
        try:
            found = parse_terminate(ulpdu[UNTAGGED_LENGTH:], by_responder=by_responder)
        except RemoteProtocolError:
            return
        text = found.text
        if found.complaint:
            text += f", of the {found.complaint}{self._place_of(found, half.direction)}"
        self.terminated = Closer(half.direction, self.frame, text)

    def _place_of(self, terminate: Terminate, direction: int) -> str:
        """Return where the FPDU lies that a Terminate complains of; empty if it is not known."""
        peer = self.startup.halves[1 - direction]
        header = terminate.ddp_header or b""
        request = terminate.rdmap_header if terminate.problem is None else None
        # siw writes the size of a Read Request where its MSN was.
        copied = [(header + (request or b""), 0), (request, len(header))]
        for octets, before in copied:
            known = self.common.recent.place_of(peer, peer.islands, octets) if octets else None
            if known is not None:
                place, frame = known
                return f", seq {sequence_number(place - before - HEADER_LENGTH)} in frame {frame}"
        return ""

    def report(self, breach: Breach | None) -> None:
        """Pass on what breaks a rule of startup."""
        if breach is not None:
            breach.half.wrong(breach.code, breach.position, breach.text)
