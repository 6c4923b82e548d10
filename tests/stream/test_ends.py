# SPDX-License-Identifier: GPL-2.0-or-later
"""Who ended a connection, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from scapy_mpa.capture import Frame
from scapy_mpa.craft import Conversation, Endpoint
from scapy_mpa.dialects import other_framings
from scapy_mpa.stream.events import ConnectionEnded, End
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.limits import Limits
from tests.captures import PCAPS
from tests.clean.cleaning import frames_of
from tests.stream.feed import decoded


def talk(**options: Any) -> Conversation:
    """A conversation with a message in each direction."""
    conversation = Conversation(**options)
    conversation.initiator.send(b"question")
    conversation.responder.write(bytes(100), stag=7, to=0x1000)
    return conversation


def ends(frames: list[Frame], *, straight: bool = True, limits: Limits | None = None) -> list[End]:
    """The ends of the connections of a capture."""
    flows = Flows(others=other_framings(), straight=straight, limits=limits)
    events = [event for segment in decoded(frames) for event in flows.receive(segment)]
    found = [each.end for each in events + flows.finish() if isinstance(each, ConnectionEnded)]
    assert None not in found
    return [each for each in found if each is not None]


Script = Callable[[Conversation], Any]

SITUATIONS: list[tuple[Script, str, str, str]] = [
    (lambda talk: talk.close(), "initiator", "closed", "closed by the Initiator"),
    (lambda talk: talk.close(1), "responder", "closed", "closed by the Responder"),
    (lambda talk: talk.close(1, both=False), "responder", "closed", "half closed by the Responder"),
    (lambda talk: talk.reset(), "initiator", "reset", "reset by the Initiator"),
    (lambda talk: talk.reset(1), "responder", "reset", "reset by the Responder"),
    (lambda talk: None, "capture", "open", "capture ended"),
    (
        lambda talk: (talk.responder.terminate(1, 2, 1), talk.close()),
        *("responder", "terminate"),
        "terminated by the Responder: DDP / Untagged Buffer Error / Invalid QN",
    ),
    (
        lambda talk: (talk.initiator.terminate(2, 0, 2), talk.reset(1)),
        *("initiator", "terminate"),
        "terminated by the Initiator: LLP / MPA / "
        "Received MPA CRC does not match the calculated value for the FPDU",
    ),
]


@pytest.mark.parametrize("straight", [True, False])
def test_ends(straight: bool) -> None:
    """Both reading paths report the same.  The frame is that of the first FIN."""
    for end, *expected in SITUATIONS:
        conversation = talk()
        end(conversation)
        frames = conversation.frames()
        (found,) = ends(frames, straight=straight)
        assert [found.by, found.cause, found.text] == expected
        if found.cause == "closed":
            # FIN is the lowest of the flags.
            assert found.frame == next(each.number for each in frames if each.octets[47] & 1)


def test_without_startup_frames() -> None:
    """If the Initiator is unknown, the endpoint is named."""
    conversation = talk()
    conversation.close(1)
    (found,) = ends(conversation.frames()[5:])
    assert (found.by, found.text) == ("10.0.0.2:4000", "closed by 10.0.0.2:4000")


def test_rejected() -> None:
    """The Responder ends the connection with its Reply, whoever closes it afterwards."""
    (found,) = ends(frames_of(PCAPS / "reject_pdata.pcap"))
    assert (found.by, found.cause, found.frame) == ("responder", "rejected", 6)
    assert found.text == "rejected by the Responder, closed"


def test_limit() -> None:
    """A connection that was ended to make room was ended by neither side."""
    frames = talk().frames()
    other = talk(initiator=Endpoint("10.0.0.3", 5)).frames()
    first, last = ends([*frames, *other], limits=Limits(connections=1))
    assert (first.by, first.cause, first.text) == ("limit", "limit", "limit")
    assert last.cause == "open"


IN_TERMINATES = {
    # The messages in siw's Terminates, as Wireshark shows them: frame of the Terminate, message,
    # sequence number of its FPDU, and frame of that FPDU.
    "term_sendnorecv.pcap": (10, "Send qn 0 msn 1 mo 0, seq 630298884 in frame 8"),
    "term_writebad.pcap": (
        12,
        "RDMA Write stag 0x5b0ef300 to 0x7f47ab6ed000, seq 132118849 in frame 10",
    ),
    # CRCs are off, so the last FPDU is still held.
    "mix_mpa2_crcoff.pcap": (
        305,
        "Send with Invalidate qn 0 msn 13 mo 0, seq 3754470980 in frame 303",
    ),
    # siw's MSN is the size of the Read; the Request in frame 10 has MSN 1.
    "term_readoob.pcap": (
        12,
        "RDMA Read Request qn 1 msn 100 mo 0, seq 930823687 in frame 10, "
        "1 Request of the Initiator unanswered",
    ),
}


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("name", IN_TERMINATES)
def test_message_of_a_terminate(name: str, straight: bool) -> None:
    """The copied DDP header shows the message, and leads to its FPDU."""
    (found,) = ends(frames_of(PCAPS / name), straight=straight)
    frame, message = IN_TERMINATES[name]
    assert found.frame == frame
    assert found.text.endswith(f", of the {message}")


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("received", [1, 2, 3])
def test_terminate_of_one_of_equal_messages(received: int, straight: bool) -> None:
    """The Terminate is about the last of them that its sender had received."""
    conversation = talk(ack_every=0)
    for _ in range(3):
        conversation.initiator.write(b"again", stag=7)
    conversation.responder.terminate(1, 1, 0, in_error=conversation.script[-1])
    segments = conversation.segments()
    writes, terminate = segments[-4:-1], segments[-1]
    acknowledged = [*writes, None][received]
    if acknowledged is not None:
        terminate = replace(terminate, ack=acknowledged.seq)
    (found,) = ends(conversation.frames([*segments[:-1], terminate]), straight=straight)
    place = f", seq {writes[received - 1].seq} in frame {len(segments) - 4 + received}"
    assert found.text.endswith(place)


@pytest.mark.parametrize("straight", [True, False])
def test_frame_of_a_terminate_after_a_hole(straight: bool) -> None:
    """The frame is the one that brought the Terminate, although it is found later."""
    conversation = talk(ack_every=0)
    conversation.responder.send(b"not captured")
    conversation.responder.terminate(1, 1, 0)
    segments = conversation.segments()
    del segments[-2]
    at = len(segments)
    conversation.close()
    frames = conversation.frames([*segments, *conversation.segments()[at + 1 :]])
    (found,) = ends(frames, straight=straight)
    assert (found.cause, found.frame) == ("terminate", at)
