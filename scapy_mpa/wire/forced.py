# SPDX-License-Identifier: GPL-2.0-or-later
"""A dialect that the user says is spoken, where the octets leave a choice.

What contradicts the octets has no effect: a Request of revision 1 is none of RFC 6581, whatever is
said.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.wire.dialect import OSC_REVISIONS, TRAITS, Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupFrame

DIALECT_NAMES: Final = tuple(dialect.value for dialect in Dialect)
"""All names that there are."""

_REVISIONS: Final[dict[Dialect, tuple[int, ...]]] = {
    **{dialect: (traits.revision,) for dialect, traits in TRAITS.items()},
    Dialect.OSC: OSC_REVISIONS,
    Dialect.SOFTUIWARP: (1,),
}
"""Rev of the startup frames of each dialect that has any of MPA's."""


def dialect_named(name: str | Dialect | None) -> Dialect | None:
    """Return the dialect of a name, None for None.

    :raises LocalProtocolError: there is none.
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
    """Return the dialect that a startup frame speaks, None if none is known.

    :param forced: what the user says is spoken.
    """
    if startup.kind == "rtr":
        # Only one document has such a frame.
        return startup.dialect
    if forced is not None and startup.revision in _REVISIONS.get(forced, ()):
        return forced
    return startup.dialect


def session_dialect(function_code: int, forced: Dialect | None = None) -> Dialect:
    """Return the dialect that a DDP Stream Session Control message speaks.

    The function codes of enhanced messages are the same in RFC 6581 7 and in
    draft-ietf-storm-mpa-peer-connect-01 7; what their control flags mean is not.

    :param forced: what the user says is spoken.
    """
    # Hardly any capture has some, and a command is to start soon.
    from scapy_mpa.wire.sctp_ddp import ENHANCED_FUNCTIONS

    if forced is Dialect.DRAFT_PEER_CONNECT_01 and function_code in ENHANCED_FUNCTIONS:
        return forced
    return Dialect.RFC5043
