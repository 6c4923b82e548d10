# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection as a table (RFC 5044 7.1.2).

The rules of RFC 5044 7.1.2, and where a breach of each is reported:

1. The sender of the Request is the Initiator (``IDLE``).  FPDUs without startup frames:
   :func:`~scapy_mpa.stream.startup.breaches.of_beginning`.
2. The Responder waits for the Request.  A Reply without a Request is out of place, unless the
   capture began too late to hold the Request.  Octets where the Request must stand are reported
   with it.  :meth:`~scapy_mpa.wire.startup.StartupFrame.problems` says what makes a frame
   improperly formatted.
3. The Initiator waits for the Reply (``REQUESTED``).  A Reply with R ends MPA, but not the TCP
   connection: a new Request may follow (``REJECTED``).  The Initiator cannot interoperate with a
   Reply whose revision is above that of the Request (7.1.1, Rev).  Octets where the Reply must
   stand, and a Request that nobody answers: :func:`~scapy_mpa.stream.startup.breaches.of_frame`,
   :func:`~scapy_mpa.stream.startup.breaches.of_silence`.  An Initiator that sends more before it
   has the Reply: :func:`~scapy_mpa.stream.startup.breaches.of_early_initiator`.
4. FPDUs follow a Reply that accepts (``FULL``).  The Responder sends its first one after it has one
   of the Initiator.  The acknowledgement in its segment shows what it had received
   (:func:`~scapy_mpa.stream.startup.breaches.of_early_responder`).
5. An almost correct Key: :func:`~scapy_mpa.stream.octets.scan.almost_key`.  Any other Key in place
   of the Request's: rule 2; in place of the Reply's:
   :func:`~scapy_mpa.stream.startup.breaches.of_silence`.
6. A capture does not show how consumers use Private Data.
7. A first FPDU that lacks its Marker, or has one that it must not have, counts as one with a bad
   CRC.  Without CRCs it is not found.
8. A Request from both sides is an Initiator/Initiator start: the Responder sends a Request where
   its Reply must stand.  A Reply from both sides: each answers no Request (rule 2).
9. A wrong PD_Length: ``problems()``, or octets that never came.
10. A capture does not show timeouts.  Frames that were not whole when the connection ended
    (section 8, code 1): ``of_frame()``, ``of_silence()``, and
    :func:`~scapy_mpa.stream.startup.breaches.of_part`.

The Rtr frame proposal of 2007 adds a frame: the Initiator sends it after the Reply, if S is set in
Request and Reply.  Linux siw echoes S without meaning it, and no Rtr Frame comes.  So if either
frame has revision 1 and S, the Initiator's first octets decide (``ACCEPTED``).  They are held until
then: the positions of Markers depend on them.
"""

import enum
from functools import lru_cache
from typing import Final, NamedTuple

from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.interoperability import Offer
from scapy_mpa.wire.startup import StartupFrame, StartupKind

_PROPOSAL: Final = Dialect.RTR_PROPOSAL_2007.value


class Declared(NamedTuple):
    """The fields of a startup frame that are kept."""

    revision: int
    markers: bool
    crc: bool
    s_bit: bool
    dialect: Dialect | None

    @property
    def offer(self) -> Offer:
        """What it offers the peer."""
        return Offer(self.revision, self.markers, self.crc)


_declared: Final = lru_cache(maxsize=2048)(Declared)  # 256 revisions, three flags


def declared(startup: StartupFrame, dialect: Dialect | None) -> Declared:
    """Return what a startup frame declares; connections share the object."""
    return _declared(startup.revision, startup.markers, startup.crc, startup.s_bit, dialect)


class StartupState(enum.Enum):
    """How far the Startup Phase has come."""

    IDLE = enum.auto()
    REQUESTED = enum.auto()
    REJECTED = enum.auto()
    LOST = enum.auto()
    """A Reply comes whose Request was not captured."""
    ANSWERED = enum.auto()
    """A Reply has accepted a Request that was not captured, or not yet."""
    ACCEPTED = enum.auto()
    """The first octets of the Initiator will show whether an Rtr Frame comes."""
    FULL = enum.auto()


class Step(enum.Enum):
    """The role of a startup frame where it stands."""

    REQUEST = enum.auto()
    ACCEPT = enum.auto()
    REJECT = enum.auto()
    BOTH_INITIATE = enum.auto()
    REPLY_WITHOUT_REQUEST = enum.auto()
    LATE_ACCEPT = enum.auto()
    """A Reply whose Request was not captured, or not yet."""
    REQUEST_AGAIN = enum.auto()
    """A Request after one that was not answered."""
    REQUEST_TOO_LATE = enum.auto()
    READY = enum.auto()
    """An Rtr Frame."""
    READY_WITHOUT_REQUEST = enum.auto()

    @property
    def breach(self) -> str | None:
        """The rule that such a frame breaks; None if it breaks none."""
        return _BREACHES.get(self)

    @property
    def counts(self) -> bool:
        """Whether the frame has a part in the startup; a repeated Request has one, too."""
        return self.breach is None or self is Step.REQUEST_AGAIN


_BREACHES: Final = {
    Step.BOTH_INITIATE: "both sides sent a Request (RFC 5044 7.1.2 rule 8)",
    Step.REPLY_WITHOUT_REQUEST: "a Reply that answers no Request (RFC 5044 7.1.2 rule 2)",
    Step.REQUEST_AGAIN: "a Request after one that no Reply has answered (RFC 5044 7.1.2 rule 3)",
    Step.REQUEST_TOO_LATE: "a Request after a Reply that accepts (RFC 5044 7.1.2 rules 2, 3)",
    Step.READY_WITHOUT_REQUEST: f"an Rtr Frame after no Reply that accepts ({_PROPOSAL} 2)",
}

_S = StartupState
# (state, kind of frame, sent by the Initiator, whether it rejects) -> (next state, role)
_TABLE: Final[dict[tuple[StartupState, StartupKind, bool, bool], tuple[StartupState, Step]]] = {
    **{
        (state, StartupKind.REQUEST, by_initiator, False): (_S.REQUESTED, Step.REQUEST)
        for state in (_S.IDLE, _S.REJECTED)
        for by_initiator in (False, True)
    },
    (_S.REQUESTED, StartupKind.REPLY, False, False): (_S.FULL, Step.ACCEPT),
    (_S.REQUESTED, StartupKind.REPLY, False, True): (_S.REJECTED, Step.REJECT),
    (_S.REQUESTED, StartupKind.REQUEST, False, False): (_S.REQUESTED, Step.BOTH_INITIATE),
    (_S.REQUESTED, StartupKind.REQUEST, True, False): (_S.REQUESTED, Step.REQUEST_AGAIN),
    **{
        (_S.LOST, StartupKind.REPLY, by_initiator, rejects): to
        for by_initiator in (False, True)
        for rejects, to in (
            (False, (_S.ANSWERED, Step.LATE_ACCEPT)),
            (True, (_S.REJECTED, Step.REJECT)),
        )
    },
    (_S.ANSWERED, StartupKind.REQUEST, True, False): (_S.FULL, Step.ACCEPT),
    (_S.ACCEPTED, StartupKind.RTR, True, False): (_S.FULL, Step.READY),
}

_OUT_OF_PLACE: Final = {
    StartupKind.REQUEST: Step.REQUEST_TOO_LATE,
    StartupKind.REPLY: Step.REPLY_WITHOUT_REQUEST,
    StartupKind.RTR: Step.READY_WITHOUT_REQUEST,
}
"""By kind, the role of a startup frame that has no entry in the table."""


def step(
    state: StartupState, startup: StartupFrame, *, by_initiator: bool
) -> tuple[StartupState, Step]:
    """Return the state after a startup frame, and its role where it stands."""
    key = (state, startup.kind, by_initiator, startup.rejects)
    return _TABLE.get(key, (state, _OUT_OF_PLACE[startup.kind]))


def rtr_may_follow(request: Declared | None, reply: Declared | None) -> bool:
    """Return whether the Initiator may send an Rtr Frame first (rtr-frame-proposal-2007 2)."""
    return any(each is not None and each.revision == 1 and each.s_bit for each in (request, reply))


def reply_problems(request: Declared | StartupFrame | None, reply: StartupFrame) -> list[str]:
    """Return why a Reply cannot answer a Request; the Request is None if it was not captured
    (RFC 5044 7.1.1)."""
    if request is None or reply.revision <= request.revision:
        return []
    return [
        f"revision {reply.revision} of the Reply exceeds the Request's {request.revision} "
        "(RFC 5044 7.1.1)"
    ]


def rtr_problems(request: Declared | None, reply: Declared | None, rtr: StartupFrame) -> list[str]:
    """Return how an Rtr Frame contradicts Request and Reply; these are None if not captured."""
    found = []
    if request is not None and not request.s_bit:
        found.append(f"an Rtr Frame, and S of the Request has announced none ({_PROPOSAL} 2)")
    if reply is not None and not reply.s_bit:
        found.append(f"an Rtr Frame, and S of the Reply does not await one ({_PROPOSAL} 5)")
    if reply is not None and rtr.crc != reply.crc:
        found.append(
            f"C of the Rtr Frame is {rtr.crc:d}, that of the Reply {reply.crc:d} ({_PROPOSAL} 2)"
        )
    return found
