# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of a capture matters: connections, times, frames, and what records say."""

import re
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, NamedTuple

from scapy_mpa.records.condition import Condition
from scapy_mpa.records.record import Record, RecordedEvent, record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["Selection", "networks", "ranges", "selection_of", "spans"]

_RANGE: Final = re.compile(r"([0-9]{0,18})(?:(-)([0-9]{0,18}))?")
_KEPT: Final = 1024
"""Connections whose endpoints need not be read anew."""

_SECONDS: Final = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?")
_DATE: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-][0-9]{2}):?([0-9]{2}))?)?"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SHOWN: Final = 6
"""Digits after the point with which the listing shows seconds."""


class Moment(NamedTuple):
    """A time, in nanoseconds, which may be rounded."""

    earliest: int
    latest: int
    is_relative: bool
    """To the first frame; else to the epoch."""


class Span(NamedTuple):
    """Two times and all between them."""

    begin: Moment
    end: Moment

    def holds(self, time_ns: int, first_time_ns: int) -> bool:
        """Tell whether a time lies in it.

        :param time_ns: in nanoseconds since the epoch, as the other one.
        :param first_time_ns: when the first frame was captured.
        """
        earliest = self.begin.earliest + self.begin.is_relative * first_time_ns
        latest = self.end.latest + self.end.is_relative * first_time_ns
        return earliest <= time_ns <= latest


class Selection(NamedTuple):
    """What matters: what is any of those in each tuple that is not empty.

    :param numbers: of connections.
    :param hosts: networks in which an endpoint must be.
    :param ports: that endpoint must have one of them.
    :param spans: when it happened.
    :param frames: numbers of the frames with which it happened.
    :param conditions: a record must meet all of them.
    :param is_of_connections: whether connections are selected, not records: those of which
        anything happened then, and whose own records meet the conditions.
    """

    numbers: tuple[range, ...] = ()
    hosts: tuple[IPv4Network | IPv6Network, ...] = ()
    ports: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    frames: tuple[range, ...] = ()
    conditions: tuple[Condition, ...] = ()
    is_of_connections: bool = False

    @property
    def is_timed(self) -> bool:
        """Whether it matters when something happened."""
        return bool(self.spans or self.frames)

    @property
    def narrows(self) -> bool:
        """Whether not all of a connection matters."""
        return bool(self.is_timed or self.conditions)

    @property
    def has_payload(self) -> bool:
        """Whether a condition is about payload."""
        return any(each.key == "payload" for each in self.conditions)

    def has_connection(self, identity: ConnectionId) -> bool:
        """Tell whether a connection has a number, a host and a port that matter."""
        if self.numbers and not any(identity.number in each for each in self.numbers):
            return False
        if not self.hosts and not self.ports:
            return True
        return any(
            (not self.hosts or any(address in each for each in self.hosts))
            and (not self.ports or port in self.ports)
            for address, port in _sockets(identity.endpoints)
        )

    def has_time(self, frame: int, time_ns: int, first_time_ns: int) -> bool:
        """Tell whether it matters what happened with a frame.

        :param frame: its number.
        :param time_ns: when it was captured, in nanoseconds since the epoch.
        :param first_time_ns: when the first one was.
        """
        if self.frames and not any(frame in each for each in self.frames):
            return False
        return not self.spans or any(each.holds(time_ns, first_time_ns) for each in self.spans)

    def has_event(self, event: RecordedEvent, clock: Clock) -> bool:
        """Tell whether the record of an event meets the conditions."""
        if not self.conditions:
            return True
        return self.has_record(record_of(event, clock, payload=self.has_payload))

    def has_record(self, record: Record) -> bool:
        """Tell whether a record meets the conditions."""
        return all(each.holds(record) for each in self.conditions)

    def has_capture(self, record: Record) -> bool:
        """Tell whether the record of a capture matters, which is of no time."""
        return not self.is_timed and self.has_record(record)

    def lacking(self, number: int) -> str | None:
        """Say which numbers no connection has; None if there are no such ones.

        :param number: of connections that there are.
        """
        strangers = {
            range(max(each.start, number), each.stop)
            for each in self.numbers
            if each.start >= number or number < each.stop < sys.maxsize
        }
        if not strangers:
            return None
        named = ", ".join(map(_text, sorted(strangers, key=lambda each: (each.start, each.stop))))
        there = f"they are 0 to {number - 1}" if number else "there are none"
        return f"no connection {named}: {there}"


def selection_of(
    numbers: tuple[range, ...],
    hosts: tuple[IPv4Network | IPv6Network, ...],
    ports: tuple[int, ...],
    spans: tuple[Span, ...],
    frames: tuple[range, ...],
    conditions: Iterable[str],
    types: Iterable[str] | None,
) -> Selection:
    """Return a selection with these conditions.

    :param types: of the records to select from; None if connections are selected.
    :raises LocalProtocolError: a condition is wrong.
    """
    kinds = ("connection",) if types is None else tuple(types)
    found = tuple(Condition(text, kinds) for text in conditions)
    return Selection(numbers, hosts, ports, spans, frames, found, types is None)


def _text(numbers: range) -> str:
    """Return numbers as they are written on the command line."""
    if len(numbers) == 1:
        return str(numbers.start)
    return f"{numbers.start}-{'' if numbers.stop == sys.maxsize else numbers.stop - 1}"


def ranges(lists: Iterable[str], least: int) -> tuple[range, ...]:
    """Return the numbers in lists of numbers and ranges.

    :param least: where counting begins.
    :raises LocalProtocolError: one is none.
    """
    found = []
    for part in (part for text in lists for part in text.split(",")):
        form = _RANGE.fullmatch(part.strip())
        first, dash, last = form.groups("") if form else ("", "", "")
        start = int(first or least)
        stop = int(last) + 1 if last else sys.maxsize if dash else start + 1
        if not (first or last) or not least <= start < stop:
            raise LocalProtocolError(
                f"{quoted(part)} is no number or range such as 3, 2-5 or 7-, counted from {least}"
            )
        found.append(range(start, stop))
    return tuple(found)


def networks(texts: Iterable[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return networks, or addresses as some.

    :raises LocalProtocolError: one is none.
    """
    found = []
    for text in texts:
        try:
            found.append(ip_network(text.strip("[]"), strict=False))
        except ValueError as error:
            raise LocalProtocolError(
                f"{quoted(text)} is no address or network such as 10.0.0.1, fd00::1 or 10.0.0.0/8"
            ) from error
    return tuple(found)


@lru_cache(_KEPT)
def _sockets(endpoints: tuple[str, str]) -> list[tuple[IPv4Address | IPv6Address, int]]:
    """Return the address and the port of each endpoint."""
    pairs = [each.rsplit(":", 1) for each in endpoints]
    return [(ip_address(host.strip("[]")), int(port)) for host, port in pairs]


def spans(pairs: Iterable[tuple[str, str]]) -> tuple[Span, ...]:
    """Return what lies between two times, of each pair.

    :raises LocalProtocolError: one of them is none, or the second is before the first.
    """
    found = []
    for texts in pairs:
        begin, end = map(_moment, texts)
        if begin.is_relative == end.is_relative and end.latest < begin.earliest:
            raise LocalProtocolError(f"{quoted(texts[1])} is before {quoted(texts[0])}")
        found.append(Span(begin, end))
    return tuple(found)


def _moment(text: str) -> Moment:
    """Return a time.

    :raises LocalProtocolError: it is none.
    """
    if seconds := _SECONDS.fullmatch(text):
        sign, whole, fraction = seconds.groups("")
        time_ns = int(f"{sign}1") * (int(whole) * SECOND + _nanoseconds(fraction))
        rounded_ns = SECOND // 10**_SHOWN // 2 if len(fraction) <= _SHOWN else 0
        return Moment(time_ns - rounded_ns, time_ns + rounded_ns, True)
    if date := _DATE.fullmatch(text):
        day, clock, fraction, hours, minutes = date.groups("")
        zone = f"{hours or '+00'}:{minutes or '00'}"
        try:
            since = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}") - _EPOCH
        except ValueError as error:
            raise LocalProtocolError(f"{quoted(text)} is no time: {error}") from error
        time_ns = (since.days * 86400 + since.seconds) * SECOND + _nanoseconds(fraction)
        return Moment(time_ns, time_ns, False)
    raise LocalProtocolError(
        f"{quoted(text)} is no time: neither seconds since the first frame, such as 1.5, "
        "nor a date such as 2026-11-28T12:00:00"
    )


def _nanoseconds(fraction: str) -> int:
    """Return what digits after the point of a second stand for."""
    return int(fraction.ljust(9, "0"))
