# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of RDMAP's numbers: opcodes, queue numbers, atomic operation codes.

Sources: RFC 5040 figure 4 (opcodes 0 to 7), RFC 7306 figure 2 (8 to 11), RFC 7306 figure 5 and
10.1 (atomic operation codes), RFC 7306 10.2 (queue numbers).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final


class Opcode(enum.IntEnum):
    """RDMA Message OpCode, 4 bits.  12 to 15 are reserved."""

    WRITE = 0
    READ_REQUEST = 1
    READ_RESPONSE = 2
    SEND = 3
    SEND_WITH_INVALIDATE = 4
    SEND_WITH_SE = 5
    SEND_WITH_SE_AND_INVALIDATE = 6
    TERMINATE = 7
    IMMEDIATE_DATA = 8
    IMMEDIATE_DATA_WITH_SE = 9
    ATOMIC_REQUEST = 10
    ATOMIC_RESPONSE = 11


OPCODE_BITS: Final = 0x0F
"""The bits of the opcode in the RDMAP control octet (RFC 5040 4.1)."""


class QueueNumber(enum.IntEnum):
    """QN of untagged messages, 32 bits (RFC 7306 10.2)."""

    SEND = 0
    """The Sends and Immediate Data."""
    READ_REQUEST = 1
    """RDMA Read Requests and Atomic Requests."""
    TERMINATE = 2
    ATOMIC_RESPONSE = 3


class AtomicOperation(enum.IntEnum):
    """Atomic Operation Code, 4 bits.  1 is reserved, the others are unassigned."""

    FETCH_ADD = 0
    CMP_SWAP = 2


_MESSAGES: Final[dict[Opcode, tuple[str, QueueNumber | None]]] = {
    Opcode.WRITE: ("RDMA Write", None),
    Opcode.READ_REQUEST: ("RDMA Read Request", QueueNumber.READ_REQUEST),
    Opcode.READ_RESPONSE: ("RDMA Read Response", None),
    Opcode.SEND: ("Send", QueueNumber.SEND),
    Opcode.SEND_WITH_INVALIDATE: ("Send with Invalidate", QueueNumber.SEND),
    Opcode.SEND_WITH_SE: ("Send with SE", QueueNumber.SEND),
    Opcode.SEND_WITH_SE_AND_INVALIDATE: ("Send with SE and Invalidate", QueueNumber.SEND),
    Opcode.TERMINATE: ("Terminate", QueueNumber.TERMINATE),
    Opcode.IMMEDIATE_DATA: ("Immediate Data", QueueNumber.SEND),
    Opcode.IMMEDIATE_DATA_WITH_SE: ("Immediate Data with SE", QueueNumber.SEND),
    Opcode.ATOMIC_REQUEST: ("Atomic Request", QueueNumber.READ_REQUEST),
    Opcode.ATOMIC_RESPONSE: ("Atomic Response", QueueNumber.ATOMIC_RESPONSE),
}
"""The name of each message, as in RFC 5040 figure 4 and RFC 7306 figure 2, and its queue; None: it
is Tagged."""

MESSAGE_NAMES: Final[Mapping[int, str]] = {opcode: name for opcode, (name, _) in _MESSAGES.items()}
"""Opcode to message name."""

QUEUE_NUMBERS: Final[Mapping[int, int]] = {
    opcode: queue for opcode, (_, queue) in _MESSAGES.items() if queue is not None
}
"""Opcode of an untagged message to the QN that it must have."""

TAGGED_OPCODES: Final[frozenset[int]] = frozenset(_MESSAGES.keys() - QUEUE_NUMBERS.keys())

ATOMIC_OPERATIONS: Final[Mapping[int, str]] = {
    AtomicOperation.FETCH_ADD: "FetchAdd",
    AtomicOperation.CMP_SWAP: "CmpSwap",
}
"""Atomic Operation Code to name.  RFC 7306 5.2.1 mentions Swap, too, but defines no code for it."""

UNTAGGED_QUEUES: Final[frozenset[int]] = frozenset(QueueNumber)
"""QNs with a defined meaning (RFC 7306 10.2)."""

INVALIDATING_OPCODES: Final[frozenset[int]] = frozenset(
    {Opcode.SEND_WITH_INVALIDATE, Opcode.SEND_WITH_SE_AND_INVALIDATE}
)
"""Opcodes of messages with an Invalidate STag (RFC 5040 4.1)."""

SEND_OPCODES: Final[frozenset[int]] = frozenset(
    {Opcode.SEND, Opcode.SEND_WITH_SE, *INVALIDATING_OPCODES}
)
"""Opcodes of the four Sends."""


def message_name(opcode: int) -> str:
    """Return the message's name, ``Reserved opcode 12`` for a number without one."""
    return MESSAGE_NAMES.get(opcode) or f"Reserved opcode {opcode}"
