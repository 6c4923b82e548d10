# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents that connections may follow, and their differences (docs/dialects.md)."""

import enum
from functools import cache
from typing import Final, NamedTuple


class Dialect(str, enum.Enum):
    """The documents, by the names under which they are cited."""

    RFC5044 = "rfc5044"
    """Rev 1: RFC 5044."""
    DRAFT_MPA_01 = "draft-ietf-rddp-mpa-01"
    """Rev 0: the draft, and RDMA Consortium hardware, which is equal on the wire."""
    RTR_PROPOSAL_2007 = "rtr-frame-proposal-2007"
    """Rev 1, S in Request and Reply: an Rtr Frame follows the Reply."""
    RFC6581 = "rfc6581"
    """Rev 2: enhanced connection establishment."""
    DRAFT_PEER_CONNECT_01 = "draft-ietf-storm-mpa-peer-connect-01"
    """Rev 2 with the control flags of the draft, equal to RFC 6581 on the wire."""
    DRAFT_IFT_01 = "draft-williams-iwarp-ift-01"
    """iWARP Framing for TCP."""
    RFC5043 = "rfc5043"
    """DDP over SCTP."""
    ERDMA = "erdma"
    """Rev 129: Alibaba's erdma, with 8 octets of extension."""
    OSC = "osc"
    """The Ohio Supercomputer Center's software iWARP."""
    SOFTUIWARP = "softuiwarp"
    """SoftUiWARP, which pads in another way."""


LARGEST_PD_LENGTH: Final = 512
"""Octets of Private Data that RFC 5044 7.1.1 allows, and RFC 6581 6 with enhanced data included."""


class Traits(NamedTuple):
    """Differences in startup between the dialects that have MPA startup frames."""

    revision: int
    """Rev of its startup frames."""
    largest_pd_length: int = LARGEST_PD_LENGTH
    """Octets of Private Data, at most, enhanced data included."""
    extension_length: int = 0
    """Octets between header and Private Data that PD_Length does not count."""


TRAITS: Final[dict[Dialect, Traits]] = {
    Dialect.RFC5044: Traits(1),
    Dialect.DRAFT_MPA_01: Traits(0, largest_pd_length=0xFFFF),
    Dialect.RTR_PROPOSAL_2007: Traits(1),
    Dialect.RFC6581: Traits(2),
    Dialect.DRAFT_PEER_CONNECT_01: Traits(2),
    Dialect.ERDMA: Traits(129, extension_length=8),
}
"""RFC 5044 7.1.1; draft-ietf-rddp-mpa-01 6.1.1; the proposal's points 1 and 2; RFC 6581 6."""

OSC_REVISIONS: Final = (0, 1)
"""Rev of osc's Request and of its Reply."""

BY_REVISION: Final = {
    TRAITS[dialect].revision: dialect
    for dialect in (Dialect.DRAFT_MPA_01, Dialect.RFC5044, Dialect.RFC6581, Dialect.ERDMA)
}
"""The dialect that is assumed for each Rev."""
_TRAITS: Final = {revision: TRAITS[dialect] for revision, dialect in BY_REVISION.items()}
_USUAL: Final = TRAITS[Dialect.RFC5044]


@cache
def largest_pd_length(revision: int) -> int:
    """Return the highest number of octets of Private Data in a startup frame of a revision.

    For revisions that no document defines, the limit is that of RFC 5044 7.1.1.
    """
    return _TRAITS.get(revision, _USUAL).largest_pd_length


@cache
def extension_length(revision: int) -> int:
    """Return the octets between header and Private Data in a startup frame of a revision.

    PD_Length does not count them (erdma has 8, all others none).
    """
    return _TRAITS.get(revision, _USUAL).extension_length
