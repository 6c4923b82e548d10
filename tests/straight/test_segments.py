# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages are put together from rows as from events, whatever is missing."""

import io
import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture, source
from scapy_mpa.cli.reading import Reading
from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery.assembly import LISTED_PARTS
from scapy_mpa.stream.delivery.held import HELD_IN_TOTAL
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.messages import Messages
from tests.straight.ways import by_turns, same
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream, pcapfile

MESSAGES = {
    "s": lambda msns: messages.send(msns[0], b"s"),
    "+s": lambda msns: messages.send(msns[0] + 2, b"s"),
    "-s": lambda msns: messages.send(max(1, msns[0] - 1), b"s"),
    "s?": lambda msns: [messages.untagged_header(3, 0, msns[0], 4, True)],
    "s[": lambda msns: [messages.untagged_header(3, 0, msns[0], 0, False)],
    "s]": lambda msns: [messages.untagged_header(3, 0, msns[0] - 1, 0, True)],
    "w": lambda msns: messages.write(1, 1 << 33, b"w"),
    "w[": lambda msns: [messages.tagged_header(0, 1, 0, False) + b"w"],
    "w]": lambda msns: [messages.tagged_header(0, 1, 1, True) + b"e"],
    "r": lambda msns: messages.read_request(msns[1], 5, 0, 1, 6, 0),
    "r@": lambda msns: messages.read_request(msns[1], 7, 0, 1, 6, 0),
    "a": lambda msns: messages.read_response(5, 0, b"r"),
    "a@": lambda msns: messages.read_response(7, 0, b"r"),
}
"""Messages in one FPDU, and parts of others, by the next MSNs on QN 0 and 1.

``s`` is a Send, ``w`` an RDMA Write, ``r`` a Read Request, ``a`` its answer.  ``[`` is the first
FPDU of two, ``]`` the last, ``?`` one without its beginning.  ``+`` skips MSNs, ``-`` takes one
again, ``@`` means another buffer."""


UNITS = [*MESSAGES, *["s", "w"] * 5, "r", "a", "w[ w]", "w[ w", "s[ s]", "s[ w s]", "s w]"]
"""What a side sends at a time.  Whole messages in order are most of it."""


def talk_of(rng: random.Random) -> Talk:
    """A connection in which both sides send messages, and some segments are not captured."""
    talk, msns = started(), [[1, 1], [1, 1]]
    scripts = [
        [(side, what) for _ in range(12) for what in rng.choice(UNITS).split()] for side in (0, 1)
    ]
    for side, what in by_turns(rng, scripts):
        (ulpdu,) = MESSAGES[what](msns[side])
        talk.say(side, mpastream.build_stream([ulpdu])[0], captured=rng.random() > 0.04)
        msns[side][0] += {"s": 1, "s?": 1, "s[": 1, "+s": 3}.get(what, 0)
        msns[side][1] += what.startswith("r")
    talk.close()
    return talk


@given(seed=st.integers(0, 2**32), window=st.sampled_from((200, 5000, 7 << 14)))
def test_messages_that_follow_each_other(seed: int, window: int) -> None:
    """Rows give the same messages as events, in batches of any size.  All memory is counted."""
    rng = random.Random(seed)
    ports = [(40000 + number, 4000) for number in range(4)]
    frames = [pcapfile.frames(talk_of(rng).segments, ports=each) for each in ports]
    octets = pcapfile.pcap(by_turns(rng, frames))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "_CHUNK", window)
        same(octets)
        taker = Messages()
        for rows in Reading(open_capture(io.BytesIO(octets))).rows():
            taker.added_to(rows)
            held = sum(half.held for halves in taker._halves.values() for half in halves)
            # A Response that waits no more is counted until the next segment of its direction.
            assert taker._budget.room <= HELD_IN_TOTAL - held


def rows_of(ulpdus: list[bytes], hosts: Iterable[str] = ("10.0.0.1",)) -> list[Any]:
    """The rows of FPDUs that each of these hosts sends."""
    talk = started()
    talk.say(0, mpastream.build_stream(ulpdus)[0], size=60_000)
    ends = [(host, "10.0.1.1") for host in hosts]
    frames = [frame for pair in ends for frame in pcapfile.frames(talk.segments, hosts=pair)]
    reading = Reading(open_capture(io.BytesIO(pcapfile.pcap(frames))))
    return [row for rows in reading.rows() for row in rows if type(row) is tuple]


def messages_in(rows: list[Any]) -> list[Any]:
    """The messages of rows, which are those of their events."""
    taker = Messages()
    found = [message for row in rows for message in taker.take(event_of(row))]
    assert [event_of(each) for each in Messages(fpdus=False).added_to(rows)] == found
    return found


def test_rows_with_a_hole() -> None:
    """A message after missing octets may have begun in them."""
    first, _, *others = rows_of(4 * messages.write(1, 0, b"w"))
    found = messages_in([first, *others])
    assert [message.complete for message in found] == [True, False, True]


@pytest.mark.parametrize("parts", [LISTED_PARTS, LISTED_PARTS + 1, LISTED_PARTS + 9])
def test_messages_of_very_many_rows(parts: int) -> None:
    """A message does not list all its parts."""
    ulpdus = [messages.tagged_header(0, 1, at, at == parts - 1) + b"w" for at in range(parts)]
    (message,) = messages_in(rows_of(ulpdus))
    assert (message.fpdus, message.complete, len(message.parts)) == (parts, True, LISTED_PARTS)


def test_the_message_that_was_held_longest_is_reported_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order holds even if many connections begin a message at once."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 2_000)
    begun = [messages.tagged_header(0, 1, 0, False) + b"w"]
    rows = rows_of(begun, [f"10.0.0.{number}" for number in range(40)])
    early = [each.connection.number for each in Messages(fpdus=False).added_to(rows)]
    assert len(early) > 20 and early == [*range(len(early))]
