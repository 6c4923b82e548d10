# SPDX-License-Identifier: GPL-2.0-or-later
"""What a ``connection`` record must tell of IRD, ORD and the RTR indication (RFC 6581 9,
draft-ietf-storm-mpa-peer-connect-01 8)."""

from __future__ import annotations

from scapy_mpa.records.record import Record, negotiation_fields
from scapy_mpa.stream.events import Negotiated
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.negotiation import negotiate
from scapy_mpa.wire.startup import StartupFrame

__all__ = ["negotiation_truth"]


def negotiation_truth(
    request: StartupFrame, reply: StartupFrame, first: bytes | None, dialect: Dialect | None
) -> Record:
    """Return the keys that tell what was negotiated; ``broken`` is left out if anything is.

    :param first: the ULPDU of the Initiator's first FPDU; None: there is none.
    :param dialect: what the Reply speaks.
    """
    agreed = negotiate(request, reply, dialect)
    if agreed is None:
        return negotiation_fields(None)
    rtr, breach = (None, None) if first is None else agreed.judge(first, len(first))
    is_judged = agreed.rtr is None or first is not None
    is_broken = bool(agreed.broken) or breach is not None
    told = negotiation_fields(
        Negotiated(
            agreed.peer_to_peer,
            agreed.ird,
            agreed.ord,
            agreed.rtr,
            rtr,
            kept=False if is_broken else is_judged or None,
            broken=(),
        )
    )
    if is_broken:
        del told["broken"]
    return told
