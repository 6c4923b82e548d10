# SPDX-License-Identifier: GPL-2.0-or-later
"""A startup frame after octets of streaming mode, or after missing ones: what follows it tells.

The payload of an FPDU, or a file, may hold the same octets.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.fpdus.heads import may_be_fpdu
from scapy_mpa.stream.octets.island import Island
from scapy_mpa.stream.octets.scan import FoundStartup, may_be_rtr
from scapy_mpa.wire.rdmap import BOUNDS
from scapy_mpa.wire.startup import KEY_LENGTH, RTR_KEYS, StartupKind

__all__ = ["is_refuted"]

_CONTROL: Final = slice(2, 4)
_BEHIND_MARKER: Final = slice(6, 8)
"""Control octets of an FPDU, where it begins, and where a Marker precedes it."""


def is_refuted(island: Island, found: FoundStartup) -> bool:
    """Tell whether what directly follows a delayed startup frame shows that it is none.

    Nothing but FPDUs does (RFC 5044 7.1.2 rules 3, 4), unless the connection is rejected, or an Rtr
    Frame comes before them (rtr-frame-proposal-2007 2).  A capture of iWARP that is sent as a file
    holds startup frames, too, and then the next record.
    """
    if found.startup.rejects:
        return False
    is_request = found.startup.kind is StartupKind.REQUEST
    behind = found.behind
    if behind and behind[_CONTROL] not in BOUNDS and behind[_BEHIND_MARKER] not in BOUNDS:
        # These octets begin no FPDU: cheap to see, where there are many startup frames.
        is_followed = is_request and behind[:KEY_LENGTH] in RTR_KEYS
    else:
        is_followed = _may_be_followed(island, found)
    return not is_followed


def _may_be_followed(island: Island, found: FoundStartup) -> bool:
    """Tell whether an FPDU may follow a startup frame, or the Rtr Frame of a Request."""
    return (
        island.start > found.end
        or may_be_fpdu(island, found.end)
        or (found.startup.kind is StartupKind.REQUEST and may_be_rtr(island, found.end))
    )
