# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of DDP over SCTP, for single chunks and for their order (RFC 5043, RFC 6581 7).

The normative order is that of the DDP-SSNs, which are counted for each direction.  So each
direction has its own state.  Rules that connect the two directions are checked separately.

The active side (RFC 5043 6.2 to 6.4, 6.6)::

    START    Initiate, Enhanced Initiate            OPEN
    OPEN     DDP Segment                            OPEN
    OPEN     Terminate                              DONE

The passive side::

    START    Accept, Enhanced Accept                OPEN
    START    Reject, Enhanced Reject                REJECTED     (6.3)
    START    Terminate                              REFUSED      (6.4)
    OPEN     DDP Segment                            OPEN
    OPEN     Terminate                              DONE         (6.2)

After a message in a wrong place START becomes EARLY, in which segments are no further errors.

After DONE, REJECTED and REFUSED only another session follows, which begins with another Initiate.
A direction whose beginning was not captured is OPEN.  Its messages show which side sends it, or
that stays unknown.

Between the two directions: an enhanced answer must follow an enhanced Initiate, and Accept must
follow Initiate (RFC 6581 7).  If the passive side rejected or refused, the active side sent only
its Initiate (RFC 5043 6.3, 6.4).  A Reject may answer an Enhanced Initiate, too: RFC 6581 7 demands
the enhanced one only if the unenhanced session would have been accepted.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Final

from scapy_mpa.wire.rules import Violation
from scapy_mpa.wire.sctp_chunks import DDP_ADAPTATION, DataChunk, InitChunk
from scapy_mpa.wire.sctp_ddp import (
    ACCEPTS,
    ANSWERS,
    DDP_SSN_LENGTH,
    ENHANCED_FUNCTIONS,
    FUNCTION_NAMES,
    INITIATES,
    LARGEST_PRIVATE_DATA,
    REJECTS,
    SEGMENT_PPID,
    SESSION_CONTROL_LENGTH,
    SESSION_CONTROL_PPID,
    FunctionCode,
    SessionControl,
    function_name,
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


# -- the order of messages -------------------------------------------------------------------------


class Role(enum.Enum):
    """The side of a session that sends a direction."""

    ACTIVE = enum.auto()
    PASSIVE = enum.auto()


class HalfState(enum.Enum):
    """The state of one direction of a session."""

    START = enum.auto()
    EARLY = enum.auto()
    """A message came before the beginning."""
    OPEN = enum.auto()
    DONE = enum.auto()
    REJECTED = enum.auto()
    REFUSED = enum.auto()


SEGMENT: Final = -1
"""Stands for a DDP Segment Chunk among function codes, which are never negative."""

_UNBEGUN: Final = (HalfState.START, HalfState.EARLY)
"""States in which neither Initiate nor answer has come."""

NEXT: Final[dict[tuple[Role, HalfState, int], HalfState]] = {
    **{(Role.ACTIVE, each, code): HalfState.OPEN for each in _UNBEGUN for code in INITIATES},
    **{(Role.PASSIVE, each, code): HalfState.OPEN for each in _UNBEGUN for code in ACCEPTS},
    **{(Role.PASSIVE, each, code): HalfState.REJECTED for each in _UNBEGUN for code in REJECTS},
    (Role.PASSIVE, HalfState.START, FunctionCode.TERMINATE): HalfState.REFUSED,
    # Only the first segment before the beginning is reported.
    **{(role, HalfState.EARLY, SEGMENT): HalfState.EARLY for role in Role},
    **{(role, HalfState.EARLY, FunctionCode.TERMINATE): HalfState.DONE for role in Role},
    **{(role, HalfState.OPEN, SEGMENT): HalfState.OPEN for role in Role},
    **{(role, HalfState.OPEN, FunctionCode.TERMINATE): HalfState.DONE for role in Role},
}
"""The next state, by role, state and function code.  All other combinations are illegal."""


_WHERE: Final = {
    **dict.fromkeys(_UNBEGUN, ("comes before the Initiate", "RFC 5043 6.6")),
    HalfState.OPEN: ("comes in the midst of the session", "RFC 5043 6.1"),
    HalfState.DONE: ("follows the Terminate", "RFC 5043 6.2"),
    HalfState.REJECTED: ("follows the Reject", "RFC 5043 6.3"),
    HalfState.REFUSED: ("follows the Terminate that refused", "RFC 5043 6.4"),
}
"""The place of an illegal message in words, and the clause that it breaks."""


def role_of(code: int) -> Role | None:
    """Return the side that may send a function code, None if both may."""
    if code in INITIATES:
        return Role.ACTIVE
    return Role.PASSIVE if code in ANSWERS else None


def order_violation(role: Role | None, state: HalfState, code: int) -> Violation | None:
    """Return the rule that a message breaks by its place, None if it breaks none.

    :param role: the side that sends it; None if that is not known.
    :param code: function code, or ``SEGMENT``.
    """
    if any((each, state, code) in NEXT for each in ([role] if role else Role)):
        return None
    name = function_name(code)
    what = "a DDP Segment" if code == SEGMENT else f"a session control message ({name})"
    if state in _UNBEGUN and role is Role.PASSIVE:
        return Violation(f"{what} comes before Accept or Reject", "RFC 5043 6.2")
    where, clause = _WHERE[state]
    return Violation(f"{what} {where}", clause)


def answer_violation(initiate: int, answer: int) -> Violation | None:
    """Return the rule that an answer breaks, None if it matches its Initiate (RFC 6581 7).

    :param initiate: function code of the active side's first message.
    :param answer: function code of the passive side's first message.
    """
    if initiate not in INITIATES or answer not in ANSWERS or answer == FunctionCode.REJECT:
        return None
    is_enhanced = initiate == FunctionCode.ENHANCED_INITIATE
    if is_enhanced == (answer in (FunctionCode.ENHANCED_ACCEPT, FunctionCode.ENHANCED_REJECT)):
        return None
    return Violation(f"{function_name(answer)} answers {function_name(initiate)}", "RFC 6581 7")


def rejected_violation(state: HalfState) -> Violation | None:
    """Return the rule that is broken if the active side sent more than its Initiate.

    :param state: state of the passive side.
    """
    if state is HalfState.REJECTED:
        return Violation("more than the Initiate was sent of a rejected session", "RFC 5043 6.3")
    if state is HalfState.REFUSED:
        return Violation("more than the Initiate was sent of a refused session", "RFC 5043 6.4")
    return None


def unfinished_violation(
    active: tuple[HalfState, int | None], passive: tuple[HalfState, int | None]
) -> Violation | None:
    """Return the rule that is broken if a session ends without a message that it needs.

    :param active: state of the active side, and function code of its first message, None if there
        is none.
    :param passive: the same of the passive side.
    """
    (state, initiate), (peer_state, answer) = active, passive
    if initiate is None and state is HalfState.START and answer is not None:
        return Violation(f"{function_name(answer)} answers no Initiate", "RFC 5043 6.1")
    if initiate not in INITIATES:
        return None
    if answer is None and peer_state is HalfState.START:
        return Violation(f"the {function_name(initiate)} was never answered", "RFC 5043 6.1")
    if answer in ANSWERS and state is peer_state is HalfState.OPEN:
        return Violation("neither side has sent a Terminate", "RFC 5043 6.2")
    return None
