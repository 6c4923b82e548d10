# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets and chunks written by hand, for the stream core."""

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.dialects.sctp.associations import Associations
from scapy_mpa.dialects.sctp.packet import SctpPacket
from scapy_mpa.stream.events import ConnectionEnded, Event
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from tests.stream.feed import of
from tests.truth import sctpstream as sctp
from tests.truth.sctpstream import Unit

MILLISECOND = 1_000_000

FIRST_TSNS = 100, 900


def opening(
    *,
    streams: Sequence[tuple[int, int]] = ((4, 4), (4, 4)),
    adaptations: Sequence[int | None] = (1, 1),
) -> list[bytes]:
    """The setup of an association, with the TSNs of :class:`Talk`.

    :param streams: by sender, the numbers of outbound and inbound streams.
    :param adaptations: by sender, its adaptation indication.
    """
    init, answer = (
        sctp.init(side, FIRST_TSNS[side], adaptation=adaptations[side], streams=streams[side])
        for side in (0, 1)
    )
    return [
        sctp.frame(0, sctp.packet(0, init, tag=0)),
        sctp.frame(1, sctp.packet(1, answer)),
        sctp.frame(0, sctp.packet(0, sctp.chunk(sctp.COOKIE_ECHO, 0, b"cookie"))),
        sctp.frame(1, sctp.packet(1, sctp.chunk(sctp.COOKIE_ACK, 0, b""))),
    ]


OPENING = opening()


class Talk:
    """What both sides send, chunk after chunk, with the right TSNs and DDP-SSNs."""

    def __init__(
        self, tsns: tuple[int, int] = FIRST_TSNS, ssns: tuple[int, int] = (0, 0), stream: int = 0
    ) -> None:
        self.units: list[Unit] = []
        self.said: list[tuple[int, int, bytes]] = []
        """Sender, first TSN and octets of each user message."""
        self.tsns = list(tsns)
        self.ssns = list(ssns)
        self.msns = [0, 0]
        self.stream = stream

    def say(self, side: int, ppid: int, user_data: bytes, size: int | None = None) -> None:
        """Send any octets; with ``size``, in fragments of so many octets."""
        self.said.append((side, self.tsns[side], user_data))
        unit = Unit(side, self.tsns[side], ppid, user_data, stream=self.stream)
        made = [unit] if size is None else unit.fragments(size)
        self.units += made
        self.tsns[side] += len(made)

    def control(self, side: int, code: int, private_data: bytes = b"") -> None:
        """Send a session control message."""
        self.say(side, sctp.CONTROL, sctp.control(self._ssn(side), code, private_data))

    def send(self, side: int, payload: bytes = b"x", size: int | None = None) -> None:
        """Send a Send message."""
        self.msns[side] += 1
        self.segment(side, sctp.send(self.msns[side], payload), size)

    def segment(self, side: int, ulpdu: bytes, size: int | None = None) -> None:
        """Send a DDP segment."""
        self.say(side, sctp.SEGMENT, sctp.segment(self._ssn(side), ulpdu), size)

    def begin_session(self) -> None:
        """Initiate and Accept. DDP-SSNs and MSNs start again."""
        self.ssns = [0, 0]
        self.msns = [0, 0]
        self.control(0, sctp.INITIATE, b"hello")
        self.control(1, sctp.ACCEPT, b"hi")

    def end_session(self) -> None:
        """Terminate from both sides."""
        self.control(0, sctp.TERMINATE)
        self.control(1, sctp.TERMINATE)

    def _ssn(self, side: int) -> int:
        self.ssns[side] += 1
        return self.ssns[side] - 1


_CONTROLS = dict(zip(("I", "A", "R", "T", "EI", "EA", "ER"), range(1, 8), strict=True))
"""Names of function codes (RFC 5043 5.2.3, RFC 6581 7)."""


def talk_of(words: str, **options: Any) -> Talk:
    """What both sides send, in shorthand: ``>I <A >S <T``.

    ``>`` and ``<`` are the sides. I, A, R, T, EI, EA and ER are session control messages; the
    number after a colon is the length of their Private Data. S is a Send of one octet, ``S:100``
    one of 100 octets, ``S:100/40`` the same in fragments of 40 octets. ``+3`` leaves out 3
    DDP-SSNs, ``-1`` repeats one. ``c8`` is a message with function code 8, also with Private Data,
    ``p46`` a chunk with PPID 46, ``p16=00`` one with PPID 16 and these octets. After ``|`` DDP-SSNs
    and MSNs start again, after ``|2`` on stream 2. A chunk with ``-`` at its end is not captured.

    :param options: those of :class:`Talk`.
    """
    talk = Talk(**options)
    for word in words.split():
        is_captured, word = word[-1] != "-", word.removesuffix("-")
        if word[0] == "|":
            talk.ssns, talk.msns = [0, 0], [0, 0]
            talk.stream = int(word[1:] or talk.stream)
            continue
        side = "><".index(word[0])
        what, _, private = word[1:].partition(":")
        if what == "S":
            length, _, size = private.partition("/")
            talk.send(side, bytes(int(length or 1)), int(size) if size else None)
        elif what[0] in "+-":
            talk.ssns[side] += int(what)
        elif what[0] == "p":
            ppid, _, octets = what[1:].partition("=")
            talk.say(side, int(ppid), bytes.fromhex(octets) or b"diameter")
        elif what[0] == "c":
            talk.control(side, int(what[1:]), bytes(int(private or 0)))
        else:
            data = sctp.enhanced(4, 4, a=1, b=1) if what in ("EI", "EA") else b""
            talk.control(side, _CONTROLS[what], data + bytes(int(private or 0)))
        if not is_captured:
            talk.units.pop()
    return talk


def closing(talk: Talk) -> list[bytes]:
    """The shutdown of an association. Both sides have acknowledged everything."""
    last = [(tsn - 1 & 0xFFFFFFFF).to_bytes(4, "big") for tsn in talk.tsns]
    return [
        sctp.frame(1, sctp.packet(1, sctp.chunk(sctp.SACK, 0, last[0] + bytes(8)))),
        sctp.frame(0, sctp.packet(0, sctp.chunk(sctp.SHUTDOWN, 0, last[1]))),
        sctp.frame(1, sctp.packet(1, sctp.chunk(sctp.SHUTDOWN_ACK, 0, b""))),
        sctp.frame(0, sctp.packet(0, sctp.chunk(sctp.SHUTDOWN_COMPLETE, 0, b""))),
    ]


def frames_of(units: Iterable[Unit], tags: Sequence[int] = sctp.TAGS) -> list[bytes]:
    """A frame for each DATA chunk, with the Verification Tag of its sender."""
    frames = []
    for unit in units:
        chunk = sctp.data(unit.tsn, unit.ppid, unit.user_data, stream=unit.stream, flags=unit.flags)
        frames.append(sctp.frame(unit.side, sctp.packet(unit.side, chunk, tag=tags[unit.side])))
    return frames


def whole(
    talk: Talk, begin: Sequence[bytes] = OPENING, end: Sequence[bytes] | None = None
) -> list[bytes]:
    """All frames of an association with these chunks, usually with setup and shutdown."""
    return [*begin, *frames_of(talk.units), *(closing(talk) if end is None else end)]


def packet_of(
    octets: bytes, number: int = 1, time_ns: int = 0, captured: int | None = None
) -> SctpPacket:
    """The packet of a frame, perhaps cut."""
    packets: list[SctpPacket] = []
    decoder = Decoder(packets.append)
    frame = Frame(number, time_ns, 1, octets[:captured], len(octets), None)
    assert decoder.segment(frame) is None and not decoder.not_followed
    return packets[0]


def ends(events: Iterable[Event]) -> list[ConnectionEnded]:
    """The ends of sessions, by number."""
    return sorted(of(ConnectionEnded, events), key=lambda each: each.connection.number)


def new_associations(limits: Limits | None = None, dialect: Dialect | None = None) -> Associations:
    """Associations that have received no packet yet."""
    return Associations(count().__next__, limits, dialect)


def events_of(
    frames: Iterable[bytes],
    *,
    limits: Limits | None = None,
    dialect: Dialect | None = None,
    step_ns: int = MILLISECOND,
    associations: Associations | None = None,
    captured: int | None = None,
) -> list[Event]:
    """The events of frames, with those at the end of the capture.

    :param captured: octets of the last frame. None: all.
    """
    associations = associations or new_associations(limits, dialect)
    found: list[Event] = []
    *before, last = enumerate(frames, 1)
    for number, octets in before:
        found += associations.receive(packet_of(octets, number, number * step_ns))
    found += associations.receive(packet_of(last[1], last[0], last[0] * step_ns, captured))
    for events in associations.ends():
        found += events
    return found
