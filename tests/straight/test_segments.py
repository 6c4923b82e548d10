# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages and checks read rows: a row and its event give the same DDP segments and messages."""

from __future__ import annotations

import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery.assembly import LISTED_PARTS
from scapy_mpa.stream.delivery.held import HELD_IN_TOTAL
from scapy_mpa.stream.direction import event_of
from scapy_mpa.stream.events import ConnectionEnded, GapFound, MessageRecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream, pcapfile


def rows_in(source: io.BytesIO | Path) -> list[Any]:
    """The rows and events of a capture."""
    with open_capture(source) as capture:
        return [row for rows in Reading(capture).rows() for row in rows]


def rows_of(talk: Talk) -> list[Any]:
    """The rows and events of a connection."""
    return rows_in(io.BytesIO(pcapfile.pcap(pcapfile.frames(talk.segments))))


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

EACH_RULE = [
    # An FPDU does not begin its message.  An MSN comes again, or MSNs are skipped.
    *(">s >s?", ">s >s >-s", ">s >+s >s"),
    # After a hole, which may stay open: 0 or 5 FPDUs later its octets are given up.
    *(">w >w:0 >s <s <s >s >w", ">w >w:5 >w"),
    # A message of several FPDUs, and another message within it, of this direction or the other.
    *(">w[ >w >w[ >w", ">w[ >w] >w[ >w] >s[ >s] >s", ">w[ >s >w] >s[ >w >s]"),
    ">w[ <s >w] >w[ <r >w]",
    # A hole within a message.  An end without its beginning.
    *(">w[ >s:0 >w]", ">s >w]:0 >w"),
    # A Response, after its Request or before it.
    *("<s >r <a", "<a >s >r"),
]
"""Messages that are reported from rows, and reasons why others cannot be: direction and message."""


def with_each_rule(test: Any) -> Any:
    """Try a property with each of ``EACH_RULE`` first."""
    for words, apart, batch in itertools.product(EACH_RULE, (1, 40), (1, 100)):
        sent = [
            ("><".index(word[0]), what, int(after) if after else None)
            for word in f">s {words} >s".split()
            for what, _, after in [word[1:].partition(":")]
        ]
        test = example(sent=sent, apart=apart, batch=batch)(test)
    return test


def events_of(found: list[Any]) -> list[Any]:
    """The events of rows, with the messages that each completes."""
    taker = Messages()
    events: list[Any] = []
    for event in map(event_of, found):
        brought = taker.take(event)
        is_end = isinstance(event, ConnectionEnded)
        events += [*brought, event] if is_end else [event, *brought]
    return events


@pytest.mark.examples
@with_each_rule
@given(
    sent=st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from(("s", "s", "w", "w", "r", "a", *MESSAGES)),
            # After how many more FPDUs its octets are given up.  None: they are captured.
            st.sampled_from((None, None, None, None, None, None, 0, 1, 5)),
        ),
        min_size=20,
        max_size=60,
    ),
    apart=st.sampled_from((1, 40)),
    batch=st.sampled_from((1, 3, 100)),
)
def test_messages_that_follow_each_other(
    sent: list[tuple[int, str, int | None]], apart: int, batch: int
) -> None:
    """Rows and their events give the same messages, whatever is missing.  All memory is counted.

    Most messages are whole in one FPDU, and the next of their queue.  Others come among them.
    """
    talk = started()
    msns = [[1, 1], [1, 1]]
    for direction, what, _ in sent:
        (ulpdu,) = MESSAGES[what](msns[direction])
        talk.say(direction, mpastream.build_stream([ulpdu])[0])
        msns[direction][0] += {"s": 1, "s?": 1, "s[": 1, "+s": 3}.get(what, 0)
        msns[direction][1] += what.startswith("r")
    talk.close()
    given_up = iter([each for _, _, each in sent])
    found: list[Any] = []
    waiting: list[list[Any]] = []
    for row in rows_of(talk):
        if type(row) is tuple:
            row = (row[0] * apart, *row[1:8], row[8] * apart, *row[9:])
            after = next(given_up)
            if after is None:
                found.append(row)
            else:
                event = event_of(row)
                seq, _, _, length = event.place
                waiting.append([after, GapFound(*event[:4], seq, length, "acknowledged")])
        else:
            found.append(row)
        found += [gap for after, gap in waiting if not after]
        waiting = [[after - 1, gap] for after, gap in waiting if after]
    taker = Messages()
    by_rows: list[Any] = []
    for at in range(0, len(found), batch):
        by_rows += map(event_of, taker.added_to(found[at:][:batch]))
        held = sum(half.held for halves in taker._halves.values() for half in halves)
        # A Response that waits no more is counted until the next segment of its direction.
        assert taker._budget.room <= HELD_IN_TOTAL - held
    assert by_rows == events_of(found)


def long_write(parts: int) -> list[Any]:
    """The rows and events of an RDMA Write with one octet in each FPDU."""
    talk = started()
    ulpdus = [messages.tagged_header(0, 1, at, at == parts - 1) + b"w" for at in range(parts)]
    talk.say(0, mpastream.build_stream(ulpdus)[0], size=60_000)
    talk.close()
    return rows_of(talk)


@pytest.mark.parametrize("parts", [LISTED_PARTS, LISTED_PARTS + 1, LISTED_PARTS + 9])
def test_messages_of_very_many_rows(parts: int) -> None:
    """Rows and their events give the same message, even if it does not list all its parts."""
    found = long_write(parts)
    by_rows = [event_of(each) for each in Messages().added_to(found)]
    assert by_rows == events_of(found)
    (message,) = [each for each in by_rows if isinstance(each, MessageRecovered)]
    assert (message.fpdus, message.complete, len(message.parts)) == (parts, True, LISTED_PARTS)


def test_the_message_that_was_held_longest_is_reported_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The order holds even if many connections begin a message at once."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 2_000)
    talk = started()
    talk.say(0, mpastream.build_stream([messages.tagged_header(0, 1, 0, False) + b"w"])[0])
    frames = [
        frame
        for number in range(40)
        for frame in pcapfile.frames(talk.segments, hosts=(f"10.0.0.{number}", "10.0.1.1"))
    ]
    found = [row for row in rows_in(io.BytesIO(pcapfile.pcap(frames))) if type(row) is tuple]
    early = [each.connection.number for each in Messages(fpdus=False).added_to(found)]
    assert len(early) > 20 and early == [*range(len(early))]
