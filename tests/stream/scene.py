# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection in words, one for each segment, and what must be reported about its startup.

``>`` is sent by the side that opens the connection, ``<`` by the other side.  Letters for the
octets follow:

* ``Q`` a Request, ``A`` a Reply that accepts, ``R`` one that rejects, ``T`` an Rtr Frame
* ``f`` an FPDU, ``b`` one with a bad CRC, ``t`` a Terminate, ``(`` and ``)`` the halves of an FPDU
* ``S`` all FPDUs of ``tests.stream.startup``
* ``w`` words in streaming mode, ``q`` and ``a`` the first half of a Request and of a Reply
* ``F`` the FIN, ``X`` a RST, ``Y`` a RST with text; none: an acknowledgement

A test may give other octets, and other letters.  With ``-`` a word is not captured, with ``+2`` it
is captured two segments later, and with ``/9`` only up to octet 9.  Each segment acknowledges all
octets that were sent before it.  With ``!`` it repeats the acknowledgement of its sender's last
segment.  ``...`` comes first if the SYNs are not captured.

With ``=`` the octets of a word come again, and ``N`` is the SYN again.  With ``@100`` they come 100
octets after their place, and the next word of the side does not continue there.  ``~30`` is a pause
of 30 seconds.  ``new@100`` is another startup on the same ports, with initial numbers that are
greater by 100, ``new@100/3`` the same without its first three segments.  With ``80`` before it a
word is captured after 80 milliseconds.
"""

import random
import re
from collections.abc import Mapping
from typing import NamedTuple

from scapy_mpa.stream.events import ErrorFound, Event
from scapy_mpa.stream.segment import SECOND, Segment
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import cut_to, of
from tests.stream.startup import found, reply, request, seen, stream
from tests.stream.talk import Talk
from tests.truth import messages
from tests.truth.impair import ACK, FIN, PSH, RST, SYN
from tests.truth.mpastream import RTR_KEY, Damage, TrueFPDU, build_stream, startup_frame

Octets = bytes | tuple[bytes, list[TrueFPDU]]
"""Octets, alone or with the FPDUs in them."""

OCTETS: Mapping[str, Octets] = {
    "Q": request(),
    "A": reply(),
    "R": reply(rejected=1),
    "T": startup_frame(RTR_KEY, crc=1),
    "S": stream(),
    "q": request()[:11],
    "a": reply()[:18],
    "w": b"let us talk\r\n",
    "Y": b"go away",
}
FLAGS = {"F": FIN | ACK, "X": RST | ACK, "Y": RST | ACK}
KEY = re.compile(rb"MPA ID R(eq|ep|tr|tR) Frame")
HEADER = 20
"""Octets of a startup frame without Private Data."""

INVALID, LOST = ErrorCode.INVALID_STARTUP_FRAME, ErrorCode.CONNECTION_LOST


def both(**fields: int | bytes) -> dict[str, Octets]:
    """Request, Replies and FPDUs, where both sides ask for the same."""
    frames = {"Q": request(**fields), "A": reply(**fields), "R": reply(rejected=1, **fields)}
    markers, crc = bool(fields.get("markers", 0)), bool(fields.get("crc", 1))
    return {**frames, "S": stream(markers=markers, crc=crc)}


class Wrong(NamedTuple):
    """An error to be reported, by the index of its word."""

    word: int
    code: ErrorCode | None
    text: str
    offset: int = 0
    """The offset of the error in the octets of the word."""


class Scene(Talk):
    """A connection made from words.

    :ivar at: direction and first sequence number of each word.
    :ivar frames: captured startup frames whose header is whole.
    :ivar ulpdus: the ULPDUs of captured FPDUs, by direction.
    """

    def __init__(
        self,
        words: str,
        letters: Mapping[str, Octets] = {},
        *,
        isn: tuple[int, int] = (1000, 0xFFFFF000),
        size: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(isn, syn=not words.startswith("..."))
        self.at: list[tuple[int, int]] = []
        self.frames: list[bytes] = []
        self.ulpdus: tuple[list[bytes], list[bytes]] = [], []
        self._letters = {**OCTETS, **letters}
        self._rng = random.Random(seed)
        self._rest: Octets = b""
        self._cuts: dict[int, int] = {}
        self.words = words.removeprefix("...").split()
        acks = [self.next[1], self.next[0]]
        pause, due = 0, [(float(at), 0, "") for at in range(len(self.segments))]
        for word in self.words:
            (time,) = re.findall(r"^\d*", word)
            word = word.removeprefix(time)
            if word[0] == "~":
                pause += int(word[1:])
                continue
            if word.startswith("new"):
                self._begin_again(*map(int, word[4:].split("/")))
                due += [(at, pause, "") for at in range(len(due), len(self.segments))]
                continue
            sent, _, away = word.partition("@")
            direction, is_captured = "><".index(word[0]), "-" not in sent
            sent, _, snap = sent.partition("/")
            sent, _, late = sent.partition("+")
            what = sent.strip("><-!=")
            self.at.append((direction, self.next[direction] % 2**32))
            pieces = [self._octets(letter) for letter in what.strip("FXN")]
            if snap:
                self._cuts[len(self.segments)] = int(snap)
            octets = b"".join(each for each, _ in pieces)
            if pieces and not octets:
                continue
            if is_captured and "=" not in sent:
                self._note(direction, pieces, int(snap) if snap else None)
            flags = FLAGS.get(what[-1:], PSH | ACK)
            if what == "N":
                self.copy(direction, self.isn[direction], b"", SYN | ACK * direction)
            elif away or "=" in sent:
                back = len(octets) + bool(flags & FIN) if "=" in sent else 0
                place = self.next[direction]
                self.next[direction] += int(away or 0) - back
                self.say(direction, octets, flags=flags, size=size)
                self.next[direction] = place
            else:
                self.say(direction, octets, flags=flags, size=size, captured=is_captured)
            if "!" in word:
                self.segments[-1] = self.segments[-1]._replace(ack=acks[direction] % 2**32)
            else:
                acks[direction] = self.next[1 - direction]
            delay = int(late) + 0.5 if late else 0
            due += [(at + delay, pause, time) for at in range(len(due), len(self.segments))]
        order = sorted(range(len(due)), key=lambda at: due[at][0])
        self.segments = [self.segments[at] for at in order]
        self._cuts = {at: self._cuts[each] for at, each in enumerate(order) if each in self._cuts}
        self._late = {at: due[each][1:] for at, each in enumerate(order) if any(due[each][1:])}

    def _begin_again(self, away: int, missed: int = 0) -> None:
        """Begin another connection on the same ports."""
        begin = len(self.segments)
        self.begin((self.isn[0] + away, self.isn[1] + away))
        for direction, letter in enumerate("QA"):
            self.say(direction, self._octets(letter)[0])
        del self.segments[begin : begin + missed]

    def captured(self) -> list[Segment]:
        """The segments as captured, some of them cut, and some at another time."""
        segments = cut_to(super().captured(), self._cuts)
        for at, (pause, time) in self._late.items():
            time_ns = int(time) * 1_000_000 if time else segments[at].time_ns
            segments[at] = segments[at]._replace(time_ns=time_ns + pause * SECOND)
        return segments

    def _octets(self, letter: str) -> tuple[bytes, list[TrueFPDU]]:
        """The octets of a letter, and the FPDUs that they complete."""
        octets = self._rest if letter == ")" else self._letters.get(letter)
        if octets is not None:
            return octets if isinstance(octets, tuple) else (octets, [])
        ulpdu = messages.send(1, self._rng.randbytes(self._rng.randint(0, 90)))[0]
        if letter == "t":
            ulpdu = messages.terminate(2, 0, 4)[0]
        whole, truth = build_stream([ulpdu], damage={0: Damage(crc_xor=1)} if letter == "b" else {})
        if letter != "(":
            return whole, truth
        half = len(whole) // 2
        self._rest = whole[half:], truth
        return whole[:half], []

    def _note(
        self, direction: int, pieces: list[tuple[bytes, list[TrueFPDU]]], snap: int | None
    ) -> None:
        """Note what must be reported about a word.

        :param snap: the number of captured octets.  None: all.
        """
        for octets, truth in pieces:
            self.ulpdus[direction].extend(each.ulpdu for each in truth if snap is None)
            if KEY.match(octets) and len(octets[:snap]) >= HEADER:
                self.frames.append(octets[:snap])

    def check(self, *wrong: Wrong, events: list[Event] | None = None) -> list[Event]:
        """Check that these errors, all startup frames and FPDUs are reported; return the events."""
        events = self.fed() if events is None else events
        errors = of(ErrorFound, events)
        assert [(each.direction, each.seq, each.code, each.text) for each in errors] == [
            (self.at[word][0], (self.at[word][1] + offset) % 2**32, code, text)
            for word, code, text, offset in wrong
        ]
        assert sorted(each.octets for each in seen(events)) == sorted(self.frames)
        assert (found(events, 0), found(events, 1)) == self.ulpdus
        return events
