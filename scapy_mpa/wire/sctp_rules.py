# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of DDP over SCTP for single chunks (RFC 5043, RFC 6581 7).

:mod:`scapy_mpa.wire.sctp_session` has the rules for the order of messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import DDP_ADAPTATION, DataChunk, InitChunk
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    ENHANCED_FUNCTIONS,
    FUNCTION_NAMES,
    LARGEST_PRIVATE_DATA,
    SEGMENT_PPID,
    SESSION_CONTROL_LENGTH,
    SESSION_CONTROL_PPID,
    FunctionCode,
    SessionControl,
)
from scapy_mpa.wire.startup import ENHANCED_LENGTH

_WITH_ENHANCED_DATA = frozenset({FunctionCode.ENHANCED_INITIATE, FunctionCode.ENHANCED_ACCEPT})
"""RFC 6581 7 demands enhanced data in these two; in an Enhanced Reject it demands only Private
Data."""


def offers_ddp(init: InitChunk) -> bool:
    """Return whether an INIT or INIT ACK offers DDP (RFC 5043 5.1)."""
    return init.adaptation == DDP_ADAPTATION


def init_violations(
    init: InitChunk, name: str, *, accepted: int, whole: bool = True
) -> Iterator[Violation]:
    """Yield the faults of the INIT or INIT ACK of an association that carries DDP.

    :param name: name of the chunk for texts.
    :param accepted: inbound streams of the peer, if its sender knows them: an answer need not ask
        for more (RFC 4960 5.1.1).
    :param whole: whether all its parameters were captured.
    """
    out, into = init.outbound_streams, init.inbound_streams
    if init.adaptation is None and whole:
        yield Violation(f"the {name} has no adaptation layer indication", "RFC 5043 11.1")
    elif init.adaptation not in (None, DDP_ADAPTATION):
        what = f"the {name} indicates adaptation {init.adaptation:#x}, not DDP"
        yield Violation(what, "RFC 5043 11.1")
    if out not in (into, min(into, accepted)):
        what = f"the {name} asks for {out} outbound and {into} inbound streams"
        yield Violation(what, "RFC 5043 8")


def data_violations(chunk: DataChunk) -> Iterator[Violation]:
    """Yield the faults of a DATA chunk of an association that carries DDP."""
    if not chunk.unordered:
        yield Violation("a DATA chunk is ordered", "RFC 5043 10")
    if chunk.ppid not in (SEGMENT_PPID, SESSION_CONTROL_PPID):
        yield Violation(f"a DATA chunk has PPID {chunk.ppid}", "RFC 5043 5.1")


def stream_violation(chunk: DataChunk, sender: InitChunk, receiver: InitChunk) -> Violation | None:
    """Return the fault if the stream of a DATA chunk does not exist (RFC 4960 6.5).

    :param sender: INIT or INIT ACK of the chunk's sender.
    :param receiver: INIT or INIT ACK of its receiver.
    """
    streams = min(sender.outbound_streams, receiver.inbound_streams)
    if chunk.stream < streams:
        return None
    what = f"a DATA chunk is of stream {chunk.stream}, and there are {streams}"
    return Violation(what, "RFC 4960 6.5")


def length_violation(chunk: DataChunk) -> Iterator[Violation]:
    """Yield the fault if a chunk of DDP is too short for its header."""
    if chunk.ppid == SESSION_CONTROL_PPID and chunk.length < SESSION_CONTROL_LENGTH:
        what = f"a session control message has {chunk.length} octets, not 4"
        yield Violation(what, "RFC 5043 5.2.3")
    if chunk.ppid == SEGMENT_PPID and chunk.length < DDP_SSN_LENGTH:
        yield Violation(f"a DDP Segment Chunk has {chunk.length} octets, not 2", "RFC 5043 5.2.2")


def control_violations(control: SessionControl, length: int) -> Iterator[Violation]:
    """Yield the faults of a single session control message.

    :param length: octets of the whole message.
    """
    code, name = control.function_code, control.function
    octets = length - SESSION_CONTROL_LENGTH
    if code not in FUNCTION_NAMES:
        yield Violation(f"function code {code} is not defined", "RFC 5043 5.2.3")
        return
    if octets > LARGEST_PRIVATE_DATA:
        clause = "RFC 6581 7" if code in ENHANCED_FUNCTIONS else "RFC 5043 5.2.3"
        what = f"the {name} has {octets} octets of Private Data, not {LARGEST_PRIVATE_DATA}"
        yield Violation(what, clause)
    if code == FunctionCode.TERMINATE and octets:
        yield Violation("the Terminate has Private Data", "RFC 5043 5.2.3")
    if code in _WITH_ENHANCED_DATA and octets < ENHANCED_LENGTH:
        yield Violation(f"the {name} has no enhanced data", "RFC 6581 7")
