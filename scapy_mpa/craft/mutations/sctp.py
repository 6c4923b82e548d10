# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP with something wrong in it (RFC 5043, RFC 6581 7)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from random import Random
from typing import Any, Final, TypeAlias

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.edit import Edit, change_item, fpdus, replaced, valued
from scapy_mpa.craft.mutations.mutation import Change, listed
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.craft.sctp.script import ChunkItem, ControlItem, chunk_of
from scapy_mpa.wire.sctp_ddp import (
    ANSWERS,
    INITIATES,
    LARGEST_PRIVATE_DATA,
    SEGMENT_PPID,
    SESSION_CONTROL_PPID,
    FunctionCode,
)
from scapy_mpa.wire.startup import ENHANCED_LENGTH

__all__ = ["SCTP"]

_TERMINATE: Final = frozenset({FunctionCode.TERMINATE})
_LARGEST_STAG: Final = 0xFFFFFFFF

_Where: TypeAlias = Callable[[Conversation], int]
"""Tells which item of a script is meant."""


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
    return _change_control(ANSWERS, lambda *_: refusal)(sctp_rejected(rng), rng)


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


def _data(rng: Random) -> bytes:
    return rng.randbytes(rng.randrange(8, 200))


# -- where and how ------------------------------------------------------------------------------


def _control_at(conversation: Conversation, codes: Collection[int], side: int | None = None) -> int:
    """Return the place of a session control message in a script."""
    items: list[Any] = conversation.script
    return next(
        number
        for number, item in enumerate(items)
        if isinstance(item, ControlItem)
        and item.function_code in codes
        and side in (None, item.side)
    )


def _change_control(codes: Collection[int], make: Edit) -> Change:
    return change_item(make, lambda conversation, _: _control_at(conversation, codes))


def _control(codes: Collection[int], **fields: Any) -> Change:
    """Set fields of a session control message; callables are given it and a generator."""
    return _change_control(codes, lambda item, rng: replace(item, **valued(fields, item, rng)))


def _answer(code: FunctionCode) -> Change:
    """Have another message answer, without enhanced data."""
    return _change_control(ANSWERS, lambda item, _: ControlItem(item.side, code, item.private_data))


def _associate(**fields: Any) -> Change:
    """Set fields of INIT and INIT ACK."""
    return change_item(lambda item, rng: replace(item, **valued(fields, item, rng)), lambda *_: 0)


def _segment(**fields: Any) -> Change:
    """Set fields of the chunk of a DDP Segment that others of its side follow."""
    return change_item(
        lambda item, rng: chunk_of(item).override(**valued(fields, item, rng)),
        lambda conversation, rng: rng.choice(fpdus(conversation)[2:-1]),
    )


def _put(where: _Where, make: Callable[[Random], ControlItem | ChunkItem]) -> Change:
    """Put something in front of an item."""
    return change_item(
        lambda item, rng: (make(rng), item), lambda conversation, _: where(conversation)
    )


def _put_segment(where: _Where, side: int, **fields: Any) -> Change:
    """Put a DDP Segment in front of an item: an RDMA Write of nothing, which fits anywhere."""
    octets = b"\xc1\x40" + bytes(12)
    return _put(where, lambda _: ChunkItem(side, SEGMENT_PPID, octets, **fields))


def _put_bare(ppid: int | None, length: int | None) -> Change:
    """Put a chunk without a DDP-SSN in front of the second DDP Segment.

    :param ppid: None: another protocol's.
    :param length: octets of it; None: some.
    """

    def make(rng: Random) -> ChunkItem:
        kind = rng.randrange(18, 70) if ppid is None else ppid
        body = _data(rng) if length is None else rng.randbytes(length)
        return ChunkItem(INITIATOR, kind, body, has_ddp_ssn=False)

    return _put(_amid, make)


def _put_control(where: _Where, side: int, code: int | None) -> Change:
    """Put a session control message in front of an item; None: of a code that is not defined."""
    return _put(
        where, lambda rng: ControlItem(side, rng.randrange(8, 1 << 16) if code is None else code)
    )


def _amid(conversation: Conversation) -> int:
    return fpdus(conversation)[1]


def _late(conversation: Conversation) -> int:
    return fpdus(conversation)[-1]


def _last(conversation: Conversation) -> int:
    return len(conversation.script) - 1


def _initiate(conversation: Conversation) -> int:
    return _control_at(conversation, INITIATES)


def _accept(conversation: Conversation) -> int:
    return _control_at(conversation, ANSWERS)


def _second_terminate(conversation: Conversation) -> int:
    return _control_at(conversation, _TERMINATE, RESPONDER)


def _too_much(item: ControlItem, rng: Random) -> bytes:
    return rng.randbytes(LARGEST_PRIVATE_DATA + rng.randrange(1, 400))


def _too_much_enhanced(item: ControlItem, rng: Random) -> bytes:
    least = LARGEST_PRIVATE_DATA - ENHANCED_LENGTH
    return rng.randbytes(least + rng.randint(1, ENHANCED_LENGTH))


def _answer_enhanced(code: FunctionCode) -> Change:
    """Make an answer one with enhanced data."""
    return _control(
        ANSWERS,
        function_code=code,
        ird=lambda _, rng: rng.randrange(64),
        ord=lambda _, rng: rng.randrange(64),
    )


def _no_terminate(conversation: Conversation, rng: Random) -> Conversation:
    at = _control_at(conversation, _TERMINATE)
    return replaced(conversation, at, end=at + 2)


def _no_enhanced_data(item: ControlItem, rng: Random) -> ControlItem:
    return ControlItem(item.side, item.function_code, rng.randbytes(rng.randrange(4)))


SCTP: Final = (
    *listed(
        sctp_plain,
        {
            "rfc4960/6.8/checksum-wrong": _segment(checked=False),
            "rfc5043/11.1/init-no-indication": _associate(
                adaptations=lambda item, _: (None, item.adaptations[1])
            ),
            "rfc5043/11.1/init-ack-other-indication": _associate(
                adaptations=lambda item, rng: (item.adaptations[0], rng.randrange(2, 1 << 32))
            ),
            "rfc5043/8/streams-differ": _associate(
                streams=lambda item, rng: ((rng.randrange(17, 99), 16), item.streams[1])
            ),
            "rfc5043/5.1/ppid-other": _put_bare(None, None),
            "rfc5043/5.2.1/ddp-ssn-twice": _put_segment(_amid, INITIATOR, ddp_ssn=0),
            "rfc5043/5.2.2/segment-too-short": _put_bare(SEGMENT_PPID, 1),
            "rfc5043/5.2.3/control-too-short": _put_bare(SESSION_CONTROL_PPID, 3),
            "rfc5043/5.2.3/function-code-undefined": _put_control(_amid, RESPONDER, None),
            "rfc5043/5.2.3/function-code-0": _put_control(_amid, RESPONDER, 0),
            "rfc5043/5.2.3/initiate-private-data-over-512": _control(
                INITIATES, private_data=_too_much
            ),
            "rfc5043/5.2.3/accept-private-data-over-512": _control(ANSWERS, private_data=_too_much),
            "rfc5043/5.2.3/terminate-private-data": _control(
                _TERMINATE, private_data=lambda _, rng: _data(rng)
            ),
            "rfc5043/6/ddp-ssn-skipped": _segment(skip=lambda _, rng: rng.randrange(1, 100)),
            "rfc5043/6.1/ddp-ssn-not-from-0": _change_control(
                INITIATES, lambda item, rng: chunk_of(item).override(skip=rng.randrange(1, 100))
            ),
            "rfc5043/6.1/initiate-twice": _put_control(_amid, INITIATOR, FunctionCode.INITIATE),
            "rfc5043/6.1/accept-twice": _put_control(_late, RESPONDER, FunctionCode.ACCEPT),
            "rfc5043/6.2/both-initiate": _answer(FunctionCode.INITIATE),
            "rfc5043/6.2/segment-before-accept": _put_segment(_accept, RESPONDER),
            "rfc5043/6.2/segment-behind-terminate": _put_segment(_second_terminate, INITIATOR),
            "rfc5043/6.2/no-terminate": _no_terminate,
            "rfc5043/6.6/initiate-missing": _change_control(INITIATES, lambda *_: ()),
            "rfc5043/6.6/segment-before-initiate": _put_segment(_initiate, INITIATOR),
            "rfc5043/9/fragmented": _segment(fragments=lambda _, rng: rng.randrange(2, 9)),
            "rfc5043/10/ordered": _segment(unordered=False),
            "rfc6581/7/enhanced-accept-answers-initiate": _answer_enhanced(
                FunctionCode.ENHANCED_ACCEPT
            ),
        },
    ),
    *listed(
        sctp_rejected,
        {
            "rfc5043/6.1/initiate-unanswered": _change_control(ANSWERS, lambda *_: ()),
            "rfc5043/6.3/segment-behind-reject": _put_segment(_last, RESPONDER),
            "rfc5043/6.3/segment-of-rejected": _put_segment(_last, INITIATOR),
            "rfc6581/7/enhanced-reject-answers-initiate": _answer_enhanced(
                FunctionCode.ENHANCED_REJECT
            ),
        },
    ),
    *listed(sctp_refused, {"rfc5043/6.4/segment-of-refused": _put_segment(_last, INITIATOR)}),
    *listed(
        sctp_enhanced,
        {
            "rfc6581/7/accept-answers-enhanced": _answer(FunctionCode.ACCEPT),
            "rfc6581/7/enhanced-private-data-over-512": _control(
                INITIATES, private_data=_too_much_enhanced
            ),
            # Its ORD is the IRD that it answers.
            "rfc6581/9.1/enhanced-accept-ord-above-ird": _control(
                ANSWERS, ord=lambda item, rng: item.ord + rng.randrange(1, 999)
            ),
            "rfc6581/7/enhanced-initiate-without-data": _change_control(
                INITIATES, _no_enhanced_data
            ),
        },
    ),
    *listed(
        sctp_peers,
        {"rfc6581/9.2/enhanced-accept-no-matching-rtr": _control(ANSWERS, control_flags="AD")},
    ),
)
"""RFC 5043, and RFC 6581 where it is about SCTP."""
