# SPDX-License-Identifier: GPL-2.0-or-later
"""What a Request and the Reply to it come to: enhanced connection establishment.

Of RFC 6581 9 and 10, and of draft-ietf-storm-mpa-peer-connect-01 8, which differs in this:

* its control flags mean something else (:mod:`~scapy_mpa.wire.control_flags`), and there is none
  for peer-to-peer: the Reply says which RTR indications will do, whatever the Request says;
* a Reply of revision 2 without enhanced data is equal to one with A, B and C set;
* no flag in the Reply asks for a Send of the ULP's;
* IRD of its Request is what the Initiator wants of the *Responder*: nothing says what its own IRD
  is.

Pairs are for Initiator and Responder.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from scapy_mpa.wire.control_flags import RTR, meaning_of
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
    """What messages are called."""

    request: str
    reply: str
    fpdu: str


MPA_WORDS: Final = Words("Request", "Reply", "FPDU")
SCTP_WORDS: Final = Words("Enhanced Initiate", "Enhanced Accept", "DDP Segment")
"""Over SCTP (RFC 6581 7)."""


class Negotiation(NamedTuple):
    """What both sides are bound to once the Reply has accepted."""

    dialect: Dialect
    peer_to_peer: bool | None = None
    """Whether the connection is one of peers; None: the document has no flag for it, or the Reply
    says nothing."""
    ird: tuple[int | None, int | None] = (None, None)
    """IRD of each side, 0 to 0x3FFE; None: not negotiated."""
    ord: tuple[int | None, int | None] = (None, None)
    """ORD of each side, likewise."""
    rtr: tuple[RTR, ...] | None = None
    """Which RTR indications will do; none: a Send of the ULP's (the draft), or there is no match
    (RFC 6581).  None: no RTR indication is called for."""
    broken: tuple[Violation, ...] = ()
    """The rules that the startup frames break."""
    refused: tuple[Violation, ...] = ()
    """Those of them for which the Initiator has to terminate the connection."""
    words: Words = MPA_WORDS

    def judge(self, ulpdu: bytes, ulpdu_length: int) -> tuple[RTR | None, Violation | None]:
        """Return which RTR indication the Initiator's first FPDU is, and the rule that it breaks.

        :param ulpdu: the ULPDU, as far as it was captured.
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
                # A Send of the ULP's serves, and is no RTR indication.
                return None, None
            if not self.rtr:
                return kind, Violation(f"the first {first} is no Send of the ULP's", _DRAFT)
            if kind is None:
                # The first message of the ULP serves, as it does in RFC 5044 (the draft, 5).
                return None, None
            return kind, Violation(_not_agreed_on(kind), _DRAFT)
        if not self.rtr:
            # That there is no match was said of the Reply.
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
    """Return what a Request and the Reply that accepts it come to.

    :param request: None: one of another revision, without enhanced data.
    :param dialect: whose meaning the control flags have; None: that of RFC 6581.
    :param words: what the two are called.
    :return: None if neither has enhanced data, or those of one were not captured, or the Reply
        rejects.
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
    """Return what comes of enhanced data in one of the two: nothing is agreed on."""
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
    for name, flags in ((words.request, asked), (words.reply, offered)):
        if flags and not meaning.is_peer_to_peer(flags):
            text = f"control flags {flags} of the {name} are set, and A is not"
            found.append(Violation(text, "RFC 6581 9.2"))
    rtr = None
    of_peers &= meaning.is_peer_to_peer(offered)
    if of_peers:
        those = meaning.options(offered)
        rtr = tuple(each for each in meaning.options(asked) if each in those)
        if not rtr:
            text = f"the {words.reply} offers no RTR indication that the {words.request} asks for"
            found.append(Violation(text, "RFC 6581 9.2", NO_MATCHING_RTR))
    refused = tuple(each for each in found if each.terminate)
    return Negotiation(
        Dialect.RFC6581,
        of_peers,
        # The Initiator raises its IRD and lowers its ORD to what the Reply says.
        (_bound(request.ird, reply.ord, max), _depth(reply.ird)),
        (_bound(request.ord, reply.ird, min), _depth(reply.ord)),
        rtr,
        (*(each for each in found if not each.terminate), *refused),
        refused,
        words,
    )


def _by_draft(request: StartupFrame, reply: StartupFrame, words: Words) -> Negotiation | None:
    meaning = meaning_of(Dialect.DRAFT_PEER_CONNECT_01)
    flags = reply.control_flags
    if flags is None:
        if reply.revision != request.revision:
            # An unenhanced Reply: what RFC 5044 says holds.
            return None
        flags = "".join(meaning.rtr)
    return Negotiation(
        Dialect.DRAFT_PEER_CONNECT_01,
        None,
        (None, _depth(reply.ird)),
        (_bound(request.ord, reply.ird, min), _depth(reply.ord)),
        meaning.options(flags),
        words=words,
    )


def _depth(number: int | None) -> int | None:
    """Return an IRD or ORD, None if it is left to the ULP."""
    return None if number == LEFT_TO_ULP else number


def _bound(own: int | None, other: int | None, choose: Callable[[int, int], int]) -> int | None:
    """Return what an IRD or ORD of the Initiator is once it knows the other side's.

    :param choose: the larger one or the smaller one.
    """
    own, other = _depth(own), _depth(other)
    return own if own is None or other is None else choose(own, other)


def _opcode_of(ulpdu: bytes) -> int | None:
    header = ddp_header_of(ulpdu)
    return None if header is None else parse_control(header.rsvdulp).opcode


def rtr_of(ulpdu: bytes, ulpdu_length: int) -> RTR | None:
    """Return which RTR indication an FPDU is by its form, None if it is none (RFC 6581 9.2).

    What both documents call a zero-length FPDU or ULPDU is a Send without payload; one that is
    empty altogether, with a ULPDU_Length of 0, counts as well.

    :param ulpdu: the ULPDU, as far as it was captured.
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
