# SPDX-License-Identifier: GPL-2.0-or-later
"""RNICs of the RDMA Consortium and of the IETF, by their startup frames (RFC 5044 C).

The startup frame of an RNIC has its Revision, and whether it wants Markers and CRCs.  The RNIC's
kind decides how it reacts to the peer's startup frame.
"""

import enum
from functools import lru_cache
from typing import Final, NamedTuple


class RNIC(str, enum.Enum):
    """The kinds of RNIC (RFC 5044 C.1)."""

    RDMAC = "RDMAC"
    """RDMA Consortium hardware; other software exchanges startup frames for it."""
    NON_PERMISSIVE = "non-permissive"
    """IETF, and not capable of the RDMA Consortium's protocols."""
    PERMISSIVE = "permissive"
    """IETF, and capable of the RDMA Consortium's protocols, connection by connection."""


class Offer(NamedTuple):
    """The fields of a startup frame that matter here (RFC 5044 7.1.1)."""

    revision: int
    """Rev."""
    markers: bool
    """M."""
    crc: bool
    """C."""


_RDMAC_OFFER: Final = Offer(0, True, True)


def agreed_markers(request: Offer, reply: Offer) -> tuple[bool, bool]:
    """Return whether Initiator and Responder receive Markers (RFC 5044 7.1.1).

    An RDMA Consortium RNIC sends Markers even if the Request had revision 1 (C.2.5).
    """
    if request.revision == 1 and reply == _RDMAC_OFFER:
        return True, True
    return request.markers, reply.markers


class Kinds(NamedTuple):
    """The possible kinds of RNIC of both sides, each in the order of :class:`RNIC`."""

    initiator: tuple[RNIC, ...]
    responder: tuple[RNIC, ...]


@lru_cache(maxsize=64)
def kinds_of(request: Offer, reply: Offer) -> Kinds | None:
    """Return the kinds of RNIC that may have sent these two startup frames.

    None if no two RNICs of RFC 5044 appendix C exchange such frames.  Their revisions are not in
    that appendix, or one has revision 0 but does not ask for Markers and CRCs.
    """
    initiator = tuple(rnic for rnic in RNIC if _may_send(rnic, request))
    responder = tuple(rnic for rnic in RNIC if _may_send(_adapted(rnic, request), reply))
    return Kinds(initiator, responder) if initiator and responder else None


def _may_send(rnic: RNIC, offer: Offer) -> bool:
    """Return whether an RNIC may send such a startup frame (RFC 5044 figure 14)."""
    return offer == _RDMAC_OFFER if rnic is RNIC.RDMAC else offer.revision == 1


def _adapted(rnic: RNIC, request: Offer) -> RNIC:
    """Return the kind of RNIC as which ``rnic`` answers a Request (RFC 5044 C.2.3, C.2.4)."""
    return RNIC.RDMAC if rnic is RNIC.PERMISSIVE and request.revision == 0 else rnic
