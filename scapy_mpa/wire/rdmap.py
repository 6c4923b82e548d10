# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP's control octet and headers (RFC 5040 section 4, RFC 7306 5.2 and 6.2).

Nothing may follow one of these headers in its message (RFC 5040 figure 5, RFC 7306 figure 3).  So
each parser takes exactly the octets of its header.  The Terminate Header has its own module.
"""

import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from scapy_mpa.wire.ddp import LARGEST_MESSAGE, LAST, TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.errors import LocalProtocolError, RemoteProtocolError
from scapy_mpa.wire.fields import packed
from scapy_mpa.wire.fpdu import LARGEST_ULPDU_LENGTH
from scapy_mpa.wire.rdmap_names import (
    INVALIDATING_OPCODES,
    OPCODE_BITS,
    QUEUE_NUMBERS,
    TAGGED_OPCODES,
    Opcode,
)

READ_REQUEST_LENGTH: Final = 28
"""Octets of the RDMA Read Request Header (RFC 5040 4.4)."""
ATOMIC_REQUEST_LENGTH: Final = 52
"""Octets of the Atomic Operation Request Header (RFC 7306 5.2.1)."""
ATOMIC_RESPONSE_LENGTH: Final = 12
"""Octets of the Atomic Operation Response Header by RFC 7306 figure 6.  The text of its section 4
says 32, but that figure and the sum of the fields contradict it."""
IMMEDIATE_DATA_LENGTH: Final = 8
"""Octets of Immediate Data (RFC 7306 6.2)."""
TERMINATE_CONTROL_LENGTH: Final = 4
"""Octets of Terminate Control and the reserved bits after it (RFC 5040 figure 7)."""
LARGEST_TERMINATE_LENGTH: Final = (
    TERMINATE_CONTROL_LENGTH + 2 + UNTAGGED_LENGTH + READ_REQUEST_LENGTH
)
"""Octets of a complete Terminate Header, with DDP Segment Length, an untagged DDP header and an
RDMA Read Request Header (RFC 5040 figure 7)."""

_READ_REQUEST: Final = struct.Struct(">IQIIQ")
_ATOMIC_REQUEST: Final = struct.Struct(">IIIQQQQQ")
_ATOMIC_RESPONSE: Final = struct.Struct(">IQ")
_IMMEDIATE_DATA: Final = struct.Struct(f"{IMMEDIATE_DATA_LENGTH}s")

_OPENED: Final[dict[int, int]] = {
    Opcode.READ_REQUEST: 1,
    Opcode.ATOMIC_REQUEST: 1,
    Opcode.READ_RESPONSE: -1,
    Opcode.ATOMIC_RESPONSE: -1,
}
"""The change that a message makes to the number of unanswered Requests."""

_Octets = bytes | bytearray | memoryview


class RDMAPControl(NamedTuple):
    """The RDMAP control octet (RFC 5040 4.1)."""

    rdmap_version: int
    """RV, 2 bits: 1, or 0 for RDMA Consortium hardware and draft-ietf-rddp-mpa-01."""
    reserved: int
    """Rsv, 2 bits."""
    opcode: int
    """4 bits: an :class:`~scapy_mpa.wire.rdmap_names.Opcode`, or a reserved number."""


class ReadRequest(NamedTuple):
    """RDMA Read Request Header (RFC 5040 4.4)."""

    sink_stag: int
    """SinkSTag, 32 bits."""
    sink_to: int
    """SinkTO, 64 bits."""
    rdma_read_size: int
    """RDMARDSZ: octets to be read, 32 bits."""
    src_stag: int
    """SrcSTag, 32 bits."""
    src_to: int
    """SrcTO, 64 bits."""


class AtomicRequest(NamedTuple):
    """Atomic Operation Request Header (RFC 7306 5.2.1)."""

    reserved: int
    """Reserved (Not Used), 28 bits."""
    atomic_operation_code: int
    """AOpCode, 4 bits: an :class:`~scapy_mpa.wire.rdmap_names.AtomicOperation`, or another
    number."""
    request_identifier: int
    """32 bits, reflected by the Atomic Response."""
    remote_stag: int
    """32 bits."""
    remote_to: int
    """Remote Tagged Offset, 64 bits."""
    add_or_swap_data: int
    """64 bits."""
    add_or_swap_mask: int
    """64 bits."""
    compare_data: int
    """64 bits."""
    compare_mask: int
    """64 bits."""


class AtomicResponse(NamedTuple):
    """Atomic Operation Response Header (RFC 7306 5.2.2)."""

    original_request_identifier: int
    """32 bits."""
    original_remote_data_value: int
    """64 bits."""


class ImmediateData(NamedTuple):
    """Immediate Data, with or without Solicited Event (RFC 7306 6.2)."""

    immediate_data: bytes
    """8 octets, which only the ULP can interpret."""


def parse_control(octet: int) -> RDMAPControl:
    """Read the RDMAP control octet, 0 to 255 (RFC 5040 4.1)."""
    return RDMAPControl(octet >> 6, octet >> 4 & 3, octet & OPCODE_BITS)


def requests_opened(control: bytes, ulpdu_length: int) -> int:
    """Return 1 for the last segment of a Request that needs a Response, -1 for that of a Response,
    else 0.

    A Request with a malformed RDMAP header gets no Response.

    :param control: the DDP and the RDMAP control octet.
    """
    opcode = control[1] & OPCODE_BITS
    opened = _OPENED.get(opcode, 0) if control[0] & LAST else 0
    is_malformed = opened > 0 and ulpdu_length != UNTAGGED_LENGTH + HEADER_LENGTHS[opcode][0]
    return 0 if is_malformed else opened


def build_control(opcode: int, rdmap_version: int = 1, reserved: int = 0) -> int:
    """Return the RDMAP control octet (RFC 5040 4.1).

    :param opcode: 0 to 15.
    :param rdmap_version: 0 to 3.
    :param reserved: 0 to 3.
    :raises LocalProtocolError: a number does not fit its field.
    """
    if not (0 <= opcode <= 15 and 0 <= rdmap_version <= 3 and 0 <= reserved <= 3):
        raise LocalProtocolError(
            f"opcode {opcode}, RDMAP version {rdmap_version}, reserved bits {reserved}: "
            "one does not fit its 4, 2 or 2 bits (RFC 5040 4.1)"
        )
    return rdmap_version << 6 | reserved << 4 | opcode


def _unpack(
    header: struct.Struct, octets: _Octets, name: str, length: int | None
) -> tuple[Any, ...]:
    """Return the fields of a header, which must have exactly its size."""
    count = len(octets) if length is None else length
    if count != header.size:
        raise RemoteProtocolError(f"{name} has exactly {header.size} octets, {count} are there")
    return header.unpack(octets)


def parse_read_request(octets: _Octets, length: int | None = None) -> ReadRequest:
    """Read the 28 octets of an RDMA Read Request Header (RFC 5040 4.4).

    :param length: octets of the whole message, if only its first ones are given.
    :raises RemoteProtocolError: fewer or more octets.
    """
    return ReadRequest(*_unpack(_READ_REQUEST, octets, "an RDMA Read Request Header", length))


def build_read_request(header: ReadRequest) -> bytes:
    """Return the 28 octets of ``header``.

    :raises LocalProtocolError: a number does not fit its field.
    """
    return packed(_READ_REQUEST, "RFC 5040 4.4", **header._asdict())


def parse_atomic_request(octets: _Octets, length: int | None = None) -> AtomicRequest:
    """Read the 52 octets of an Atomic Operation Request Header (RFC 7306 5.2.1).

    :param length: octets of the whole message, if only its first ones are given.
    :raises RemoteProtocolError: fewer or more octets.
    """
    word, *operands = _unpack(_ATOMIC_REQUEST, octets, "an Atomic Request Header", length)
    return AtomicRequest(word >> 4, word & 15, *operands)


def build_atomic_request(header: AtomicRequest) -> bytes:
    """Return the 52 octets of ``header``.

    :raises LocalProtocolError: a number does not fit its field.
    """
    numbers = header._asdict()
    reserved, code = numbers.pop("reserved"), numbers.pop("atomic_operation_code")
    if not 0 <= code <= 15:
        raise LocalProtocolError(f"Atomic Operation Code {code} does not fit its 4 bits")
    return packed(_ATOMIC_REQUEST, "RFC 7306 5.2.1", word=reserved << 4 | code, **numbers)


def parse_atomic_response(octets: _Octets, length: int | None = None) -> AtomicResponse:
    """Read the 12 octets of an Atomic Operation Response Header (RFC 7306 5.2.2).

    :param length: octets of the whole message, if only its first ones are given.
    :raises RemoteProtocolError: fewer or more octets.
    """
    return AtomicResponse(*_unpack(_ATOMIC_RESPONSE, octets, "an Atomic Response Header", length))


def build_atomic_response(header: AtomicResponse) -> bytes:
    """Return the 12 octets of ``header``.

    :raises LocalProtocolError: a number does not fit its field.
    """
    return packed(_ATOMIC_RESPONSE, "RFC 7306 5.2.2", **header._asdict())


def parse_immediate_data(octets: _Octets, length: int | None = None) -> ImmediateData:
    """Read the 8 octets of Immediate Data (RFC 7306 6.2).

    :param length: octets of the whole message, if only its first ones are given.
    :raises RemoteProtocolError: fewer or more octets; RFC 7306 6.3 has a receiver check that.
    """
    return ImmediateData(*_unpack(_IMMEDIATE_DATA, octets, "Immediate Data", length))


def build_immediate_data(header: ImmediateData) -> bytes:
    """Return the 8 octets of ``header``.

    :raises LocalProtocolError: there are fewer or more octets.
    """
    if len(header.immediate_data) != IMMEDIATE_DATA_LENGTH:
        raise LocalProtocolError(
            f"Immediate Data has exactly 8 octets, {len(header.immediate_data)} are given"
        )
    return header.immediate_data


class HeaderRule(NamedTuple):
    """The rules for segments with the same two control octets."""

    qn: int | None
    """None for tagged segments, for which only the bounds of their length count."""
    shortest: int
    """Octets of the shortest ULPDU."""
    longest: int
    largest_mo: int
    """0 for a message that is a single segment."""
    has_stag: bool
    """Whether the 32 bits after the control octets are an Invalidate STag; else they are zero."""


_REST: Final = struct.Struct(">2xII4xI")

HEADER_LENGTHS: Final[dict[int, tuple[int, int]]] = {
    Opcode.READ_REQUEST: (READ_REQUEST_LENGTH, READ_REQUEST_LENGTH),
    Opcode.TERMINATE: (TERMINATE_CONTROL_LENGTH, LARGEST_TERMINATE_LENGTH),
    Opcode.IMMEDIATE_DATA: (IMMEDIATE_DATA_LENGTH, IMMEDIATE_DATA_LENGTH),
    Opcode.IMMEDIATE_DATA_WITH_SE: (IMMEDIATE_DATA_LENGTH, IMMEDIATE_DATA_LENGTH),
    Opcode.ATOMIC_REQUEST: (ATOMIC_REQUEST_LENGTH, ATOMIC_REQUEST_LENGTH),
    Opcode.ATOMIC_RESPONSE: (ATOMIC_RESPONSE_LENGTH, ATOMIC_RESPONSE_LENGTH),
}
"""Fewest and most octets after the DDP header, for the messages that carry no ULP payload."""

HEADER_OPCODES: Final = frozenset(HEADER_LENGTHS)
"""Opcodes of the messages that consist of an RDMAP header."""


def _rules() -> dict[int, HeaderRule]:
    """Return the rules by the two control octets, as one number, of every segment that is valid."""
    rules = {}
    for opcode in Opcode:
        tagged, fixed = opcode in TAGGED_OPCODES, opcode in HEADER_OPCODES
        header = TAGGED_LENGTH if tagged else UNTAGGED_LENGTH
        fewest, most = HEADER_LENGTHS.get(opcode, (0, LARGEST_ULPDU_LENGTH - header))
        rule = HeaderRule(
            QUEUE_NUMBERS.get(opcode),
            header + fewest,
            header + most,
            0 if fixed else LARGEST_MESSAGE,
            opcode in INVALIDATING_OPCODES,
        )
        # RFC 7306 4.1 defines its messages for RDMAP version 1 only.
        for version in (0, 1) if opcode <= Opcode.TERMINATE else (1,):
            for last in (True,) if fixed else (False, True):
                ddp = tagged << 7 | last << 6 | version
                rules[ddp << 8 | build_control(opcode, version)] = rule
    return rules


_RULES: Final = _rules()

BOUNDS: Final = {
    control.to_bytes(2, "big"): (
        rule.shortest,
        rule.longest,
        None if rule.qn is None else rule.qn.to_bytes(4, "big"),
    )
    for control, rule in _RULES.items()
}
"""By the control octets: fewest and most octets of ULPDU, and the octets of QN, None for tagged
segments.  For the search, which tests very many places, a call for each would be too slow."""


@lru_cache(maxsize=4096)
def header_rule(control: int, ulpdu_length: int) -> HeaderRule | bool:
    """Return the rules that :func:`plausible` applies to the words after the control octets.

    :param control: both control octets as one number, 0 to 65535.
    :return: True if there are no rules, as for a tagged segment; False if no conforming sender
        sends these octets with this length.
    """
    if not may_begin_ulpdu(control, ulpdu_length):
        return False
    rule = _RULES[control]
    largest_mo = min(rule.largest_mo, LARGEST_MESSAGE + UNTAGGED_LENGTH - ulpdu_length)
    return rule.qn is None or rule._replace(largest_mo=largest_mo)


def may_begin_ulpdu(control: int, ulpdu_length: int | None = None) -> bool:
    """Return whether a ULPDU of a conforming sender may begin with these two octets.

    The checks are those of :func:`plausible`: DDP and RDMAP version, T bit, opcode and reserved
    bits.

    :param control: both control octets as one number, 0 to 65535.
    :param ulpdu_length: octets of the ULPDU, 0 to 65535, checked as well; None if not known.
    """
    rule = _RULES.get(control)
    return rule is not None and (
        ulpdu_length is None or rule.shortest <= ulpdu_length <= rule.longest
    )


def plausible(ulpdu_head: _Octets, ulpdu_length: int, *, any_stag: bool = False) -> bool:
    """Return whether a ULPDU of a conforming sender may begin with these octets.

    Never raises.  Only the 14 or 18 octets of the DDP header are checked; if they are not whole,
    the result is False.  These rules have no exception.  The versions of DDP and RDMAP are both 1
    or both 0, and reserved bits are zero.  The opcode is known, with its T bit and QN.  The field
    for an Invalidate STag is zero in messages without one (RFC 5041 4, RFC 5040 4.1, RFC 7306 4.1).
    A message has less than 2^32 octets (RFC 5041 5.2).  A message that consists of an RDMAP header
    is one segment of that length.

    :param ulpdu_head: the beginning of the ULPDU, or more.
    :param ulpdu_length: octets of the whole ULPDU.
    :param any_stag: allow any value in the field of an Invalidate STag that the message does not
        have.  A receiver ignores it (RFC 5040 4.1), and some senders leave old octets there.
    """
    captured = len(ulpdu_head)
    if captured < TAGGED_LENGTH:
        return False
    rule = header_rule(ulpdu_head[0] << 8 | ulpdu_head[1], ulpdu_length)
    if rule is True or rule is False:
        return rule
    if captured < UNTAGGED_LENGTH:
        return False
    word, qn, mo = _REST.unpack_from(ulpdu_head)
    return qn == rule.qn and mo <= rule.largest_mo and (rule.has_stag or any_stag or not word)
