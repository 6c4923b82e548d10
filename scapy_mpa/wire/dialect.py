# SPDX-License-Identifier: GPL-2.0-or-later
"""Which document a connection follows, told from its startup frames."""

from __future__ import annotations

import enum

__all__ = ["Dialect", "dialect_of"]


class Dialect(str, enum.Enum):
    """The documents, by the names they are cited under."""

    RFC5044 = "rfc5044"
    """Rev 1: RFC 5044."""
    DRAFT_MPA_01 = "draft-ietf-rddp-mpa-01"
    """Rev 0: the draft, and RDMA Consortium hardware, which looks the same on the wire."""
    RTR_PROPOSAL_2007 = "rtr-frame-proposal-2007"
    """Rev 1 and S: an Rtr Frame follows the Reply."""
    RFC6581 = "rfc6581"
    """Rev 2: enhanced connection establishment."""
    DRAFT_PEER_CONNECT_01 = "draft-ietf-storm-mpa-peer-connect-01"
    """Rev 2 with the control flags as the draft has them, the same on the wire as RFC 6581."""
    DRAFT_IFT_01 = "draft-williams-iwarp-ift-01"
    """iWARP Framing for TCP."""
    RFC5043 = "rfc5043"
    """DDP over SCTP."""
    ERDMA = "erdma"
    """Rev 129: Alibaba's erdma, with 8 octets of extension."""
    OSC = "osc"
    """The Ohio Supercomputer Center's software iWARP."""
    SOFTUIWARP = "softuiwarp"
    """SoftUiWARP, which pads otherwise."""


_BY_REVISION = {0: Dialect.DRAFT_MPA_01, 1: Dialect.RFC5044, 2: Dialect.RFC6581}


def dialect_of(revision: int) -> Dialect | None:
    """Return the dialect a startup frame of this revision speaks, None if none is known."""
    return _BY_REVISION.get(revision)
