# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a capture, and yields the events of its connections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from scapy_mpa.capture import Capture
from scapy_mpa.capture.followed import Followed
from scapy_mpa.capture.walk import walk
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.events import (
    CARRIERS,
    ConnectionEnded,
    ErrorFound,
    FPDURecovered,
    GapFound,
    MessageRecovered,
)
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.rdmap_names import Opcode
from scapy_mpa.wire.terminate import is_terminate

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection
    from scapy_mpa.records.record import RecordedEvent
    from scapy_mpa.stream.segment import Segment


class Reading:
    """The reading of one capture: iterate once over :meth:`rows`, then read the results.

    :param capture: is read but not closed.
    :param limits: limits of memory; None: the default ones.
    :param first_number: the number of its first connection.
    :param selection: the selected part of the capture; None: all of it.
    :param live: yield results at once, not in large batches.
    :param checks: also report DDP segments and RDMAP messages that a receiver must not accept.
    :param messages: report messages, too.
    :param fpdus: report ordinary FPDUs, too; without ``messages`` or with a selection, always.
    :param payload: with the octets of messages.
    :param timed: remember when frames were captured; else only the time of finding is known.
    :param dialect: the dialect that the user named, if any.
    :param decoding: keyword arguments of :class:`~scapy_mpa.capture.Decoder`.
    """

    def __init__(
        self,
        capture: Capture,
        *,
        limits: Limits | None = None,
        first_number: int = 0,
        selection: Selection | None = None,
        live: bool = False,
        checks: bool = False,
        messages: bool = False,
        fpdus: bool = True,
        payload: bool = False,
        timed: bool = True,
        dialect: Dialect | None = None,
        decoding: Mapping[str, Any] = {},
    ) -> None:
        self.capture = capture
        # A condition may need the time of any frame that a record names.
        is_timed = timed or messages or (selection is not None and selection.narrows)
        self.clock = Clock(remembers=is_timed)
        self.has_findings = False
        """Whether there was an error in the selected part."""
        self.has_selected = False
        """Whether a record of any type was selected."""
        self.next_number = first_number
        """The number for the next connection; final after the whole capture was read."""
        self.selection = selection
        self._active: set[int] = set()
        """Open connections that have a segment or event in the selected times."""
        self._live = live
        self._checks = self._messages = None
        # Imported late: most commands do not need them.
        if checks:
            from scapy_mpa.stream.checks import Checks

            self._checks = Checks()
        if messages:
            from scapy_mpa.stream.messages import Messages

            needs_payload = selection is not None and selection.has_payload
            # Ordinary FPDUs show whether anything was selected.
            fpdus = fpdus or selection is not None
            self._messages = Messages(payload=payload or needs_payload, fpdus=fpdus)
        self.followed = Followed(
            lambda _, events: self._flows.shared.rows.extend(events),
            limits,
            dialect,
            first_number=first_number,
            **decoding,
        )
        self._flows = self.followed.flows
        self.gaps = 0
        """Gaps because of a limit."""
        self.ended = 0
        """Connections that a limit ended."""

    def rows(self) -> Iterator[list[Any]]:
        """Yield the selected results, in order of recovery.

        They are rows of FPDUs (:data:`~scapy_mpa.stream.ordinary.Row`), and events of all else.  A
        list comes at least every few thousand frames, so it may be empty.
        """
        rows = self._flows.shared.rows
        selection = self.selection
        is_by_time = selection is not None and selection.is_of_connections and selection.is_timed
        found = walk(
            self.capture,
            self.followed,
            self.clock,
            live=self._live,
            seen=self._note_time if is_by_time else None,
        )
        for _ in chain(found, self._ends()):
            yield self._processed(rows)
            rows.clear()
        yield self._processed(rows)

    def batches(self) -> Iterator[list[RecordedEvent]]:
        """Yield the same as :meth:`rows`, all as events."""
        for rows in self.rows():
            yield list(map(event_of, rows))

    def standing(self) -> Iterator[ConnectionEnded]:
        """Yield an event for each open TCP connection, as if the connection ended now."""
        selection = self.selection
        for event in self._flows.standing():
            if selection is None or (
                selection.has_connection(event.connection)
                and (not selection.is_timed or event.connection.number in self._active)
                and selection.has_event(event, self.clock)
            ):
                yield event if self._checks is None else self._checks.standing(event)

    def _ends(self) -> Iterator[None]:
        """Report the rest, now that the capture has ended."""
        yield from self._flows.ends()
        for events in self.followed.sctp_ends():
            self._flows.shared.rows.extend(events)
            yield

    def _note_time(self, segment: Segment) -> None:
        """Note the connection of a segment, if the segment is in the selected times."""
        selection, identity = self.selection, self._flows.identity(segment.flow)
        assert selection is not None
        if identity is not None and selection.has_time(
            segment.frame, segment.time_ns, self.clock.begin_ns
        ):
            self._active.add(identity.number)

    def _processed(self, rows: list[Any]) -> list[Any]:
        """Count, check and select rows and events; return the selected ones."""
        if self._checks is not None:
            take = self._checks.take
            rows = [each for row in rows for each in take(row)]
        rows, events = self._flows.unanswered.take(rows)
        for event in events:
            if isinstance(event, GapFound):
                self.gaps += event.reason == "limit"
            elif isinstance(event, ConnectionEnded):
                self.ended += event.ending == "limit"
                self.next_number = max(self.next_number, event.connection.number + 1)
        if self.selection is not None or self._messages is not None:
            rows = self._selected(rows)
            events = [row for row in rows if type(row) is not tuple]
        self.has_findings = self.has_findings or any(map(_is_finding, events))
        return rows

    def _selected(self, rows: list[Any]) -> list[Any]:
        """Return the selected rows, events and messages."""
        selection, messages = self.selection, self._messages
        if selection is not None:
            # Many rows share a few directions.
            is_wanted = cache(selection.has_connection)
            directions = {row[2] for row in rows if type(row) is tuple}
            wanted = {each for each in directions if is_wanted(each.connection.identity)}
            rows = [
                row
                for row in rows
                if (row[2] in wanted if type(row) is tuple else is_wanted(row.connection))
            ]
        if messages is not None:
            rows = messages.added_to(rows)
        if selection is None or not selection.narrows:
            self.has_selected = self.has_selected or bool(rows)
            return rows
        return [row for row in rows if self._is_selected(event_of(row), selection)]

    def _is_selected(self, event: RecordedEvent, selection: Selection) -> bool:
        """Return whether an event of a selected connection is selected itself."""
        is_in_time = not selection.is_timed or self._is_in_time(event, selection)
        if selection.is_of_connections:
            number = event.connection.number
            if is_in_time:
                self._active.add(number)
            if not isinstance(event, ConnectionEnded):
                # Messages are there only on request, so they are not filtered here.
                return isinstance(event, MessageRecovered)
            is_in_time = number in self._active
            self._active.discard(number)
        is_selected = is_in_time and selection.has_event(event, self.clock)
        self.has_selected = self.has_selected or is_selected
        return is_selected

    def _is_in_time(self, event: RecordedEvent, selection: Selection) -> bool:
        """Return whether an event was found, or one of its frames captured, in a selected time."""
        clock = self.clock
        if selection.has_time(event.frame, event.time_ns, clock.begin_ns):
            return True
        timed = ((frame, clock.time_ns(frame)) for frame in _frames_of(event))
        return any(
            time_ns is not None and selection.has_time(frame, time_ns, clock.begin_ns)
            for frame, time_ns in timed
        )


def _frames_of(event: RecordedEvent) -> Iterable[int]:
    """Return the frames that brought the octets of an event; none if it has no octets."""
    if isinstance(event, MessageRecovered):
        return {frame for part in event.parts for frame in part.frames}
    frames: tuple[int, ...] = getattr(event, "frames", ())
    return frames


def _is_finding(event: RecordedEvent) -> bool:
    """Return whether an event is an error or a Terminate, or reports one."""
    if isinstance(event, ConnectionEnded):
        return bool(event.errors) or (event.end is not None and event.end.cause == "terminate")
    if isinstance(event, MessageRecovered):
        return event.opcode == Opcode.TERMINATE
    if isinstance(event, CARRIERS):
        is_bad = isinstance(event, FPDURecovered) and event.crc == "bad"
        return is_bad or (event.carries_rdmap and is_terminate(event.ulpdu))
    return isinstance(event, ErrorFound)
