# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations, for hypothesis."""

from typing import Any

from hypothesis import strategies as st

from scapy_mpa.craft import Conversation, Endpoint, Side
from scapy_mpa.wire.rdmap_names import AtomicOperation

WORDS = st.integers(0, 0xFFFFFFFF)
OFFSETS = st.integers(0, (1 << 64) - (1 << 20))
FLAGS = st.tuples(st.booleans(), st.booleans())

STREAMING = st.binary(min_size=1, max_size=40).filter(lambda octets: b"MPA" not in octets)
"""Octets that precede the startup frames and contain none."""

FILLERS = (b"\0", b"The quick brown fox. ", bytes(range(256)))


@st.composite
def payloads(draw: st.DrawFn, most: int = 6000) -> bytes:
    """ULP payload, short or long, with content that is quickly made."""
    size = draw(st.one_of(st.integers(0, 64), st.integers(0, most)))
    filler = draw(st.sampled_from(FILLERS))
    return (filler * (size // len(filler) + 1))[:size]


@st.composite
def endpoints(draw: st.DrawFn, version: int, number: int) -> Endpoint:
    """An end of a connection. Many of its streams wrap their sequence numbers."""
    isn = draw(st.one_of(st.none(), WORDS, st.integers(0xFFFFE000, 0xFFFFFFFF)))
    address = f"10.0.0.{number}" if version == 4 else f"fd00::{number}"
    return Endpoint(address, draw(st.integers(1024, 0xFFFF)), isn=isn)


def speak(draw: st.DrawFn, side: Side) -> None:
    """Let a side send something."""
    verb = draw(st.sampled_from(VERBS))
    if verb == "send":
        stag = draw(st.one_of(st.none(), WORDS))
        side.send(draw(payloads()), invalidate_stag=stag, solicited=draw(st.booleans()))
    elif verb == "write":
        side.write(draw(payloads()), draw(WORDS), draw(OFFSETS))
    elif verb == "read":
        side.read(draw(payloads()), draw(WORDS), draw(OFFSETS), draw(WORDS), draw(OFFSETS))
    elif verb == "several reads":
        size = draw(st.integers(0, 3000))
        count = draw(st.integers(1, 3))
        for number in range(count):
            side.read_request(size, draw(WORDS), number * size)
        for _ in range(count):
            side.peer.read_response(bytes(size))
    elif side._conversation.options.rdmap_version == 1:
        if verb == "immediate":
            side.immediate(draw(st.binary(min_size=8, max_size=8)), solicited=draw(st.booleans()))
        else:
            side.atomic(draw(st.sampled_from(AtomicOperation)), draw(WORDS), draw(OFFSETS) & ~7)
    else:
        side.send()


def talk(draw: st.DrawFn, conversation: Conversation) -> None:
    """Let both sides send something."""
    for side in draw(st.lists(st.sampled_from((0, 1)), max_size=8)):
        speak(draw, conversation.sides[side])
        if draw(st.integers(0, 9)) == 0:
            conversation.pause(0.25)


def finish(draw: st.DrawFn, conversation: Conversation, endings: tuple[str, ...]) -> None:
    """Perhaps end a conversation, in one of these ways."""
    ending, side = draw(st.sampled_from(endings)), draw(st.sampled_from((0, 1)))
    if ending == "terminate":
        conversation.responder.terminate(2, 0, 2)
    if ending == "reset":
        conversation.reset(side)
    elif ending != "none":
        conversation.close(side, both=ending != "half")


BEGINNINGS = ("SYN", "nothing", "octets", "rejection")

VERBS = ("send", "write", "read", "several reads", "immediate", "atomic")


@st.composite
def conversations(
    draw: st.DrawFn,
    *,
    beginnings: tuple[str, ...] = BEGINNINGS,
    rtr_frames: bool = True,
    **fixed: Any,
) -> Conversation:
    """A conversation in which everything is right.

    :param beginnings: what may precede the startup frames.
    :param rtr_frames: whether there may be an Rtr Frame.
    :param fixed: options that are not to be drawn.
    """
    version = draw(st.sampled_from((4, 6)))
    initiator = draw(endpoints(version, 1))
    responder = draw(endpoints(version, 2))
    options: dict[str, Any] = {
        "revision": draw(st.sampled_from((0, 1, 2))),
        "markers": draw(FLAGS),
        "crc": draw(FLAGS),
        "mss": draw(st.sampled_from((128, 536, 1448, 1460, 8948, 65000))),
        "packing": draw(st.sampled_from(("aligned", "packed", "stream"))),
        "vlan": draw(st.sampled_from((None, 7))),
        "ack_every": draw(st.sampled_from((0, 1, 2, 5))),
    }
    if rtr_frames and {**options, **fixed}["revision"] == 1:
        options["rtr_frame"] = draw(FLAGS)
    begins = draw(st.sampled_from(beginnings))
    # Without the SYN, a Key after other octets proves nothing.
    options["handshake"] = begins != "nothing"
    conversation = Conversation(initiator, responder, **{**options, **fixed})
    if begins == "rejection":
        conversation.startup(draw(payloads(100)), rejected=True)
    if begins == "octets":
        conversation.initiator.octets(draw(STREAMING))
        conversation.responder.octets(draw(STREAMING))
    rtr = None
    if conversation.options.revision == 2:
        rtr = draw(st.sampled_from((None, "send", "write", "read")))
    conversation.startup(draw(payloads(100)), draw(payloads(100)), rtr=rtr)
    may_wait = conversation.options.has_rtr_frame and draw(st.booleans())
    if rtr is None and not may_wait:
        conversation.initiator.send(draw(payloads()))
    talk(draw, conversation)
    for side in draw(st.lists(st.sampled_from((0, 1)), max_size=2)):
        # It is never answered.
        if conversation.options.rdmap_version == 1 and draw(st.booleans()):
            conversation.sides[side].atomic_request(request_identifier=draw(WORDS))
        else:
            conversation.sides[side].read_request(draw(WORDS), draw(WORDS), draw(OFFSETS))
    finish(draw, conversation, ("close", "half", "reset", "terminate", "none"))
    return conversation
