# SPDX-License-Identifier: GPL-2.0-or-later
"""ULPDUs: DDP segments of RDMAP messages (RFC 5041 4, RFC 5040 4, RFC 7306 5 and 6).

A message is a list of ULPDUs in sending order.  mulpdu is the size of the largest ULPDU, header
included.
"""

import random
import struct

WRITE, READ_REQUEST, READ_RESPONSE = 0, 1, 2
SENDS = SEND, SEND_INVALIDATE, SEND_SE, SEND_SE_INVALIDATE = 3, 4, 5, 6
TERMINATE = 7
IMMEDIATE_DATA, IMMEDIATE_DATA_SE, ATOMIC_REQUEST, ATOMIC_RESPONSE = 8, 9, 10, 11

TAGGED_HEADER, UNTAGGED_HEADER = 14, 18


def tagged_header(
    opcode: int, stag: int, to: int, last: bool, ddp_version: int = 1, rdmap_version: int = 1
) -> bytes:
    """|T=1 L Rsvd DV|RV Rsv Opcode|STag|TO|, 14 octets (RFC 5041 4.2)."""
    return struct.pack(
        ">BBIQ", 0x80 | last << 6 | ddp_version, rdmap_version << 6 | opcode, stag, to
    )


def untagged_header(
    opcode: int,
    qn: int,
    msn: int,
    mo: int,
    last: bool,
    invalidate_stag: int = 0,
    ddp_version: int = 1,
    rdmap_version: int = 1,
) -> bytes:
    """|T=0 L Rsvd DV|RV Rsv Opcode|Invalidate STag|QN|MSN|MO|, 18 octets (RFC 5041 4.3)."""
    control = last << 6 | ddp_version, rdmap_version << 6 | opcode
    return struct.pack(">BBIIII", *control, invalidate_stag, qn, msn, mo)


def _cut(payload: bytes, room: int) -> list[tuple[int, bytes, bool]]:
    """(offset, octets, last?) of pieces of at most room octets; no payload is one empty piece."""
    if room < 1:
        raise ValueError("mulpdu leaves no room for payload")
    offsets = range(0, len(payload), room) if payload else range(1)
    return [(at, payload[at : at + room], at + room >= len(payload)) for at in offsets]


def tagged_message(
    opcode: int, stag: int, to: int, payload: bytes, mulpdu: int = 1442
) -> list[bytes]:
    """A Write or Read Response, cut into DDP segments whose TO advances."""
    return [
        tagged_header(opcode, stag, (to + offset) % 2**64, last) + octets
        for offset, octets, last in _cut(payload, mulpdu - TAGGED_HEADER)
    ]


def untagged_message(
    opcode: int, qn: int, msn: int, payload: bytes, mulpdu: int = 1442, invalidate_stag: int = 0
) -> list[bytes]:
    """Any other message, cut into DDP segments whose MO advances."""
    return [
        untagged_header(opcode, qn, msn, offset, last, invalidate_stag) + octets
        for offset, octets, last in _cut(payload, mulpdu - UNTAGGED_HEADER)
    ]


def write(stag: int, to: int, payload: bytes, mulpdu: int = 1442) -> list[bytes]:
    """RDMA Write."""
    return tagged_message(WRITE, stag, to, payload, mulpdu)


def read_response(stag: int, to: int, payload: bytes, mulpdu: int = 1442) -> list[bytes]:
    """RDMA Read Response, to the sink's STag and TO."""
    return tagged_message(READ_RESPONSE, stag, to, payload, mulpdu)


def read_request(
    msn: int, sink_stag: int, sink_to: int, rdma_read_size: int, src_stag: int, src_to: int
) -> list[bytes]:
    """RDMA Read Request, 28 octets on QN 1 (RFC 5040 4.4)."""
    body = struct.pack(">IQIIQ", sink_stag, sink_to, rdma_read_size, src_stag, src_to)
    return untagged_message(READ_REQUEST, 1, msn, body)


def send(
    msn: int, payload: bytes, mulpdu: int = 1442, *, opcode: int = SEND, invalidate_stag: int = 0
) -> list[bytes]:
    """One of the four Sends, on QN 0."""
    return untagged_message(opcode, 0, msn, payload, mulpdu, invalidate_stag)


def terminate(layer: int, etype: int, error_code: int, ulpdu: bytes | None = None) -> list[bytes]:
    """Terminate on QN 2 with MSN 1 (RFC 5040 4.8).

    ulpdu: the one in error. Its length, its DDP header and, for a Read Request, its RDMAP header
    are copied. M, D and R show what was copied. Reserved bits are zero.
    """
    header_control, copied = 0, b""
    if ulpdu is not None:
        size = TAGGED_HEADER if ulpdu[0] & 0x80 else UNTAGGED_HEADER
        header_control = 0b110
        if not ulpdu[0] & 0x80 and ulpdu[1] & 15 == READ_REQUEST:
            size, header_control = size + 28, 0b111
        copied = len(ulpdu).to_bytes(2, "big") + ulpdu[:size]
    control = layer << 28 | etype << 24 | error_code << 16 | header_control << 13
    return untagged_message(TERMINATE, 2, 1, control.to_bytes(4, "big") + copied)


def immediate_data(msn: int, data: int, *, solicited_event: bool = False) -> list[bytes]:
    """Immediate Data: 8 octets on QN 0 (RFC 7306 6.2)."""
    opcode = IMMEDIATE_DATA_SE if solicited_event else IMMEDIATE_DATA
    return untagged_message(opcode, 0, msn, data.to_bytes(8, "big"))


def atomic_request(
    msn: int,
    operation: int,
    request_identifier: int,
    stag: int,
    to: int,
    add_or_swap_data: int,
    add_or_swap_mask: int = 2**64 - 1,
    compare_data: int = 0,
    compare_mask: int = 2**64 - 1,
) -> list[bytes]:
    """Atomic Request, 52 octets on QN 1 (RFC 7306 5.2.1); operation 0 FetchAdd, 2 CmpSwap."""
    operands = add_or_swap_data, add_or_swap_mask, compare_data, compare_mask
    body = struct.pack(">IIIQQQQQ", operation, request_identifier, stag, to, *operands)
    return untagged_message(ATOMIC_REQUEST, 1, msn, body)


def atomic_response(msn: int, request_identifier: int, value: int) -> list[bytes]:
    """Atomic Response, 12 octets on QN 3 (RFC 7306 5.2.2)."""
    body = struct.pack(">IQ", request_identifier, value)
    return untagged_message(ATOMIC_RESPONSE, 3, msn, body)


def random_ulpdus(
    rng: random.Random, count: int, mulpdu: int = 1442, largest: int = 20000
) -> list[bytes]:
    """count messages of every kind but Terminate; the MSNs of each queue count from 1.

    largest: octets of payload of the largest message. Sizes are mixed over their magnitudes, 0
    included, so that there are enough small messages.
    """
    msn = dict.fromkeys((0, 1, 3), 0)

    def next_msn(qn: int) -> int:
        msn[qn] += 1
        return msn[qn]

    def payload() -> bytes:
        size = rng.randrange(0, 2 ** rng.randrange(largest.bit_length() + 1))
        return rng.randbytes(min(size, largest))

    def number(bits: int) -> int:
        return rng.getrandbits(bits)

    def random_message() -> list[bytes]:
        opcode = rng.choice([code for code in range(12) if code != TERMINATE])
        if opcode in (WRITE, READ_RESPONSE):
            return tagged_message(opcode, number(32), number(64), payload(), mulpdu)
        if opcode == READ_REQUEST:
            operands = number(32), number(64), number(32), number(32), number(64)
            return read_request(next_msn(1), *operands)
        if opcode in (SEND_INVALIDATE, SEND_SE_INVALIDATE):
            return send(next_msn(0), payload(), mulpdu, opcode=opcode, invalidate_stag=number(32))
        if opcode in (IMMEDIATE_DATA, IMMEDIATE_DATA_SE):
            solicited_event = opcode == IMMEDIATE_DATA_SE
            return immediate_data(next_msn(0), number(64), solicited_event=solicited_event)
        if opcode == ATOMIC_REQUEST:
            operation = rng.choice((0, 2))
            return atomic_request(
                next_msn(1), operation, number(32), number(32), number(64), number(64)
            )
        if opcode == ATOMIC_RESPONSE:
            return atomic_response(next_msn(3), number(32), number(64))
        return send(next_msn(0), payload(), mulpdu, opcode=opcode)

    return [ulpdu for _ in range(count) for ulpdu in random_message()]
