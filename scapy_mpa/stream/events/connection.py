# SPDX-License-Identifier: GPL-2.0-or-later
"""Which connection an event belongs to, and what is reported of one at its end."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from scapy_mpa.stream.segment import flow_endpoints, reverse_flow
from scapy_mpa.wire.control_flags import RTR
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.interoperability import Kinds
from scapy_mpa.wire.startup import StartupKind

Ending: TypeAlias = Literal[
    "closed", "reset", "half closed", "reused", "idle", "limit", "capture ended", "failed"
]


Cause: TypeAlias = Literal[
    "terminate", "rejected", "reset", "closed", "reused", "idle", "limit", "open", "failed"
]


class ConnectionId:
    """Which TCP connection an event belongs to.

    No named tuple, which would take a third more: there may be a hundred thousand of them.

    :param number: 0, 1, ... in order of appearance.
    :param flow: the flow of direction 0 (:class:`~scapy_mpa.stream.segment.Segment`).
    """

    __slots__ = ("_endpoints", "flow", "initiator", "number")

    def __init__(self, number: int, flow: bytes) -> None:
        self.number = number
        self.flow = flow
        self.initiator: int | None = None
        """The direction that the Initiator sends, None as long as no startup frame was found."""
        self._endpoints: tuple[str, str] | None = None

    def _values(self) -> tuple[int | bytes | None, ...]:
        return self.number, self.flow

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConnectionId)
            and type(other) is type(self)
            and other._values() == self._values()
        )

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def note_startup(self, direction: int, kind: StartupKind) -> None:
        """Take note of a startup frame: it shows who is the Initiator."""
        self.initiator = 1 - direction if kind is StartupKind.REPLY else direction

    @property
    def endpoints(self) -> tuple[str, str]:
        """The senders of direction 0 and 1, such as ``10.0.0.1:4000``."""
        if self._endpoints is None:
            self._endpoints = flow_endpoints(self.flow)
        return self._endpoints

    @property
    def flows(self) -> tuple[bytes, bytes]:
        """The flows of direction 0 and 1."""
        return self.flow, reverse_flow(self.flow)


class HalfSummary(NamedTuple):
    """What one direction carried."""

    markers: bool | None
    """Whether this direction has Markers, None if it is not known."""
    fpdus: int
    octets: int
    """TCP payload octets captured, each counted once."""
    crc_bad: int
    gaps: int
    out_of_order: int
    """FPDUs found before all earlier octets of the direction were captured: what RFC 5044 calls
    Placement ahead of Delivery."""
    retransmitted: int
    """Segments that brought octets captured before."""
    farthest_ahead: int
    """How many octets before the first octet of such an FPDU Delivery stood at most: the largest
    distance from the first octet not captured by then; 0 if there was no such FPDU."""
    crcs: str | None = None
    """Of iWARP Framing for TCP, which CRCs its frames have: ``h``, ``p``, both or none."""
    retransmitted_octets: int = 0
    """TCP payload octets that were captured before."""
    may_lack_end: bool = False
    """Over SCTP, whether it has no Terminate: then nothing shows what the capture lacks of its
    end."""


class Negotiated(NamedTuple):
    """What a Request and its Reply with enhanced data came to (RFC 6581 9); pairs are for Initiator
    and Responder."""

    peer_to_peer: bool | None
    """Whether the connection is one of peers, None if nothing says so."""
    ird: tuple[int | None, int | None]
    """IRD of each, None if it is left to the ULP or not known."""
    ord: tuple[int | None, int | None]
    """ORD of each, likewise."""
    rtr_agreed: tuple[RTR, ...] | None
    """The RTR indications that will do, None if none is called for."""
    rtr: RTR | None
    """Which one the Initiator's first FPDU is, None if it is none, or not known, or not called
    for."""
    kept: bool | None
    """Whether both sides kept to what was negotiated and to how, as far as startup frames and
    first FPDUs tell; None if these were not captured."""
    broken: tuple[str, ...]
    """The rules that were broken, each with its clause."""


class Timing(NamedTuple):
    """When a TCP connection began, how long its beginning took, and where it stalled."""

    first_frame: int
    first_ns: int
    handshake_ns: int | None
    """From the SYN to the next segment of its sender; None if the first frame is no SYN."""
    startup_ns: int | None
    """From the last octet of the Request to that of the Reply that accepts it; None if either was
    found later than it was captured, or not at all."""
    stalls: int
    """Times of 0.2 s or more without new octets and new acknowledgements, while octets of either
    side waited for an acknowledgement."""
    longest_stall_ns: int
    """How long the longest was; 0 if there was none."""
    stall_frame: int | None
    """That ended it; None if it lasted to the end of the connection."""
    stalled: int
    """Whose octets waited in it: 1 << direction, or both."""


class Closer(NamedTuple):
    """What one side sent to end a connection: a FIN, a RST or a Terminate."""

    direction: int
    frame: int
    text: str = ""
    """Of a Terminate, the error that it reports, and of what message."""


class End(NamedTuple):
    """Who ended a connection, and why."""

    by: str
    """``initiator`` or ``responder``, or the endpoint where it is not known which of these it is;
    ``capture`` or ``limit`` if neither did."""
    frame: int
    """That has shown it."""
    cause: Cause
    text: str
    """All of this in words."""
    within_message: tuple[str, ...] = ()
    """The sides, named as in ``by``, whose last FPDU does not end its message, although nothing is
    known to be missing after it."""
    unanswered: tuple[int | None, int | None] = (None, None)
    """RDMA Read and Atomic Requests of direction 0 and 1 that lack the end of their Response; None
    if that may be missing from the capture, or nobody counted."""

    def with_unanswered(
        self, unanswered: tuple[int | None, int | None], names: tuple[str, str]
    ) -> "End":
        """Return it with Requests that lack the end of their Response, also in words.

        :param names: of the senders of direction 0 and 1.
        """
        words = [
            f"{count} Request{'s' if count > 1 else ''} of {_the(name)}"
            for count, name in zip(unanswered, names, strict=True)
            if count
        ]
        text = f"{self.text}, {' and '.join(words)} unanswered" if words else self.text
        return End(self.by, self.frame, self.cause, text, self.within_message, unanswered)


def names_of(endpoints: tuple[str, str], initiator: int | None) -> tuple[str, str]:
    """Return what to call the senders of direction 0 and 1.

    :param initiator: the direction in which the Initiator sends, None if it is not known.
    """
    if initiator is None:
        return endpoints
    return ("responder", "initiator") if initiator else ("initiator", "responder")


def end_of(
    ending: Ending,
    frame: int,
    names: tuple[str, str],
    *,
    terminated: Closer | None = None,
    rejected: int | None = None,
    reset: Closer | None = None,
    closer: Closer | None = None,
    within: Iterable[int] = (),
) -> End:
    """Return who ended a connection, and why.

    A Terminate comes before the FIN or RST that follows it.

    :param frame: the last of the connection.
    :param names: of the senders of direction 0 and 1.
    :param rejected: the frame of the Reply that rejects, whoever closes then.
    :param reset: the RST that counts.
    :param closer: the first FIN.
    :param within: the directions that it ended within a message.
    """
    cause: Cause
    if ending == "half closed":
        cause = "closed"
    elif ending == "capture ended":
        cause = "open"
    else:
        cause = ending
    last = {"reset": reset, "closed": closer}.get(cause)
    if terminated is not None:
        cause, by, frame = "terminate", names[terminated.direction], terminated.frame
        text = f"terminated by {_the(by)}: {terminated.text}"
    elif rejected is not None:
        cause, by, frame = "rejected", "responder", rejected
        text = f"rejected by the Responder, {ending}"
    elif last is not None:
        by, frame = names[last.direction], last.frame
        text = f"{'reset' if cause == 'reset' else ending} by {_the(by)}"
    else:
        by, text = "limit" if ending in ("limit", "idle") else "capture", ending
    sides = tuple(names[each] for each in within)
    if sides:
        text += f", within a message of {' and of '.join(map(_the, sides))}"
    return End(by, frame, cause, text, sides)


def _the(name: str) -> str:
    return {"initiator": "the Initiator", "responder": "the Responder"}.get(name, name)


class ConnectionEnded(NamedTuple):
    """A TCP connection is over, or the capture is."""

    connection: ConnectionId
    direction: int
    """The direction in which the Initiator sends, 0 if there is none."""
    frame: int
    time_ns: int
    initiator: str | None
    responder: str | None
    dialect: Dialect | None
    revision: int | None
    crc: bool | None
    rejected: bool
    halves: tuple[HalfSummary, HalfSummary]
    """Direction 0 and direction 1."""
    errors: int
    ending: Ending
    rnics: Kinds | None = None
    """What the startup frames tell of both sides (RFC 5044 C), None if nothing."""
    negotiated: Negotiated | None = None
    """None if there were no enhanced data, or no Reply that accepts."""
    end: End | None = None
    """None over SCTP."""
    timing: Timing | None = None
    """Likewise."""

    @property
    def names(self) -> tuple[str, str]:
        """What to call the senders of direction 0 and 1."""
        initiator = None if self.initiator is None else self.direction
        return names_of(self.connection.endpoints, initiator)
