# SPDX-License-Identifier: GPL-2.0-or-later
"""Who ends up with what when RNICs of the RDMA Consortium and of the IETF meet (RFC 5044 C).

An RNIC says with its startup frame which Revision it has, whether it wants Markers, and whether it
wants CRCs.  What it does with the other one's depends on its kind.
"""

import enum
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

__all__ = [
    "RNIC",
    "Agreement",
    "Kinds",
    "Offer",
    "Peer",
    "agreed_markers",
    "interoperate",
    "kinds_of",
]


class RNIC(str, enum.Enum):
    """The kinds of RNIC (RFC 5044 C.1)."""

    RDMAC = "RDMAC"
    """RDMA Consortium hardware after something that exchanges startup frames for it."""
    NON_PERMISSIVE = "non-permissive"
    """IETF, and not capable of the RDMA Consortium's protocols."""
    PERMISSIVE = "permissive"
    """IETF, and capable of them, connection by connection."""


class Offer(NamedTuple):
    """What a startup frame says (RFC 5044 7.1.1)."""

    revision: int
    """Rev."""
    markers: bool
    """M."""
    crc: bool
    """C."""


class Peer(NamedTuple):
    """One side of a connection that is to be."""

    rnic: RNIC
    markers: bool = False
    """Whether it wants Markers in what it receives; RDMAC always does."""
    crc: bool = True
    """Whether it wants CRCs; RDMAC always does."""

    @property
    def offer(self) -> Offer:
        """What its startup frame says unless it adapts to the other side (RFC 5044 figure 14)."""
        if self.rnic is RNIC.RDMAC:
            return _RDMAC_OFFER
        return Offer(1, self.markers, self.crc)


class Agreement(NamedTuple):
    """What comes of two RNICs (RFC 5044 figures 15 to 17)."""

    request: Offer
    reply: Offer
    version: int | None
    """DV and RV of both directions: 0 those of the RDMA Consortium, 1 those of the IETF; None: the
    connection is closed."""
    markers: tuple[bool, bool] | None
    """Whether Initiator and Responder *receive* Markers, as the figures have it."""
    crc: bool | None
    """Whether CRCs are on."""


_RDMAC_OFFER: Final = Offer(0, True, True)


def interoperate(initiator: Peer, responder: Peer) -> Agreement:
    """Return what the startup frames of two RNICs say, and what comes of it (RFC 5044 C.2, C.3)."""
    request, reply = initiator.offer, responder.offer
    if request.revision == 0 and responder.rnic is RNIC.PERMISSIVE:
        # It recognizes the other one by Rev, and adapts (C.2.3, C.2.4).
        reply = _RDMAC_OFFER
    elif request.revision != reply.revision and RNIC.PERMISSIVE is not initiator.rnic:
        # Neither can speak the other one's protocols (C.2.1, C.2.2).
        return Agreement(request, reply, None, None, None)
    if reply.revision == 0:
        # A permissive Initiator is to enable Markers and CRCs, whatever it has asked for (C.2.5).
        return Agreement(request, reply, 0, (True, True), True)
    return Agreement(request, reply, 1, (request.markers, reply.markers), request.crc or reply.crc)


def agreed_markers(request: Offer, reply: Offer) -> tuple[bool, bool]:
    """Return whether Initiator and Responder receive Markers (RFC 5044 7.1.1).

    An RDMA Consortium RNIC that was asked with revision 1 sends them all the same (C.2.5).
    """
    if request.revision == 1 and reply == _RDMAC_OFFER:
        return True, True
    return request.markers, reply.markers


class Kinds(NamedTuple):
    """What kinds of RNIC two startup frames can be from, each in the order of :class:`RNIC`."""

    initiator: tuple[RNIC, ...]
    responder: tuple[RNIC, ...]


@lru_cache(maxsize=64)
def kinds_of(request: Offer, reply: Offer) -> Kinds | None:
    """Return what kinds of RNIC two startup frames can be from, as far as they tell.

    None if no two RNICs of RFC 5044 appendix C exchange such frames: revisions that are not of
    this appendix, or revision 0 from one that does not insist on Markers and CRCs.
    """
    pairs = [
        (initiator, responder)
        for initiator, responder in product(RNIC, repeat=2)
        if interoperate(
            Peer(initiator, request.markers, request.crc),
            Peer(responder, reply.markers, reply.crc),
        )[:2]
        == (request, reply)
    ]
    if not pairs:
        return None
    one, other = ({pair[side] for pair in pairs} for side in (0, 1))
    return Kinds(
        tuple(rnic for rnic in RNIC if rnic in one), tuple(rnic for rnic in RNIC if rnic in other)
    )
