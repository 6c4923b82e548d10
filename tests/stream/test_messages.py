# SPDX-License-Identifier: GPL-2.0-or-later
"""From DDP segments to RDMAP messages (RFC 5041 4 and 5, RFC 5040 4)."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery.assembly import LISTED_STRETCHES, STRETCHES
from scapy_mpa.stream.delivery.msn import SKIPPED_STRETCHES
from scapy_mpa.stream.delivery.untagged import OPEN_MESSAGES
from scapy_mpa.stream.events import FPDURecovered, MessageRecovered
from scapy_mpa.stream.messages import Messages
from tests.stream.feed import as_segment, feed, feed_truth
from tests.stream.spoken import messages_of
from tests.stream.talk import Talk, started
from tests.stream.work import calls
from tests.truth import impair, messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage

WRITE, READ_RESPONSE, SEND = messages.WRITE, messages.READ_RESPONSE, messages.SEND


def carried(
    ulpdus: list[bytes],
    *,
    lost: tuple[int, ...] = (),
    order: list[int] | None = None,
    markers: bool = True,
    damage: dict[int, Damage] | None = None,
    acknowledged: int | None = None,
) -> list[MessageRecovered]:
    """The messages of a connection with one FPDU a segment, some of them not captured.

    :param acknowledged: the FPDU up to which the peer acknowledges them while they are sent.
    """
    octets, truth = mpastream.build_stream(ulpdus, markers=markers, damage=damage)
    talk = Talk()
    for direction, key in enumerate((mpastream.REQUEST_KEY, mpastream.REPLY_KEY)):
        talk.say(direction, mpastream.startup_frame(key, markers=int(markers), crc=1))
    base = talk.next[0]
    for index in order or range(len(truth)):
        if index not in lost:
            fpdu = truth[index]
            talk.copy(0, base + fpdu.start, octets[fpdu.start : fpdu.end])
            if index == acknowledged:
                talk.next[0] = base + fpdu.end
                talk.say(1, flags=ACK)
    talk.next[0] = base + len(octets)
    talk.say(1, flags=ACK)
    talk.close()
    return messages_of(talk.fed())


def told(found: list[MessageRecovered]) -> list[tuple[int, int, int, bool]]:
    """Opcode, octets, segments and whether all is there, of messages that are there at all."""
    return [
        (each.opcode, each.length, each.fpdus, each.complete)
        for each in found
        if each.opcode is not None and each.fpdus
    ]


def payload(length: int) -> bytes:
    """Octets that say nothing."""
    return random.Random(length).randbytes(length)


def test_an_untagged_message_of_several_segments() -> None:
    """Segments with the same QN and MSN are one message, MO says where each lies (RFC 5041 4.3)."""
    found = carried(messages.send(1, payload(3000), 1018))
    assert told(found) == [(SEND, 3000, 3, True)]
    (only,) = found
    assert (only.qn, only.msn, only.stag, only.to) == (0, 1, None, None)
    assert only.seq == 1025  # behind the Request and the first Marker


def test_a_tagged_message_of_several_segments() -> None:
    """Segments up to the one with L are one message, at the lowest TO (RFC 5041 4.2)."""
    found = carried(messages.write(0x1234, 2**40, payload(3000), 1014))
    assert told(found) == [(WRITE, 3000, 3, True)]
    (only,) = found
    assert (only.qn, only.msn, only.stag, only.to) == (None, None, 0x1234, 2**40)


THREE = messages.send(1, payload(3000), 1018)
REQUEST = messages.read_request(1, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("made", "lost", "expected"),
    [
        # Nothing to carry is a message, too (RFC 5041 5.1).
        (messages.send(1, b""), (), [(SEND, 0, 1, True)]),
        (messages.write(5, 9, b""), (), [(WRITE, 0, 1, True)]),
        # The same MSN on two queues: two messages (RFC 5041 5.3).
        ([THREE[0], *REQUEST, *THREE[1:]], (), [(1, 28, 1, True), (SEND, 3000, 3, True)]),
        # The first, the midst, the last, or all but one is missing (RFC 5041 5.2).
        *(
            ([*THREE, *messages.send(2, b"next")], lost, [torn, (SEND, 4, 1, True)])
            for lost, torn in (
                *(((at,), (SEND, 2000, 2, False)) for at in range(3)),
                ((0, 2), (SEND, 1000, 1, False)),
            )
        ),
        # All that was sent is there, but not the beginning, or not the end (RFC 5041 5.2).
        (THREE[1:], (), [(SEND, 2000, 2, False)]),
        (THREE[:2], (), [(SEND, 2000, 2, False)]),
        (messages.write(1, 0, payload(3000), 1014)[:2], (), [(WRITE, 2000, 2, False)]),
        # A message that is complete is over; the same MSN later is another one (RFC 5041 5.3).
        (
            messages.send(1, b"one") + messages.send(1, b"again"),
            (),
            [(SEND, 3, 1, True), (SEND, 5, 1, True)],
        ),
        # An FPDU without ULPDU may come first (RFC 6581 9.2), and hides nothing.
        (
            [b"", *messages.write(1, 0, b"first"), b"", *messages.write(1, 5, b"second")],
            (),
            [(WRITE, 5, 1, True), (WRITE, 6, 1, True)],
        ),
        # Too short for a header: no message, no exception.
        (
            [b"", b"\x41", b"\x41\x43" + bytes(8), *messages.send(1, b"x")],
            (),
            [(SEND, 1, 1, True)],
        ),
    ],
)
def test_what_is_there_of_messages(
    made: list[bytes], lost: tuple[int, ...], expected: list[tuple[int, int, int, bool]]
) -> None:
    """Each message once, with its octets and segments."""
    assert Counter(told(carried(made, lost=lost))) == Counter(expected)


def test_messages_in_the_order_in_which_they_become_whole() -> None:
    """One after the other on the stream, whatever their kind."""
    made = [
        messages.send(1, payload(2000), 800),
        messages.write(1, 0, payload(2500), 800),
        messages.read_request(1, 1, 2, 3, 4, 5),
        messages.immediate_data(2, 99),
        messages.atomic_request(2, 0, 1, 2, 3, 4),
        messages.terminate(0, 1, 2),
        messages.send(3, b"", 800, opcode=messages.SEND_SE_INVALIDATE, invalidate_stag=9),
    ]
    found = told(carried([each for message in made for each in message]))
    assert [opcode for opcode, *_ in found] == [3, 0, 1, 8, 10, 7, 6]
    assert [length for _, length, *_ in found] == [2000, 2500, 28, 8, 52, 4, 0]
    assert all(complete for *_, complete in found)


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


def test_writes_to_the_same_buffer_around_a_hole() -> None:
    """What follows the hole goes on where the Write before it stopped, but is the next Write's."""
    made = messages.write(1, 0, payload(3000), 1014)
    found = carried(made * 3, lost=(1, 2, 3))
    assert told(found) == [
        (WRITE, 1000, 1, False),
        (WRITE, 2000, 2, False),
        (WRITE, 3000, 3, True),
    ]
    assert found[0].missing == ((1000, None),)
    assert found[1].missing == ((None, None),)


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
    assert [each.complete for each in found if each.stag == 6][-1]


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


@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize(
    "made", [messages.send(1, payload(1800), 618), messages.write(7, 0, payload(1800), 614)]
)
def test_the_frame_that_completes_a_message(made: list[bytes], markers: bool) -> None:
    """It is the one captured last, which need not bring what is last in the stream.

    The first FPDU is in frame 6, behind the SYNs, their acknowledgement and the startup frames.
    """
    for order in ([0, 1, 2], [0, 2, 1], [1, 2, 0], [2, 1, 0]):
        (only,) = carried(made, order=order, markers=markers)
        assert (only.complete, only.fpdus) == (True, 3)
        assert (only.frame, only.time_ns) == (8, 8_000_000)


def test_an_fpdu_with_a_bad_crc_brings_nothing() -> None:
    """No receiver passes it up (RFC 5044 6)."""
    made = messages.send(1, payload(3000), 1018)
    assert told(carried(made, damage={1: Damage(flip=(50, 1))})) == [(SEND, 2000, 2, False)]
    tagged = messages.write(1, 0, payload(3000), 1014)
    found = carried([*tagged, *messages.write(2, 0, b"next")], damage={1: Damage(flip=(50, 1))})
    assert sum(each.length for each in found if each.stag == 1) == 2000
    assert not any(each.complete for each in found if each.stag == 1)


def untagged(
    *pieces: tuple[int, int], last: int | None = None, msn: int = 1, opcode: int = SEND
) -> list[bytes]:
    """Segments of one Untagged message at (MO, octets); ``last``: which of them has L."""
    return [
        messages.untagged_header(opcode, 0, msn, mo, index == last) + bytes(length)
        for index, (mo, length) in enumerate(pieces)
    ]


def tagged(*pieces: tuple[int, int], last: int | None = None, stag: int = 5) -> list[bytes]:
    """The same for an RDMA Write at (TO, octets)."""
    return [
        messages.tagged_header(WRITE, stag, to, index == last) + bytes(length)
        for index, (to, length) in enumerate(pieces)
    ]


def verdict(found: MessageRecovered) -> tuple[int, int | None, list[object], int, int, int]:
    """Octets there and in all, stretches missing, duplicates, overlaps, conflicts."""
    counts = found.duplicates, found.overlaps, found.conflicts
    return (found.length, found.size, list(found.missing), *counts)


@pytest.mark.parametrize(
    ("ulpdus", "expected"),
    [
        # What is missing: in the midst, at the beginning, at the end, everywhere.
        (untagged((0, 100), (250, 50), last=1), (150, 300, [(100, 150)], 0, 0, 0)),
        (untagged((80, 20), last=0), (20, 100, [(0, 80)], 0, 0, 0)),
        (untagged((0, 100)), (100, None, [(100, None)], 0, 0, 0)),
        (untagged((10, 10), (40, 10)), (20, None, [(0, 10), (20, 20), (50, None)], 0, 0, 0)),
        (untagged((50, 0), last=0), (0, 50, [(0, 50)], 0, 0, 0)),
        # The same octets again, wholly and partly.
        (untagged((0, 100), (0, 100), (100, 9), last=2), (109, 109, [], 1, 0, 0)),
        (untagged((0, 100), (20, 30), (100, 9), last=2), (109, 109, [], 1, 0, 0)),
        (untagged((0, 100), (50, 100), (150, 9), last=2), (159, 159, [], 0, 1, 0)),
        (untagged((50, 50), (0, 60), (90, 20), last=2), (110, 110, [], 0, 2, 0)),
        (untagged((0, 10), (20, 10), (5, 30), (35, 1), last=3), (36, 36, [], 0, 1, 0)),
        # Two ends, and octets behind the end.
        (untagged((0, 100), (150, 10), (120, 10), last=2), (120, 130, [(100, 20)], 0, 0, 1)),
        (untagged((100, 10), (150, 10), (0, 90), last=0), (110, 110, [(90, 10)], 0, 0, 1)),
        (tagged((1000, 100), (1150, 50), last=1), (150, 200, [(1100, 50)], 0, 0, 0)),
        (tagged((1000, 100), (1000, 100), (1100, 1), last=2), (101, 101, [], 1, 0, 0)),
        (tagged((1000, 100), (1050, 60), (1110, 0), last=2), (110, 110, [], 0, 1, 0)),
        (tagged((1000, 100), (900, 100), last=1), (200, 100, [], 0, 0, 1)),
        (tagged((1000, 100)), (100, None, [(1100, None)], 0, 0, 0)),
        # A second Last segment at another place denies the first.
        (
            untagged((100, 10), last=0) + untagged((50, 10), last=0),
            (20, 110, [(0, 50), (60, 40)], 0, 0, 1),
        ),
    ],
)
def test_what_segments_say_of_their_message(
    ulpdus: list[bytes], expected: tuple[int, int | None, list[object], int, int, int]
) -> None:
    """Missing, repeated and contradictory octets (RFC 5041 5.2); nothing was lost by TCP here."""
    (found,) = carried(ulpdus)
    assert verdict(found) == expected
    assert found.complete == (not found.missing and not found.conflicts)
    assert found.fpdus == len(ulpdus)


def test_a_message_again_is_a_duplicate() -> None:
    """Each MSN is used once (RFC 5041 4.3): the segments of a second message bring nothing new."""
    found = carried(messages.send(1, payload(1500), 1018) * 2 + messages.send(2, b"next"))
    assert told(found) == [(SEND, 1500, 2, True), (SEND, 1500, 2, True), (SEND, 4, 1, True)]
    assert [each.duplicates for each in found] == [0, 2, 0]


def test_the_same_octets_in_another_message_are_no_duplicate() -> None:
    """Payload may repeat, and a Write may go to where another one went."""
    made = [*messages.send(1, b"same"), *messages.send(2, b"same")]
    made += messages.write(1, 0, b"same") * 2
    found = carried(made)
    assert all(each.complete for each in found)
    assert not any(each.duplicates or each.overlaps for each in found)


def skipped(found: list[MessageRecovered]) -> list[tuple[int | None, int | None, int]]:
    """QN, MSN and number of the messages of which nothing was captured."""
    return [(each.qn, each.msn, each.messages) for each in found if each.opcode is None]


def test_messages_that_were_never_sent() -> None:
    """MSNs begin with 1 and rise by 1 on each queue (RFC 5041 4.3): the others are missing."""
    made = [
        *messages.send(3, b"third"),
        *messages.read_request(1, 1, 2, 3, 4, 5),
        *messages.send(4, b"fourth"),
        *messages.send(9, b"ninth"),
        *messages.terminate(0, 0, 0, msn=2),
    ]
    found = carried(made)
    assert skipped(found) == [(0, 1, 2), (0, 5, 4), (2, 1, 1)]
    # Nothing was lost, so nothing was waited for.
    assert [each.opcode for each in found][:2] == [None, SEND]
    missing = next(each for each in found if each.opcode is None)
    assert (missing.length, missing.fpdus, missing.complete) == (0, 0, False)
    assert missing.missing == ((0, None),)


def test_msn_wraps() -> None:
    """0 follows 0xFFFFFFFF (RFC 5041 4.3); a capture may begin anywhere before that."""
    made = [messages.send(msn % 2**32, b"x")[0] for msn in range(2**32 - 3, 2**32 + 3)]
    octets, _ = mpastream.build_stream(made)
    talk = Talk(syn=False)
    talk.say(0, octets, size=40)
    found = messages_of(talk.fed())
    assert [each.msn for each in found] == [2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1, 2]
    assert not skipped(found)
    assert not any(each.duplicates for each in found)
    del made[2:5]
    octets, _ = mpastream.build_stream(made)
    talk = Talk(syn=False)
    talk.say(0, octets, size=40)
    assert skipped(messages_of(talk.fed())) == [(0, 2**32 - 1, 3)]


def test_messages_that_a_late_copy_brings_are_not_missing() -> None:
    """The hole is long passed and acknowledged when its octets come after all."""
    made = [messages.send(msn, payload(40))[0] for msn in range(1, 301)]
    octets, truth = mpastream.build_stream(made)
    talk = started()
    base = talk.next[0]
    for index, fpdu in enumerate(truth):
        is_lost = index in (50, 51, 52, 100)
        talk.say(0, octets[fpdu.start : fpdu.end], captured=not is_lost)
        talk.say(1, flags=ACK)
    talk.copy(0, base + truth[51].start, octets[truth[51].start : truth[51].end])
    talk.close()
    found = messages_of(talk.fed())
    assert sorted(each.msn or 0 for each in found if each.fpdus) == [
        msn for msn in range(1, 301) if msn not in (51, 53, 101)
    ]
    assert skipped(found) == [(0, 51, 1), (0, 53, 1), (0, 101, 1)]
    assert not any(each.duplicates for each in found)


def test_what_a_gap_took_is_reported_with_the_gap() -> None:
    """Once holes are given up while the connection goes on, nothing waits for them any longer."""
    made = [each for msn in range(1, 301) for each in messages.send(msn, payload(60), 58)]
    octets, truth = mpastream.build_stream(made)
    talk = started()
    for index, fpdu in enumerate(truth):
        # Every other message lacks its second segment, some lack both.
        is_lost = index % 4 == 1 or index % 40 == 0
        talk.say(0, octets[fpdu.start : fpdu.end], captured=not is_lost)
        talk.say(1, flags=ACK)
    events = talk.fed()
    taker = Messages()
    early = [each for event in events[:-200] for each in taker.take(event)]
    assert sum(not each.complete and each.fpdus > 0 for each in early) > 20
    assert skipped(early)
    late = [each for event in events[-200:] for each in taker.take(event)]
    by_msn = Counter(each.msn for each in early + late if each.fpdus)
    assert set(by_msn.values()) == {1}
    expected = {msn for msn in range(1, 301) if msn % 20 == 1}
    assert {msn for _, msn, _ in skipped(early + late)} == expected


def test_octets_that_the_snap_length_cut_off_are_not_there() -> None:
    """A message is complete only if every octet is in the capture."""
    made = [*messages.send(1, payload(2000), 1018), *messages.write(1, 0, payload(500), 1018)]
    octets, truth = mpastream.build_stream(made)
    talk = started()
    for fpdu in truth:
        talk.say(0, octets[fpdu.start : fpdu.end])
    talk.close()
    snap = 300
    found = messages_of(
        feed(
            as_segment(number, each)._replace(payload=each.payload[:snap])
            for number, each in enumerate(talk.segments, 1)
        )
    )
    send, write = found
    # 2 octets of ULPDU_Length, 18 or 14 of the DDP header.
    assert (send.length, send.size, send.cut_off) == (2 * 280, 2000, 2 * 720)
    assert (write.length, write.size, write.cut_off) == (284, 500, 216)
    assert [(each.complete, each.missing, each.fpdus) for each in found] == [
        (False, (), 2),
        (False, (), 1),
    ]


def test_missing_stretches_are_limited() -> None:
    """So many are listed of one message, and so many are kept."""
    count = STRETCHES + 100
    (found,) = carried(untagged(*((10 * at, 5) for at in range(1, count))), markers=False)
    assert found.missing == tuple(
        (0, 10) if at == 0 else (10 * at + 5, 5) for at in range(LISTED_STRETCHES)
    )
    assert (found.fpdus, found.length) == (count - 1, 5 * STRETCHES)


def test_skipped_msns_are_limited() -> None:
    """A peer that jumps about leaves no more than so many stretches behind holes."""
    count = SKIPPED_STRETCHES + 20
    made = [messages.send(3 * at, b"x")[0] for at in range(1, 2 * count + 1)]
    found = carried(made, lost=tuple(range(0, 2 * count, 2)), markers=False)
    assert [each[1] for each in skipped(found)] == [6 * at + 1 for at in range(count)]


def duplicates(found: list[MessageRecovered]) -> list[tuple[int | None, int]]:
    """MSN and duplicates of the messages of which something was captured."""
    return [(each.msn, each.duplicates) for each in found if each.fpdus]


def test_an_msn_behind_higher_ones_is_no_duplicate() -> None:
    """The sender uses it late, against RFC 5041 4.3, but for the first time; then again."""
    one, two = messages.send(1, payload(40), 38), messages.send(2, payload(30), 38)
    found = carried([*two, *one])
    assert skipped(found) == [(0, 1, 1)]
    assert duplicates(found) == [(2, 0), (1, 0)]
    found = carried([two[0], *one, two[1], *one])
    assert duplicates(found) == [(1, 0), (2, 0), (1, 2)]


def test_an_msn_from_before_the_capture_is_no_duplicate() -> None:
    """Nobody knows whether it was used before, but not what is in the capture."""
    made = [messages.send(msn, b"x")[0] for msn in (7, 8, 5, 5)]
    talk = Talk(syn=False)
    talk.say(0, mpastream.build_stream(made)[0], size=40)
    found = messages_of(talk.fed())
    assert duplicates(found) == [(7, 0), (8, 0), (5, 0), (5, 1)]
    assert not skipped(found)


@pytest.mark.parametrize("others", [0, SKIPPED_STRETCHES // 2, SKIPPED_STRETCHES])
def test_an_msn_that_was_told_to_be_missing_is_no_duplicate(others: int) -> None:
    """Behind a hole it might have been captured late, and then too many others were missing."""
    msns = range(2, 2 * others + 4, 2)
    made = [each for msn in msns for each in (b"", *messages.send(msn, b"x"))]
    lost = tuple(range(0, len(made), 2))
    found = carried([*made, *messages.send(msns[-1] - 1, b"x")], lost=lost)
    assert duplicates(found) == [(msn, 0) for msn in (*msns, msns[-1] - 1)]
    found = carried([*made, *messages.send(3 if others else 1, b"x")], lost=lost)
    assert duplicates(found) == [(msn, 0) for msn in (*msns, 3 if others else 1)]


def test_what_is_left_of_skipped_msns_is_limited() -> None:
    """Every other one comes late: what lies between is told before there is too much of it."""
    count = 4 * SKIPPED_STRETCHES
    late = range(1, 2 * count, 2)
    made = [b"", *messages.send(2 * count, b"x")]
    made += [messages.send(msn, b"x")[0] for msn in late]
    # The hole is passed, but a late copy may still fill it.
    found = carried(made, lost=(0,), acknowledged=1)
    assert duplicates(found) == [(msn, 0) for msn in (2 * count, *late)]
    assert skipped(found) == [(0, msn, 1) for msn in range(2, 2 * count, 2)]
    when = [each.fpdus for each in found]
    assert sum(when[when.index(0) :]) > count - 2 * SKIPPED_STRETCHES


def test_nothing_is_a_duplicate_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten of skipped MSNs is not said to have been there."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 1)
    msns = [*range(2, 80, 2), *range(3, 80, 2), 1]
    found = carried([messages.send(msn, b"x")[0] for msn in msns])
    assert duplicates(found) == [(msn, 0) for msn in msns]
    assert skipped(found) == [(0, msn, 1) for msn in range(1, 79, 2)]


def test_open_messages_are_limited() -> None:
    """The oldest is reported as incomplete when there are too many."""
    header = messages.untagged_header
    count = OPEN_MESSAGES + 50
    octets, _ = mpastream.build_stream(
        [header(SEND, 0, msn, 0, False) + b"begun" for msn in range(1, count + 1)]
    )
    talk = started()
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

    def spent(count: int) -> int:
        places = {
            "spread": [2 * at for at in range(count)],
            "descending": [2 * (count - at) for at in range(count)],
            "alternating": [at if at % 2 else 2**31 + 2 * at for at in range(count)],
        }[kind]
        octets, _ = mpastream.build_stream(
            [messages.untagged_header(SEND, 0, 1, mo, False) + b"x" for mo in places]
        )
        talk = started()
        talk.say(0, octets, size=60_000)
        events = talk.fed()
        assert sum(isinstance(each, FPDURecovered) for each in events) == count
        return calls(lambda: messages_of(events))

    small, large = spent(500), spent(4000)
    assert large < 1.5 * 8 * small


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
    found = [each for each in messages_of(events) if each.fpdus]
    complete = Counter((each.opcode, each.length) for each in found if each.complete)
    assert sum(each.fpdus for each in found) == pieces
    assert complete <= whole
    if not missed:
        assert complete == whole and all(each.complete for each in found)
    untagged = Counter({key: n for key, n in whole.items() if key[0] not in (0, 2)})
    assert Counter({key: n for key, n in complete.items() if key[0] not in (0, 2)}) == untagged


@st.composite
def segments_of_any_kind(draw: st.DrawFn) -> bytes:
    """A DDP segment with numbers so small that they meet others again and again."""
    opcode, last = draw(st.integers(0, 12)), draw(st.booleans())
    body = bytes(draw(st.sampled_from((0, 1, 5, 12, 28, 52))))
    if draw(st.booleans()):
        to = draw(st.integers(0, 12))
        return messages.tagged_header(opcode, draw(st.integers(0, 1)), to, last) + body
    qn, msn, mo = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(0, 12))
    return messages.untagged_header(opcode, qn, msn, mo, last) + body


@given(
    said=st.lists(
        st.tuples(
            st.integers(0, 1), segments_of_any_kind() | st.binary(max_size=14), st.booleans()
        ),
        max_size=40,
    )
)
def test_whatever_is_said(said: list[tuple[int, bytes, bool]]) -> None:
    """Every segment belongs to one message, and what is not complete has a reason."""
    talk = started()
    for direction, ulpdu, captured in said:
        talk.say(direction, mpastream.build_stream([ulpdu])[0], captured=captured)
    talk.close()
    events = talk.fed()
    found = messages_of(events)
    recovered = [each for each in events if isinstance(each, FPDURecovered)]
    carrying = [
        each for each in recovered if len(each.ulpdu) >= (14 if each.ulpdu[:1] >= b"\x80" else 18)
    ]
    assert sum(each.fpdus for each in found) == len(carrying)
    for each in found:
        assert each.complete == (each.fpdus > 0 and not each.missing and not each.conflicts)
        # Of a Response to a Request for nothing no octets are missing.
        assert each.fpdus or each.missing or each.size == 0
        assert each.complete <= (each.length == each.size)
        assert (each.answers is not None) <= (each.requested is True)
