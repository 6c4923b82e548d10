# SPDX-License-Identifier: GPL-2.0-or-later
"""From a capture to the events of its connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from scapy_mpa.capture import Capture, Decoder
from scapy_mpa.capture.unfollowed import unfollowed
from scapy_mpa.cli.limited import limited
from scapy_mpa.cli.output import text_of
from scapy_mpa.cli.unfollowed import MOST_NAMED, not_followed
from scapy_mpa.express.reader import ExpressReader
from scapy_mpa.stream.events import ConnectionEnded, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect

if TYPE_CHECKING:
    from scapy_mpa.records.kinds import Patterns, Templates
    from scapy_mpa.stream.checks import Checks
    from scapy_mpa.stream.events import Event
    from scapy_mpa.stream.sctp.associations import Associations
    from scapy_mpa.stream.sctp.packet import SctpPacket

__all__ = ["Reading"]

_EVENTS: Final = 512
"""Events of one batch: enough to make one write of many lines."""

_FRAMES: Final = 4096
"""Frames of one batch, so that progress shows where there are no events."""

_LINK_TYPE: Final = "link type "
"""How the decoder's reasons begin where it does not know the link layer."""


class Reading:
    """One capture being read: iterate once over :meth:`batches`, then ask what it came to.

    :param capture: is read but not closed.
    :param limits: what may be held in memory; None: as is usual.
    :param first_number: the number of its first connection.
    :param connections: numbers of the connections that matter, none for all.
    :param live: give events as soon as they are there, not in large batches.
    :param checks: report what DDP and RDMAP must not accept, too.
    :param dialect: what the user says is spoken.
    """

    def __init__(
        self,
        capture: Capture,
        *,
        limits: Limits | None = None,
        first_number: int = 0,
        connections: frozenset[int] = frozenset(),
        live: bool = False,
        checks: bool = False,
        dialect: Dialect | None = None,
    ) -> None:
        self.capture = capture
        self.first_time_ns = 0
        """Time of the first frame, in nanoseconds since the epoch."""
        self.has_findings = False
        """Whether there was an error on a connection that matters."""
        self.next_number = first_number
        """The number that the next connection would have; final when all was read."""
        self._connections = connections
        self._largest = 1 if live else _EVENTS
        self._checks = self._new_checks() if checks else None
        self._decoder = Decoder(self._take_sctp)
        self._flows = Flows(first_number, limits=limits, dialect=dialect)
        self._limits = limits
        self._dialect = dialect
        self._associations: Associations | None = None
        """Made with the first SCTP packet."""
        self._sctp_events: list[Event] = []
        """What SCTP packets have brought, until it is passed on."""
        # Because of a limit.
        self._gaps = 0
        self._ended = 0
        self._segments = 0

    @staticmethod
    def _new_checks() -> Checks:
        from scapy_mpa.stream.checks import Checks

        return Checks()

    def batches(self) -> Iterator[list[Event]]:
        """Yield the events of the connections that matter, in order of recovery.

        Batches may be empty: they come at least every few thousand frames.
        """
        segment_of, receive, largest = self._decoder.segment, self._flows.receive, self._largest
        sctp_events = self._sctp_events
        batch: list[Event] = []
        for frame in self.capture:
            number = frame.number
            if number == 1:
                self._begin(frame.time_ns)
            segment = segment_of(frame)
            if segment is not None:
                self._segments += 1
                batch += receive(segment)
            elif sctp_events:
                batch += sctp_events
                sctp_events.clear()
            if len(batch) >= largest or not number % _FRAMES:
                yield self._noted(batch)
                batch = []
        yield self._noted(batch)
        yield from map(self._noted, self._ends())

    def _ends(self) -> Iterator[list[Event]]:
        """Yield what can be said now that the capture has ended."""
        yield from self._flows.ends()
        if self._associations is not None:
            yield from self._associations.ends()

    def _take_sctp(self, packet: SctpPacket) -> None:
        self._segments += 1
        if self._associations is None:
            # Hardly any capture has some, and a command is to start soon.
            from scapy_mpa.stream.sctp.associations import Associations

            self._associations = Associations(self._flows.take_number, self._limits, self._dialect)
        self._sctp_events += self._associations.receive(packet)

    def lines(
        self, writer: Patterns | Templates | None, lines_of: Callable[[list[Event]], list[str]]
    ) -> Iterator[bytes]:
        """Yield the lines of the events that matter, in order of recovery, each with its end.

        :param writer: writes ordinary FPDUs, the same as ``lines_of`` does; None if they are not
            to be written.
        :param lines_of: makes lines of a batch of events.
        """
        if self._connections or self._largest == 1 or self._checks is not None:
            for batch in self.batches():
                yield text_of(lines_of(batch))
            return
        express = ExpressReader(
            self.capture,
            self._flows,
            self._decoder,
            writer,
            lambda events: lines_of(self._noted(events)),
            self._begin,
            self._sctp_events,
        )
        yield from express.batches()
        for batch in () if self._associations is None else self._associations.ends():
            yield text_of(lines_of(self._noted(batch)))
        self._segments += express.segments

    def _begin(self, time_ns: int) -> None:
        self.first_time_ns = time_ns

    def _noted(self, events: list[Event]) -> list[Event]:
        """Return the events that matter, having taken note of what they say."""
        connections = self._connections
        if self._checks is not None:
            events = list(chain.from_iterable(map(self._checks.take, events)))
        for event in events:
            if isinstance(event, GapFound):
                self._gaps += event.reason == "limit"
            elif isinstance(event, ConnectionEnded):
                self._ended += event.ending == "limit"
                number = event.connection.number
                self.next_number = max(self.next_number, number + 1)
                if event.errors and (not connections or number in connections):
                    self.has_findings = True
        if not connections:
            return events
        return [event for event in events if event.connection.number in connections]

    def not_followed(self) -> str | None:
        """Say how many frames were not followed, and why; None if there is nothing to say."""
        return not_followed(unfollowed(self._decoder, self._flows, self._associations))

    def limited(self) -> str | None:
        """Say what was dropped because of a limit, and what to do; None if there was nothing."""
        return limited(self._gaps, self._ended)

    def nothing_followed(self) -> str | None:
        """Say why nothing at all could be followed, if its link type is not known."""
        counts = self._decoder.not_followed
        if self._segments or not counts:
            return None
        if not all(reason.startswith(_LINK_TYPE) for reason in counts):
            return None
        named = counts.most_common(MOST_NAMED)
        kinds = ", ".join(sorted(reason.removeprefix(_LINK_TYPE) for reason, _ in named))
        if len(counts) > len(named):
            kinds += f", or one of {len(counts) - len(named)} others"
        frames = counts.total()
        return (
            f"nothing can be followed: {'its only frame has' if frames == 1 else 'all frames have'}"
            f" link type {kinds}, which is not supported; capture on an Ethernet, Linux cooked, "
            "BSD loopback or raw IP interface"
        )
