# SPDX-License-Identifier: GPL-2.0-or-later
"""A TCP connection written segment by segment, and its events."""

import random
from collections.abc import Iterable

from scapy_mpa.stream import segment
from scapy_mpa.stream.events import ConnectionEnded, ErrorFound, Event, GapFound
from scapy_mpa.stream.flows import Flows
from scapy_mpa.wire.dialect import Dialect
from tests.stream.feed import as_segment, feed, fpdus, of
from tests.truth import messages, mpastream
from tests.truth.impair import ACK, FIN, PSH, RST, SYN, Segment

REQUEST = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
REPLY = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1)
STREAM, TRUTH = mpastream.build_stream(
    [messages.send(msn, random.Random(msn).randbytes(200))[0] for msn in range(1, 9)]
)
ULPDUS = [fpdu.ulpdu for fpdu in TRUTH]


class Talk:
    """One TCP connection, written segment by segment.  Direction 0 opens it.

    A segment continues its direction.  It acknowledges all octets that the other direction has
    sent, captured or not.
    """

    def __init__(self, isn: tuple[int, int] = (1000, 0xFFFFF000), *, syn: bool = True) -> None:
        self.segments: list[Segment] = []
        self.begin(isn, syn=syn)

    def begin(self, isn: tuple[int, int], *, syn: bool = True) -> None:
        """Begin with these initial sequence numbers, and with a handshake if ``syn`` is set."""
        self.isn = isn
        self.next = [isn[0] + (not syn), isn[1] + (not syn)]
        if syn:
            self.say(0, flags=SYN)
            self.say(1, flags=SYN | ACK)
            self.say(0, flags=ACK)

    def say(
        self,
        direction: int,
        octets: bytes = b"",
        *,
        flags: int = PSH | ACK,
        size: int | None = None,
        captured: bool = True,
    ) -> int:
        """Send octets in segments of ``size``; return the first sequence number.

        A FIN or RST is in the last of them.
        """
        first = self.next[direction]
        step = size or max(1, len(octets))
        for at in range(0, max(1, len(octets)), step):
            now = flags if at + step >= len(octets) else flags & ~(FIN | RST)
            self.copy(direction, self.next[direction], octets[at : at + step], now, captured)
            self.next[direction] += len(octets[at : at + step]) + bool(now & (SYN | FIN))
        return first % 2**32

    def copy(
        self, direction: int, seq: int, octets: bytes, flags: int = PSH | ACK, captured: bool = True
    ) -> None:
        """Send a segment that does not advance the stream: a retransmission, a probe, a forgery."""
        ack = self.next[1 - direction] % 2**32 if flags & ACK else 0
        if captured:
            self.segments.append(Segment(direction, seq % 2**32, ack, flags, octets))

    def miss(self, direction: int, octets: bytes) -> int:
        """Send octets that the peer receives, but that are not captured."""
        return self.say(direction, octets, captured=False)

    def close(self) -> None:
        """FIN from both sides, both acknowledged."""
        self.say(0, flags=FIN | ACK)
        self.say(1, flags=FIN | ACK)
        self.say(0, flags=ACK)

    def say_both(self, octets: bytes, *, size: int | None = None) -> list[Event]:
        """Let both sides send the same octets and close; return all events."""
        self.say(0, octets, size=size)
        self.say(1, octets, size=size)
        return self.closed()

    def closed(self) -> list[Event]:
        """Close the connection; return all events."""
        self.close()
        return self.fed()

    def captured(self) -> list[segment.Segment]:
        """The segments as captured, one a millisecond."""
        return [as_segment(number, each) for number, each in enumerate(self.segments, 1)]

    def fed(self, dialect: Dialect | None = None) -> list[Event]:
        """The events of this connection alone, perhaps with a forced dialect."""
        return feed(self.captured(), dialect)


def say_startup(
    talk: Talk, *, markers: bool = False, crc: bool = True, captured: str = "QA"
) -> None:
    """Let both sides send startup frames, with M and C as given: Request (Q) and Reply (A)."""
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        frame = mpastream.startup_frame(key, markers=int(markers), crc=int(crc))
        talk.say(direction, frame, captured="QA"[direction] in captured)


def started(
    isn: tuple[int, int] = (1000, 0xFFFFF000), *, markers: bool = False, crc: bool = True
) -> Talk:
    """A connection whose Full Operation Phase has begun."""
    talk = Talk(isn)
    say_startup(talk, markers=markers, crc=crc)
    return talk


def whole(
    isn: tuple[int, int] = (1000, 0xFFFFF000), size: int = 500, *, close: bool = True
) -> Talk:
    """A connection from SYN to FIN, or still open, with FPDUs in both directions."""
    talk = started(isn)
    talk.say(0, STREAM, size=size)
    talk.say(1, STREAM, size=size)
    if close:
        talk.close()
    return talk


def flow_of(number: int, direction: int) -> bytes:
    """Addresses and ports of one of many connections."""
    ends = b"\x0a\x00\x00\x01", b"\x0a\x01" + number.to_bytes(2, "big")
    ports = b"\x9c\x40", b"\x0f\xa0"
    return ends[direction] + ends[1 - direction] + ports[direction] + ports[1 - direction]


def received(
    flows: Flows,
    segments: Iterable[Segment],
    first: int = 1,
    *,
    connection: int | None = None,
    later: int = 0,
) -> list[Event]:
    """The events of segments, one a millisecond, from a capture that continues.

    :param first: the frame number of the first segment.
    :param connection: the number of their connection if there are several, see :func:`flow_of`.
    :param later: nanoseconds by which all segments are delayed.
    """
    events: list[Event] = []
    for frame, each in enumerate(segments, first):
        taken = as_segment(frame, each)
        if connection is not None:
            taken = taken._replace(flow=flow_of(connection, each.direction))
        events += flows.receive(taken._replace(time_ns=taken.time_ns + later))
    return events


def ends(events: list[Event]) -> list[ConnectionEnded]:
    """The ends of connections, in order."""
    return of(ConnectionEnded, events)


def found(events: list[Event], number: int, direction: int) -> list[bytes]:
    """The ULPDUs of one direction of one connection."""
    return [each.ulpdu for each in fpdus(events, direction) if each.connection.number == number]


def check_whole(events: list[Event], number: int = 0) -> None:
    """Check that all FPDUs of a connection are reported once, without an error or a gap."""
    assert found(events, number, 0) == ULPDUS
    assert found(events, number, 1) == ULPDUS
    wrong = [*of(ErrorFound, events), *of(GapFound, events)]
    assert number not in [each.connection.number for each in wrong]
