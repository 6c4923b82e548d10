# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults of a DDP segment that a Data Sink must not accept.

They are those of RFC 5041 7.1, RFC 5040 7.2 and RFC 7306 8.2 that the segment itself shows.  Only
the receiver knows its STags, buffers, addresses and bounds.  Fields that a sender must set but a
receiver must not check, such as reserved bits, are not checked.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from scapy_mpa.wire.ddp import LARGEST_MESSAGE, DDPHeader, ddp_header_length, parse_ddp
from scapy_mpa.wire.errors import RemoteProtocolError
from scapy_mpa.wire.rdmap import (
    HEADER_LENGTHS,
    LARGEST_TERMINATE_LENGTH,
    READ_REQUEST_LENGTH,
    parse_atomic_request,
    parse_atomic_response,
    parse_control,
    parse_immediate_data,
    parse_read_request,
)
from scapy_mpa.wire.rdmap_names import (
    ATOMIC_OPERATIONS,
    QUEUE_NUMBERS,
    TAGGED_OPCODES,
    UNTAGGED_QUEUES,
    Opcode,
    message_name,
)
from scapy_mpa.wire.terminate import parse_terminate, terminate_text

_TO_WRAP: Final = (1, 1, 3)
_TAGGED_VERSION: Final = (1, 1, 4)
_INVALID_QN: Final = (1, 2, 1)
MSN_RANGE: Final = (1, 2, 3)
_INVALID_MO: Final = (1, 2, 4)
_TOO_LONG: Final = (1, 2, 5)
_UNTAGGED_VERSION: Final = (1, 2, 6)
_SOURCE_WRAP: Final = (0, 1, 4)
_RDMAP_VERSION: Final = (0, 2, 5)
_UNEXPECTED_OPCODE: Final = (0, 2, 6)

_TO_LIMIT: Final = 1 << 64
_VERSIONS: Final = (0, 1)
_OF_RFC7306: Final = range(Opcode.IMMEDIATE_DATA, Opcode.ATOMIC_RESPONSE + 1)


TerminateCode: TypeAlias = tuple[int, int, int]
"""Layer, EType and Error Code of a Terminate (RFC 5040 4.8)."""


class Violation(NamedTuple):
    """A fault of a segment or a message."""

    text: str
    clause: str
    """The broken clause, such as ``RFC 5041 4.3``."""
    terminate: TerminateCode | None = None
    """Layer, EType and Error Code of the Terminate for it; None if none is defined."""

    def __str__(self) -> str:
        if self.terminate is None:
            return f"{self.text} ({self.clause})"
        layer, etype, code = self.terminate
        name = terminate_text(layer, etype, code)
        return f"{self.text} ({self.clause}): {layer}/{etype}/0x{code:02x}, {name}"


def violation(ulpdu: bytes, ulpdu_length: int) -> Violation | None:
    """Return the first fault of a segment that a Data Sink must not accept, None if there is none.

    Never raises.

    :param ulpdu: the captured octets of the ULPDU.
    :param ulpdu_length: octets of the whole ULPDU.
    """
    try:
        header = parse_ddp(ulpdu)
    except RemoteProtocolError as error:
        if len(ulpdu) < ulpdu_length and (not ulpdu or ulpdu_length >= ddp_header_length(ulpdu)):
            # The snap length cut it.
            return None
        return Violation(str(error), "RFC 5041 4.4")
    length = ulpdu_length - header.length
    found = header_violation(header, length)
    if found is None and header.last and (header.mo or len(ulpdu) == ulpdu_length):
        opcode, body = parse_control(header.rsvdulp).opcode, ulpdu[header.length :]
        found = message_violation(opcode, body, length, header.mo or 0)
    return found


def header_violation(header: DDPHeader, length: int, *, rdmap: bool = True) -> Violation | None:
    """Return the first fault in the headers of a segment, None if there is none.

    :param length: octets of the segment after its DDP header.
    :param rdmap: whether the segment carries RDMAP; else its RsvdULP and QN are the ULP's.
    """
    found = _of_ddp(header, length, rdmap=rdmap)
    if found is None and rdmap:
        found = _of_control(header.rsvdulp, header.tagged, header.qn)
    return found


def message_violation(opcode: int, body: bytes, length: int, mo: int = 0) -> Violation | None:
    """Return the fault of a message's RDMAP header, None if there is none or no such header.

    Never raises.

    :param body: the octets of the message without DDP headers, from ``mo`` on; of a long message,
        at least as many as the longest RDMAP header has.
    :param length: octets of the message from ``mo`` on.
    :param mo: MO of the segment that ends the message.  If it is not 0, only the length of the
        message is checked, and whether the segment has a whole header.
    """
    if opcode not in _CHECKS:
        return None
    check, clause = _CHECKS[opcode]
    end = mo + length
    if opcode == Opcode.READ_REQUEST and end > READ_REQUEST_LENGTH:
        # Octets after the header are ULP Payload, which is not allowed.
        clause = "RFC 5040 4.2"
    if mo:
        fewest, most = HEADER_LENGTHS[opcode]
        if fewest <= end <= most:
            return None
        name = message_name(opcode)
        allowed = " to ".join(map(str, sorted({fewest, most})))
        text = f"{name} of {end} octets, {allowed} are allowed"
        if length < fewest:
            return Violation(text, clause)
        # The segment has a whole header.  Its MO or its end is outside the buffer for it.
        if mo < most:
            return Violation(text, "RFC 5041 4.3", _TOO_LONG)
        text = f"MO {mo} of {name} with {length} octets, 0 is due"
        return Violation(text, "RFC 5041 4.3", _INVALID_MO)
    try:
        found = check(body, length)
    except RemoteProtocolError as error:
        return Violation(str(error), clause)
    return found if isinstance(found, Violation) else None


def version_by_revision(revision: int) -> int | None:
    """Return the version of DDP and RDMAP by the revision of the Reply (RFC 5044 C.1).

    None: either.  With revision 0 it may be 0 or 1: Linux siw sends 1.
    """
    return 1 if revision in (1, 2) else None


def version_violation(
    header: DDPHeader, version: int, clause: str | None = None
) -> Violation | None:
    """Return the fault if a segment has another DDP or RDMAP version than its connection.

    :param version: version of the connection: by its revision, or that of another segment.
    :param clause: the clause that demands one version for both; None: those of the two fields.
    """
    if header.ddp_version != version:
        text = f"DV {header.ddp_version} on a connection of version {version}"
        return Violation(text, clause or "RFC 5041 4.1", _invalid_version(header))
    rdmap_version = parse_control(header.rsvdulp).rdmap_version
    if rdmap_version != version:
        text = f"RV {rdmap_version} on a connection of version {version}"
        return Violation(text, clause or "RFC 5040 4.1", _RDMAP_VERSION)
    return None


def _invalid_version(header: DDPHeader) -> TerminateCode:
    return _TAGGED_VERSION if header.tagged else _UNTAGGED_VERSION


def _of_ddp(header: DDPHeader, length: int, *, rdmap: bool) -> Violation | None:
    """Return the first fault in the fields of DDP."""
    version = header.ddp_version
    # The RDMA Consortium has version 0 of both DDP and RDMAP (RFC 5040 4.1).
    if version not in _VERSIONS or (
        rdmap and version == 0 and parse_control(header.rsvdulp).rdmap_version == 1
    ):
        return Violation(f"DV {version} is not valid", "RFC 5041 4.1", _invalid_version(header))
    if header.tagged:
        assert header.to is not None
        if length and header.to + length > _TO_LIMIT:
            return Violation(
                f"TO {header.to:#x} and {length} octets exceed 64 bits", "RFC 5041 7.1", _TO_WRAP
            )
        return None
    assert header.mo is not None
    if rdmap and header.qn not in UNTAGGED_QUEUES:
        return Violation(f"QN {header.qn} is that of no queue", "RFC 5041 7.1", _INVALID_QN)
    if header.mo + length > LARGEST_MESSAGE:
        return Violation(
            f"MO {header.mo} and {length} octets exceed a message's 2^32 - 1",
            "RFC 5041 5.2",
            _TOO_LONG,
        )
    return None


@lru_cache(maxsize=1024)
def _of_control(octet: int, tagged: bool, qn: int | None) -> Violation | None:
    """Return the first fault in the RDMAP Control Field, also together with DDP's fields."""
    version, _, opcode = parse_control(octet)
    is_of_rfc7306 = opcode in _OF_RFC7306
    clause = "RFC 7306 4.1" if is_of_rfc7306 else "RFC 5040 4.1"
    name = message_name(opcode)
    if version not in _VERSIONS or (version == 0 and is_of_rfc7306):
        return Violation(f"RV {version} is not valid for {name}", clause, _RDMAP_VERSION)
    kind = "Tagged" if tagged else "Untagged"
    if opcode not in TAGGED_OPCODES and opcode not in QUEUE_NUMBERS:
        return Violation(f"opcode {opcode} is reserved", clause, _UNEXPECTED_OPCODE)
    if tagged != (opcode in TAGGED_OPCODES):
        return Violation(f"{name} is {kind}", clause, _UNEXPECTED_OPCODE)
    if not tagged and qn != QUEUE_NUMBERS[opcode]:
        return Violation(f"{name} is on queue {qn}", clause, _UNEXPECTED_OPCODE)
    return None


# -- RDMAP headers -------------------------------------------------------------------------------


def _read_request(body: bytes, length: int) -> Violation | None:
    request = parse_read_request(body, length)
    if request.src_to + request.rdma_read_size > _TO_LIMIT:
        return Violation(
            f"SrcTO {request.src_to:#x} and {request.rdma_read_size} octets exceed 64 bits",
            "RFC 5040 7.2",
            _SOURCE_WRAP,
        )
    return None


def _terminate(body: bytes, length: int) -> Violation | None:
    header = parse_terminate(body)
    if header.problem is not None:
        return Violation(header.problem, "RFC 5040 4.8")
    trailing = len(header.trailing) + length - len(body)
    # Fields that are not included may be present as zeros (RFC 5040 7.1, RFC 7306 8.1).
    is_more = any(header.trailing) or length > LARGEST_TERMINATE_LENGTH
    if trailing and is_more and not header.mirrored:
        return Violation(f"{trailing} octets follow the Terminate Header", "RFC 5040 4.8")
    return None


def _atomic_request(body: bytes, length: int) -> Violation | None:
    request = parse_atomic_request(body, length)
    if request.atomic_operation_code not in ATOMIC_OPERATIONS:
        return Violation(
            f"Atomic Operation Code {request.atomic_operation_code} is not defined",
            "RFC 7306 5.2.1",
        )
    return None


_CHECKS: Final[dict[int, tuple[Callable[[bytes, int], object], str]]] = {
    Opcode.READ_REQUEST: (_read_request, "RFC 5040 4.4"),
    Opcode.TERMINATE: (_terminate, "RFC 5040 4.8"),
    Opcode.IMMEDIATE_DATA: (parse_immediate_data, "RFC 7306 6.3"),
    Opcode.IMMEDIATE_DATA_WITH_SE: (parse_immediate_data, "RFC 7306 6.3"),
    Opcode.ATOMIC_REQUEST: (_atomic_request, "RFC 7306 5.2.1"),
    Opcode.ATOMIC_RESPONSE: (parse_atomic_response, "RFC 7306 5.2.2"),
}
"""The function that checks the header of a message, and the clause with the header's length."""
