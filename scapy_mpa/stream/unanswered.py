# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that lack the end of their Response when a connection ends.

They are counted, not paired, so nothing is held but two numbers a connection.  Pairing is in
:mod:`~scapy_mpa.stream.delivery.pairing`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from scapy_mpa.stream.events import CARRIERS, ConnectionEnded, GapFound
from scapy_mpa.wire.rdmap import requests_opened

_CONTROL_LENGTH: Final = 2
"""Octets that tell what a DDP segment is of, and whether it is the last."""


class Unanswered:
    """Takes the rows and events of the stream core; adds what it knows to ends of connections."""

    __slots__ = ("_answered", "_open", "_torn")

    def __init__(self) -> None:
        self._open: Counter[tuple[int, int]] = Counter()
        """Requests sent less Responses that ended, by number of the connection and direction."""
        self._answered: set[tuple[int, int]] = set()
        """Directions to whose Requests there was a Response."""
        self._torn: set[tuple[int, int]] = set()
        """Directions in which a Request or the end of a Response may be missing."""

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
        asking = number, direction if requests > 0 else 1 - direction
        self._open[asking] += requests
        if requests < 0:
            self._answered.add(asking)

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
                self._torn.add((number, direction))
            if len(control) == _CONTROL_LENGTH and event.is_acceptable:
                self._count(number, direction, requests_opened(control))
        elif isinstance(event, GapFound):
            self._torn.add((number, direction))
        return event

    def _finished(self, event: ConnectionEnded) -> ConnectionEnded:
        """Return the end of a connection with the Requests of either direction that it left."""
        sides = [(event.connection.number, direction) for direction in (0, 1)]
        for side, half, peer in zip(sides, event.halves, reversed(event.halves), strict=True):
            if event.initiator is None and peer.fpdus and half.octets and not half.fpdus:
                # What it carries was not found out.
                self._torn.add(side)
        requests = [max(0, self._open.pop(each, 0)) for each in sides]
        # A Response to a Request that is missing would count as one to another.
        known = [
            peer not in self._torn and not (side in self._torn and side in self._answered)
            for side, peer in zip(sides, reversed(sides), strict=True)
        ]
        self._torn.difference_update(sides)
        self._answered.difference_update(sides)
        if event.end is None:
            return event
        one, other = (
            count if is_known else None for is_known, count in zip(known, requests, strict=True)
        )
        return event._replace(end=event.end.with_unanswered((one, other), event.names))
