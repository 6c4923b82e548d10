# SPDX-License-Identifier: GPL-2.0-or-later
"""The dialect that a user names, for octets that do not show their dialect.

A dialect that contradicts the octets has no effect: a Request of revision 1 is never one of RFC
6581.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupFrame

DIALECT_NAMES: Final = tuple(dialect.value for dialect in Dialect)
"""The names of all dialects."""

_REVISIONS: Final[dict[Dialect, tuple[int, ...]]] = {
    **{dialect: (traits.revision,) for dialect, traits in TRAITS.items()},
    Dialect.OSC: OSC_REVISIONS,
    Dialect.SOFTUIWARP: (1,),
}
"""Rev of the startup frames of each dialect that has MPA startup frames."""


def dialect_named(name: str | Dialect | None) -> Dialect | None:
    """Return the dialect of a name, None for None.

    :raises LocalProtocolError: there is no dialect of this name.
    """
    if name is None:
        return None
    try:
        return Dialect(name)
    except ValueError as error:
        raise LocalProtocolError(
            f"there is no dialect {quoted(name)}; there are {', '.join(DIALECT_NAMES)}"
        ) from error


def dialect_in_force(startup: StartupFrame, forced: Dialect | None = None) -> Dialect | None:
    """Return the dialect of a startup frame, None if it is not known.

    :param forced: the dialect that the user named.
    """
    if startup.kind == "rtr":
        # Only one document has this frame.
        return startup.dialect
    if forced is not None and startup.revision in _REVISIONS.get(forced, ()):
        return forced
    return startup.dialect


def session_dialect(function_code: int, forced: Dialect | None = None) -> Dialect:
    """Return the dialect of a DDP Stream Session Control message.

    RFC 6581 7 and draft-ietf-storm-mpa-peer-connect-01 7 have the same function codes of enhanced
    messages, but different meanings of their control flags.

    :param forced: the dialect that the user named.
    """
    # Imported late: few captures have SCTP, and a command must start soon.
    from scapy_mpa.wire.sctp_ddp import ENHANCED_FUNCTIONS

    if forced is Dialect.DRAFT_PEER_CONNECT_01 and function_code in ENHANCED_FUNCTIONS:
        return forced
    return Dialect.RFC5043
