# SPDX-License-Identifier: GPL-2.0-or-later
"""From DDP segments to RDMAP messages (RFC 5041 4 and 5, RFC 5040 4)."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.stream import messages as stream_messages
from scapy_mpa.stream.delivery import payload as delivery_payload
from scapy_mpa.stream.delivery.assembly import LISTED_PARTS, LISTED_STRETCHES
from scapy_mpa.stream.events import ConnectionEnded, MessageRecovered
from scapy_mpa.stream.limits import LATE_SEGMENTS
from scapy_mpa.stream.messages import Messages
from tests.stream.exchange import answers, exchanged, messages_of, payload, talk_of
from tests.stream.feed import feed, fpdus
from tests.stream.talk import Talk, started
from tests.truth import messages, mpastream
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage

WRITE, SEND = messages.WRITE, messages.SEND


def delivered(
    ulpdus: Sequence[bytes],
    *,
    lost: tuple[int, ...] = (),
    order: list[int] | None = None,
    markers: bool = True,
) -> list[MessageRecovered]:
    """Return the messages of a connection, sent with one FPDU in each TCP segment.

    :param lost: FPDUs that are not captured.
    :param order: FPDUs in the order of capture.
    """
    octets, truth = mpastream.build_stream(ulpdus, markers=markers)
    talk = started(markers=markers)
    base = talk.next[0]
    for index in order or range(len(truth)):
        if index not in lost:
            fpdu = truth[index]
            talk.copy(0, base + fpdu.start, octets[fpdu.start : fpdu.end])
    talk.next[0] = base + len(octets)
    talk.say(1, flags=ACK)
    return messages_of(talk.closed())


LONG_SEND = messages.send(1, payload(3000), 1018)
LONG_WRITE = messages.write(1, 0, payload(3000), 1014)
FOUR_WRITES = (
    *messages.write(1, 0, b"before"),
    *messages.write(2, 10_000, payload(3000), 1014),
    *messages.write(3, 0, b"after"),
    *messages.write(3, 5, b"later"),
)


@pytest.mark.parametrize(
    ("ulpdus", "lost", "expected"),
    [
        # A message without payload is a message, too (RFC 5041 5.1).
        (messages.send(1, b""), (), [(1, 0, 1, True)]),
        (messages.write(5, 9, b""), (), [(5, 0, 1, True)]),
        # The beginning or the end was not sent (RFC 5041 5.2).
        (LONG_SEND[1:], (), [(1, 2000, 2, False)]),
        (LONG_SEND[:2], (), [(1, 2000, 2, False)]),
        (LONG_WRITE[:2], (), [(1, 2000, 2, False)]),
        # Another STag ends a Tagged message, too.
        (LONG_WRITE[:2] + messages.write(2, 0, b"x"), (), [(1, 2000, 2, False), (2, 1, 1, True)]),
        # A complete message has ended.  The same MSN later is another message (RFC 5041 5.3).
        (
            messages.send(1, b"one") + messages.send(1, b"again"),
            *((), [(1, 3, 1, True), (1, 5, 1, True)]),
        ),
        # An FPDU without ULPDU may come first (RFC 6581 9.2).  Later messages are found.
        (
            [b"", *messages.write(1, 0, b"first"), b"", *messages.write(1, 5, b"second")],
            *((), [(1, 5, 1, True), (1, 6, 1, True)]),
        ),
        # Too short for a header: no message, no exception.
        ([b"", b"\x41", b"\x41\x43" + bytes(8), *messages.send(1, b"x")], (), [(1, 1, 1, True)]),
        # The TO after the hole continues the first Write, but belongs to the next Write.
        (LONG_WRITE * 3, (1, 2, 3), [(1, 1000, 1, False), (1, 2000, 2, False), (1, 3000, 3, True)]),
        # The beginning of a Tagged message may lie in a gap, so the first one after it is not
        # complete.
        *(
            (FOUR_WRITES, lost, expected)
            for lost, expected in (
                ((0,), [(2, 3000, 3, False), (3, 5, 1, True), (3, 5, 1, True)]),
                ((1,), [(1, 6, 1, True), (2, 2000, 2, False), *[(3, 5, 1, True)] * 2]),
                ((2,), [(1, 6, 1, True), *[(2, 1000, 1, False)] * 2, *[(3, 5, 1, True)] * 2]),
                ((3,), [(1, 6, 1, True), (2, 2000, 2, False), (3, 5, 1, False), (3, 5, 1, True)]),
                ((1, 2), [(1, 6, 1, True), (2, 1000, 1, False), *[(3, 5, 1, True)] * 2]),
                ((2, 3), [(1, 6, 1, True), (2, 1000, 1, False), (3, 5, 1, False), (3, 5, 1, True)]),
                ((4,), [(1, 6, 1, True), (2, 3000, 3, True), (3, 5, 1, False)]),
            )
        ),
    ],
)
def test_messages_with_missing_parts(
    ulpdus: Sequence[bytes], lost: tuple[int, ...], expected: list[tuple[int, int, int, bool]]
) -> None:
    """Each message is reported once, with STag or MSN, octets, segments, and completeness."""
    assert sorted(expected) == sorted(
        (each.stag or each.msn or 0, each.captured_length, each.fpdus, each.complete)
        for each in delivered(ulpdus, lost=lost)
        if each.fpdus
    )


@pytest.mark.parametrize("markers", [True, False])
@pytest.mark.parametrize(
    "ulpdus", [messages.send(1, payload(1800), 618), messages.write(7, 0, payload(1800), 614)]
)
def test_the_frame_that_completes_a_message(ulpdus: list[bytes], markers: bool) -> None:
    """It is the frame captured last, not the frame with the last octets of the stream.

    The first FPDU is in frame 6, after the SYNs, their acknowledgement and the startup frames.
    """
    for order in ([0, 1, 2], [0, 2, 1], [1, 2, 0], [2, 1, 0]):
        (only,) = delivered(ulpdus, order=order, markers=markers)
        assert (only.complete, only.fpdus) == (True, 3)
        assert (only.frame, only.time_ns) == (8, 8_000_000)


def untagged(*pieces: tuple[int, int], last: int | None = None, msn: int = 1) -> list[bytes]:
    """Segments of one Send, each with (MO, octets).

    :param last: the segment with the Last flag.
    """
    return [
        messages.untagged_header(SEND, 0, msn, mo, index == last) + bytes(length)
        for index, (mo, length) in enumerate(pieces)
    ]


def tagged(*pieces: tuple[int, int], last: int | None = None) -> list[bytes]:
    """Segments of one RDMA Write, each with (TO, octets)."""
    return [
        messages.tagged_header(WRITE, 5, to, index == last) + bytes(length)
        for index, (to, length) in enumerate(pieces)
    ]


@pytest.mark.parametrize(
    ("ulpdus", "expected"),
    [
        # Octets are missing in the middle, at the beginning, at the end, or at all these places.
        (untagged((0, 100), (250, 50), last=1), (150, 300, [(100, 150)], 0, 0, 0)),
        (untagged((80, 20), last=0), (20, 100, [(0, 80)], 0, 0, 0)),
        (untagged((0, 100)), (100, None, [(100, None)], 0, 0, 0)),
        (untagged((10, 10), (40, 10)), (20, None, [(0, 10), (20, 20), (50, None)], 0, 0, 0)),
        (untagged((50, 0), last=0), (0, 50, [(0, 50)], 0, 0, 0)),
        # Octets come twice: all or some octets of a segment.
        (untagged((0, 100), (0, 100), (100, 9), last=2), (109, 109, [], 1, 0, 0)),
        (untagged((0, 100), (20, 30), (100, 9), last=2), (109, 109, [], 1, 0, 0)),
        (untagged((0, 100), (50, 100), (150, 9), last=2), (159, 159, [], 0, 1, 0)),
        # Octets do not ascend: they are no part of the message.
        (untagged((50, 50), (0, 60), (90, 20), last=2), (60, 110, [(0, 50)], 1, 1, 0)),
        # Two ends, and octets after the end.
        (untagged((0, 100), (150, 10), (160, 10), last=1), (120, 160, [(100, 50)], 0, 0, 1)),
        (tagged((1000, 100), (1150, 50), last=1), (150, 200, [(1100, 50)], 0, 0, 0)),
        (tagged((1000, 100), (1000, 100), (1100, 1), last=2), (101, 101, [], 1, 0, 0)),
        (tagged((1000, 100), (1050, 60), (1110, 0), last=2), (110, 110, [], 0, 1, 0)),
        (tagged((1000, 100), (900, 100), last=1), (100, 0, [], 1, 0, 1)),
        (tagged((1000, 100)), (100, None, [(1100, None)], 0, 0, 0)),
        # A second Last segment at another place contradicts the first.
        (untagged((100, 10), last=0) + untagged((50, 10), last=0), (10, 110, [(0, 100)], 1, 0, 1)),
    ],
)
def test_missing_and_repeated_octets(
    ulpdus: list[bytes], expected: tuple[int, int | None, list[object], int, int, int]
) -> None:
    """The sender itself leaves out, repeats or contradicts octets (RFC 5041 5.2)."""
    (found,) = delivered(ulpdus)
    counts = found.duplicates, found.overlaps, found.conflicts
    assert (found.captured_length, found.length, list(found.missing), *counts) == expected
    assert found.complete == (not found.missing and not found.conflicts)
    assert found.fpdus == len(ulpdus)


def test_octets_that_the_snap_length_cut_off_are_missing() -> None:
    """A message is complete only if every octet is in the capture."""
    segments = talk_of(">S:2000/1018 >W:500").captured()
    found = messages_of(feed(each._replace(payload=each.payload[:300]) for each in segments))
    # 2 octets of ULPDU_Length, 18 or 14 of the DDP header.
    assert [
        (each.captured_length, each.length, each.cut_off, each.complete, each.missing, each.fpdus)
        for each in found
    ] == [(2 * 280, 2000, 2 * 720, False, (), 2), (284, 500, 216, False, (), 1)]


# -- MSNs ------------------------------------------------------------------------------------------


def skipped(found: list[MessageRecovered]) -> list[tuple[int | None, int | None, int]]:
    """QN, MSN and number of messages without captured parts."""
    missing = [each for each in found if each.opcode is None]
    for each in missing:
        assert (each.captured_length, each.fpdus, each.complete) == (0, 0, False)
        assert each.missing == ((0, None),)
        # The report comes directly before the message that shows them.
        after = found[found.index(each) + 1]
        assert (after.qn, after.msn) == (each.qn, ((each.msn or 0) + each.messages) % 2**32)
    return [(each.qn, each.msn, each.messages) for each in missing]


def duplicates(found: list[MessageRecovered]) -> str:
    """The MSNs of messages with captured parts, as ``7``, or ``7+2`` with two duplicates."""
    counted = [(each.msn, each.duplicates) for each in found if each.fpdus]
    return " ".join(f"{msn}+{again}" if again else str(msn) for msn, again in counted)


@pytest.mark.parametrize(
    ("words", "expected", "missing"),
    [
        # On each queue MSNs count from 1.  Skipped MSNs are reported as missing.
        (">S#3 >R2 >S#4 >S#9", "3 2 4 9", [(0, 1, 2), (1, 1, 1), (0, 5, 4)]),
        # MSN 0 follows 0xFFFFFFFF (RFC 5041 4.3).
        ("... >S#4294967294 >S#2 >S#3", "4294967294 2 3", [(0, 2**32 - 1, 3)]),
        # Each MSN is used once (RFC 5041 4.3): segments of a second message are duplicates.
        (">S#1:40/38 >S#1:40/38 >S#2:30/38", "1 1+2 2", []),
        # The sender uses an MSN late, against RFC 5041 4.3.
        (">S#2:30/38 >S#1:40/38", "2 1+2", [(0, 1, 1)]),
        # The first message of a queue repeats none.
        (">S#0 >S#0 >S#1", "0 0+1 1", []),
        # The next message of a queue ends the one before.
        (">S#1:40/38-1 >S#2:30/38", "1 2", []),
        # MSNs count from 1 on the queue of Terminates, too.
        (">T2", "2", [(2, 1, 1)]),
    ],
)
def test_msns(words: str, expected: str, missing: list[tuple[int, int, int]]) -> None:
    """Messages of a queue come in the order of their MSNs (RFC 5041 4.3)."""
    found = exchanged(words)
    assert (duplicates(found), skipped(found)) == (expected, missing)


# -- when messages are reported --------------------------------------------------------------------


LETTERS = {0: "W", 1: "R", 2: "<R", 3: "S"}


def reported(talk: Talk) -> list[list[str]]:
    """The messages reported before a connection is closed, and the messages reported after.

    ``S1`` is a complete message, ``S1~2`` one with two FPDUs that is not.  ``-`` has no FPDU.
    """
    taker, end = Messages(), len(talk.segments) - 3
    found: list[list[str]] = [[], []]
    for event in talk.fed():
        is_late = isinstance(event, ConnectionEnded) or event.frame > end
        for each in taker.take(event):
            name = f"{LETTERS[each.opcode or 0]}{each.msn or ''}" if each.fpdus else "-"
            found[is_late].append(name if each.complete else f"{name}~{each.fpdus}")
    return found


@pytest.mark.parametrize("every", [5, 20, 90])
def test_holes_that_follow_each_other(every: int) -> None:
    """A message waits for the holes before it alone, even if there is always an open one."""
    lost = range(every, 400, every)
    words = (f">R{n}@{n}00 <R@{n}00{'-' * (n in lost)}" for n in range(1, 400))
    talk = talk_of(" ".join(words))
    _, late = reported(talk)
    assert len(late) <= LATE_SEGMENTS
    unanswered = " ".join(map(str, lost))
    paired = " ".join(str(n) for n in range(1, 400) if n not in lost)
    assert answers(messages_of(talk.fed())) == f"{paired} / {unanswered}"


@pytest.mark.parametrize("bad", [0, 1, 2])
@pytest.mark.parametrize(
    "damage",
    [Damage(flip=(20, 1)), Damage(crc_xor=1), Damage(ulpdu_length=300), Damage(ulpdu_length=3000)],
)
def test_a_message_that_lacks_a_damaged_fpdu(bad: int, damage: Damage) -> None:
    """It is reported when the next message of its queue begins, whatever ULPDU_Length is.

    The octets that a wrong length claims are searched when all have come.
    """
    early, late = reported(talk_of(f">S:1500/518!{bad} >S >S >W:80000 >S", damage=damage))
    assert sorted(early[:3]) == ["S1~2", "S2", "S3"] and early[0] != "S3"
    assert (early[3:], late) == (["W~57", "S4"], [])


@pytest.mark.parametrize(
    ("words", "early", "late"),
    [
        # The end of the Send is damaged.  Until the next message of its queue, more may follow.
        (">S:1000/518!1 >R1", ["R1"], ["S1~1", "-~0"]),
        # A Response to a later Request shows that the Response is missing.
        (">R1@1 >R2@2 >R3@3 <R@1! <R@2 <R@3", *(["R1", "R2", "R3", "-~0", "<R", "<R"], [])),
    ],
)
def test_until_the_end(words: str, early: list[str], late: list[str]) -> None:
    """A message is reported at the end of the connection if its FPDUs may still have followed."""
    assert reported(talk_of(words)) == [early, late]


@pytest.mark.parametrize("filled", [False, True])
def test_after_a_hole_that_a_late_copy_may_fill(filled: bool) -> None:
    """The copy does not complete a message that was reported: it is a message by itself."""
    words = ">S >S:1000/518-1 >S:1000/518!1 >S" + " >S <W" * LATE_SEGMENTS
    talk = talk_of(words)
    if filled:
        copy = talk_of(words.replace("-1", "")).segments[7]
        talk.segments[-3:-3] = [copy, *talk_of(f"{words} >S").segments[-4:-3]]
    early, late = (
        [each for each in found if re.match(r"S[23]($|~)", each)] for found in reported(talk)
    )
    assert (early, late) == (["S2~1", "S3~1", *["S2~1"] * filled], [])


# -- limits, and any segments ----------------------------------------------------------------------


def test_missing_stretches_are_limited() -> None:
    """A message lists a limited number of missing stretches, and keeps limited parts."""
    count = LISTED_PARTS + 100
    (found,) = delivered(untagged(*((10 * at, 5) for at in range(1, count))), markers=False)
    after = tuple((10 * at + 5, 5) for at in range(1, LISTED_STRETCHES))
    assert found.missing == ((0, 10), *after)
    assert (found.fpdus, found.captured_length) == (count - 1, 5 * LISTED_PARTS)


@pytest.mark.parametrize(("lacking", "expected"), [(5, bytes(5) + b"ended"), (6, None)])
def test_missing_octets_of_a_payload_are_limited(lacking: int, expected: bytes | None) -> None:
    """A message with more missing octets than captured ones has no payload."""
    ulpdu = messages.untagged_header(SEND, 0, 1, lacking, True) + b"ended"
    taker = Messages(payload=True)
    events = talk_of([(0, ulpdu, "")]).fed()
    (found,) = [each for event in events for each in taker.take(event)]
    assert (found.captured_length, found.payload) == (5, expected)


def test_segments_without_payload_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments that are kept take limited memory, even without payload."""
    monkeypatch.setattr(delivery_payload, "HELD_IN_TOTAL", 10_000)
    (fpdu,) = fpdus(talk_of([(0, each, "") for each in tagged((0, 0), last=0)]).fed())
    kept = delivery_payload.Payloads()
    for seq in range(1000):
        kept.keep(fpdu._replace(seq=seq))
    assert 0 < len(kept._kept) < 100


def test_open_messages_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open messages are reported as incomplete if they take too much memory."""
    monkeypatch.setattr(stream_messages, "HELD_IN_TOTAL", 100_000)
    begun = [untagged((0, 5), msn=msn)[0] for msn in range(1, 251)]
    *events, end = talk_of([(0, each, "") for each in begun]).fed()
    taker = Messages()
    before = [each for event in events for each in taker.take(event)]
    assert 100 < len(before) < len(begun)
    after = taker.take(end)
    assert [each.msn for each in before + after] == list(range(1, 251))
    assert not any(each.complete for each in before + after)


@st.composite
def segments_of_any_kind(draw: st.DrawFn) -> bytes:
    """A DDP segment with small numbers, so that segments often have equal fields."""
    opcode, last = draw(st.integers(0, 12)), draw(st.booleans())
    body = bytes(draw(st.sampled_from((0, 1, 5, 12, 28, 52))))
    if draw(st.booleans()):
        to = draw(st.integers(0, 12))
        return messages.tagged_header(opcode, draw(st.integers(0, 1)), to, last) + body
    qn, msn, mo = draw(st.integers(0, 4)), draw(st.integers(0, 4)), draw(st.integers(0, 12))
    return messages.untagged_header(opcode, qn, msn, mo, last) + body


ANY_ULPDU = segments_of_any_kind() | st.binary(max_size=14)


@given(st.lists(st.tuples(st.integers(0, 1), ANY_ULPDU, st.sampled_from(("", "-"))), max_size=40))
def test_any_segments(sent: list[tuple[int, bytes, str]]) -> None:
    """Every segment belongs to one message, and an incomplete message has a reason."""
    events = talk_of(sent).fed()
    found = messages_of(events)
    headers = [(len(each.ulpdu), 14 if each.ulpdu[:1] >= b"\x80" else 18) for each in fpdus(events)]
    assert sum(each.fpdus for each in found) == sum(size >= header for size, header in headers)
    for each in found:
        assert each.complete == (each.fpdus > 0 and not each.missing and not each.conflicts)
        # A Response to a Request for no octets lacks none.
        assert each.fpdus or each.missing or each.length == 0
        assert each.complete <= (each.captured_length == each.length)
        assert (each.answers is not None) <= (each.requested is True)
