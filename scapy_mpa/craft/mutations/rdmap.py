# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations of RDMAP messages (RFC 5040, RFC 7306)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from random import Random
from typing import Any, Final

import scapy_mpa.craft.mutations.bases as bases
import scapy_mpa.craft.mutations.edit as edit
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations.mutation import Change, Table
from scapy_mpa.craft.options import RESPONDER
from scapy_mpa.craft.script import FPDUItem, Item
from scapy_mpa.wire.rdmap import (
    TERMINATE_CONTROL_LENGTH,
    AtomicRequest,
    ReadRequest,
    build_atomic_request,
    build_atomic_response,
    build_read_request,
    parse_atomic_request,
    parse_atomic_response,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import (
    MESSAGE_NAMES,
    TAGGED_OPCODES,
    AtomicOperation,
    Opcode,
    QueueNumber,
)
from scapy_mpa.wire.terminate import ERROR_TYPES, LAYERS, build_terminate, parse_terminate

_WORD: Final = 0xFFFFFFFF
_LARGEST_TO: Final = 0xFFFFFFFFFFFFFFFF
_FIRST_OF_RFC7306: Final = Opcode.IMMEDIATE_DATA
_RESERVED: Final = frozenset(range(16)) - MESSAGE_NAMES.keys()
_OF_RFC7306: Final = frozenset(range(_FIRST_OF_RFC7306, max(Opcode) + 1))
_UNTAGGED: Final = MESSAGE_NAMES.keys() - TAGGED_OPCODES - _OF_RFC7306
_SENDS: Final = (Opcode.SEND, Opcode.SEND_WITH_SE)
_WRITES: Final = (Opcode.WRITE,)


def _on_queue(qn: int, opcode: int, **fields: Any) -> Change:
    """Return a change that sends a single-segment message on another queue, with its next MSN.

    :param opcode: the opcode of the message.
    :param fields: other fields of its DDP header.
    """

    def apply(conversation: Conversation, rng: Random) -> Conversation:
        # The last one of a side is moved, so that no MSN is missing on its queue.
        both = [edit.fpdus(conversation, (opcode,), edit.is_message, side) for side in (0, 1)]
        at, item = rng.choice([[*each.items()][-1] for each in both if each])
        before = edit.fpdus(conversation, None, lambda fpdu: _ends_on(fpdu, qn), item.side)
        msn = 1 + sum(each < at for each in before)
        return edit.replaced(conversation, at, item.with_header(qn=qn, msn=msn, **fields))

    return apply


def _ends_on(item: FPDUItem, qn: int) -> bool:
    return item.header.qn == qn and item.header.last


# -- opcodes ---------------------------------------------------------------------------------------


def _is_alone(item: FPDUItem) -> bool:
    """Return whether an FPDU is a whole message, and short."""
    return edit.is_message(item) and len(item.payload) < 1000


def _opcode(wrong: Iterable[int], opcodes: Collection[int]) -> Change:
    """Return a change that gives a message a wrong opcode.

    :param wrong: the wrong opcodes to choose from.
    :param opcodes: the opcodes of the message.
    """
    return edit.change_fpdu(edit.control(opcode=edit.any_of(*sorted(wrong))), opcodes, _is_alone)


# -- RDMA Read -------------------------------------------------------------------------------------


_request: Final = partial(edit.rdmap_header, parse_read_request, build_read_request)


def _wrapping(request: ReadRequest, rng: Random) -> int:
    """Return a Tagged Offset whose sum with RDMARDSZ does not fit 64 bits."""
    return _LARGEST_TO + 1 - rng.randrange(1, request.rdma_read_size)


def _can_wrap(item: FPDUItem) -> bool:
    """Return whether an RDMA Read Request asks for so many octets that their offsets can wrap."""
    return parse_read_request(item.payload).rdma_read_size > 1


def _far_away(request: ReadRequest, rng: Random) -> int:
    return request.src_to ^ 1 << rng.randrange(56, 63)


_any_stag: Final = edit.between(0, _WORD + 1)


def _swapped_responses(conversation: Conversation, rng: Random) -> Conversation:
    first_at, second_at, *_ = edit.fpdus(conversation, (Opcode.READ_RESPONSE,), side=RESPONDER)
    return edit.moved(conversation, second_at, first_at)


_invalidate_stag: Final = edit.between(1, _WORD + 1)


_terminate_at: Final = edit.first(FPDUItem, lambda item: edit.opcode_of(item) == Opcode.TERMINATE)


def _with_message(item: FPDUItem, rng: Random) -> tuple[Item, ...]:
    """Let the Responder send a message after its Terminate."""
    source = Conversation(strict=False)
    source.responder.send(rng.randbytes(rng.randrange(1, 100)))
    return item, source.script[-1]


# -- Terminate ------------------------------------------------------------------------------------

_FIELDS: Final = (
    *("layer", "etype", "error_code", "ddp_segment_length", "ddp_header", "rdmap_header"),
    *("m", "d", "r"),
)


def _set(**fields: Any) -> edit.Edit:
    """Return an edit that sets fields of the Terminate Header; a callable takes a generator."""

    def change(item: FPDUItem, rng: Random) -> FPDUItem:
        now = parse_terminate(item.payload, mirrored=False)
        values = {name: getattr(now, name) for name in _FIELDS} | edit.evaluated(fields, rng)
        return item.with_payload(build_terminate(**values))

    return change


def _cut_control(item: FPDUItem, rng: Random) -> FPDUItem:
    return item.with_payload(item.payload[: rng.randrange(TERMINATE_CONTROL_LENGTH)])


def _cut_copies(item: FPDUItem, rng: Random) -> FPDUItem:
    size = rng.randrange(TERMINATE_CONTROL_LENGTH, len(item.payload))
    return item.with_payload(item.payload[:size])


_UNDEFINED_ETYPES: Final = [etype for etype in range(16) if (0, etype) not in ERROR_TYPES]
_UNDEFINED_CODES: Final = [code for code in range(256) if code not in ERROR_TYPES[0, 1].codes]


# -- Atomics and Immediate Data -------------------------------------------------------------------

_ATOMIC_REQUEST: Final = (Opcode.ATOMIC_REQUEST,)
_ATOMIC_RESPONSE: Final = (Opcode.ATOMIC_RESPONSE,)
_IMMEDIATE: Final = (Opcode.IMMEDIATE_DATA, Opcode.IMMEDIATE_DATA_WITH_SE)
_OF_EXTENSIONS: Final = (*_IMMEDIATE, *_ATOMIC_REQUEST, *_ATOMIC_RESPONSE)
_ATOMIC_SIZE: Final = 8


def _atomic(**fields: Any) -> Change:
    """Return a change that sets fields of an Atomic Request; a callable takes its header and a
    generator."""
    return edit.change_fpdu(
        edit.rdmap_header(parse_atomic_request, build_atomic_request, **fields), _ATOMIC_REQUEST
    )


_undefined: Final = edit.any_of(*sorted(set(range(16)) - set(AtomicOperation)))


def _not_aligned(request: AtomicRequest, rng: Random) -> int:
    return request.remote_to + rng.randrange(1, _ATOMIC_SIZE)


_other_identifier: Final = edit.rdmap_header(
    parse_atomic_response,
    build_atomic_response,
    original_request_identifier=lambda response, rng: (
        response.original_request_identifier ^ 1 << rng.randrange(8, 32)
    ),
)


MUTATIONS: Final[Table] = {
    bases.plain: {
        "rfc5044/c.1/rv-0": edit.change_fpdu(
            edit.control(rdmap_version=0), range(_FIRST_OF_RFC7306)
        ),
        "rfc5040/4.1/rv-2": edit.change_fpdu(edit.control(rdmap_version=edit.any_of(2, 3))),
        "rfc5040/4.1/reserved-set": edit.change_fpdu(edit.control(reserved=edit.between(1, 4))),
        "rfc5040/4.1/opcode-reserved-tagged": _opcode(_RESERVED, _WRITES),
        "rfc5040/4.1/opcode-reserved-untagged": _opcode(_RESERVED, _SENDS),
        "rfc5040/4.1/opcode-untagged-in-tagged": _opcode(_UNTAGGED, _WRITES),
        "rfc5040/4.1/opcode-tagged-in-untagged": _opcode(TAGGED_OPCODES, _SENDS),
        "rfc7306/4.1/opcode-untagged-in-tagged": _opcode(_OF_RFC7306, _WRITES),
        "rfc5040/4.1/send-on-queue-1": _on_queue(QueueNumber.READ_REQUEST, Opcode.SEND),
        "rfc5040/4.1/rdma-read-request-on-queue-0": _on_queue(
            QueueNumber.SEND, Opcode.READ_REQUEST
        ),
        "rfc5040/4.1/invalidate-stag-not-zero": edit.change_fpdu(
            edit.header(rsvdulp_word=_invalidate_stag), _SENDS
        ),
        "rfc5040/7.2/invalidate-stag-invalid": edit.change_fpdu(
            edit.header(rsvdulp_word=_invalidate_stag), (Opcode.SEND_WITH_INVALIDATE,)
        ),
        **{
            name: edit.change_fpdu(change, (Opcode.READ_REQUEST,))
            for name, change in {
                "rfc5040/4.2/read-request-with-payload": edit.longer_payload,
                "rfc5040/4.4/read-request-cut": edit.cut_payload,
                "rfc5041/4.3/read-request-mo-not-zero": edit.header(mo=edit.between(1, 28)),
                "rfc5041/4.1/read-request-l-missing": edit.header(last=False),
                "rfc5040/7.2/read-request-source-stag-invalid": _request(src_stag=_any_stag),
                "rfc5040/7.2/read-request-source-out-of-bounds": _request(src_to=_far_away),
                "rfc5040/5.2.1/read-request-of-nothing": _request(
                    rdma_read_size=0, src_stag=_any_stag, src_to=edit.between(0, _LARGEST_TO + 1)
                ),
            }.items()
        },
        "rfc5040/7.2/read-request-source-wraps": edit.change_fpdu(
            _request(src_to=_wrapping), (Opcode.READ_REQUEST,), _can_wrap
        ),
        "rfc5040/4.4/read-request-sink-wraps": edit.change_fpdu(
            _request(sink_to=_wrapping), (Opcode.READ_REQUEST,), _can_wrap
        ),
    },
    bases.reading: {
        "rfc5040/5.2.2/responses-swapped": _swapped_responses,
        "rfc5040/5.2.2/response-unrequested": edit.change_fpdu(edit.twice, (Opcode.READ_RESPONSE,)),
        "rfc5040/5.2.2/response-shorter": edit.change_fpdu(
            edit.cut_payload, (Opcode.READ_RESPONSE,)
        ),
    },
    bases.terminated: {
        "rfc5040/4.1/terminate-on-queue-0": _on_queue(QueueNumber.SEND, Opcode.TERMINATE),
        "rfc5040/5.4/message-after-terminate": edit.change_item(_with_message, _terminate_at),
        "rfc5040/5.4/terminate-twice": edit.change_item(
            lambda item, _: (item, item.with_header(msn=2)), _terminate_at
        ),
        "rfc5041/4.1/terminate-l-missing": edit.change_fpdu(
            edit.header(last=False), (Opcode.TERMINATE,)
        ),
        **{
            f"rfc5040/4.8/terminate-{what}": edit.change_fpdu(change, (Opcode.TERMINATE,))
            for what, change in {
                "layer-undefined": _set(layer=edit.between(len(LAYERS), 16)),
                "etype-undefined": _set(etype=edit.any_of(*_UNDEFINED_ETYPES)),
                "code-undefined": _set(error_code=edit.any_of(*_UNDEFINED_CODES)),
                "reserved-set": _set(reserved=edit.between(1, 1 << 13)),
                "control-cut": _cut_control,
                "copies-cut": _cut_copies,
                "d-without-header": _set(ddp_header=None, rdmap_header=None, r=False),
                "r-without-header": _set(rdmap_header=None),
                "m-cleared": _set(m=False),
                "trailing": _set(trailing=lambda rng: rng.randbytes(rng.randrange(100)) + b"\xff"),
            }.items()
        },
    },
    bases.extended: {
        "rfc7306/4.1/rv-0": edit.change_fpdu(edit.control(rdmap_version=0), _OF_EXTENSIONS),
        "rfc7306/4.1/immediate-data-on-queue-1": _on_queue(
            QueueNumber.READ_REQUEST, Opcode.IMMEDIATE_DATA
        ),
        "rfc7306/4.1/atomic-request-on-queue-0": _on_queue(QueueNumber.SEND, Opcode.ATOMIC_REQUEST),
        "rfc7306/4.1/atomic-response-on-queue-1": _on_queue(
            QueueNumber.READ_REQUEST, Opcode.ATOMIC_RESPONSE
        ),
        "rfc7306/6.3/immediate-data-longer": edit.change_fpdu(edit.longer_payload, _IMMEDIATE),
        "rfc7306/6.3/immediate-data-shorter": edit.change_fpdu(edit.cut_payload, _IMMEDIATE),
        "rfc7306/5.2.1/atomic-request-longer": edit.change_fpdu(
            edit.longer_payload, _ATOMIC_REQUEST
        ),
        "rfc7306/5.2.1/atomic-request-shorter": edit.change_fpdu(edit.cut_payload, _ATOMIC_REQUEST),
        "rfc7306/5.2.1/atomic-operation-undefined": _atomic(atomic_operation_code=_undefined),
        "rfc7306/5.2.1/atomic-request-reserved-set": _atomic(reserved=edit.between(1, 1 << 28)),
        "rfc7306/8.2/atomic-request-not-aligned": _atomic(remote_to=_not_aligned),
        "rfc7306/5.2.2/atomic-response-longer": edit.change_fpdu(
            edit.longer_payload, _ATOMIC_RESPONSE
        ),
        "rfc7306/5.2.2/atomic-response-shorter": edit.change_fpdu(
            edit.cut_payload, _ATOMIC_RESPONSE
        ),
        "rfc7306/5.2.2/atomic-response-unrequested": edit.change_fpdu(
            _other_identifier, _ATOMIC_RESPONSE
        ),
    },
}
"""Mutations of RFC 5040 and RFC 7306."""
