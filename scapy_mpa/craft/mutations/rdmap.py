# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages with something wrong in them (RFC 5040)."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.bases import plain, reading, terminated
from scapy_mpa.craft.mutations.edit import (
    Edit,
    change_fpdu,
    cut_payload,
    fpdu_at,
    fpdus,
    header,
    longer_payload,
    moved,
    replaced,
    valued,
)
from scapy_mpa.craft.mutations.expectation import ACCEPT, Expectation, accept, surface, terminate
from scapy_mpa.craft.mutations.mutation import Change, Family, Mutation
from scapy_mpa.craft.options import RESPONDER
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap import build_control, build_read_request, parse_read_request
from scapy_mpa.wire.rdmap_names import (
    MESSAGE_NAMES,
    QUEUE_NUMBERS,
    TAGGED_OPCODES,
    Opcode,
    QueueNumber,
)

__all__ = ["RDMAP", "on_queue"]

_family: Final = Family("rfc5040", plain)

_INVALID_STAG: Final = (0, 1, 0)
_RDMA_OUT_OF_BOUNDS: Final = (0, 1, 1)
_TO_WRAP: Final = (0, 1, 4)
_STAG_NOT_INVALIDATED: Final = (0, 1, 9)
_STAG_NOT_INVALIDATED_BY_OPERATION: Final = (0, 2, 9)
_INVALID_VERSION: Final = (0, 2, 5)
_UNEXPECTED_OPCODE: Final = (0, 2, 6)
_INVALID_QN: Final = (1, 2, 1)
_NO_BUFFER: Final = (1, 2, 2)
_MSN_RANGE: Final = (1, 2, 3)

_WORD: Final = 0xFFFFFFFF
_LARGEST_TO: Final = 0xFFFFFFFFFFFFFFFF
_OPCODES: Final = range(16)
_FIRST_OF_RFC7306: Final = Opcode.IMMEDIATE_DATA
_SENDS: Final = (Opcode.SEND, Opcode.SEND_WITH_SE)
_INVALIDATING: Final = (Opcode.SEND_WITH_INVALIDATE,)
_READ: Final = (Opcode.READ_REQUEST,)


def _control(**fields: Any) -> Edit:
    """Return what sets fields of the RDMAP Control Field; callables are given a generator."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        octet = item.header.rsvdulp
        now = {"opcode": octet & 15, "rdmap_version": octet >> 6, "reserved": octet >> 4 & 3}
        return item.with_header(rsvdulp=build_control(**now | valued(fields, rng)))

    return edit


def on_queue(qn: int, opcode: int, **fields: Any) -> Change:
    """Return what sends a single-segment message on another queue, with the MSN that is due there.

    :param opcode: of the message.
    :param fields: more of its DDP header.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        def of(side: int) -> list[int]:
            return fpdus(conversation, (opcode,), _is_single, side)

        # The last one of a side, so that no MSN is missing on its own queue.
        at = rng.choice([max(of(side)) for side in (0, 1) if of(side)])
        item = fpdu_at(conversation, at)
        before = fpdus(conversation, None, lambda other: _ends_on(other, qn), item.side)
        msn = 1 + sum(each < at for each in before)
        return replaced(conversation, at, item.with_header(qn=qn, msn=msn, **fields))

    return apply


def _is_single(item: FPDUItem) -> bool:
    return item.header.last and not item.header.mo


def _ends_on(item: FPDUItem, qn: int) -> bool:
    return item.header.qn == qn and item.header.last


# -- opcodes ---------------------------------------------------------------------------------------


def _opcodes() -> list[Mutation]:
    """Return each opcode with the wrong T, and those that are reserved."""
    found = []
    for opcode in _OPCODES:
        name = MESSAGE_NAMES.get(opcode, "a reserved opcode")
        document = "rfc7306/4.1" if _FIRST_OF_RFC7306 <= opcode <= max(Opcode) else "rfc5040/4.1"
        wrong: list[tuple[str, tuple[int, ...]]] = []
        if opcode in TAGGED_OPCODES or opcode not in MESSAGE_NAMES:
            wrong.append(("untagged", _SENDS))
        if opcode not in TAGGED_OPCODES:
            wrong.append(("tagged", (Opcode.WRITE,)))
        for what, opcodes in wrong:
            found.append(
                Mutation(
                    f"{document}/opcode-{opcode}-{what}",
                    f"A segment with opcode {opcode} ({name}) is {what.capitalize()}.",
                    terminate(_UNEXPECTED_OPCODE),
                    plain,
                    change_fpdu(_control(opcode=opcode), opcodes, _is_alone),
                )
            )
    return found


def _is_alone(item: FPDUItem) -> bool:
    """Tell whether an FPDU is a whole message, and no long one."""
    return _is_single(item) and len(item.payload) < 1000


def _versions() -> list[Mutation]:
    return [
        _family(
            f"4.1/rv-{version}",
            f"RV of a message is {version}.",
            terminate(_INVALID_VERSION),
            change_fpdu(_control(rdmap_version=version)),
        )
        for version in (2, 3)
    ]


def _queues() -> list[Mutation]:
    """Return messages on queues that are not theirs."""
    expected = terminate(_UNEXPECTED_OPCODE, _INVALID_QN, _NO_BUFFER, _MSN_RANGE)
    return [
        _family(
            f"4.1/{MESSAGE_NAMES[opcode].lower().replace(' ', '-')}-on-queue-{qn}",
            f"{MESSAGE_NAMES[opcode]} comes on queue {int(qn)}.",
            expected,
            on_queue(qn, opcode),
            base=terminated if opcode == Opcode.TERMINATE else plain,
        )
        for opcode in (Opcode.SEND, Opcode.READ_REQUEST, Opcode.TERMINATE)
        for qn in QueueNumber
        if qn != QUEUE_NUMBERS[opcode] and qn != QueueNumber.ATOMIC_RESPONSE
    ]


# -- RDMA Read -------------------------------------------------------------------------------------


def _read_request(item: FPDUItem, **fields: int) -> FPDUItem:
    request = parse_read_request(item.payload)._replace(**fields)
    return item.with_payload(build_read_request(request))


def _wrapping(field: str) -> Edit:
    """Return what has a Tagged Offset of an RDMA Read Request and RDMARDSZ exceed 64 bits."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        size = parse_read_request(item.payload).rdma_read_size
        return _read_request(item, **{field: _LARGEST_TO + 1 - rng.randrange(1, size)})

    return edit


def _beyond_source(item: FPDUItem, rng: Random) -> FPDUItem:
    src_to = parse_read_request(item.payload).src_to
    return _read_request(item, src_to=src_to ^ 1 << rng.randrange(56, 63))


def _swapped_responses(conversation: Conversation, rng: Random) -> Conversation:
    responses = fpdus(conversation, (Opcode.READ_RESPONSE,), side=RESPONDER)
    return moved(conversation, responses[1], responses[0])


def _mutation(
    name: str,
    breaks: str,
    expectation: Expectation,
    edit: Edit,
    opcodes: tuple[int, ...],
    **others: Any,
) -> Mutation:
    return _family(name, breaks, expectation, change_fpdu(edit, opcodes), **others)


def _invalidate_stag(before: DDPHeader, rng: Random) -> int:
    return rng.randint(1, _WORD)


def _after_terminate(conversation: Conversation, rng: Random) -> Conversation:
    """Have the Responder say something after its Terminate."""
    at = fpdus(conversation, (Opcode.TERMINATE,))[0]
    other = Conversation(strict=False)
    other.responder.send(rng.randbytes(rng.randrange(1, 100)))
    said = other.script[-1]
    return replaced(conversation, at, conversation.script[at], said)


def _twice(conversation: Conversation, rng: Random) -> Conversation:
    at = fpdus(conversation, (Opcode.TERMINATE,))[0]
    again = fpdu_at(conversation, at).with_header(msn=2)
    return replaced(conversation, at, conversation.script[at], again)


RDMAP: Final = (
    *_versions(),
    _family(
        "4.1/rv-0",
        "RV of a message is 0, that of all others is 1.",
        accept("both are valid; which of them is right is a matter of MPA's revision"),
        change_fpdu(_control(rdmap_version=0), range(_FIRST_OF_RFC7306)),
    ),
    _family(
        "4.1/reserved-set",
        "A reserved bit of the RDMAP Control Field is set.",
        ACCEPT,
        change_fpdu(_control(reserved=lambda rng: rng.randrange(1, 4))),
    ),
    *_opcodes(),
    *_queues(),
    _mutation(
        "4.1/invalidate-stag-not-zero",
        "A Send that invalidates nothing has an Invalidate STag.",
        ACCEPT,
        header(rsvdulp_word=_invalidate_stag),
        _SENDS,
    ),
    _mutation(
        "7.2/invalidate-stag-invalid",
        "The Invalidate STag is none of this stream.",
        terminate(_INVALID_STAG, _STAG_NOT_INVALIDATED, _STAG_NOT_INVALIDATED_BY_OPERATION),
        header(rsvdulp_word=_invalidate_stag),
        _INVALIDATING,
        is_evident=False,
    ),
    _mutation(
        "4.2/read-request-with-payload",
        "Octets follow an RDMA Read Request Header.",
        surface("no code is defined for it"),
        longer_payload,
        _READ,
    ),
    _mutation(
        "4.4/read-request-cut",
        "An RDMA Read Request Header is cut short.",
        surface("no code is defined for it"),
        cut_payload,
        _READ,
    ),
    _mutation(
        "4.4/read-request-mo-not-zero",
        "MO of an RDMA Read Request is not zero.",
        accept("the Data Sink need not notice; it may report Invalid MO"),
        header(mo=lambda _, rng: rng.randrange(1, 28)),
        _READ,
    ),
    _mutation(
        "4.4/read-request-l-missing",
        "L of an RDMA Read Request is not set.",
        accept("the message is never Delivered; nothing else tells that it was the last segment"),
        header(last=False),
        _READ,
    ),
    _mutation(
        "7.2/read-request-source-wraps",
        "SrcTO and RDMARDSZ add up to more than 64 bits.",
        terminate(_TO_WRAP, _RDMA_OUT_OF_BOUNDS),
        _wrapping("src_to"),
        _READ,
    ),
    _mutation(
        "7.2/read-request-source-stag-invalid",
        "SrcSTag is an STag that nobody has advertised.",
        terminate(_INVALID_STAG),
        lambda item, rng: _read_request(item, src_stag=rng.randint(0, _WORD)),
        _READ,
        is_evident=False,
    ),
    _mutation(
        "7.2/read-request-source-out-of-bounds",
        "SrcTO is beyond its buffer.",
        terminate(_RDMA_OUT_OF_BOUNDS),
        _beyond_source,
        _READ,
        is_evident=False,
    ),
    _mutation(
        "4.4/read-request-sink-wraps",
        "SinkTO and RDMARDSZ add up to more than 64 bits.",
        accept("the Data Sink notices, at the Response"),
        _wrapping("sink_to"),
        _READ,
    ),
    _mutation(
        "5.2.1/read-request-of-nothing",
        "An RDMA Read Request of no octets has a SrcSTag and a SrcTO that mean nothing.",
        ACCEPT,
        lambda item, rng: _read_request(
            item,
            rdma_read_size=0,
            src_stag=rng.randint(0, _WORD),
            src_to=rng.randint(0, _LARGEST_TO),
        ),
        _READ,
    ),
    _family(
        "5.2.2/responses-swapped",
        "RDMA Read Responses come in another order than their Requests.",
        accept("the Data Sink may check STag, TO and length"),
        _swapped_responses,
        base=reading,
    ),
    _family(
        "5.2.2/response-unrequested",
        "An RDMA Read Response comes twice: to the second there is no Request.",
        accept("the Data Sink may check STag, TO and length"),
        change_fpdu(lambda item, _: [item, item], (Opcode.READ_RESPONSE,)),
        base=reading,
    ),
    _family(
        "5.2.2/response-shorter",
        "An RDMA Read Response has fewer octets than its Request asks for.",
        accept("the Data Sink may check STag, TO and length"),
        change_fpdu(cut_payload, (Opcode.READ_RESPONSE,)),
        base=reading,
    ),
    _family(
        "5.4/message-after-terminate",
        "A side that has sent a Terminate sends another message.",
        surface("the stream is over"),
        _after_terminate,
        base=terminated,
    ),
    _family(
        "5.4/terminate-twice",
        "A side sends a second Terminate.",
        surface("the stream is over"),
        _twice,
        base=terminated,
    ),
)
"""RFC 5040, but for what is in a Terminate."""
