# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection as a table (RFC 5044 7.1.2).

Rules of RFC 5044 7.1.2 that a pair of startup frames can break, and where they stand here:

* 1, 2: who sends the Request is the Initiator; the other side waits for it (``IDLE``).
* 3: the Initiator waits for the Reply (``REQUESTED``); a Reply with R ends MPA and leaves the
  TCP connection open, on which a new Request may follow (``REJECTED``).
* 4: FPDUs flow once the Reply has accepted (``FULL``).
* 8: a Request from both sides is an Initiator/Initiator start; so is any Request where a Reply
  must stand.
* A Reply that answers no Request is out of place, unless the capture began too late to hold
  the Request.
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Final, NamedTuple

from scapy_mpa.wire.startup import StartupFrame, StartupKind

__all__ = ["Declared", "StartupState", "Step", "both", "declared", "step"]


class Declared(NamedTuple):
    """What is remembered of a startup frame."""

    revision: int
    markers: bool
    crc: bool


_declared: Final = lru_cache(maxsize=1024)(Declared)  # 256 revisions, two flags


def declared(startup: StartupFrame) -> Declared:
    """Return what a startup frame declares, as one object for all connections."""
    return _declared(startup.revision, startup.markers, startup.crc)


class StartupState(enum.Enum):
    """How far the Startup Phase has come."""

    IDLE = enum.auto()
    REQUESTED = enum.auto()
    REJECTED = enum.auto()
    FULL = enum.auto()


class Step(enum.Enum):
    """What a startup frame is, where it stands."""

    REQUEST = enum.auto()
    ACCEPT = enum.auto()
    REJECT = enum.auto()
    BOTH_INITIATE = enum.auto()
    REPLY_WITHOUT_REQUEST = enum.auto()
    LATE_ACCEPT = enum.auto()
    """A Reply whose Request was not captured."""


_S = StartupState
# (state, kind of frame, sent by the Initiator, R) -> (state, what it is)
_TABLE: Final[dict[tuple[StartupState, StartupKind, bool, bool], tuple[StartupState, Step]]] = {
    **{
        (state, StartupKind.REQUEST, by_initiator, rejected): (_S.REQUESTED, Step.REQUEST)
        for state in (_S.IDLE, _S.REJECTED)
        for by_initiator in (False, True)
        for rejected in (False, True)  # not checked in a Request (RFC 5044 7.1.1)
    },
    (_S.REQUESTED, StartupKind.REPLY, False, False): (_S.FULL, Step.ACCEPT),
    (_S.REQUESTED, StartupKind.REPLY, False, True): (_S.REJECTED, Step.REJECT),
    (_S.REQUESTED, StartupKind.REQUEST, False, False): (_S.REQUESTED, Step.BOTH_INITIATE),
    (_S.REQUESTED, StartupKind.REQUEST, False, True): (_S.REQUESTED, Step.BOTH_INITIATE),
}


@lru_cache(maxsize=1024)
def both(one: Declared | None, other: Declared | None) -> tuple[Declared | None, Declared | None]:
    """Return what the two directions declare, as one object for all connections."""
    return one, other


def step(
    state: StartupState, startup: StartupFrame, *, by_initiator: bool
) -> tuple[StartupState, Step]:
    """Return the state behind a startup frame, and what the frame is where it stands."""
    key = (state, startup.kind, by_initiator, startup.rejected)
    return _TABLE.get(key, (state, Step.REPLY_WITHOUT_REQUEST))
