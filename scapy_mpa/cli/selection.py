# SPDX-License-Identifier: GPL-2.0-or-later
"""Selects a part of a capture: by connections, times, frames, and conditions on records."""

import re
import sys
from collections.abc import Collection, Iterable
from datetime import datetime, timezone
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple

from scapy_mpa.records.condition import ANY, Condition
from scapy_mpa.records.record import Record, RecordedEvent, record_of
from scapy_mpa.stream.clock import Clock
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

__all__ = ["Selection", "conditions", "networks", "ranges", "spans"]

_RANGE: Final = re.compile(r"([0-9]{0,18})(?:(-)([0-9]{0,18}))?")
_KEPT: Final = 1024
"""Connections whose parsed endpoints are cached."""

_SECONDS: Final = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,9}))?")
_DATE: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-][0-9]{2}):?([0-9]{2}))?)?"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SHOWN: Final = 6
"""Digits after the point of seconds in the listing."""


class Moment(NamedTuple):
    """A time, in nanoseconds, which may be rounded."""

    earliest: int
    latest: int
    is_relative: bool
    """Relative to the first frame, else to the epoch."""


class Span(NamedTuple):
    """The time from one moment to another, both included."""

    begin: Moment
    end: Moment

    def holds(self, time_ns: int, first_time_ns: int) -> bool:
        """Return whether a time is in this span.

        :param time_ns: in nanoseconds since the epoch.
        :param first_time_ns: time of the first frame, in nanoseconds since the epoch.
        """
        earliest = self.begin.earliest + self.begin.is_relative * first_time_ns
        latest = self.end.latest + self.end.is_relative * first_time_ns
        return earliest <= time_ns <= latest


class Selection(NamedTuple):
    """A selection: one value of each tuple must match; an empty tuple matches all.

    :param connections: numbers of connections.
    :param hosts: networks; an endpoint must be in one of them.
    :param ports: ports; the same endpoint must have one of them.
    :param spans: times of events.
    :param frames: numbers of the frames of events.
    :param conditions: a record must meet all of them.
    :param is_of_connections: whether connections are selected, not records.  A connection must have
        a segment or event in the times and frames, and its own record must meet the conditions.
    """

    connections: tuple[range, ...] = ()
    hosts: tuple[IPv4Network | IPv6Network, ...] = ()
    ports: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    frames: tuple[range, ...] = ()
    conditions: tuple[Condition, ...] = ()
    is_of_connections: bool = False

    @property
    def is_timed(self) -> bool:
        """Whether it selects by times or frames."""
        return bool(self.spans or self.frames)

    @property
    def narrows(self) -> bool:
        """Whether it selects by more than connections, hosts and ports."""
        return bool(self.is_timed or self.conditions)

    @property
    def has_payload(self) -> bool:
        """Whether a condition needs the payload."""
        return any(each.key in ("payload", ANY) for each in self.conditions)

    def has_connection(self, identity: ConnectionId) -> bool:
        """Return whether number, host and port of a connection are selected."""
        if self.connections and not any(identity.number in each for each in self.connections):
            return False
        if not self.hosts and not self.ports:
            return True
        return any(
            (not self.hosts or any(address in each for each in self.hosts))
            and (not self.ports or port in self.ports)
            for address, port in _sockets(identity.endpoints)
        )

    def has_time(self, frame: int, time_ns: int, first_time_ns: int) -> bool:
        """Return whether number and time of a frame are selected.

        :param frame: its number.
        :param time_ns: when it was captured, in nanoseconds since the epoch.
        :param first_time_ns: when the first frame was captured.
        """
        if self.frames and not any(frame in each for each in self.frames):
            return False
        return not self.spans or any(each.holds(time_ns, first_time_ns) for each in self.spans)

    def has_event(self, event: RecordedEvent, clock: Clock) -> bool:
        """Return whether the record of an event meets the conditions."""
        if not self.conditions:
            return True
        return self.has_record(record_of(event, clock, payload=self.has_payload))

    def has_record(self, record: Record) -> bool:
        """Return whether a record meets the conditions."""
        return all(each.holds(record) for each in self.conditions)

    def has_capture(self, record: Record) -> bool:
        """Return whether a ``capture`` or ``capture_end`` record is selected; they have no time."""
        return not self.is_timed and self.has_record(record)

    def lacking(self, number: int) -> str | None:
        """Return a text with the selected numbers that no connection has; None if all exist.

        :param number: number of connections.
        """
        unknown = {
            range(max(each.start, number), each.stop)
            for each in self.connections
            if each.start >= number or number < each.stop < sys.maxsize
        }
        if not unknown:
            return None
        named = ", ".join(map(_text, sorted(unknown, key=lambda each: (each.start, each.stop))))
        existing = f"they are 0 to {number - 1}" if number else "there are none"
        return f"no connection {named}: {existing}"


def _text(numbers: range) -> str:
    """Return a range in the form of the command line."""
    if len(numbers) == 1:
        return str(numbers.start)
    return f"{numbers.start}-{'' if numbers.stop == sys.maxsize else numbers.stop - 1}"


def ranges(lists: Iterable[str], least: int) -> tuple[range, ...]:
    """Return the numbers in lists of numbers and ranges.

    :param least: the smallest number.
    :raises LocalProtocolError: a part is no number or range.
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
    """Return the networks of texts; an address is a network of one.

    :raises LocalProtocolError: a text is no address or network.
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


def conditions(texts: Iterable[str], kinds: Collection[str]) -> tuple[Condition, ...]:
    """Return the conditions of texts, on records of these types.

    :raises LocalProtocolError: a condition is wrong.
    """
    return tuple(Condition(text, kinds) for text in texts)


@lru_cache(_KEPT)
def _sockets(endpoints: tuple[str, str]) -> list[tuple[IPv4Address | IPv6Address, int]]:
    """Return the address and the port of each endpoint."""
    pairs = [each.rsplit(":", 1) for each in endpoints]
    return [(ip_address(host.strip("[]")), int(port)) for host, port in pairs]


def spans(pairs: Iterable[tuple[str, str]]) -> tuple[Span, ...]:
    """Return the span of each pair of times.

    :raises LocalProtocolError: a text is no time, or the second is before the first.
    """
    found = []
    for texts in pairs:
        begin, end = map(_moment, texts)
        if begin.is_relative == end.is_relative and end.latest < begin.earliest:
            raise LocalProtocolError(f"{quoted(texts[1])} is before {quoted(texts[0])}")
        found.append(Span(begin, end))
    return tuple(found)


def _moment(text: str) -> Moment:
    """Return the time of a text.

    :raises LocalProtocolError: the text is no time.
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
    """Return the nanoseconds of the digits after the point of a second."""
    return int(fraction.ljust(9, "0"))
