# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripts of messages as the capture of a connection, and what must be reported about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scapy_mpa.stream.events import Event, MessageRecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.feed import RESPONDER_FLOW
from tests.stream.talk import Talk
from tests.truth import messages, mpastream
from tests.truth.messages import TrueMessage
from tests.truth.mpastream import Damage

READ_REQUEST, READ_RESPONSE = messages.READ_REQUEST, messages.READ_RESPONSE
ATOMIC_REQUEST, ATOMIC_RESPONSE = messages.ATOMIC_REQUEST, messages.ATOMIC_RESPONSE
REQUESTS = (READ_REQUEST, ATOMIC_REQUEST)
RESPONSES = (READ_RESPONSE, ATOMIC_RESPONSE)


def messages_of(events: Iterable[Event]) -> list[MessageRecovered]:
    """The messages that the events of a capture give."""
    taker = Messages()
    return [message for event in events for message in taker.take(event)]


class Spoken:
    """A script as the capture of a connection, one FPDU a segment.

    :param missed: (message, ULPDU) that the capture lacks.
    :param is_damaged: whether these are captured, but with a bad CRC.
    :param delays: by how many segments an FPDU is captured late, by number.
    :param startup: whether the capture holds the segments before the FPDUs.
    """

    def __init__(
        self,
        script: list[TrueMessage],
        *,
        missed: frozenset[tuple[int, int]] = frozenset(),
        is_damaged: bool = False,
        delays: dict[int, int] | None = None,
        markers: bool = False,
        startup: bool = True,
    ) -> None:
        self.script = script
        self.missed = missed
        # Sequence numbers may wrap soon.
        talk = Talk(((2**32 - 5000 + 3 * len(script)) % 2**32, 77))
        for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
            talk.say(direction, mpastream.startup_frame(key, crc=1, markers=int(markers)))
        if not startup:
            talk.segments.clear()
        self.place: dict[tuple[int, int], tuple[int, int]] = {}
        """Direction and sequence number of an FPDU's first octet to message and ULPDU."""
        streams = []
        for direction in (0, 1):
            mine = [
                ((index, piece), ulpdu)
                for index, each in enumerate(script)
                if each.direction == direction
                for piece, ulpdu in enumerate(each.ulpdus)
            ]
            bad = [at for at, (which, _) in enumerate(mine) if is_damaged and which in missed]
            damage = dict.fromkeys(bad, Damage(crc_xor=1))
            ulpdus = [ulpdu for _, ulpdu in mine]
            octets, truth = mpastream.build_stream(ulpdus, markers=markers, damage=damage)
            streams.append((octets, iter(truth), talk.next[direction]))
        sent = []
        for index, message in enumerate(script):
            octets, truth_of, base = streams[message.direction]
            for piece in range(len(message.ulpdus)):
                fpdu = next(truth_of)
                self.place[message.direction, (base + fpdu.seq_offset) % 2**32] = index, piece
                late = (delays or {}).get(len(sent), 0)
                item = (message.direction, base + fpdu.start, octets[fpdu.start : fpdu.end])
                sent.append((len(sent) + late + 0.5 * bool(late), item, (index, piece)))
        for _, (direction, seq, octets), which in sorted(sent, key=lambda each: each[0]):
            talk.copy(direction, seq, octets, captured=is_damaged or which not in missed)
            talk.next[direction] = max(talk.next[direction], seq + len(octets))
        talk.close()
        # Direction 0 of the events is the one that was captured first.
        self.found = [
            each._replace(direction=each.direction ^ (each.connection.flow == RESPONDER_FLOW))
            for each in messages_of(talk.fed())
        ]

    def there(self, index: int) -> list[int]:
        """The ULPDUs of a message that are in the capture."""
        count = len(self.script[index].ulpdus)
        return [piece for piece in range(count) if (index, piece) not in self.missed]

    def index_of(self, found: MessageRecovered) -> tuple[int, int]:
        """The message and the ULPDU at the beginning of a message that was found."""
        return self.place[found.direction, found.parts[0].seq]

    def asked(self, index: int) -> bool:
        """Whether a whole Request is in the capture."""
        return not any((index, piece) in self.missed for piece in range(99))


def cut(ulpdu: bytes, room: int) -> list[bytes]:
    """An Untagged message of one segment, in segments of so many octets each."""
    header = messages.UNTAGGED_HEADER
    opcode, stag = ulpdu[1] & 15, int.from_bytes(ulpdu[2:6], "big")
    qn, msn = (int.from_bytes(ulpdu[at : at + 4], "big") for at in (6, 10))
    return messages.untagged_message(opcode, qn, msn, ulpdu[header:], header + room, stag)


def name_of(message: TrueMessage) -> int:
    """The MSN of a Request."""
    return message.name[1]


def check_untagged(spoken: Spoken) -> None:
    """Check that every Untagged message comes once, with its captured and missing parts.

    Skipped messages are reported, too.
    """
    script = spoken.script
    found = [each for each in spoken.found if each.qn is not None and each.fpdus]
    by_name = {(each.direction, each.qn, each.msn): each for each in found}
    assert len(found) == len(by_name)
    last: Counter[tuple[int, int]] = Counter()
    absent = set()
    for index, message in enumerate(script):
        if message.tagged:
            continue
        there = spoken.there(index)
        qn, msn = message.name
        if not there:
            absent.add((message.direction, qn, msn))
            continue
        last[message.direction, qn] = max(last[message.direction, qn], msn)
        each = by_name.pop((message.direction, qn, msn))
        pieces = [message.pieces[piece] for piece in there]
        assert each.fpdus == len(there)
        assert each.captured_length == sum(length for _, length in pieces)
        assert each.complete == (len(there) == len(message.ulpdus))
        assert list(each.missing) == message.missing(there)
        assert each.length == (message.size if len(message.ulpdus) - 1 in there else None)
    assert not by_name
    skipped = [
        (each.direction, each.qn, each.msn + more)
        for each in spoken.found
        if not each.fpdus and each.msn is not None and each.qn is not None
        for more in range(each.messages)
    ]
    assert sorted(skipped) == sorted(
        (direction, qn, msn) for direction, qn, msn in absent if msn < last[direction, qn]
    )


def check_tagged(spoken: Spoken) -> None:
    """Check that reports of Tagged messages are true."""
    script = spoken.script
    pieces = 0
    for each in spoken.found:
        if each.stag is None or not each.fpdus:
            continue
        index, _ = spoken.index_of(each)
        message = script[index]
        pieces += each.fpdus
        assert (each.opcode, each.stag) == (message.opcode, message.name[0])
        if each.complete:
            assert spoken.there(index) == list(range(len(message.ulpdus)))
            assert (each.captured_length, each.length, each.to) == (
                message.size,
                message.size,
                message.name[1],
            )
            assert each.missing == ()
        else:
            assert each.missing
            known = [(at, size) for at, size in each.missing if at is not None and size is not None]
            lacking = {
                at + more
                for at, size in message.missing(spoken.there(index))
                for more in range(size or message.name[1] + message.size - at)
            }
            assert lacking.issuperset(at + more for at, size in known for more in range(size))
    assert pieces == sum(
        len(spoken.there(index)) for index, each in enumerate(script) if each.tagged
    )


def check_pairing(spoken: Spoken, *, all_of_them: bool) -> None:
    """Check that reports of Requests and Responses are true, and complete with ``all_of_them``."""
    script = spoken.script
    seen: Counter[int] = Counter()
    missing: set[tuple[int, int]] = set()
    for each in spoken.found:
        if not each.fpdus and each.answers is not None:
            missing.add((1 - each.direction, each.answers))
            continue
        if each.opcode in REQUESTS:
            asks = script[spoken.index_of(each)[0]].asks if each.complete else (None,)
            assert (each.read_request or (each.request_identifier,)) == asks
        if each.opcode not in RESPONSES:
            assert (each.answers, each.requested, each.as_requested) == (None, None, None)
            continue
        index, _ = spoken.index_of(each)
        request = script[index].answers
        assert request is not None
        seen[request] += 1
        assert each.requested is not False
        if not spoken.asked(request):
            assert each.answers is None
        elif all_of_them:
            assert each.answers == name_of(script[request])
        if each.answers is not None:
            assert each.requested
            assert each.answers == name_of(script[request])
            if each.opcode == READ_RESPONSE:
                assert each.read_request == script[request].asks
                assert each.as_requested in (True, None)
            else:
                assert (each.request_identifier,) == script[request].asks
        if each.complete and each.answers is not None:
            assert each.as_requested is (True if each.opcode == READ_RESPONSE else None)
    wanted = {
        (each.direction, name_of(each))
        for index, each in enumerate(script)
        if each.opcode in REQUESTS and spoken.asked(index) and not seen[index]
    }
    assert missing <= wanted
    if all_of_them:
        assert missing == wanted
