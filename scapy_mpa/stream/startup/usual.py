# SPDX-License-Identifier: GPL-2.0-or-later
"""The usual startup: a Request and the Reply that accepts it, both without a fault.

Many connections begin with the same octets, so each result is computed once and kept.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from scapy_mpa.stream.octets.scan import KEY_PREFIX
from scapy_mpa.stream.shapes import Kind
from scapy_mpa.stream.startup.steps import StartupState, Step, declared, reply_problems, step
from scapy_mpa.wire.dialect import OSC_REVISIONS, Dialect
from scapy_mpa.wire.interoperability import Kinds, Offer, agreed_markers, kinds_of
from scapy_mpa.wire.startup import (
    KEY_LENGTH,
    KIND_OF_KEY,
    STARTUP_HEADER_LENGTH,
    StartupFrame,
    parse_startup,
)

_LAST_REVISION: Final = 2


class Usual(NamedTuple):
    """A startup frame without a fault."""

    octets: bytes
    startup: StartupFrame
    dialect: Dialect | None


class Agreed(NamedTuple):
    """The result of a Request and its Reply (RFC 5044 7.1.1)."""

    request: Usual
    reply: Usual
    kinds: tuple[Kind, Kind]
    """The kind of the Initiator's FPDUs, and the kind of the Responder's FPDUs."""
    rnics: Kinds | None


@lru_cache(maxsize=1024)
def usual_startup(octets: bytes) -> Usual | None:
    """Return the startup frame in octets, as one object for all connections.

    :return: None unless the octets are exactly one startup frame, without a fault, after which
        only FPDUs come.
    """
    if (
        len(octets) < STARTUP_HEADER_LENGTH
        # There must be no second Key in it.
        or octets.rfind(KEY_PREFIX)
        or octets[:KEY_LENGTH] not in KIND_OF_KEY
    ):
        return None
    startup = parse_startup(octets)
    is_odd = (
        startup.length != len(octets)
        or startup.rejected
        # An Rtr Frame may follow.
        or (startup.revision == 1 and startup.s_bit)
        or startup.revision > _LAST_REVISION
        or startup.problems()
    )
    return None if is_odd else Usual(octets, startup, startup.dialect)


@lru_cache(maxsize=1024)
def agreed_by(request_octets: bytes, reply_octets: bytes) -> Agreed | None:
    """Return the result of a Request and a Reply (RFC 5044 7.1.2); None if it is not usual."""
    request, reply = usual_startup(request_octets), usual_startup(reply_octets)
    if request is None or reply is None:
        return None
    asked, answered = request.startup, reply.startup
    state, first = step(StartupState.IDLE, asked, by_initiator=True)
    _, second = step(state, answered, by_initiator=False)
    if (
        (first, second) != (Step.REQUEST, Step.ACCEPT)
        or reply_problems(declared(asked, request.dialect), answered)
        or (asked.revision, answered.revision) == OSC_REVISIONS
    ):
        return None
    offers = [Offer(frame.revision, frame.markers, frame.crc) for frame in (asked, answered)]
    crc = asked.crc or answered.crc
    by_responder, by_initiator = [
        Kind(crc, marked, from_start=True) for marked in agreed_markers(*offers)
    ]
    return Agreed(request, reply, (by_initiator, by_responder), kinds_of(*offers))
