# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of DDP over SCTP (RFC 5043, RFC 6581 7)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.sctp.conversation import SctpConversation
from scapy_mpa.craft.sctp.script import AssociateItem, ChunkItem, ControlItem, chunk_of
from scapy_mpa.wire.sctp_ddp import (
    ANSWERS,
    INITIATES,
    LARGEST_PRIVATE_DATA,
    SEGMENT_PPID,
    SESSION_CONTROL_PPID,
    FunctionCode,
)
from scapy_mpa.wire.startup import ENHANCED_LENGTH

__all__ = ["MUTATIONS"]

_TERMINATE: Final = frozenset({FunctionCode.TERMINATE})
_LARGEST_STAG: Final = 0xFFFFFFFF

# -- bases --------------------------------------------------------------------------------------


def sctp_plain(rng: Random) -> Conversation:
    """Return an accepted session with all kinds of messages, and a Terminate from both sides."""
    return _filled(SctpConversation(), rng)


def sctp_enhanced(rng: Random) -> Conversation:
    """Return the same with enhanced session control messages (RFC 6581 7)."""
    return _filled(SctpConversation(revision=2), rng)


def sctp_rejected(rng: Random) -> Conversation:
    """Return a rejected session (RFC 5043 6.3)."""
    conversation = SctpConversation()
    conversation.startup(_data(rng), _data(rng), rejected=True)
    conversation.close()
    return conversation


def sctp_refused(rng: Random) -> Conversation:
    """Return a session that the passive side refuses without asking its ULP (RFC 5043 6.4)."""
    refusal = ControlItem(RESPONDER, FunctionCode.TERMINATE)
    return edit.change_item(lambda *_: refusal, _answer)(sctp_rejected(rng), rng)


def sctp_peers(rng: Random) -> Conversation:
    """Return a peer-to-peer session that begins with a zero-length Send (RFC 6581 9.2)."""
    return _filled(SctpConversation(revision=2), rng, rtr="send")


def _filled(conversation: SctpConversation, rng: Random, **startup: Any) -> Conversation:
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


_data: Final = edit.random_octets(8, 200)


# -- places and changes -------------------------------------------------------------------------


def _message(codes: Collection[int], side: int | None = None) -> edit.Where:
    """Return a function that finds the first session control message with one of some codes."""
    return edit.first(
        ControlItem, lambda item: item.function_code in codes and side in (None, item.side)
    )


_associate: Final = partial(edit.change_fields, edit.first(AssociateItem))
_initiate, _answer = _message(INITIATES), _message(ANSWERS)


def _other_answer(code: FunctionCode) -> Change:
    """Return a change that makes another message the answer, without enhanced data."""
    return edit.change_item(
        lambda item, _: ControlItem(item.side, code, item.private_data), _answer
    )


def _segment(**fields: Any) -> Change:
    """Return a change that sets fields of the chunk of a DDP Segment; more Segments follow it."""
    return edit.change_item(
        lambda item, rng: chunk_of(item).override(**edit.evaluated(fields, item, rng)),
        lambda conversation, rng: rng.choice([*edit.fpdus(conversation)][2:-1]),
    )


def _put(where: edit.Where, make: Callable[[Random], ControlItem | ChunkItem]) -> Change:
    """Return a change that inserts an item before another one."""
    return edit.change_item(lambda item, rng: (make(rng), item), where)


def _put_segment(where: edit.Where, side: int, **fields: Any) -> Change:
    """Return a change that inserts a DDP Segment before an item: a zero-length RDMA Write."""
    octets = b"\xc1\x40" + bytes(12)
    return _put(where, lambda _: ChunkItem(side, SEGMENT_PPID, octets, **fields))


def _put_bare(ppid: int | None, length: int | None) -> Change:
    """Return a change that inserts a chunk without a DDP-SSN before the second DDP Segment.

    :param ppid: its PPID; None: that of another protocol.
    :param length: its octets; None: a random number.
    """

    def make(rng: Random) -> ChunkItem:
        kind = rng.randrange(18, 70) if ppid is None else ppid
        body = _data(rng) if length is None else rng.randbytes(length)
        return ChunkItem(INITIATOR, kind, body, has_ddp_ssn=False)

    return _put(_second, make)


def _put_control(where: edit.Where, side: int, code: int | None) -> Change:
    """Return a change that inserts a session control message before an item.

    :param code: its Function Code; None: an undefined one.
    """
    return _put(
        where, lambda rng: ControlItem(side, rng.randrange(8, 1 << 16) if code is None else code)
    )


def _second(conversation: Conversation, rng: Random) -> int:
    return [*edit.fpdus(conversation)][1]


def _last_segment(conversation: Conversation, rng: Random) -> int:
    return [*edit.fpdus(conversation)][-1]


def _last_item(conversation: Conversation, rng: Random) -> int:
    return len(conversation.script) - 1


_too_much: Final = edit.random_octets(LARGEST_PRIVATE_DATA + 1, LARGEST_PRIVATE_DATA + 400)


def _answer_enhanced(code: FunctionCode) -> Change:
    """Return a change that gives the answer enhanced data."""
    return edit.change_fields(
        _answer, function_code=code, ird=edit.between(0, 64), ord=edit.between(0, 64)
    )


def _no_terminate(conversation: Conversation, rng: Random) -> Conversation:
    return edit.replaced(conversation, _message(_TERMINATE)(conversation, rng), count=2)


def _no_enhanced_data(item: ControlItem, rng: Random) -> ControlItem:
    return ControlItem(item.side, item.function_code, rng.randbytes(rng.randrange(4)))


MUTATIONS: Final[Table] = {
    sctp_plain: {
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
        "rfc5043/5.2.1/ddp-ssn-twice": _put_segment(_second, INITIATOR, ddp_ssn=0),
        "rfc5043/5.2.2/segment-too-short": _put_bare(SEGMENT_PPID, 1),
        "rfc5043/5.2.3/control-too-short": _put_bare(SESSION_CONTROL_PPID, 3),
        "rfc5043/5.2.3/function-code-undefined": _put_control(_second, RESPONDER, None),
        "rfc5043/5.2.3/function-code-0": _put_control(_second, RESPONDER, 0),
        "rfc5043/5.2.3/initiate-private-data-over-512": edit.change_fields(
            _initiate, private_data=_too_much
        ),
        "rfc5043/5.2.3/accept-private-data-over-512": edit.change_fields(
            _answer, private_data=_too_much
        ),
        "rfc5043/5.2.3/terminate-private-data": edit.change_fields(
            _message(_TERMINATE), private_data=_data
        ),
        "rfc5043/6/ddp-ssn-skipped": _segment(skip=edit.between(1, 100)),
        "rfc5043/6.1/ddp-ssn-not-from-0": edit.change_item(
            lambda item, rng: chunk_of(item).override(skip=rng.randrange(1, 100)), _initiate
        ),
        "rfc5043/6.1/initiate-twice": _put_control(_second, INITIATOR, FunctionCode.INITIATE),
        "rfc5043/6.1/accept-twice": _put_control(_last_segment, RESPONDER, FunctionCode.ACCEPT),
        "rfc5043/6.2/both-initiate": _other_answer(FunctionCode.INITIATE),
        "rfc5043/6.2/segment-before-accept": _put_segment(_answer, RESPONDER),
        "rfc5043/6.2/segment-behind-terminate": _put_segment(
            _message(_TERMINATE, RESPONDER), INITIATOR
        ),
        "rfc5043/6.2/no-terminate": _no_terminate,
        "rfc5043/6.6/initiate-missing": edit.change_item(edit.left_out, _initiate),
        "rfc5043/6.6/segment-before-initiate": _put_segment(_initiate, INITIATOR),
        "rfc5043/9/fragmented": _segment(fragments=edit.between(2, 9)),
        "rfc5043/10/ordered": _segment(unordered=False),
        "rfc6581/7/enhanced-accept-answers-initiate": _answer_enhanced(
            FunctionCode.ENHANCED_ACCEPT
        ),
    },
    sctp_rejected: {
        "rfc5043/6.1/initiate-unanswered": edit.change_item(edit.left_out, _answer),
        "rfc5043/6.3/segment-behind-reject": _put_segment(_last_item, RESPONDER),
        "rfc5043/6.3/segment-of-rejected": _put_segment(_last_item, INITIATOR),
        "rfc6581/7/enhanced-reject-answers-initiate": _answer_enhanced(
            FunctionCode.ENHANCED_REJECT
        ),
    },
    sctp_refused: {"rfc5043/6.4/segment-of-refused": _put_segment(_last_item, INITIATOR)},
    sctp_enhanced: {
        "rfc6581/7/accept-answers-enhanced": _other_answer(FunctionCode.ACCEPT),
        "rfc6581/7/enhanced-private-data-over-512": edit.change_fields(
            _initiate,
            private_data=edit.random_octets(
                LARGEST_PRIVATE_DATA - ENHANCED_LENGTH + 1, LARGEST_PRIVATE_DATA + 1
            ),
        ),
        # Without the change, its ORD is the IRD of the Initiate.
        "rfc6581/9.1/enhanced-accept-ord-above-ird": edit.change_fields(
            _answer, ord=lambda item, rng: item.ord + rng.randrange(1, 999)
        ),
        "rfc6581/7/enhanced-initiate-without-data": edit.change_item(_no_enhanced_data, _initiate),
    },
    sctp_peers: {
        "rfc6581/9.2/enhanced-accept-no-matching-rtr": edit.change_fields(
            _answer, control_flags="AD"
        )
    },
}
"""Mutations of RFC 5043, and of RFC 6581 for SCTP."""
