# SPDX-License-Identifier: GPL-2.0-or-later
"""The usual startup: a Request and the Reply that accepts it, nothing wrong with either.

Many connections begin with the same octets, so what these come to is worked out once.
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
    """A startup frame."""

    octets: bytes
    startup: StartupFrame
    dialect: Dialect | None


class Agreed(NamedTuple):
    """What a Request and its Reply come to (RFC 5044 7.1.1)."""

    request: Usual
    reply: Usual
    kinds: tuple[Kind, Kind]
    """What the FPDUs of the Initiator have in common, and those of the Responder."""
    rnics: Kinds | None


@lru_cache(maxsize=1024)
def usual_startup(octets: bytes) -> Usual | None:
    """Return what octets are, as one object for all connections.

    :return: None if they are anything but one startup frame, with which nothing is wrong, and
        after which nothing but FPDUs comes.
    """
    if (
        len(octets) < STARTUP_HEADER_LENGTH
        # No other Key may stand in it.
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
def agreed(asked: bytes, answered: bytes) -> Agreed | None:
    """Return what a Request and a Reply come to (RFC 5044 7.1.2); None if it is nothing usual."""
    request, reply = usual_startup(asked), usual_startup(answered)
    if request is None or reply is None:
        return None
    one, other = request.startup, reply.startup
    state, first = step(StartupState.IDLE, one, by_initiator=True)
    _, second = step(state, other, by_initiator=False)
    if (
        (first, second) != (Step.REQUEST, Step.ACCEPT)
        or reply_problems(declared(one, request.dialect), other)
        or (one.revision, other.revision) == OSC_REVISIONS
    ):
        return None
    offers = [Offer(each.revision, each.markers, each.crc) for each in (one, other)]
    crc = one.crc or other.crc
    by_responder, by_initiator = [
        Kind(crc, marked, from_start=True) for marked in agreed_markers(*offers)
    ]
    return Agreed(request, reply, (by_initiator, by_responder), kinds_of(*offers))
