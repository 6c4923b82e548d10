# SPDX-License-Identifier: GPL-2.0-or-later
"""The identity of a connection, and the event of its end."""

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
    """The TCP connection to which an event belongs.

    It is no named tuple, which would take a third more memory.  There may be 100,000 of them.

    :param number: 0, 1, ... in order of appearance.
    :param flow: the flow of direction 0 (:class:`~scapy_mpa.stream.segment.Segment`).
    """

    __slots__ = ("_endpoints", "flow", "initiator", "number")

    def __init__(self, number: int, flow: bytes) -> None:
        self.number = number
        self.flow = flow
        self.initiator: int | None = None
        """The direction in which the Initiator sends, over SCTP the active side; None while it is
        not known."""
        self._endpoints: tuple[str, str] | None = None

    def of_direction(self, direction: int) -> int:
        """Return a number that only this direction of this connection has."""
        return 2 * self.number + direction

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
        """Note a startup frame, which shows who is the Initiator."""
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
    """Totals of one direction."""

    markers: bool | None
    """Whether this direction has Markers; None if that is not known."""
    fpdus: int
    octets: int
    """TCP payload octets captured, each counted once."""
    crc_bad: int
    gaps: int
    out_of_order: int
    """FPDUs found before all earlier octets of the direction were captured.  RFC 5044 calls that
    Placement ahead of Delivery."""
    retransmitted: int
    """Segments that brought octets captured before."""
    farthest_ahead: int
    """The largest distance, in octets, from the first octet not yet captured to the first octet of
    such an FPDU; 0 if there was no such FPDU."""
    crcs: str | None = None
    """With iWARP Framing for TCP, the CRCs of its frames: ``h``, ``p``, both or none."""
    retransmitted_octets: int = 0
    """TCP payload octets that were captured before."""
    late: int = 0
    """Segments that filled a hole: later octets of their direction were captured before them."""
    may_lack_end: bool = False
    """Over SCTP, whether it has no Terminate.  Then nothing shows whether its end is missing from
    the capture."""

    @property
    def is_unknown(self) -> bool:
        """Whether octets were captured, and it is not known what they are."""
        return self.octets > 0 and self.markers is None


class Negotiated(NamedTuple):
    """The result of a Request and its Reply with enhanced data (RFC 6581 9).

    Pairs are for Initiator and Responder.
    """

    peer_to_peer: bool | None
    """Whether the connection is peer-to-peer; None if no startup frame shows it."""
    ird: tuple[int | None, int | None]
    """IRD of each side; None if it is left to the ULP or not known."""
    ord: tuple[int | None, int | None]
    """ORD of each side; None if it is left to the ULP or not known."""
    rtr_agreed: tuple[RTR, ...] | None
    """The RTR indications that are allowed; None if none is required."""
    rtr: RTR | None
    """The RTR indication that the Initiator's first FPDU is; None if it is none, or not known, or
    if none is required."""
    kept: bool | None
    """Whether both sides kept the rules of the negotiation and its result, as far as startup frames
    and first FPDUs show; None if these were not captured."""
    broken: tuple[str, ...]
    """The rules that were broken, each with its clause."""


class Timing(NamedTuple):
    """The beginning of a TCP connection, the duration of its startup, and its stalls."""

    first_frame: int
    first_ns: int
    handshake_ns: int | None
    """From the SYN to the next segment of its sender; None if the first frame is no SYN."""
    startup_ns: int | None
    """From the last octet of the Request to the last octet of the Reply that accepts it; None if
    one of them was found later than it was captured, or not at all."""
    stalls: int
    """Number of times of 0.2 s or more without new octets and new acknowledgements, while octets of
    a side waited for an acknowledgement."""
    longest_stall_ns: int
    """Duration of the longest stall; 0 if there was none."""
    stall_frame: int | None
    """The frame that ended it; None if it lasted to the end of the connection."""
    stalled: int
    """The directions whose octets waited in it: the sum of 1 << direction."""


class Closer(NamedTuple):
    """A FIN, a RST or a Terminate, with which one side ended a connection."""

    direction: int
    frame: int
    text: str = ""
    """For a Terminate, the error that it reports, and the message with the error."""


class End(NamedTuple):
    """Who ended a connection, and why."""

    by: str
    """``initiator`` or ``responder``; the endpoint if its role is not known; ``capture`` or
    ``limit`` if no side ended it."""
    frame: int
    """The frame that shows it."""
    cause: Cause
    text: str
    """The end in words."""
    within_message: tuple[str, ...] = ()
    """The sides, named as in ``by``, whose last FPDU does not end its message, although no octets
    after it are known to be missing."""
    unanswered: tuple[int | None, int | None] = (None, None)
    """RDMA Read and Atomic Requests of direction 0 and 1 without the end of their Response; None if
    the end may be missing from the capture, or if Requests were not counted."""

    def with_unanswered(
        self, unanswered: tuple[int | None, int | None], names: tuple[str, str]
    ) -> "End":
        """Return this end with the number of unanswered Requests, also in its text.

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
    """Return the names of the senders of direction 0 and 1.

    :param initiator: the direction in which the Initiator sends; None if that is not known.
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

    A Terminate counts, not the FIN or RST after it.

    :param frame: the last frame of the connection.
    :param names: of the senders of direction 0 and 1.
    :param rejected: the frame of the Reply that rejects; it counts, not the close after it.
    :param reset: the RST that counts.
    :param closer: the first FIN.
    :param within: the directions that ended within a message.
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
    sides = tuple(names[direction] for direction in within)
    if sides:
        text += f", within a message of {' and of '.join(map(_the, sides))}"
    return End(by, frame, cause, text, sides)


def _the(name: str) -> str:
    return {"initiator": "the Initiator", "responder": "the Responder"}.get(name, name)


class ConnectionEnded(NamedTuple):
    """A TCP connection has ended, or the capture has."""

    connection: ConnectionId
    direction: int
    """The direction in which the Initiator sends; 0 if there is no Initiator."""
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
    """What the startup frames show about both sides (RFC 5044 C); None if nothing."""
    negotiated: Negotiated | None = None
    """None without enhanced data, or without a Reply that accepts."""
    end: End | None = None
    """None over SCTP."""
    timing: Timing | None = None
    """None over SCTP."""

    @property
    def names(self) -> tuple[str, str]:
        """The names of the senders of direction 0 and 1."""
        initiator = None if self.initiator is None else self.direction
        return names_of(self.connection.endpoints, initiator)
