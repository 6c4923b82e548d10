# SPDX-License-Identifier: GPL-2.0-or-later
"""``rdmpa(file)``: the startup frames and FPDUs of a capture as a packet list."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from scapy.error import log_runtime
from scapy.packet import Packet
from scapy.plist import PacketList

from scapy_mpa.capture.reader import open_capture
from scapy_mpa.records import record_of
from scapy_mpa.session.provenance import Provenance
from scapy_mpa.session.recovery import PACKETS, Recovery
from scapy_mpa.session.source import dissect
from scapy_mpa.stream.events import (
    ConnectionEnded,
    ErrorFound,
    Event,
    GapFound,
    OverlapDiffers,
)
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named

__all__ = ["MPAPacketList", "rdmpa"]


class MPAPacketList(PacketList):
    """Packets recovered from a capture, and what else there is to say about it.

    The methods return records as dictionaries, by the names that ``scapy-mpa dissect --json``
    uses.
    """

    def __init__(
        self,
        res: Iterable[Packet] | None = None,
        name: str = "MPA",
        stats: Any = None,
        events: Iterable[Event] = (),
        not_followed: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(list(res) if res is not None else None, name, stats)
        self._events = list(events)
        self._not_followed = Counter(not_followed)

    def __add__(self, other: PacketList) -> MPAPacketList:
        """Return both lists in one, and what else there is to say about both."""
        joined: MPAPacketList = super().__add__(other)
        joined._events = [*self._events, *getattr(other, "_events", ())]
        joined._not_followed = self._not_followed + Counter(getattr(other, "_not_followed", ()))
        return joined

    def __reduce__(self) -> tuple[type[MPAPacketList], tuple[Any, ...]]:
        parts = self.res, self.listname, self.stats, self._events, self._not_followed
        return type(self), parts

    def connection(self, number: int) -> MPAPacketList:
        """Return the packets recovered from one connection, and what else there is to say about it.

        They are in the order of this list.  Frames that carry no MPA octets are of no connection.

        :param number: 0, 1, ... in order of appearance, as in records and in ``provenance``.
        :raises LocalProtocolError: there is no such connection in this list.
        """
        packets = [each for each in self.res if _connection_of(each) == number]
        events = [each for each in self._events if each.connection.number == number]
        if not packets and not events:
            raise LocalProtocolError(f"there is no connection {number} in {self.listname}")
        return type(self)(packets, f"connection {number} of {self.listname}", self.stats, events)

    def connections(self) -> list[dict[str, object]]:
        """Return a record for each TCP connection or DDP Stream Session, in order of their ends."""
        return self._records(ConnectionEnded)

    def gaps(self) -> list[dict[str, object]]:
        """Return a record for each stretch of octets or chunks that was sent but not captured."""
        return self._records(GapFound)

    def overlaps(self) -> list[dict[str, object]]:
        """Return a record for each stretch that was captured twice and differs."""
        return self._records(OverlapDiffers)

    def errors(self) -> list[dict[str, object]]:
        """Return a record for each error (RFC 5044 8, RFC 6581 8).

        With ``rdmpa(..., check=True)`` also for what DDP and RDMAP must not accept.
        """
        return self._records(ErrorFound)

    def not_followed(self) -> dict[str, int]:
        """Return the numbers of frames that were not followed, by reason.

        Reasons are the words that ``scapy-mpa dissect`` uses: "not TCP", "IP fragment", ...
        """
        return dict(self._not_followed)

    def _records(self, kind: type) -> list[dict[str, object]]:
        return [record_of(event) for event in self._events if isinstance(event, kind)]


def _connection_of(packet: Packet) -> int | None:
    """Return the number of the connection that a packet was recovered from, None if it was not."""
    carriers = packet, getattr(packet, "data", None)
    found = (getattr(each, "provenance", None) for each in carriers)
    return next((each.connection for each in found if isinstance(each, Provenance)), None)


def rdmpa(
    filename: str | os.PathLike[str] | BinaryIO,
    *,
    others: bool = False,
    count: int = -1,
    limits: Limits | None = None,
    dialect: str | Dialect | None = None,
    check: bool = False,
) -> MPAPacketList:
    """Read the startup frames and FPDUs of a capture, and what DDP over SCTP has of both.

    They are what ``sniff(offline=filename, session=MPASession(others=others))`` yields, read
    without Scapy's own reader.

    :param filename: a pcap or pcapng file, plain or compressed, or an open binary file.
    :param others: whether frames that carry no MPA octets are listed, too.
    :param count: how many packets to return at most, -1 for all.
    :param limits: what may be held in memory.
    :param dialect: what is spoken, by its name, where the octets leave a choice.
    :param check: hold DDP segments and RDMAP messages against their rules, too, so that
        ``errors()`` tells what a receiver must not accept (:mod:`scapy_mpa.stream.checks`).
    :raises TypeError: it is no file that is read in octets, such as one that is open as text, or
        packets that were read already: those are for
        ``sniff(offline=packets, session=MPASession)``.
    :raises scapy_mpa.wire.errors.LocalProtocolError: there is no such dialect.
    :raises FileNotFoundError: there is no file of this name.
    :raises scapy_mpa.wire.errors.CaptureError: the file is no capture that can be read. If it
        ends badly, what was readable is returned, and a warning is logged, as it is of interfaces
        that a pcapng file describes wrongly.
    """
    if not isinstance(filename, str | os.PathLike) and not hasattr(filename, "read"):
        raise TypeError(
            f"the name of a capture, or an open file, is wanted, not {type(filename).__name__}; "
            "packets are for sniff(offline=packets, session=MPASession)"
        )
    packets: list[Packet] = []
    events: list[Event] = []

    def keep(event: Event) -> None:
        if not isinstance(event, PACKETS):
            events.append(event)

    recovery = Recovery(dissect, keep, limits, dialect_named(dialect), check=check)
    with open_capture(filename) as capture:
        for frame in capture:
            found, is_other = recovery.take(frame)
            packets += found
            if is_other and others:
                packets.append(dissect(frame))
            if 0 <= count <= len(packets):
                break
        packets += recovery.finish()
        if capture.warning is not None:
            log_runtime.warning("%s", capture.warning)
        if capture.problem is not None:
            log_runtime.warning("%s", capture.problem)
        name = os.path.basename(capture.name)
    return MPAPacketList(
        packets if count < 0 else packets[:count],
        name,
        events=events,
        not_followed=recovery.not_followed,
    )
