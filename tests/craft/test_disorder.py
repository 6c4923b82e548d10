# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames of which pieces are missing or captured in disorder, in small conversations."""

from __future__ import annotations

import itertools
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scapy_mpa.craft import (
    Conversation,
    Resegmentation,
    Segment,
    SnapLength,
    StartupCut,
    conversation_of,
    impair,
)
from scapy_mpa.stream.halves.acknowledgements import LATE_SEGMENTS
from scapy_mpa.wire.startup import KEYS, StartupKind
from tests.craft.reading import plain, printed
from tests.craft.small import FPDU, REPLY, REQUEST, found, kinds, one_send, pieces
from tests.craft.test_told import agrees


def all_is_told(conversation: Conversation, segments: list[Segment]) -> None:
    """Hold what is found, on both ways, against the truth."""
    frames = conversation.frames(segments)
    agrees(plain(frames), conversation.truth(segments, messages=True, payload=True))
    agrees(printed(frames), conversation.truth(segments))


def test_private_data_missing() -> None:
    """A startup frame of which Private Data lie in a hole is not told, nor said to lack them: they
    were not captured.  But it counts: one good FPDU behind it is enough."""
    conversation = Conversation()
    conversation.startup(reply_private_data=bytes(37))
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    segments[REPLY] = pieces(segments[REPLY], 20)[0]
    segments[FPDU : FPDU + 1] = pieces(segments[FPDU], 7)
    told = conversation.truth(segments)
    assert kinds(told) == ["startup", "fpdu", "gap"]
    assert kinds(found(conversation, segments)) == ["startup", "fpdu"]


def test_beginning_of_request_missing() -> None:
    """Where a Request was captured without its first octets, its Reply is not said to answer none,
    no matter how long ago they were acknowledged."""
    conversation = Conversation(revision=0, mss=536)
    conversation.startup(bytes(65535))
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REQUEST]
    assert kinds(found(conversation, segments)) == ["startup", "fpdu"]


def test_request_in_disorder() -> None:
    """A Request of which the second piece comes first and the last octet last is found."""
    conversation = one_send()
    segments = conversation.segments()
    first, second, third = pieces(segments[REQUEST], 1, 19)
    segments[REQUEST : REQUEST + 1] = [second, first, third]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


def test_second_request_captured_first() -> None:
    """Where a rejected Request is captured behind the one that followed it, nothing fails."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.startup()
    first, reject, second, accept = (each for each in conversation.segments() if each.octets)
    assert "startup" in kinds(found(conversation, [second, reject, accept, first]))


def test_syn_captured_late() -> None:
    """A SYN that is captured behind octets of its own connection begins no other one."""
    conversation = one_send()
    segments = conversation.segments()
    first, second = pieces(segments[REQUEST], 5)
    segments[:4] = [second, *segments[:3], first]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_order_up_to_the_request(data: st.DataObject) -> None:
    """The handshake and the pieces of the Request may be captured in any order."""
    conversation = one_send()
    segments = conversation.segments()
    cuts = sorted(data.draw(st.sets(st.integers(1, 19), max_size=3)))
    first = [*segments[:REQUEST], *pieces(segments[REQUEST], *cuts)]
    segments[: REQUEST + 1] = data.draw(st.permutations(first))
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu"]


def test_reply_captured_first() -> None:
    """If both startup frames were captured, an FPDU that was cut is found, whichever came first."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.responder.send(bytes(60))
    segments = impair(conversation.segments(), SnapLength(54 + 56))
    segments[REQUEST], segments[REPLY] = segments[REPLY], segments[REQUEST]
    assert kinds(found(conversation, segments)) == ["startup", "startup", "fpdu", "fpdu"]


def test_request_captured_behind_fpdus() -> None:
    """A Request is that of a Reply captured long before it, if that acknowledged it and no more."""
    conversation = Conversation()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    conversation.close()
    segments = conversation.segments()
    late = segments[REQUEST], segments[FPDU]
    answer = next(at for at in range(FPDU + 1, len(segments)) if segments[at].octets)
    order = [*segments[:REQUEST], segments[REPLY], segments[answer], *late, *segments[answer + 1 :]]
    records = plain(conversation.frames(order))
    assert kinds(records).count("fpdu") == 2
    (wanted,) = (each for each in conversation.truth(order) if each["type"] == "connection")
    assert {name: records[-1][name] for name in wanted} == wanted
    assert wanted["rnics"] is not None


def test_rejection_not_captured() -> None:
    """If only the rejection was not captured, the second Request is none the less no FPDU."""
    conversation = Conversation()
    conversation.startup(rejected=True)
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REPLY]
    records = found(conversation, segments)
    assert kinds(records) == ["startup", "startup", "startup", "fpdu"]


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("rtr_frame", [False, True])
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_order_behind_the_handshake(
    rtr_frame: bool, markers: bool, data: st.DataObject
) -> None:
    """Octets in streaming mode, startup frames and FPDUs may be captured in any order: what is told
    is what was sent."""
    conversation = Conversation(rtr_frame=rtr_frame, markers=markers, ack_every=0)
    if data.draw(st.booleans()):
        conversation.initiator.octets(b"hello")
        conversation.responder.octets(b"world")
    conversation.startup()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    segments = conversation.segments()
    segments[REQUEST:] = data.draw(st.permutations(segments[REQUEST:]))
    all_is_told(conversation, segments)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("indication", [None, "send", "write", "read"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_order_without_the_handshake(
    indication: Literal["send", "write", "read"] | None, markers: bool, data: st.DataObject
) -> None:
    """So may startup frames and FPDUs of which nobody knows where they begin before a startup frame
    tells: all of them are told, messages and the RTR indication included.
    """
    revision = 2 if indication else 1
    conversation = Conversation(handshake=False, markers=markers, ack_every=0, revision=revision)
    conversation.startup(rtr=indication)
    sides = conversation.initiator, *data.draw(st.lists(st.sampled_from(conversation.sides)))[:2]
    for side in sides:
        octets = data.draw(st.sampled_from((b"", b"x", bytes(3000))))
        data.draw(st.sampled_from((side.write, side.send, side.read)))(octets)
    segments = data.draw(st.permutations(conversation.segments()))
    all_is_told(conversation, segments)


@pytest.mark.parametrize("markers", [False, True])
@pytest.mark.parametrize("order", ["0 3 4 5 6 7 8 9 10 2 1", "5 1 8 6 0 2 3 7 4 9 10"])
def test_an_rtr_frame_in_a_hole(markers: bool, order: str) -> None:
    """Behind a Request an Rtr Frame may be missing when FPDUs of either side show that MPA has
    begun: what fills the hole is no FPDU, and offsets are known as soon as both frames are."""
    conversation = Conversation(handshake=False, markers=markers, ack_every=0, rtr_frame=True)
    conversation.startup()
    conversation.initiator.write(bytes(3000))
    conversation.initiator.write(bytes(3000))
    conversation.initiator.read(b"")
    segments = conversation.segments()
    all_is_told(conversation, [segments[int(at)] for at in order.split()])


def test_any_order_around_a_rejection() -> None:
    """Two startups, of which the first is rejected, and an FPDU each way: each order of capture."""
    conversation = Conversation(ack_every=0)
    conversation.startup(b"no", rejected=True)
    conversation.startup()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    segments = conversation.segments()
    for order in itertools.permutations(segments[REQUEST:]):
        segments[REQUEST:] = order
        records = plain(conversation.frames(segments))
        agrees(records, conversation.truth(segments, messages=True, payload=True))


@pytest.mark.parametrize(("revision", "rtr_frame"), [(1, False), (1, True), (2, False)])
@settings(max_examples=75, deadline=None)
@given(data=st.data())
def test_any_order_around_rejections(revision: int, rtr_frame: bool, data: st.DataObject) -> None:
    """So may several be rejected, with octets in streaming mode before and between them."""
    conversation = Conversation(
        revision=revision,
        rtr_frame=rtr_frame,
        markers=data.draw(st.tuples(st.booleans(), st.booleans())),
        crc=data.draw(st.booleans()),
        ack_every=data.draw(st.integers(0, 2)),
    )

    def octets() -> None:
        sides = conversation.initiator, conversation.responder
        for side in data.draw(st.lists(st.sampled_from(sides), max_size=3)):
            side.octets(bytes(data.draw(st.sampled_from((1, 30, 200)))))

    octets()
    for _ in range(data.draw(st.integers(1, 3))):
        conversation.startup(bytes(data.draw(st.integers(0, 40))), rejected=True)
        octets()
    conversation.startup()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    segments = conversation.segments()
    segments[REQUEST:] = data.draw(st.permutations(segments[REQUEST:]))
    all_is_told(conversation, segments)


@pytest.mark.parametrize("missing", ["hello", "world", "request"])
def test_waiting_ends(missing: str) -> None:
    """A Reply behind other octets does not wait for ever for what was sent before it, nor do the
    FPDUs behind it."""
    conversation = Conversation(ack_every=0)
    conversation.initiator.octets(b"hello")
    conversation.responder.octets(b"world")
    conversation.startup()
    for _ in range(200):
        conversation.initiator.send(b"x")
    segments = conversation.segments()
    del segments[REQUEST + ("hello", "world", "request").index(missing)]
    records = found(conversation, segments)
    assert kinds(records).count("fpdu") == 200
    first = next(each for each in records if each["type"] == "fpdu")
    assert first["frame"] <= REQUEST + 4 + 2 * LATE_SEGMENTS


def test_one_fpdu_behind_the_rest_of_a_startup_frame() -> None:
    """An FPDU each way, in segments so small that they begin anywhere, is found where the capture
    begins within the startup frames."""
    conversation = Conversation(handshake=False, ack_every=0)
    conversation.startup()
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    segments = impair(conversation.segments(), Resegmentation(7))
    # Each startup frame is in three.
    frames = conversation.frames([segments[2], *segments[5:]])
    assert kinds(plain(frames)).count("fpdu") == kinds(printed(frames)).count("fpdu") == 2


def test_a_rejection_that_several_startups_wait_for() -> None:
    """A rejection captured behind the startup that follows, which waits for it as well as the one
    after that, has both looked at."""
    conversation = Conversation(ack_every=0, crc=False)
    for rejected in (True, True, True, False):
        conversation.startup(rejected=rejected)
    conversation.initiator.send(b"x")
    conversation.responder.send(b"y")
    segments = conversation.segments()
    one, no, two, no_2, three, no_3, four, yes, x, y = segments[REQUEST:]
    segments[REQUEST:] = [one, no, two, three, four, x, no_2, yes, y, no_3]
    all_is_told(conversation, segments)


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (1, 2, 0, 3), (0, 2, 3, 1), (0, 3, 1, 2)])
def test_rejection_in_disorder(order: tuple[int, ...]) -> None:
    """The Request that the ULP tries again with is found, and the rejection told, whichever of them
    was captured late: the Responder acknowledges what it answers."""
    conversation = Conversation(ack_every=0)
    conversation.startup(rejected=True)
    conversation.initiator.octets(b"please")
    conversation.startup()
    conversation.initiator.send(b"x")
    segments = conversation.segments()
    request, reject, please, again, accept = segments[REQUEST : REQUEST + 5]
    startups = request, reject, again, accept
    segments[REQUEST : REQUEST + 5] = [startups[each] for each in order]
    segments.insert(segments.index(again), please)
    agrees(plain(conversation.frames(segments)), conversation.truth(segments, messages=True))


def test_request_behind_other_octets_captured_late() -> None:
    """A Request that fills the hole before FPDUs is told, though other octets stand before it and
    nobody knows where they began."""
    conversation = Conversation(handshake=False, ack_every=0)
    conversation.initiator.octets(b"hello")
    conversation.responder.octets(b"world")
    conversation.startup()
    conversation.initiator.send(b"x")
    conversation.initiator.send(b"y")
    hello, world, request, reply, first, second = conversation.segments()
    segments = [hello, reply, first, world, request, second]
    records = plain(conversation.frames(segments))
    agrees(records, conversation.truth(segments, messages=True))
    assert [each["offset"] for each in records if each["type"] == "fpdu"] == [0, 28]


@pytest.mark.parametrize("beginning", [0, 1])
def test_answer_to_the_syn_captured_last(beginning: int) -> None:
    """A SYN that answers that of a connection is of this one, even behind the FINs."""
    conversation = one_send()
    segments = conversation.segments()
    segments.append(segments.pop(1))
    records = plain(conversation.frames(segments[beginning:]))
    assert kinds(records).count("connection") == 1
    assert kinds(records).count("gap") == 0


@pytest.mark.parametrize("size", [1, 7, 20, 50])
def test_one_fpdu_in_each_direction(size: int) -> None:
    """An FPDU that is all that was captured of a direction is found, in however many pieces."""
    conversation = Conversation()
    conversation.initiator.send(bytes(100))
    conversation.responder.send(bytes(90))
    conversation.close()
    segments = impair(
        conversation.segments(), Resegmentation(size), StartupCut(conversation), seed=size
    )
    assert kinds(found(conversation, segments)) == ["fpdu", "fpdu"]


def test_markers_of_an_rdmac_responder() -> None:
    """An RDMAC Responder has Markers though the Request wants none; if its Reply was not captured,
    its FPDUs are found (RFC 5044 C.2.5)."""
    conversation = conversation_of("rfc5044/c.2.5/permissive-meets-rdmac", seed=1)
    segments = [
        each
        for each in conversation.segments()
        if not each.octets.startswith(KEYS[StartupKind.REPLY])
    ]
    records = plain(conversation.frames(segments))
    assert kinds(records).count("fpdu") == kinds(conversation.truth()).count("fpdu")
    (end,) = (each for each in records if each["type"] == "connection")
    assert end["markers"]["dst"] is True
