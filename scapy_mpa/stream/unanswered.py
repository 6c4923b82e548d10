# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the Requests that lack the end of their Response when a connection ends.

They are counted, not paired, so a connection costs only two numbers.  Pairing is in
:mod:`~scapy_mpa.stream.delivery.pairing`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from scapy_mpa.stream.events import CARRIERS, ConnectionEnded, GapFound
from scapy_mpa.wire.rdmap import requests_opened

_CONTROL_LENGTH: Final = 2
"""Octets with the opcode of a DDP segment, and whether it is the last of its message."""


class _Side:
    """The Requests that one direction has sent."""

    __slots__ = ("has_answers", "is_incomplete", "requests")

    def __init__(self) -> None:
        self.requests = 0
        """Requests, less the Responses that ended."""
        self.has_answers = False
        """Whether a Response to any of them ended."""
        self.is_incomplete = False
        """Whether a Request or the end of a Response may be missing in this direction."""

    def unanswered(self, peer: _Side) -> int | None:
        """Return the number of Requests without the end of their Response; None if not known."""
        # A Response to a missing Request would count for another Request.
        if peer.is_incomplete or (self.is_incomplete and self.has_answers):
            return None
        return max(0, self.requests)


_NOTHING: Final = _Side()
"""A direction without Requests, Responses and gaps; never changed."""


class Unanswered:
    """Takes the rows and events of the stream core; adds its counts to the ends of connections."""

    __slots__ = ("_sides",)

    def __init__(self) -> None:
        self._sides: defaultdict[tuple[int, int], _Side] = defaultdict(_Side)
        """By the number of the connection, and direction."""

    def take(self, rows: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return rows and events, and the events alone; only ends of connections are changed."""
        relevant = [row for row in rows if type(row) is not tuple or row[4].opened]
        if not relevant:
            return rows, relevant
        opened = [(row[2], row[4].opened) for row in relevant if type(row) is tuple]
        for (direction, requests), times in Counter(opened).items():
            number = direction.connection.identity.number
            self._count(number, direction.index, requests * times)
        events = [self._take_event(row) for row in relevant if type(row) is not tuple]
        if any(isinstance(event, ConnectionEnded) for event in events):
            following = iter(events)
            rows = [row if type(row) is tuple else next(following) for row in rows]
        return rows, events

    def _count(self, number: int, direction: int, requests: int) -> None:
        asking = self._sides[number, direction if requests > 0 else 1 - direction]
        asking.requests += requests
        asking.has_answers |= requests < 0

    def _take_event(self, event: Any) -> Any:
        """Take an event; return it, or the event that replaces it."""
        if isinstance(event, ConnectionEnded):
            return self._take_end(event)
        number, direction = event.connection.number, event.direction
        if isinstance(event, CARRIERS) and event.carries_rdmap:
            control = event.ulpdu[:_CONTROL_LENGTH]
            is_cut = len(control) < min(_CONTROL_LENGTH, event.ulpdu_length)
            _, offset, *_ = event.place
            if offset is None or is_cut or not event.is_acceptable:
                # The beginning of the direction may be missing.
                self._sides[number, direction].is_incomplete = True
            if len(control) == _CONTROL_LENGTH and event.is_acceptable:
                opened = requests_opened(control, event.ulpdu_length)
                self._count(number, direction, opened)
        elif isinstance(event, GapFound):
            self._sides[number, direction].is_incomplete = True
        return event

    def _take_end(self, event: ConnectionEnded) -> ConnectionEnded:
        """Return the end of a connection, with the unanswered Requests of both directions."""
        sides, number = self._sides, event.connection.number
        for direction, half in enumerate(event.halves):
            # Without any FPDUs nobody speaks MPA, or only startup frames came.
            if half.is_unknown and event.halves[1 - direction].fpdus:
                sides[number, direction].is_incomplete = True
        first, second = sides.pop((number, 0), _NOTHING), sides.pop((number, 1), _NOTHING)
        if event.end is None:
            return event
        unanswered = first.unanswered(second), second.unanswered(first)
        return event._replace(end=event.end.with_unanswered(unanswered, event.names))
