# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP messages with something wrong in them (RFC 5040)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
from scapy_mpa.craft.conversation import Conversation
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
from scapy_mpa.craft.mutations.mutation import Change, listed
from scapy_mpa.craft.options import RESPONDER
from scapy_mpa.craft.script import FPDUItem
from scapy_mpa.wire.ddp import DDPHeader
from scapy_mpa.wire.rdmap import (
    TERMINATE_CONTROL_LENGTH,
    build_control,
    build_read_request,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import (
    MESSAGE_NAMES,
    TAGGED_OPCODES,
    Opcode,
    QueueNumber,
)
from scapy_mpa.wire.terminate import ERROR_TYPES, LAYERS, build_terminate, parse_terminate

__all__ = ["RDMAP", "on_queue"]

_WORD: Final = 0xFFFFFFFF
_LARGEST_TO: Final = 0xFFFFFFFFFFFFFFFF
_FIRST_OF_RFC7306: Final = Opcode.IMMEDIATE_DATA
_RESERVED: Final = frozenset(range(16)) - MESSAGE_NAMES.keys()
_OF_RFC7306: Final = frozenset(range(_FIRST_OF_RFC7306, max(Opcode) + 1))
_UNTAGGED: Final = MESSAGE_NAMES.keys() - TAGGED_OPCODES - _OF_RFC7306
_SENDS: Final = (Opcode.SEND, Opcode.SEND_WITH_SE)
_WRITES: Final = (Opcode.WRITE,)


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


def _is_alone(item: FPDUItem) -> bool:
    """Tell whether an FPDU is a whole message, and no long one."""
    return _is_single(item) and len(item.payload) < 1000


def _opcode(wrong: Iterable[int], opcodes: Collection[int]) -> Change:
    """Return what gives a message another opcode.

    :param wrong: which it may be.
    :param opcodes: of the message.
    """
    return change_fpdu(_control(opcode=lambda rng: rng.choice(sorted(wrong))), opcodes, _is_alone)


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


def _source_stag(item: FPDUItem, rng: Random) -> FPDUItem:
    return _read_request(item, src_stag=rng.randint(0, _WORD))


def _of_nothing(item: FPDUItem, rng: Random) -> FPDUItem:
    src_stag, src_to = rng.randint(0, _WORD), rng.randint(0, _LARGEST_TO)
    return _read_request(item, rdma_read_size=0, src_stag=src_stag, src_to=src_to)


def _swapped_responses(conversation: Conversation, rng: Random) -> Conversation:
    responses = fpdus(conversation, (Opcode.READ_RESPONSE,), side=RESPONDER)
    return moved(conversation, responses[1], responses[0])


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


# -- Terminate ------------------------------------------------------------------------------------

_FIELDS: Final = (
    *("layer", "etype", "error_code", "ddp_segment_length", "ddp_header", "rdmap_header"),
    *("m", "d", "r"),
)


def _said(**fields: Any) -> Edit:
    """Return what writes a Terminate Header anew; callables are given a generator."""

    def edit(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse_terminate(item.payload, mirrored=False)
        values = {name: getattr(now, name) for name in _FIELDS} | valued(fields, rng)
        return item.with_payload(build_terminate(**values))

    return edit


def _cut_control(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.with_payload(item.payload[: rng.randrange(TERMINATE_CONTROL_LENGTH)])


def _cut_copies(item: FPDUItem, rng: Random) -> FPDUItem:
    size = rng.randrange(TERMINATE_CONTROL_LENGTH, len(item.payload))
    return item.with_payload(item.payload[:size])


def _undefined_etype(rng: Random) -> int:
    return rng.choice([etype for etype in range(16) if (0, etype) not in ERROR_TYPES])


def _undefined_code(rng: Random) -> int:
    return rng.choice([code for code in range(256) if code not in ERROR_TYPES[0, 1].codes])


RDMAP: Final = (
    *listed(
        bases.plain,
        {
            "rfc5040/4.1/rv-0": change_fpdu(_control(rdmap_version=0), range(_FIRST_OF_RFC7306)),
            "rfc5040/4.1/rv-2": change_fpdu(_control(rdmap_version=lambda rng: rng.choice((2, 3)))),
            "rfc5040/4.1/reserved-set": change_fpdu(
                _control(reserved=lambda rng: rng.randrange(1, 4))
            ),
            "rfc5040/4.1/opcode-reserved-tagged": _opcode(_RESERVED, _WRITES),
            "rfc5040/4.1/opcode-reserved-untagged": _opcode(_RESERVED, _SENDS),
            "rfc5040/4.1/opcode-untagged-in-tagged": _opcode(_UNTAGGED, _WRITES),
            "rfc5040/4.1/opcode-tagged-in-untagged": _opcode(TAGGED_OPCODES, _SENDS),
            "rfc7306/4.1/opcode-untagged-in-tagged": _opcode(_OF_RFC7306, _WRITES),
            "rfc5040/4.1/send-on-queue-1": on_queue(QueueNumber.READ_REQUEST, Opcode.SEND),
            "rfc5040/4.1/rdma-read-request-on-queue-0": on_queue(
                QueueNumber.SEND, Opcode.READ_REQUEST
            ),
            "rfc5040/4.1/invalidate-stag-not-zero": change_fpdu(
                header(rsvdulp_word=_invalidate_stag), _SENDS
            ),
            "rfc5040/7.2/invalidate-stag-invalid": change_fpdu(
                header(rsvdulp_word=_invalidate_stag), (Opcode.SEND_WITH_INVALIDATE,)
            ),
            **{
                name: change_fpdu(edit, (Opcode.READ_REQUEST,))
                for name, edit in {
                    "rfc5040/4.2/read-request-with-payload": longer_payload,
                    "rfc5040/4.4/read-request-cut": cut_payload,
                    "rfc5040/4.4/read-request-mo-not-zero": header(
                        mo=lambda _, rng: rng.randrange(1, 28)
                    ),
                    "rfc5040/4.4/read-request-l-missing": header(last=False),
                    "rfc5040/7.2/read-request-source-wraps": _wrapping("src_to"),
                    "rfc5040/7.2/read-request-source-stag-invalid": _source_stag,
                    "rfc5040/7.2/read-request-source-out-of-bounds": _beyond_source,
                    "rfc5040/4.4/read-request-sink-wraps": _wrapping("sink_to"),
                    "rfc5040/5.2.1/read-request-of-nothing": _of_nothing,
                }.items()
            },
        },
    ),
    *listed(
        bases.reading,
        {
            "rfc5040/5.2.2/responses-swapped": _swapped_responses,
            "rfc5040/5.2.2/response-unrequested": change_fpdu(
                lambda item, _: [item, item], (Opcode.READ_RESPONSE,)
            ),
            "rfc5040/5.2.2/response-shorter": change_fpdu(cut_payload, (Opcode.READ_RESPONSE,)),
        },
    ),
    *listed(
        bases.terminated,
        {
            "rfc5040/4.1/terminate-on-queue-0": on_queue(QueueNumber.SEND, Opcode.TERMINATE),
            "rfc5040/5.4/message-after-terminate": _after_terminate,
            "rfc5040/5.4/terminate-twice": _twice,
            **{
                f"rfc5040/4.8/terminate-{what}": change_fpdu(edit, (Opcode.TERMINATE,))
                for what, edit in {
                    "layer-undefined": _said(layer=lambda rng: rng.randrange(len(LAYERS), 16)),
                    "etype-undefined": _said(etype=_undefined_etype),
                    "code-undefined": _said(error_code=_undefined_code),
                    "reserved-set": _said(reserved=lambda rng: rng.randrange(1, 1 << 13)),
                    "control-cut": _cut_control,
                    "copies-cut": _cut_copies,
                    "d-without-header": _said(ddp_header=None, rdmap_header=None, r=False),
                    "r-without-header": _said(rdmap_header=None),
                    "m-cleared": _said(m=False),
                    "trailing": _said(trailing=lambda rng: rng.randbytes(rng.randrange(1, 100))),
                    "l-missing": header(last=False),
                }.items()
            },
        },
    ),
)
"""RFC 5040, and the opcodes of RFC 7306."""
