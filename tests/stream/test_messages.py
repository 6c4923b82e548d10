# SPDX-License-Identifier: GPL-2.0-or-later
"""From DDP segments to RDMAP messages (RFC 5041 4 and 5, RFC 5040 4)."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scapy_mpa.stream.events import Event, FPDURecovered, MessageRecovered
from scapy_mpa.stream.messages import OPEN_MESSAGES, Messages
from tests.stream.feed import feed_truth
from tests.stream.test_connections import Talk
from tests.truth import impair, messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage

WRITE, READ_RESPONSE, SEND = messages.WRITE, messages.READ_RESPONSE, messages.SEND


def messages_of(events: list[Event]) -> list[MessageRecovered]:
    """The messages that the events of a capture give."""
    taker = Messages()
    found = []
    for event in events:
        found += taker.take(event)
    return found


def carried(
    ulpdus: list[bytes],
    *,
    lost: tuple[int, ...] = (),
    order: list[int] | None = None,
    markers: bool = True,
    damage: dict[int, Damage] | None = None,
) -> list[MessageRecovered]:
    """The messages of a connection with one FPDU a segment, some of them not captured."""
    octets, truth = mpastream.build_stream(ulpdus, markers=markers, damage=damage)
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers), crc=1))
    base = talk.next[0]
    for index in order or range(len(truth)):
        if index not in lost:
            fpdu = truth[index]
            talk.copy(0, base + fpdu.start, octets[fpdu.start : fpdu.end])
    talk.next[0] += len(octets)
    talk.say(1, flags=ACK)
    talk.close()
    return messages_of(talk.fed())


def told(found: list[MessageRecovered]) -> list[tuple[int, int, int, bool]]:
    """Opcode, octets, segments and whether all is there."""
    return [(each.opcode, each.length, each.fpdus, each.complete) for each in found]


def payload(length: int) -> bytes:
    """Octets that say nothing."""
    return random.Random(length).randbytes(length)


def test_an_untagged_message_of_several_segments() -> None:
    """Segments with the same QN and MSN are one message, MO says where each lies (RFC 5041 4.3)."""
    found = carried(messages.send(7, payload(3000), 1018))
    assert told(found) == [(SEND, 3000, 3, True)]
    (only,) = found
    assert (only.qn, only.msn, only.stag, only.to) == (0, 7, None, None)
    assert only.seq == 1025  # behind the Request and the first Marker


def test_a_tagged_message_of_several_segments() -> None:
    """Segments up to the one with L are one message, at the lowest TO (RFC 5041 4.2)."""
    found = carried(messages.write(0x1234, 2**40, payload(3000), 1014))
    assert told(found) == [(WRITE, 3000, 3, True)]
    (only,) = found
    assert (only.qn, only.msn, only.stag, only.to) == (None, None, 0x1234, 2**40)


@pytest.mark.parametrize("made", [messages.send(1, b""), messages.write(5, 9, b"")])
def test_a_message_without_payload(made: list[bytes]) -> None:
    """Nothing to carry is a message, too (RFC 5041 5.1)."""
    assert told(carried(made))[0][1:] == (0, 1, True)


def test_messages_in_the_order_in_which_they_become_whole() -> None:
    """One after the other on the stream, whatever their kind."""
    made = [
        messages.send(1, payload(2000), 800),
        messages.write(1, 0, payload(2500), 800),
        messages.read_request(1, 1, 2, 3, 4, 5),
        messages.read_response(1, 0, payload(100), 800),
        messages.immediate_data(2, 99),
        messages.atomic_request(2, 0, 1, 2, 3, 4),
        messages.atomic_response(1, 1, 2),
        messages.send(3, b"", 800, opcode=messages.SEND_SE_INVALIDATE, invalidate_stag=9),
    ]
    found = carried([each for message in made for each in message])
    assert [each.opcode for each in found] == [3, 0, 1, 2, 8, 10, 11, 6]
    assert [each.length for each in found] == [2000, 2500, 28, 100, 8, 52, 12, 0]
    assert all(each.complete for each in found)


def test_messages_on_different_queues_do_not_mix() -> None:
    """The same MSN on two queues: two messages (RFC 5041 5.3)."""
    first, second = messages.send(1, payload(1500), 800), messages.read_request(1, 1, 2, 3, 4, 5)
    found = carried([first[0], second[0], *first[1:]])
    assert Counter(told(found)) == Counter([(1, 28, 1, True), (SEND, 1500, 2, True)])


@pytest.mark.parametrize("lost", [(0,), (1,), (2,), (0, 2)])
def test_an_untagged_message_that_lost_segments(lost: tuple[int, ...]) -> None:
    """The first, the midst, the last, or all but one: there, but not complete (RFC 5041 5.2)."""
    made = [*messages.send(1, payload(3000), 1018), *messages.send(2, b"next")]
    found = carried(made, lost=lost)
    assert Counter(told(found)) == Counter(
        [(SEND, 3000 - 1000 * len(lost), 3 - len(lost), False), (SEND, 4, 1, True)]
    )


@pytest.mark.parametrize("lost", [(1,), (2,), (3,), (1, 2), (2, 3)])
def test_a_tagged_message_that_lost_segments(lost: tuple[int, ...]) -> None:
    """Nothing says where a tagged message begins: after a gap it is not called complete."""
    made = [
        messages.write(1, 0, b"before")[0],
        *messages.write(2, 10_000, payload(3000), 1014),
        *messages.write(3, 0, b"after"),
        *messages.write(4, 0, b"later"),
    ]
    found = carried(made, lost=lost)
    of_it = [each for each in found if each.stag == 2]
    assert of_it and not any(each.complete for each in of_it)
    assert sum(each.length for each in of_it) == 3000 - 1000 * len(lost)
    assert sum(each.fpdus for each in of_it) == 3 - len(lost)
    assert [each.complete for each in found if each.stag in (1, 4)] == [True, True]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_gap_that_may_hold_the_beginning_of_a_tagged_message(lost: int) -> None:
    """What follows the hole may be the rest of a message whose first segments are missing."""
    made = [
        *messages.write(9, 0, b"first"),
        *messages.read_response(8, 0, b"second"),
        *messages.write(7, 0, b"third"),
        *messages.write(6, 100, b"fourth"),
        *messages.write(6, 106, b"fifth"),
    ]
    found = carried(made, lost=(lost,))
    behind = [each for each in found if each.stag == (8, 7, 6)[lost]]
    assert not behind[0].complete
    assert found[-1].complete


def test_a_message_whose_last_segment_never_came() -> None:
    """The connection ends first: reported as it is."""
    assert told(carried(messages.send(1, payload(3000), 1018)[:2])) == [(SEND, 2000, 2, False)]
    assert told(carried(messages.write(1, 0, payload(3000), 1014)[:2])) == [(WRITE, 2000, 2, False)]


def test_segments_captured_in_any_order() -> None:
    """Placement may come out of order; a message is one message all the same (RFC 5041 2)."""
    made = [
        *messages.write(1, 0, payload(4000), 814),
        *messages.send(1, payload(2400), 818),
        *messages.write(1, 4000, payload(1600), 814),
    ]
    for seed in range(6):
        order = list(range(1, len(made)))
        random.Random(seed).shuffle(order)
        found = carried(made, order=[0, *order])
        assert told(found) == [
            (WRITE, 4000, 5, True),
            (SEND, 2400, 3, True),
            (WRITE, 1600, 2, True),
        ]


def test_an_fpdu_with_a_bad_crc_brings_nothing() -> None:
    """No receiver passes it up (RFC 5044 6)."""
    made = messages.send(1, payload(3000), 1018)
    assert told(carried(made, damage={1: Damage(flip=(50, 1))})) == [(SEND, 2000, 2, False)]
    tagged = messages.write(1, 0, payload(3000), 1014)
    found = carried([*tagged, *messages.write(2, 0, b"next")], damage={1: Damage(flip=(50, 1))})
    assert sum(each.length for each in found if each.stag == 1) == 2000
    assert not any(each.complete for each in found if each.stag == 1)


def test_a_message_begins_at_mo_0() -> None:
    """All that was sent is there, but it does not begin at the beginning (RFC 5041 5.2)."""
    rest = messages.send(1, payload(3000), 1018)[1:]
    assert told(carried(rest)) == [(SEND, 2000, 2, False)]


def test_segments_that_overlap_count_once() -> None:
    """Octets are counted once, whatever the segments say."""
    header = messages.untagged_header
    made = [
        header(SEND, 0, 1, 0, False) + bytes(100),
        header(SEND, 0, 1, 50, False) + bytes(100),
        header(SEND, 0, 1, 150, True) + bytes(10),
    ]
    assert told(carried(made)) == [(SEND, 160, 3, True)]


def test_the_same_message_sequence_number_again() -> None:
    """A message that is complete is over; the same MSN later is another one (RFC 5041 5.3)."""
    made = messages.send(1, b"one") + messages.send(1, b"again")
    assert told(carried(made)) == [(SEND, 3, 1, True), (SEND, 5, 1, True)]


def test_ulpdus_without_a_ddp_header() -> None:
    """Too short for a header: no message, no exception (RFC 6581 9.2 has empty ones)."""
    made = [b"", b"\x41", b"\x41\x43" + bytes(8), *messages.send(1, b"x")]
    assert told(carried(made)) == [(SEND, 1, 1, True)]


def test_open_messages_are_limited() -> None:
    """The oldest is reported as incomplete when there are too many."""
    header = messages.untagged_header
    count = OPEN_MESSAGES + 50
    octets, _ = mpastream.build_stream(
        [header(SEND, 0, msn, 0, False) + b"begun" for msn in range(1, count + 1)]
    )
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, crc=1))
    talk.say(0, octets, size=60_000)
    events = talk.fed()
    taker = Messages()
    before = [each for event in events[:-1] for each in taker.take(event)]
    assert [each.msn for each in before] == list(range(1, 51))
    after = taker.take(events[-1])
    assert [each.msn for each in after] == list(range(51, count + 1))
    assert not any(each.complete for each in before + after)


@pytest.mark.parametrize("kind", ["spread", "descending", "alternating"])
def test_time_is_linear_in_the_segments_of_a_message(kind: str) -> None:
    """MOs that never meet: each segment of a hostile message costs about the same."""

    def spent(count: int) -> float:
        places = {
            "spread": [2 * at for at in range(count)],
            "descending": [2 * (count - at) for at in range(count)],
            "alternating": [at if at % 2 else 2**31 + 2 * at for at in range(count)],
        }[kind]
        octets, _ = mpastream.build_stream(
            [messages.untagged_header(SEND, 0, 1, mo, False) + b"x" for mo in places]
        )
        talk = Talk()
        for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
            talk.say(direction, mpastream.startup_frame(key, crc=1))
        talk.say(0, octets, size=60_000)
        events = talk.fed()
        assert sum(isinstance(each, FPDURecovered) for each in events) == count
        begin = time.process_time()
        messages_of(events)
        return time.process_time() - begin

    small, large = min(spent(500) for _ in range(2)), spent(4000)
    assert large < 3 * 8 * small


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    markers=st.booleans(),
    reordered=st.sampled_from((0, 0.3)),
    missed=st.sampled_from((0, 0.1)),
)
def test_messages_of_a_conversation(
    seed: int, markers: bool, reordered: float, missed: float
) -> None:
    """Whole messages are complete, others are not; none is claimed that was not sent."""
    rng = random.Random(seed)
    made = messages.random_messages(rng, 25, 600, 6000)
    ulpdus = [each for message in made for each in message]
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    frame = mpastream.startup_frame(mpastream.REQUEST_KEY, crc=1)
    reply = mpastream.startup_frame(mpastream.REPLY_KEY, crc=1, markers=int(markers))
    pair = (
        impair.Half(frame, octets, truth, rng.getrandbits(32)),
        impair.Half(reply, b"", [], rng.getrandbits(32)),
    )
    sendings = impair.miss(impair.cut_aligned(octets, truth), rng, missed)
    sendings = impair.reorder(sendings, rng, reordered)
    segments = impair.conversation(pair, (sendings, []), rng)
    events = feed_truth(segments)
    there = {fpdu.seq_offset for fpdu in impair.capturable(segments, pair[0], 0)}
    whole: Counter[tuple[int, int]] = Counter()
    pieces = 0
    index = 0
    for message in made:
        fpdus = truth[index : index + len(message)]
        index += len(message)
        present = [fpdu.seq_offset in there for fpdu in fpdus]
        pieces += sum(present)
        if all(present):
            tagged = bool(message[0][0] & 0x80)
            header = 14 if tagged else 18
            opcode = message[0][1] & 15
            whole[opcode, sum(len(each) - header for each in message)] += 1
    found = messages_of(events)
    complete = Counter((each.opcode, each.length) for each in found if each.complete)
    assert sum(each.fpdus for each in found) == pieces
    assert complete <= whole
    if not missed:
        assert complete == whole and all(each.complete for each in found)
    untagged = Counter({key: n for key, n in whole.items() if key[0] not in (0, 2)})
    assert Counter({key: n for key, n in complete.items() if key[0] not in (0, 2)}) == untagged
