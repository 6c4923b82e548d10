# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP with something wrong in it (RFC 5043, RFC 6581 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import Edit, change_item, fpdus, replaced
from scapy_mpa.craft.mutations.expectation import Expectation, accept, surface, terminate
from scapy_mpa.craft.mutations.mutation import Change, Mutation
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem, chunk_of
from scapy_mpa.wire.negotiation import INSUFFICIENT_IRD, NO_MATCHING_RTR
from scapy_mpa.wire.sctp_ddp import (
    LARGEST_PRIVATE_DATA,
    SEGMENT_PPID,
    SESSION_CONTROL_PPID,
    FunctionCode,
)
from scapy_mpa.wire.startup import ENHANCED_LENGTH

__all__ = ["SCTP"]

_SESSION: Final = surface("the DDP Stream Session is terminated (RFC 5043 6.1)")
_ASSOCIATION: Final = surface("no DDP is spoken on the association (RFC 5043 11.1)")
_INITIATES: Final = (FunctionCode.INITIATE, FunctionCode.ENHANCED_INITIATE)
_ANSWERS: Final = (
    FunctionCode.ACCEPT,
    FunctionCode.REJECT,
    FunctionCode.ENHANCED_ACCEPT,
    FunctionCode.ENHANCED_REJECT,
)
_LARGEST_STAG: Final = 0xFFFFFFFF


# -- valid ones ---------------------------------------------------------------------------------


def sctp_plain(rng: Random) -> Conversation:
    """Return a session that is accepted: all kinds of messages, Terminate from both sides."""
    return _spoken(SctpConversation(), rng)


def sctp_enhanced(rng: Random) -> Conversation:
    """Return the same with enhanced messages (RFC 6581 7)."""
    return _spoken(SctpConversation(revision=2), rng)


def sctp_rejected(rng: Random) -> Conversation:
    """Return a session that is rejected (RFC 5043 6.3)."""
    conversation = SctpConversation()
    conversation.startup(_data(rng), _data(rng), rejected=True)
    conversation.close()
    return conversation


def sctp_refused(rng: Random) -> Conversation:
    """Return a session that the passive side refuses without asking its ULP (RFC 5043 6.4)."""
    refusal = ControlItem(RESPONDER, FunctionCode.TERMINATE)
    return _change_control(_ANSWERS, lambda *_: refusal)(sctp_rejected(rng), rng)


def sctp_peers(rng: Random) -> Conversation:
    """Return a session of peers that begins with a zero-length Send (RFC 6581 9.2)."""
    return _spoken(SctpConversation(revision=2), rng, rtr="send")


def _spoken(conversation: SctpConversation, rng: Random, **startup: Any) -> Conversation:
    conversation.startup(_data(rng), _data(rng), **startup)
    left, right = conversation.sides
    left.send(_data(rng))
    right.send(_data(rng))
    left.write(rng.randbytes(rng.randrange(3000, 6000)), rng.randint(1, _LARGEST_STAG))
    left.read(rng.randbytes(rng.randrange(2000, 4000)), 1, 0, rng.randint(1, _LARGEST_STAG))
    right.send(_data(rng), solicited=True)
    left.send(_data(rng))
    conversation.close()
    return conversation


def _depth(item: ControlItem) -> int:
    """Return the ORD of an enhanced message, which is the IRD that it answers."""
    assert item.ord is not None
    return item.ord


def _data(rng: Random) -> bytes:
    return rng.randbytes(rng.randrange(8, 200))


# -- where and how ------------------------------------------------------------------------------


def _control_at(conversation: Conversation, codes: tuple[int, ...], side: int | None = None) -> int:
    """Return the place of a session control message in a script."""
    items: list[Any] = conversation.script
    return next(
        number
        for number, item in enumerate(items)
        if isinstance(item, ControlItem)
        and item.function_code in codes
        and side in (None, item.side)
    )


def _change_associate(make: Edit) -> Change:
    return change_item(make, lambda *_: 0)


def _change_control(codes: tuple[int, ...], make: Edit) -> Change:
    return change_item(make, lambda conversation, _: _control_at(conversation, codes))


def _change_segment(make: Callable[[ChunkItem, Random], ChunkItem]) -> Change:
    """Change one of the DDP Segments that others of its side follow."""
    return change_item(
        lambda item, rng: make(chunk_of(item), rng),
        lambda conversation, rng: rng.choice(fpdus(conversation)[2:-1]),
    )


def _insert(
    where: Callable[[Conversation], int], make: Callable[[Random], ControlItem | ChunkItem]
) -> Change:
    """Put something in front of an item."""
    return change_item(
        lambda item, rng: (make(rng), item), lambda conversation, _: where(conversation)
    )


def _last(conversation: Conversation) -> int:
    return len(conversation.script) - 1


def _too_much(item: ControlItem, rng: Random) -> ControlItem:
    octets = rng.randbytes(LARGEST_PRIVATE_DATA + rng.randrange(1, 400))
    return replace(item, private_data=octets)


def _answer_enhanced(code: FunctionCode) -> Change:
    """Return what makes an answer one with enhanced data."""
    return _change_control(
        _ANSWERS,
        lambda item, rng: replace(
            item, function_code=code, ird=rng.randrange(64), ord=rng.randrange(64)
        ),
    )


def _before_segments(conversation: Conversation) -> int:
    return fpdus(conversation)[1]


def _segment(side: int) -> Callable[[Random], ChunkItem]:
    """Return what makes a DDP Segment: an RDMA Write of nothing, which fits anywhere."""
    return lambda rng: ChunkItem(side, SEGMENT_PPID, b"\xc1\x40" + bytes(12))


def _no_terminate(conversation: Conversation, rng: Random) -> Conversation:
    at = _control_at(conversation, (FunctionCode.TERMINATE,))
    return replaced(conversation, at, end=at + 2)


def _mutation(
    name: str,
    breaks: str,
    apply: Change,
    expectation: Expectation = _SESSION,
    base: Callable[[Random], Conversation] = sctp_plain,
) -> Mutation:
    return Mutation(name, breaks, expectation, base, apply)


SCTP: Final = (
    _mutation(
        "rfc4960/6.8/checksum-wrong",
        "The Checksum of a packet with a DDP Segment is wrong.",
        _change_segment(lambda item, _: item.override(checked=False)),
        accept("the packet is discarded, and its chunks are sent again"),
    ),
    _mutation(
        "rfc5043/11.1/init-no-indication",
        "The INIT has no adaptation layer indication.",
        _change_associate(lambda item, _: replace(item, adaptations=(None, item.adaptations[1]))),
        _ASSOCIATION,
    ),
    _mutation(
        "rfc5043/11.1/init-ack-other-indication",
        "The INIT ACK indicates another adaptation than DDP.",
        _change_associate(
            lambda item, rng: replace(
                item, adaptations=(item.adaptations[0], rng.randrange(2, 1 << 32))
            )
        ),
        _ASSOCIATION,
    ),
    _mutation(
        "rfc5043/8/streams-differ",
        "The INIT asks for another number of outbound than of inbound streams.",
        _change_associate(
            lambda item, rng: replace(item, streams=((rng.randrange(17, 99), 16), item.streams[1]))
        ),
        surface("the association is not set up as it must be"),
    ),
    _mutation(
        "rfc5043/5.1/ppid-other",
        "A DATA chunk has another PPID than 16 and 17.",
        _insert(
            _before_segments,
            lambda rng: ChunkItem(INITIATOR, rng.randrange(18, 70), _data(rng), has_ddp_ssn=False),
        ),
    ),
    _mutation(
        "rfc5043/5.2.1/ddp-ssn-twice",
        "Two DATA chunks of a session and direction have the same DDP-SSN.",
        _insert(
            _before_segments,
            lambda rng: ChunkItem(INITIATOR, SEGMENT_PPID, b"\xc1\x40" + bytes(12), ddp_ssn=0),
        ),
    ),
    _mutation(
        "rfc5043/5.2.2/segment-too-short",
        "A DDP Segment Chunk is too short for a DDP-SSN.",
        _insert(
            _before_segments,
            lambda rng: ChunkItem(INITIATOR, SEGMENT_PPID, rng.randbytes(1), has_ddp_ssn=False),
        ),
    ),
    _mutation(
        "rfc5043/5.2.3/control-too-short",
        "A session control message is too short for a function code.",
        _insert(
            _before_segments,
            lambda rng: ChunkItem(
                INITIATOR, SESSION_CONTROL_PPID, rng.randbytes(3), has_ddp_ssn=False
            ),
        ),
    ),
    _mutation(
        "rfc5043/5.2.3/function-code-undefined",
        "A session control message has a function code that is not defined.",
        _insert(_before_segments, lambda rng: ControlItem(RESPONDER, rng.randrange(8, 1 << 16))),
    ),
    _mutation(
        "rfc5043/5.2.3/function-code-0",
        "A session control message has function code 0, which is not defined.",
        _insert(_before_segments, lambda _: ControlItem(RESPONDER, 0)),
    ),
    _mutation(
        "rfc5043/5.2.3/initiate-private-data-over-512",
        "The Initiate has more than 512 octets of Private Data.",
        _change_control(_INITIATES, _too_much),
    ),
    _mutation(
        "rfc5043/5.2.3/accept-private-data-over-512",
        "The Accept has more than 512 octets of Private Data.",
        _change_control(_ANSWERS, _too_much),
    ),
    _mutation(
        "rfc5043/5.2.3/terminate-private-data",
        "A Terminate has Private Data.",
        _change_control(
            (FunctionCode.TERMINATE,), lambda item, rng: replace(item, private_data=_data(rng))
        ),
    ),
    _mutation(
        "rfc5043/6/ddp-ssn-skipped",
        "DDP-SSNs are left out.",
        _change_segment(lambda item, rng: item.override(skip=rng.randrange(1, 100))),
    ),
    _mutation(
        "rfc5043/6.1/ddp-ssn-not-from-0",
        "The first DDP-SSN of the active side is not 0.",
        _change_control(
            _INITIATES, lambda item, rng: chunk_of(item).override(skip=rng.randrange(1, 100))
        ),
    ),
    _mutation(
        "rfc5043/6.1/initiate-unanswered",
        "Nobody answers the Initiate.",
        _change_control(_ANSWERS, lambda *_: ()),
        base=sctp_rejected,
    ),
    _mutation(
        "rfc5043/6.1/initiate-twice",
        "A second Initiate comes in the midst of the session.",
        _insert(_before_segments, lambda _: ControlItem(INITIATOR, FunctionCode.INITIATE)),
    ),
    _mutation(
        "rfc5043/6.1/accept-twice",
        "A second Accept comes in the midst of the session.",
        _insert(
            lambda conversation: fpdus(conversation)[-1],
            lambda _: ControlItem(RESPONDER, FunctionCode.ACCEPT),
        ),
    ),
    _mutation(
        "rfc5043/6.2/both-initiate",
        "Both sides send an Initiate, and neither an answer.",
        _change_control(
            _ANSWERS,
            lambda item, _: ControlItem(item.side, FunctionCode.INITIATE, item.private_data),
        ),
    ),
    _mutation(
        "rfc5043/6.2/segment-before-accept",
        "The passive side sends a DDP Segment before its Accept.",
        _insert(lambda conversation: _control_at(conversation, _ANSWERS), _segment(RESPONDER)),
    ),
    _mutation(
        "rfc5043/6.2/segment-behind-terminate",
        "A side sends a DDP Segment after its Terminate.",
        _insert(
            lambda conversation: _control_at(conversation, (FunctionCode.TERMINATE,), RESPONDER),
            _segment(INITIATOR),
        ),
    ),
    _mutation(
        "rfc5043/6.2/no-terminate",
        "The association is shut down, and neither side has sent a Terminate.",
        _no_terminate,
        surface("the ULP is told (RFC 5043 11.3)"),
    ),
    _mutation(
        "rfc5043/6.3/segment-behind-reject",
        "The passive side sends a DDP Segment after its Reject.",
        _insert(_last, _segment(RESPONDER)),
        base=sctp_rejected,
    ),
    _mutation(
        "rfc5043/6.3/segment-of-rejected",
        "The active side sends a DDP Segment of a session that was rejected.",
        _insert(_last, _segment(INITIATOR)),
        base=sctp_rejected,
    ),
    _mutation(
        "rfc5043/6.4/segment-of-refused",
        "The active side sends a DDP Segment of a session that was refused by a Terminate.",
        _insert(_last, _segment(INITIATOR)),
        base=sctp_refused,
    ),
    _mutation(
        "rfc5043/6.6/initiate-missing",
        "An Accept comes, and nobody has sent an Initiate.",
        _change_control(_INITIATES, lambda *_: ()),
    ),
    _mutation(
        "rfc5043/6.6/segment-before-initiate",
        "The active side sends a DDP Segment before its Initiate.",
        _insert(lambda conversation: _control_at(conversation, _INITIATES), _segment(INITIATOR)),
    ),
    _mutation(
        "rfc5043/9/fragmented",
        "A DDP Segment that fits one DATA chunk is sent in several.",
        _change_segment(lambda item, rng: item.override(fragments=rng.randrange(2, 9))),
        accept("SCTP reassembles it, though its sender should not have cut it up"),
    ),
    _mutation(
        "rfc5043/10/ordered",
        "A DATA chunk is not unordered.",
        _change_segment(lambda item, _: item.override(unordered=False)),
        surface("no receiver is told to check it, but every sender must set U"),
    ),
    _mutation(
        "rfc6581/7/accept-answers-enhanced",
        "Accept answers an Enhanced Initiate.",
        _change_control(
            _ANSWERS,
            lambda item, _: ControlItem(item.side, FunctionCode.ACCEPT, item.private_data),
        ),
        base=sctp_enhanced,
    ),
    _mutation(
        "rfc6581/7/enhanced-accept-answers-initiate",
        "Enhanced Accept answers an Initiate that is not enhanced.",
        _answer_enhanced(FunctionCode.ENHANCED_ACCEPT),
    ),
    _mutation(
        "rfc6581/7/enhanced-reject-answers-initiate",
        "Enhanced Reject answers an Initiate that is not enhanced.",
        _answer_enhanced(FunctionCode.ENHANCED_REJECT),
        base=sctp_rejected,
    ),
    _mutation(
        "rfc6581/7/enhanced-private-data-over-512",
        "With its enhanced data the Enhanced Initiate has more than 512 octets of Private Data.",
        _change_control(
            _INITIATES,
            lambda item, rng: replace(
                item,
                private_data=rng.randbytes(
                    LARGEST_PRIVATE_DATA - ENHANCED_LENGTH + rng.randint(1, ENHANCED_LENGTH)
                ),
            ),
        ),
        base=sctp_enhanced,
    ),
    _mutation(
        "rfc6581/9.1/enhanced-accept-ord-above-ird",
        "ORD of the Enhanced Accept exceeds IRD of the Enhanced Initiate.",
        _change_control(
            _ANSWERS, lambda item, rng: replace(item, ord=_depth(item) + rng.randrange(1, 999))
        ),
        terminate(INSUFFICIENT_IRD, code=6),
        sctp_enhanced,
    ),
    _mutation(
        "rfc6581/9.2/enhanced-accept-no-matching-rtr",
        "The Enhanced Accept offers no RTR indication that the Enhanced Initiate has asked for.",
        _change_control(_ANSWERS, lambda item, _: replace(item, control_flags="AD")),
        terminate(NO_MATCHING_RTR, code=7),
        sctp_peers,
    ),
    _mutation(
        "rfc6581/7/enhanced-initiate-without-data",
        "The Enhanced Initiate has no room for enhanced data.",
        _change_control(
            _INITIATES,
            lambda item, rng: ControlItem(
                item.side, item.function_code, rng.randbytes(rng.randrange(4))
            ),
        ),
        base=sctp_enhanced,
    ),
)
"""RFC 5043, and RFC 6581 where it is about SCTP."""
