# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages, and which Response answers which Request, if segments are missing or damaged
(RFC 5040 5.2, RFC 7306 5.2 and 7).

The truth is the script of a conversation.  The sequence number of an FPDU shows its message.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Reordering, Segment, impair
from tests.craft.reading import plain
from tests.stream.crafted import Record, of, places


def damaged(segment: Segment, rng: random.Random) -> Segment:
    """The segment, perhaps with a bad CRC."""
    if not segment.octets or rng.random() > 0.1:
        return segment
    return replace(segment, octets=segment.octets[:-1] + bytes([segment.octets[-1] ^ 1]))


LACKING: dict[str, Callable[[Segment, int, random.Random], Segment | None]] = {
    "nothing": lambda segment, at, rng: segment,
    "some": lambda segment, at, rng: segment if rng.random() > 0.03 else None,
    "much": lambda segment, at, rng: segment if rng.random() > 0.3 else None,
    "good CRCs": lambda segment, at, rng: damaged(segment, rng),
    "the beginning": lambda segment, at, rng: segment if at > 9 else None,
}
"""How a segment is captured, by its number after the startup frames.  None: not captured."""

NAME = ("opcode", "qn", "msn", "stag")
WHOLE = (*NAME, "length", "captured_length", "fpdus", "to", "duplicates", "overlaps", "conflicts")
ANSWERED = ("answers", "request_identifier", "rdma_read_size", "sink_stag", "sink_to", "src_stag")


def script(rng: random.Random, depth: int, buffers: int, **options: Any) -> Conversation:
    """Messages of both sides in any order, where Responses come in the order of Requests.

    :param depth: the most Requests that a side may have outstanding.
    :param buffers: the number of buffers, so that Requests may be alike.  0: each has its own.
    """
    conversation = Conversation(mulpdu=500, **options)
    outstanding: tuple[list[Any], list[Any]] = [], []
    conversation.initiator.send(b"first")
    for number in range(60):
        side = rng.randrange(2)
        own, asked, speaker = outstanding[side], outstanding[1 - side], conversation.sides[side]
        size, buffer = rng.choice((0, 64, 2000)), rng.randrange(buffers) if buffers else number
        verb = rng.choice(("send", "write", "ask", "ask", "answer", "answer"))
        if verb == "send":
            speaker.send(bytes(size))
        elif verb == "write":
            speaker.write(bytes(size), 500 + buffer, 0)
        elif verb == "ask" and len(own) < depth:
            if rng.random() < 0.5:
                own.append(speaker.atomic_request(request_identifier=buffer))
            else:
                own.append(speaker.read_request(size, sink_stag=900 + buffer, sink_to=buffer))
        elif verb == "answer" and asked:
            first = asked.pop(0)
            if first.read is None:
                speaker.atomic_response(5, request=first)
            else:
                speaker.read_response(bytes(first.read.rdma_read_size), request=first)
    conversation.close()
    return conversation


def values(record: Record, keys: tuple[str, ...]) -> list[Any]:
    """The values of some keys."""
    return [record.get(key) for key in keys]


def check_found(found: Record, true: Record, others: list[Record]) -> None:
    """Check a message with captured parts.

    :param true: the true message of its first part.
    :param others: the true messages of its other parts.
    """
    assert values(found, NAME) == values(true, NAME)
    assert found["requested"] is not False
    # If all parts of a Tagged message were captured, nothing may show that none is missing.
    is_all = len(found["parts"]) == len(true["parts"])
    assert found["complete"] == is_all or (found["stag"] is not None and not found["complete"])
    if found["complete"]:
        assert all(other is true for other in others)
        assert values(found, WHOLE) == values(true, WHOLE)
    else:
        assert found["missing"]
    if found["answers"] is not None:
        assert values(found, ANSWERED) == values(true, ANSWERED)


def check_skipped(found: list[Record], lost: list[Record]) -> None:
    """Check that lost Untagged messages are reported missing if later messages follow."""
    last = Counter[tuple[str, int]]()
    for each in found:
        if each["parts"] and each["msn"] is not None:
            queue = each["src"], each["qn"]
            last[queue] = max(last[queue], each["msn"])
    assert sorted(
        (each["src"], each["qn"], each["msn"] + more)
        for each in found
        if not each["parts"] and each["msn"] is not None
        for more in range(each["messages"])
    ) == sorted(
        (each["src"], each["qn"], each["msn"])
        for each in lost
        if each["msn"] is not None and each["msn"] < last[each["src"], each["qn"]]
    )


@given(
    seed=st.integers(0, 2**32),
    depth=st.sampled_from((1, 2, 8)),
    buffers=st.sampled_from((0, 1, 3)),
    markers=st.booleans(),
    lacking=st.sampled_from(sorted(LACKING)),
    late=st.booleans(),
)
def test_conversations(
    seed: int, depth: int, buffers: int, markers: bool, lacking: str, late: bool
) -> None:
    """All reports are true, and complete if nothing is missing."""
    rng = random.Random(seed)
    begins = lacking != "the beginning"
    # Of Requests that are alike, the first one after a missing beginning is ambiguous.
    conversation = script(rng, depth, buffers if begins else 0, markers=markers)
    segments = conversation.segments()
    begin = places(segments)[2]
    after = [LACKING[lacking](each, at, rng) for at, each in enumerate(segments[begin:])]
    captured = [each for each in after if each is not None]
    if begins and late:
        captured = impair(captured, Reordering(0.2, by_capture=True), seed=seed)
    records = plain(conversation.frames(segments[: begin * begins] + captured))
    found, true = of(records, "message"), of(conversation.truth(messages=True), "message")
    of_part = {(each["src"], part["seq"]): each for each in true for part in each["parts"]}
    parts = Counter((each["src"], part["seq"]) for each in found for part in each["parts"])
    fpdus = [(each["src"], each["seq"]) for each in of(records, "fpdu") if each["crc"] == "good"]
    assert parts == Counter(fpdus)
    for each in (each for each in found if each["parts"]):
        whole, *others = (of_part[each["src"], part["seq"]] for part in each["parts"])
        check_found(each, whole, others)
        is_known = each["answers"] is not None or whole["answers"] is None
        assert is_known or lacking != "nothing"
        if not begins and each["complete"] and each["length"] and not is_known:
            request = whole["dst"], 1, whole["answers"]
            assert request not in [(other["src"], other["qn"], other["msn"]) for other in found]
    lost = [
        each
        for each in true
        if not any((each["src"], part["seq"]) in parts for part in each["parts"])
    ]
    if begins:
        check_skipped(found, lost)
    answered = {(each["src"], each["answers"]) for each in true if each["answers"]}
    requests = {(each["dst"], each["msn"]) for each in true if each["opcode"] in (1, 10)}
    asked = {(each["src"], each["answers"]) for each in lost if each["answers"]}
    asked |= requests - answered
    unanswered = {
        (each["src"], each["answers"]) for each in found if not each["parts"] and each["answers"]
    }
    assert unanswered <= asked
    assert unanswered == asked or lacking != "nothing"
