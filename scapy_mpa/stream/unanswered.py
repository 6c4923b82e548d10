# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that lack the end of their Response when a connection ends.

They are counted, not paired, so nothing is held but two numbers a connection.  Pairing is in
:mod:`~scapy_mpa.stream.delivery.pairing`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, Final

from scapy_mpa.stream.events import CARRIERS, ConnectionEnded, GapFound
from scapy_mpa.wire.rdmap import requests_opened

_CONTROL_LENGTH: Final = 2
"""Octets that tell what a DDP segment is of, and whether it is the last."""


class _Side:
    """What one direction has asked for."""

    __slots__ = ("has_answers", "is_torn", "requests")

    def __init__(self) -> None:
        self.requests = 0
        """Requests sent less Responses that ended."""
        self.has_answers = False
        """Whether there was a Response."""
        self.is_torn = False
        """Whether a Request or the end of a Response may be missing in this direction."""

    def unanswered(self, peer: _Side) -> int | None:
        """Return how many Requests lack the end of their Response; None if that is not known."""
        # A Response to a Request that is missing would count as one to another.
        if peer.is_torn or (self.is_torn and self.has_answers):
            return None
        return max(0, self.requests)


_NOTHING: Final = _Side()
"""A direction without Requests, Responses and gaps; never changed."""


class Unanswered:
    """Takes the rows and events of the stream core; adds what it knows to ends of connections."""

    __slots__ = ("_sides",)

    def __init__(self) -> None:
        self._sides: defaultdict[tuple[int, int], _Side] = defaultdict(_Side)
        """By number of the connection and direction."""

    def take(self, rows: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return rows and events as they are, but for ends of connections; and the events alone."""
        telling = [row for row in rows if type(row) is not tuple or row[4].opened]
        if not telling:
            return rows, telling
        opened = [(row[2], row[4].opened) for row in telling if type(row) is tuple]
        for (direction, requests), times in Counter(opened).items():
            number = direction.connection.identity.number
            self._count(number, direction.index, requests * times)
        events = [self._taken(row) for row in telling if type(row) is not tuple]
        if any(isinstance(event, ConnectionEnded) for event in events):
            following = iter(events)
            rows = [row if type(row) is tuple else next(following) for row in rows]
        return rows, events

    def _count(self, number: int, direction: int, requests: int) -> None:
        asking = self._sides[number, direction if requests > 0 else 1 - direction]
        asking.requests += requests
        asking.has_answers |= requests < 0

    def _taken(self, event: Any) -> Any:
        """Take an event; return it, or what takes its place."""
        if isinstance(event, ConnectionEnded):
            return self._finished(event)
        number, direction = event.connection.number, event.direction
        if isinstance(event, CARRIERS) and event.carries_rdmap:
            control = event.ulpdu[:_CONTROL_LENGTH]
            is_cut = len(control) < min(_CONTROL_LENGTH, event.ulpdu_length)
            _, offset, *_ = event.place
            if offset is None or is_cut or not event.is_acceptable:
                # Or the beginning is missing.
                self._sides[number, direction].is_torn = True
            if len(control) == _CONTROL_LENGTH and event.is_acceptable:
                self._count(number, direction, requests_opened(control))
        elif isinstance(event, GapFound):
            self._sides[number, direction].is_torn = True
        return event

    def _finished(self, event: ConnectionEnded) -> ConnectionEnded:
        """Return the end of a connection with the Requests of either direction that it left."""
        sides, number = self._sides, event.connection.number
        if event.initiator is None:
            for direction, half in enumerate(event.halves):
                if half.octets and not half.fpdus and event.halves[1 - direction].fpdus:
                    # What it carries was not found out.
                    sides[number, direction].is_torn = True
        one, other = sides.pop((number, 0), _NOTHING), sides.pop((number, 1), _NOTHING)
        if event.end is None:
            return event
        unanswered = one.unanswered(other), other.unanswered(one)
        return event._replace(end=event.end.with_unanswered(unanswered, event.names))
