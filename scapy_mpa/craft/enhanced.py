# SPDX-License-Identifier: GPL-2.0-or-later
"""Enhanced data of startup frames, with defaults for fields that are not given (RFC 6581 9)."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from scapy_mpa.wire.control_flags import RTR, rtr_flags
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.startup import build_enhanced

_EnhancedData: TypeAlias = tuple[str | None, int | None, int | None]
"""Control flags, IRD and ORD, None where they are computed."""

_DEPTH: Final = 16
"""IRD and ORD of a Request if none are given."""


def _control_flags(dialect: Dialect | None, rtr: str | None) -> str:
    """Return the control flags of a Request.

    In the draft, without ``rtr``, they show everything that the Initiator supports, and ask for
    nothing.
    """
    if rtr is not None:
        return rtr_flags(dialect, RTR(rtr))
    return rtr_flags(dialect, *RTR) if dialect is Dialect.DRAFT_PEER_CONNECT_01 else ""


def enhanced_fields(
    own: _EnhancedData, peers: _EnhancedData, dialect: Dialect | None, rtr: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of enhanced data in Request and Reply.

    :param own: those of the Request.
    :param peers: those of the Reply.  If one is None, it follows from the Request: its IRD is the
        Request's ORD, and its ORD the Request's IRD.
    :param rtr: the RTR indication that the Initiator sends first; None: it sends none.
    """
    control_flags, ird, ord = own
    reply_flags, reply_ird, reply_ord = peers
    if control_flags is None:
        control_flags = _control_flags(dialect, rtr)
    ird, ord = _DEPTH if ird is None else ird, _DEPTH if ord is None else ord
    return {"control_flags": control_flags, "ird": ird, "ord": ord}, {
        "control_flags": control_flags if reply_flags is None else reply_flags,
        "ird": ord if reply_ird is None else reply_ird,
        "ord": ird if reply_ord is None else reply_ord,
    }


def enhanced_octets(control_flags: str | None, ird: int | None, ord: int | None) -> bytes:
    """Return the octets of the enhanced data of a startup frame, empty if it has none.

    :raises LocalProtocolError: a number does not fit its field, or a letter is not a flag.
    """
    if control_flags is None and ird is None and ord is None:
        return b""
    return build_enhanced(control_flags or "", ird or 0, ord or 0)
