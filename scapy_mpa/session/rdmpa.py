# SPDX-License-Identifier: GPL-2.0-or-later
"""``rdmpa(file)``: the startup frames and FPDUs of a capture as a packet list."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from io import TextIOBase
from typing import Any, BinaryIO, NamedTuple, SupportsIndex

from scapy.error import log_runtime
from scapy.packet import Packet
from scapy.plist import PacketList

from scapy_mpa.capture.reader import open_capture
from scapy_mpa.records.record import Record, record_of
from scapy_mpa.session.dissect import dissect, set_time
from scapy_mpa.session.mpasession import Recovery
from scapy_mpa.session.provenance import Provenance, Recovered
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.limits import Limits
from scapy_mpa.stream.messages import Messages
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named


class RDMAPMessage(NamedTuple):
    """An RDMAP message that was recovered from a capture."""

    record: Record
    """Its ``message`` record (``docs/records.md``)."""
    payload: bytes | None
    """Its octets, with zeros where octets are missing; None if it was too long to keep, or if
    more octets are missing than were captured."""
    packets: list[Packet]
    """The packets that brought it, each with one DDP segment."""


class MPAPacketList(PacketList):
    """Packets recovered from a capture, with its records.

    The methods return records as dictionaries, with the names of ``scapy-mpa dissect --json``.
    """

    def __init__(
        self,
        res: Iterable[Packet] | None = None,
        name: str = "MPA",
        stats: Any = None,
        records: Iterable[Record] = (),
        not_followed: Mapping[str, int] | None = None,
        messages: Iterable[RDMAPMessage] = (),
    ) -> None:
        super().__init__(list(res) if res is not None else None, name, stats)
        self._records = list(records)
        self._not_followed = Counter(not_followed)
        # A message names all packets that brought it, even those that are not in this list.
        self._messages = list(messages)

    def __getitem__(self, item: Any) -> Any:
        return self._with_records(super().__getitem__(item))

    def filter(self, func: Callable[..., bool]) -> MPAPacketList:
        """Return the packets for which ``func`` is true, with the records of the capture."""
        chosen: MPAPacketList = self._with_records(super().filter(func))
        return chosen

    def sessions(self, *args: Any, **options: Any) -> dict[str, PacketList]:
        """Return the packets by session, as Scapy does, with the records of the capture."""
        found = super().sessions(*args, **options)
        return {name: self._with_records(packets) for name, packets in found.items()}

    def __getstate__(self) -> dict[str, Any]:
        # Scapy copies and pickles its own attributes only; those of this class are the others.
        return super().__getstate__() | {"own": self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.update(state["own"])

    def _with_records(self, chosen: Any) -> Any:
        """Give a part of this list the records of the capture."""
        if isinstance(chosen, MPAPacketList):
            chosen._records, chosen._messages = self._records, self._messages
            chosen._not_followed = self._not_followed
        return chosen

    def __add__(self, other: PacketList) -> MPAPacketList:
        """Return both lists in one, with the records of both."""
        joined: MPAPacketList = super().__add__(other)
        joined._records = [*self._records, *getattr(other, "_records", ())]
        joined._messages = [*self._messages, *getattr(other, "_messages", ())]
        joined._not_followed = self._not_followed + Counter(getattr(other, "_not_followed", ()))
        return joined

    def connection(self, number: int) -> MPAPacketList:
        """Return the packets recovered from one connection, with its records.

        They are in the order of this list.  Frames without MPA octets belong to no connection.  In
        joined lists, several captures may have a connection of that number.

        :param number: 0, 1, ... in order of appearance, as in records and in ``provenance``.
        :raises LocalProtocolError: there is no such connection in this list.
        """
        packets = [each for each in self.res if _place_of(each)[:1] == (number,)]
        records = [each for each in self._records if each["connection"] == number]
        if not packets and not records:
            raise LocalProtocolError(f"there is no connection {number} in {self.listname}")
        messages = [each for each in self._messages if each.record["connection"] == number]
        name = f"connection {number} of {self.listname}"
        return type(self)(packets, name, self.stats, records, messages=messages)

    def messages(self) -> list[RDMAPMessage]:
        """Return the RDMAP messages, each with the packets of this list that brought it.

        They are in the order of ``message`` records.
        """
        listed = set(map(id, self.res))
        return [
            each._replace(packets=[packet for packet in each.packets if id(packet) in listed])
            for each in self._messages
        ]

    def streaming(self) -> list[Record]:
        """Return a record for each stretch of octets in streaming mode (RFC 5044 7.1)."""
        return self._of_type("streaming")

    def connections(self) -> list[Record]:
        """Return a record for each TCP connection or DDP Stream Session, in order of their ends."""
        return self._of_type("connection")

    def gaps(self) -> list[Record]:
        """Return a record for each stretch of octets or chunks that was sent but not captured."""
        return self._of_type("gap")

    def overlaps(self) -> list[Record]:
        """Return a record for each stretch of octets that was captured twice and differs."""
        return self._of_type("overlap")

    def errors(self) -> list[Record]:
        """Return a record for each error (RFC 5044 8, RFC 6581 8).

        With ``rdmpa(..., check=True)`` also for each DDP segment or RDMAP message that a receiver
        must not accept.
        """
        return self._of_type("error")

    def not_followed(self) -> dict[str, int]:
        """Return the numbers of frames that were not followed, by reason.

        Reasons are the words that ``scapy-mpa dissect`` uses: "not TCP", "IP fragment", ...
        """
        return dict(self._not_followed)

    def _of_type(self, kind: str) -> list[Record]:
        return [record for record in self._records if record["type"] == kind]


def _place_of(packet: Packet) -> tuple[int, str, int] | tuple[()]:
    """Return connection, sender and sequence number of a packet; empty if it was not recovered."""
    place = getattr(packet, "provenance", None)
    return (place.connection, place.src, place.seq) if isinstance(place, Provenance) else ()


def rdmpa(
    filename: str | os.PathLike[str] | BinaryIO,
    *,
    others: bool = False,
    count: int = -1,
    limits: Limits | None = None,
    dialect: str | Dialect | None = None,
    check: bool = False,
) -> MPAPacketList:
    """Read the startup frames and FPDUs of a capture.

    DDP over SCTP gives no packets, but messages, and records of connections, gaps and errors.

    ``sniff(offline=filename, session=MPASession(others=others))`` yields the same packets; this
    function does without Scapy's own reader.

    :param filename: a pcap or pcapng file, plain or compressed, or an open binary file.
    :param others: whether frames that carry no MPA octets are listed, too.
    :param count: number of packets to return, at most; -1 for all.
    :param limits: limits of memory.
    :param dialect: the dialect, by its name, where the octets do not show it.
    :param check: also check DDP segments and RDMAP messages; ``errors()`` then has those that a
        receiver must not accept (:mod:`scapy_mpa.stream.checks`).
    :raises scapy_mpa.wire.errors.LocalProtocolError: there is no such dialect.
    :raises FileNotFoundError: there is no file of this name.
    :raises TypeError: ``filename`` is no file, but packets or anything else; or the file is open in
        text mode; or ``count`` is no integer.
    :raises scapy_mpa.wire.errors.CaptureError: the file is no capture that can be read. If only its
        end is damaged, the packets before are returned, and a warning is logged. A warning is also
        logged for interfaces that a pcapng file describes wrongly.
    """
    is_file = hasattr(filename, "read") and not isinstance(filename, TextIOBase)
    if not (is_file or isinstance(filename, str | os.PathLike)):
        raise TypeError(
            "rdmpa() takes a name (str or path) or a file opened in binary mode, not a "
            f"{type(filename).__name__}; sniff(offline=packets, session=MPASession) reads packets"
        )
    if not isinstance(count, SupportsIndex):
        raise TypeError(f"count is a number of packets, not {count!r}")
    packets: list[Packet] = []
    records: list[Record] = []
    messages: list[RDMAPMessage] = []
    reassembly = Messages(payload=True)

    def keep(event: Event) -> None:
        if not isinstance(event, Recovered):
            records.append(record_of(event, recovery.clock))
        for each in reassembly.take(event):
            messages.append(RDMAPMessage(record_of(each, recovery.clock), each.payload, []))

    recovery = Recovery(keep, limits, dialect_named(dialect), check=check)
    with open_capture(filename) as capture:
        for frame in capture:
            brought, is_other = recovery.receive(frame)
            packets += brought
            if is_other and others:
                packet = dissect(frame)
                set_time(packet, frame)
                packets.append(packet)
            if 0 <= count <= len(packets):
                break
        packets += recovery.finish()
        if capture.warning is not None:
            log_runtime.warning("%s", capture.warning)
        if capture.problem is not None:
            log_runtime.warning("%s", capture.problem)
        name = os.path.basename(capture.name)
    if count >= 0:
        del packets[count:]
    packet_at = {_place_of(packet): packet for packet in packets}
    for record, _, parts in messages:
        places = ((record["connection"], record["src"], part["seq"]) for part in record["parts"])
        parts += [packet_at[place] for place in places if place in packet_at]
    return MPAPacketList(
        packets, name, records=records, not_followed=recovery.not_followed, messages=messages
    )
