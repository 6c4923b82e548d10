# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of a Request and its Reply: enhanced connection establishment.

By RFC 6581 9 and 10, or by draft-ietf-storm-mpa-peer-connect-01 8, which differs in this:

* its control flags have other meanings (:mod:`~scapy_mpa.wire.control_flags`), and none means
  peer-to-peer: the Reply alone decides which RTR indications are allowed;
* a Reply of revision 2 without enhanced data is equal to one with A, B and C set;
* a Reply without flags asks for a Send of the ULP;
* IRD of the Request is the depth that the Initiator wants from the *Responder*; the Initiator's own
  IRD is not sent.

Pairs are for Initiator and Responder.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from scapy_mpa.wire.control_flags import RTR, Meaning, meaning_of
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH, ddp_header_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.rdmap import READ_REQUEST_LENGTH, parse_control, parse_read_request
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode
from scapy_mpa.wire.rules import TerminateCode, Violation
from scapy_mpa.wire.startup import StartupFrame

LEFT_TO_ULP: Final = 0x3FFF
"""An IRD or ORD that is not negotiated, but left to the ULP (RFC 6581 9.1)."""

INSUFFICIENT_IRD: Final[TerminateCode] = (2, 0, 6)
NO_MATCHING_RTR: Final[TerminateCode] = (2, 0, 7)
"""Layer, EType and Error Code of the Terminates of RFC 6581 8."""

_DRAFT: Final = "draft-ietf-storm-mpa-peer-connect-01 8"


class Words(NamedTuple):
    """The names of messages, for texts."""

    request: str
    reply: str
    fpdu: str


MPA_WORDS: Final = Words("Request", "Reply", "FPDU")
SCTP_WORDS: Final = Words("Enhanced Initiate", "Enhanced Accept", "DDP Segment")
"""Over SCTP (RFC 6581 7)."""


class Negotiation(NamedTuple):
    """The values to which both sides are bound after the Reply has accepted."""

    dialect: Dialect
    peer_to_peer: bool | None = None
    """Whether the connection is peer-to-peer; None: the document has no flag for that, or only one
    side sent enhanced data."""
    ird: tuple[int | None, int | None] = (None, None)
    """IRD of each side, 0 to 0x3FFE; None: not negotiated."""
    ord: tuple[int | None, int | None] = (None, None)
    """ORD of each side, likewise."""
    rtr: tuple[RTR, ...] | None = None
    """The allowed RTR indications.  Empty: only a Send of the ULP (the draft), or no match (RFC
    6581).  None: no RTR indication is required."""
    broken: tuple[Violation, ...] = ()
    """The rules that the startup frames break."""
    refused: tuple[Violation, ...] = ()
    """Those of the broken rules for which the Initiator must terminate the connection."""
    words: Words = MPA_WORDS

    def judge(self, ulpdu: bytes, ulpdu_length: int) -> tuple[RTR | None, Violation | None]:
        """Return the RTR indication that the Initiator's first FPDU is, and the rule it breaks.

        :param ulpdu: the captured octets of the ULPDU.
        :param ulpdu_length: octets of the whole ULPDU.
        """
        if self.rtr is None:
            return None, None
        kind = rtr_of(ulpdu, ulpdu_length)
        opcode = _opcode_of(ulpdu)
        if opcode == Opcode.TERMINATE or kind in self.rtr:
            return kind, None
        first = self.words.fpdu
        if self.dialect is Dialect.DRAFT_PEER_CONNECT_01:
            if opcode in SEND_OPCODES and ulpdu_length > UNTAGGED_LENGTH:
                # A Send of the ULP is allowed, and is no RTR indication.
                return None, None
            if not self.rtr:
                return kind, Violation(f"the first {first} is no Send of the ULP's", _DRAFT)
            if kind is None:
                # Any first message of the ULP is allowed, as in RFC 5044 (the draft, 5).
                return None, None
            return kind, Violation(_not_agreed_on(kind), _DRAFT)
        if not self.rtr:
            # That there is no match was reported with the Reply.
            return kind, None
        if kind is None:
            return None, Violation(f"the first {first} is no RTR indication", "RFC 6581 9.2")
        return kind, Violation(_not_agreed_on(kind), "RFC 6581 9.2")


def _not_agreed_on(kind: RTR) -> str:
    return f"an RTR by {kind.value.capitalize()} was not agreed on"


def negotiate(
    request: StartupFrame | None,
    reply: StartupFrame,
    dialect: Dialect | None = None,
    words: Words = MPA_WORDS,
) -> Negotiation | None:
    """Return the result of a Request and the Reply that accepts it.

    :param request: None: a Request of another revision, without enhanced data.
    :param dialect: the dialect of the control flags; None: RFC 6581.
    :param words: the names of the two messages.
    :return: None if neither has enhanced data, or if enhanced data were not captured, or if the
        Reply rejects.
    """
    if reply.lacks_enhanced or (request is not None and request.lacks_enhanced):
        return None
    if request is not None and not request.enhanced:
        request = None
    if reply.rejected or not (request is not None or reply.enhanced):
        return None
    if dialect is Dialect.DRAFT_PEER_CONNECT_01 and request is not None:
        return _by_draft(request, reply, words)
    if request is None:
        return _one_sided(f"the {words.reply} has enhanced data, the {words.request} has none")
    if not reply.enhanced:
        return _one_sided(f"the {words.request} has enhanced data, the {words.reply} has none")
    return _by_rfc6581(request, reply, words)


def _one_sided(text: str) -> Negotiation:
    """Return the result if only one of the two has enhanced data: nothing is agreed on."""
    return Negotiation(Dialect.RFC6581, broken=(Violation(text, "RFC 6581 10"),))


def _by_rfc6581(request: StartupFrame, reply: StartupFrame, words: Words) -> Negotiation:
    asked, offered = request.control_flags or "", reply.control_flags or ""
    meaning = meaning_of(Dialect.RFC6581)
    found: list[Violation] = []
    wants, has = request.ird, reply.ord
    if wants == LEFT_TO_ULP and has != LEFT_TO_ULP:
        text = f"IRD 0x3FFF of the {words.request} is answered with ORD {has}"
        found.append(Violation(text, "RFC 6581 9.1"))
    elif has != LEFT_TO_ULP and has is not None and wants is not None and has > wants:
        text = f"ORD {has} of the {words.reply} exceeds IRD {wants} of the {words.request}"
        found.append(Violation(text, "RFC 6581 9.1", INSUFFICIENT_IRD))
    if request.ord == LEFT_TO_ULP and reply.ird != LEFT_TO_ULP:
        text = f"ORD 0x3FFF of the {words.request} is answered with IRD {reply.ird}"
        found.append(Violation(text, "RFC 6581 9.1"))
    of_peers = meaning.is_peer_to_peer(asked)
    if of_peers != meaning.is_peer_to_peer(offered):
        text = f"A of the {words.reply} is not that of the {words.request}"
        found.append(Violation(text, "RFC 6581 9.2", NO_MATCHING_RTR if of_peers else None))
    found += _faults(meaning, request, reply, words)
    rtr = None
    of_peers &= meaning.is_peer_to_peer(offered)
    if of_peers:
        kinds = meaning.options(offered)
        rtr = tuple(each for each in meaning.options(asked) if each in kinds)
        if not rtr:
            text = f"the {words.reply} offers no RTR indication that the {words.request} asks for"
            found.append(Violation(text, "RFC 6581 9.2", NO_MATCHING_RTR))
    refused = tuple(each for each in found if each.terminate)
    return Negotiation(
        Dialect.RFC6581,
        of_peers,
        # The Initiator raises its IRD and lowers its ORD to the values in the Reply.
        (_bound(request.ird, reply.ord, max), _depth(reply.ird)),
        (_bound(request.ord, reply.ird, min), _depth(reply.ord)),
        rtr,
        (*(each for each in found if not each.terminate), *refused),
        refused,
        words,
    )


def _faults(
    meaning: Meaning, request: StartupFrame, reply: StartupFrame, words: Words
) -> list[Violation]:
    """Return what is wrong with the control flags of each frame by themselves."""
    frames = (request, words.request), (reply, words.reply)
    faults = [meaning.fault(frame.control_flags or "", name) for frame, name in frames]
    return [Violation(fault, meaning.clause) for fault in faults if fault is not None]


def _by_draft(request: StartupFrame, reply: StartupFrame, words: Words) -> Negotiation | None:
    meaning = meaning_of(Dialect.DRAFT_PEER_CONNECT_01)
    flags = reply.control_flags
    if flags is None:
        if reply.revision != request.revision:
            # An unenhanced Reply: RFC 5044 applies.
            return None
        flags = "".join(meaning.rtr)
    return Negotiation(
        Dialect.DRAFT_PEER_CONNECT_01,
        None,
        (None, _depth(reply.ird)),
        (_bound(request.ord, reply.ird, min), _depth(reply.ord)),
        meaning.options(flags),
        tuple(_faults(meaning, request, reply, words)),
        words=words,
    )


def _depth(number: int | None) -> int | None:
    """Return an IRD or ORD, None if it is left to the ULP."""
    return None if number == LEFT_TO_ULP else number


def _bound(depth: int | None, peers: int | None, choose: Callable[[int, int], int]) -> int | None:
    """Return the Initiator's IRD or ORD after it knows the Responder's ORD or IRD.

    :param choose: ``max`` or ``min``.
    """
    depth, peers = _depth(depth), _depth(peers)
    return depth if depth is None or peers is None else choose(depth, peers)


def _opcode_of(ulpdu: bytes) -> int | None:
    header = ddp_header_of(ulpdu)
    return None if header is None else parse_control(header.rsvdulp).opcode


def rtr_of(ulpdu: bytes, ulpdu_length: int) -> RTR | None:
    """Return the RTR indication that an FPDU has the form of, else None (RFC 6581 9.2).

    Both documents call a Send without payload a zero-length FPDU or ULPDU.  An empty FPDU, with a
    ULPDU_Length of 0, counts as well.

    :param ulpdu: the captured octets of the ULPDU.
    :param ulpdu_length: octets of the whole ULPDU.
    """
    if not ulpdu_length:
        return RTR.SEND
    header = ddp_header_of(ulpdu)
    if header is None or not header.last or len(ulpdu) < ulpdu_length:
        return None
    length = ulpdu_length - header.length
    opcode = parse_control(header.rsvdulp).opcode
    if opcode == Opcode.WRITE and header.tagged and not length:
        return RTR.WRITE
    if opcode == Opcode.SEND and not header.tagged and not length:
        return RTR.SEND
    if opcode == Opcode.READ_REQUEST and not header.tagged and length == READ_REQUEST_LENGTH:
        read = parse_read_request(ulpdu[header.length :])
        return None if read.rdma_read_size else RTR.READ
    return None
