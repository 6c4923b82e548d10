# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory of a live session does not grow with the number of connections that have ended.

These tests count objects, not octets.  They give packets one by one, with growing times.  The last
test stops sessions, and finds what remains.
"""

import gc
import socket
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from scapy.consts import LINUX
from scapy.data import MTU
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.sendrecv import AsyncSniffer, sniff

from scapy_mpa.craft import Conversation
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.layers import FPDU
from scapy_mpa.session import Limits, MPASession
from scapy_mpa.stream.events import ConnectionEnded, Event
from tests.session.plain import Interface
from tests.stream.scene import Scene
from tests.stream.talk import STREAM, TRUTH
from tests.truth import pcapfile

FPDUS = STREAM[: TRUTH[2].end]
TEXT = b"GET / HTTP/1.1\r\n\r\n" * 40
SIZE = 80
"""Octets of a segment: so few that a few connections have more segments than are kept."""
APART = 2.0
"""Seconds from one connection to the next."""
COUNT = 60
"""A number of connections that takes longer than one of them lingers."""
LETTERS = {
    **{"f": FPDUS, "g": FPDUS[:SIZE], "h": FPDUS[SIZE : 2 * SIZE], "i": FPDUS[2 * SIZE :]},
    **{"c": FPDUS[:100] + b"\xff" + FPDUS[101:], "t": TEXT, "u": TEXT[:SIZE]},
}
"""FPDUs, and their first, second and further segments; FPDUs with a bad CRC; text."""


def count_objects() -> Counter[str]:
    """The number of objects of each type of this project and of Scapy, and of containers."""
    gc.collect()
    counts: Counter[str] = Counter()
    for each in gc.get_objects():
        kind = type(each)
        if kind in (tuple, list, dict, set) or kind.__module__.startswith("scapy"):
            counts[kind.__name__] += 1
    return counts


BOTH = ">Q <A >f <f"
ENDING = {
    "FIN": f"{BOTH} >F <F >",
    "RST": f"{BOTH} >X",
    "refused": "...>N <X",
    "FIN, with a hole": ">Q <A >g >h- >i <f >F <F >",
    "RST, with a hole": ">Q <A >g >h- >i <f >X",
    "FIN, captured from the middle": "...>Q- <A- >f <f >F <F >",
    "FIN, and a late copy": f"{BOTH} >F <F > >g@-{len(FPDUS) + 1}",
    "FIN, with a bad CRC": ">Q <A >c <f >F <F >",
    "text, RST, with a hole": ">t >u- >t <t >X",
}
"""Connections that end, in the words of a scene."""
ENDLESS = {"iWARP": BOTH, "half": f"{BOTH} >F", "text": ">t <t"}
"""Connections that never end."""


def counts_of(
    words: str, session: MPASession, *, first: int = COUNT, same_ports: bool = False
) -> list[Counter[str]]:
    """The numbers of objects after ``first`` connections, and after twice as many.

    A connection begins ``APART`` seconds after the one before it.
    """
    counts = []

    def packets() -> Iterator[Packet]:
        for number in range(2 * first):
            isns = 1000 + 7_000_001 * number, (0xFFFFF000 + 9_000_001 * number) % 2**32
            scene = Scene(words, LETTERS, isn=isns, size=SIZE)
            ports = (1024 if same_ports else 1024 + number, 4000)
            for at, octets in enumerate(pcapfile.frames(scene.segments, ports=ports)):
                packet = Ether()
                # Dissecting it would take long, and the session needs only its octets.
                packet.original = octets
                packet.time = 1_700_000_000 + APART * number + at / 1000
                yield packet
            if number + 1 in (first, 2 * first):
                counts.append(count_objects())

    sniff(opened_socket=Interface(packets()), session=session, store=False, quiet=True)
    return counts


@pytest.mark.examples
@pytest.mark.parametrize("name", [*ENDING, *ENDLESS])
def test_connections_that_end(name: str) -> None:
    """A connection lingers for a while.  After that it costs no object.

    A connection without an end is over when another one uses its ports.  A type has grown if it has
    one more object for every third connection.  Fewer objects differ by chance, since the octets
    that are compared with late copies have their own limit.
    """
    session = MPASession(check=True)
    words = {**ENDING, **ENDLESS}[name]
    before, after = counts_of(words, session, same_ports=name in ENDLESS)
    assert not {each: more for each, more in (after - before).items() if more >= COUNT // 3}


@pytest.mark.parametrize("words", ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize(
    "limits", [Limits(connections=20), Limits(connections=40, idle_seconds=20 * APART)]
)
def test_connections_that_never_end(words: str, limits: Limits) -> None:
    """Connections are dropped if there are too many, or if they are idle for too long."""
    endings: Counter[str] = Counter()

    def note(event: Event) -> None:
        if isinstance(event, ConnectionEnded):
            endings[event.ending] += 1

    session = MPASession(on_event=note, limits=limits, check=True)
    last = counts_of(words, session, first=30)[-1]
    assert last["Connection"] <= limits.connections
    # A frame is kept for each of two directions.
    assert last["Frame"] <= 2 * limits.connections
    assert endings["idle"] + endings["limit"] >= 20


@pytest.mark.skipif(not LINUX, reason="about packet sockets of Linux")
def test_memory_for_frames_of_an_interface() -> None:
    """A frame takes as much memory as it has octets, and long frames are not cut.

    A buffer for the longest frame each time would scatter the kept frames in memory.
    """
    from scapy.arch.linux import L2ListenSocket

    class Listening(L2ListenSocket):
        """Gives the octets that the other end of a pair of sockets sends."""

        def __init__(self, ins: socket.socket) -> None:
            self.ins = ins
            self.outs = None
            self.LL = Ether
            self.promisc = False

        def _recv_raw(self, sock: socket.socket, x: int) -> tuple[bytes, Any, float | None]:
            return sock.recv(x), None, 1_700_000_000.0

    conversation = Conversation(mss=65495, packing="stream", mulpdu=30000)
    for number in range(5):
        conversation.initiator.write(bytes([number]) * 29000, stag=7, to=29000 * number)
    frames = [each.octets for each in conversation.frames()]
    assert max(map(len, frames)) > MTU
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with here, there:
        session, sock = MPASession(), Listening(here)
        found: list[Packet] = []
        for octets in frames:
            there.send(octets)
            tracemalloc.start()
            got = [*session.recv(sock)]
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            found += got
            if len(octets) < 200:
                assert peak < MTU
    assert [each[FPDU].provenance.crc for each in found if FPDU in each] == ["good"] * 5


class Open(Interface):
    """Stays open when it has given all packets."""

    def recv(self, x: int = MTU, **kwargs: Any) -> Any:
        return next(self._packets, None)


STOPS = [{"count": 5}, {"stop_filter": lambda packet: FPDU in packet}, {"timeout": 0.5}, {}]


@pytest.mark.parametrize("options", STOPS, ids=["count", "stop_filter", "timeout", "stop()"])
def test_what_remains_when_sniffing_stops(options: dict[str, Any]) -> None:
    """``finish()`` returns it: both lists together are those of a capture that ends there."""
    conversation = parse_scenario("packing stream\nrepeat 60 initiator send 300")
    frames = [Ether(bytes(each)) for each in conversation.packets()]
    del frames[9]
    left = iter(frames)
    events: list[Event] = []
    session = MPASession(on_event=events.append)
    live: dict[str, Any] = {"opened_socket": Open(left), "session": session}
    if options:
        # The second call goes on where the first one has stopped.
        found = sniff(**live, **options) + sniff(**live, **options)
    else:
        sniffer = AsyncSniffer(**live)
        sniffer.start()
        sniffer.join(0.5)
        found = sniffer.stop()
    rest, again = session.finish(), session.finish()
    wanted: list[Event] = []
    until_now = Interface(frames[: len(frames) - len([*left])])
    whole = sniff(opened_socket=until_now, session=MPASession(on_event=wanted.append))
    assert [*map(bytes, found + rest)] == [*map(bytes, whole)]
    assert rest and not again and events == wanted and isinstance(events[-1], ConnectionEnded)
